// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Mints keys one after the other, then in pipelines, and writes them to stdout: PORT COUNT.

package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"

	"github.com/gomodule/redigo/redis"
)

const depth = 1000

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	count, err := strconv.Atoi(os.Args[2])
	check(err)
	conn, err := redis.Dial("tcp", "127.0.0.1:"+os.Args[1])
	check(err)
	out := bufio.NewWriter(os.Stdout)
	for i := 0; i < count; i++ {
		key, err := redis.String(conn.Do("KEYMILL.MINT", "default"))
		check(err)
		fmt.Fprintln(out, key)
	}
	for i := 0; i < count; i += depth {
		for j := 0; j < depth; j++ {
			check(conn.Send("KEYMILL.MINT", "default"))
		}
		check(conn.Flush())
		for j := 0; j < depth; j++ {
			key, err := redis.String(conn.Receive())
			check(err)
			fmt.Fprintln(out, key)
		}
	}
	check(out.Flush())
	check(conn.Close())
}
