// Copyright (c) 2026 The Keymill Authors. See LICENSE.

// Keys over HTTP, with nothing but Go's own library.
//
//	go run mint.go [URL [COUNT]]     prints COUNT keys of the keyspace "default"
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Problem is what a server says when it cannot do what it was asked for (RFC 9457).
type Problem struct {
	Type   string `json:"type"`
	Detail string `json:"detail"`
}

func (p *Problem) Error() string { return p.Type + ": " + p.Detail }

// Client asks one server. It is safe for concurrent use.
type Client struct {
	Server string
	HTTP   http.Client
}

// Mint returns count new keys of a keyspace.
func (c *Client) Mint(keyspace string, count int) ([]string, error) {
	url := fmt.Sprintf("%s/v1/keyspaces/%s/keys?count=%d", c.Server, keyspace, count)
	answer, err := c.HTTP.Post(url, "", nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body := json.NewDecoder(answer.Body)
	if answer.StatusCode != http.StatusOK {
		problem := new(Problem)
		if err := body.Decode(problem); err != nil {
			return nil, fmt.Errorf("%s: %w", answer.Status, err)
		}
		return nil, problem
	}
	var minted struct {
		Keys []string `json:"keys"`
	}
	err = body.Decode(&minted)
	return minted.Keys, err
}

func main() {
	client := Client{Server: "http://127.0.0.1:8080", HTTP: http.Client{Timeout: 10 * time.Second}}
	count := 3
	if len(os.Args) > 1 {
		client.Server = os.Args[1]
	}
	if len(os.Args) > 2 {
		var err error
		if count, err = strconv.Atoi(os.Args[2]); err != nil {
			log.Fatal(err)
		}
	}
	keys, err := client.Mint("default", count)
	if err != nil {
		log.Fatal(err)
	}
	for _, key := range keys {
		fmt.Println(key)
	}
}
