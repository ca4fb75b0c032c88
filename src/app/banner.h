// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a server says when it is ready.

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "keymill/keyspace.h"

namespace keymill::app {

struct Banner {
  std::string_view version;
  std::string_view store;       // "sqlite:/srv/data/keymill.db"
  bool created = false;         // The store was made by this start.
  std::string_view url;         // "http://127.0.0.1:8080"; "" when it is off.
  std::string_view resp;        // "redis://127.0.0.1:6380"; "" when it is off.
  std::string_view grpc = {};   // "127.0.0.1:9090"; "" when it is off.
  std::string_view links = {};  // "http://127.0.0.1:8081"; "" when it is off.
  const std::map<std::string, Recipe>& keyspaces;
  bool get_key = false;  // GET /get-key is served.
};

// A command that gets a key from this very server, ready to be pasted; where there is no keyspace
// yet, one that creates one.
std::string TryCommand(const Banner& banner);

// For people: a few lines, each with its line end.
std::string BannerText(const Banner& banner);

// The same in one line, for a log.
std::string BannerLine(const Banner& banner);

}  // namespace keymill::app
