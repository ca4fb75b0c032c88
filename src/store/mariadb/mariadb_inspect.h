// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Settings of a MariaDB or MySQL server under which an acknowledged reservation can be lost.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keymill/status.h"
#include "keymill/store.h"

#include "store/sql/connection.h"

namespace keymill::store {

// What a server says of itself. Names are in lower case; what it does not know, or does not tell
// this user, is absent.
struct MariadbFacts {
  std::string version;                                       // "10.11.6-MariaDB-0+deb12u1"
  std::map<std::string, std::string> variables;              // SHOW GLOBAL VARIABLES
  std::map<std::string, std::string> status;                 // SHOW GLOBAL STATUS
  std::vector<std::pair<std::string, std::string>> engines;  // Of each table of ours.
};

std::vector<StoreFinding> JudgeMariadb(const MariadbFacts& facts);

// See Driver::CheckRights. Changes nothing: the server is asked how it would do it, which it tells
// only those who may.
Result<bool> CheckMariadbRights(sql::Connection& connection, std::string_view schema_probe);

Result<std::vector<StoreFinding>> InspectMariadb(sql::Connection& connection);

}  // namespace keymill::store
