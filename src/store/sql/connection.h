// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the SQL store needs of a database: a connection that runs statements inside a
// transaction, and the few texts in which databases differ. A driver implements these two
// and nothing else; all decisions are made above it.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "keymill/clock.h"
#include "keymill/status.h"

namespace keymill::store::sql {

// Bytes that are no text. Databases insist on the difference.
struct Bytes {
  std::string data;
  friend bool operator==(const Bytes&, const Bytes&) = default;
};

using Value = std::variant<std::int64_t, std::string, Bytes>;
using Row = std::vector<Value>;

enum class Access : std::uint8_t { kRead, kWrite };

// Used by one thread at a time. After an error other than kUnavailable from Begin, the
// connection must be thrown away.
class Connection {
 public:
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Starts a transaction. With kWrite it waits for other writers until `deadline`, which
  // also bounds the statements that follow.
  // Errors: kUnavailable (nothing happened; the connection is still good).
  virtual Status Begin(Access access, MonotonicTime deadline) = 0;

  // Runs one statement with `?` placeholders and returns its rows.
  virtual Result<std::vector<Row>> Query(std::string_view sql, std::span<const Value> values) = 0;

  // Runs one statement that returns no rows and says how many it changed.
  virtual Result<std::int64_t> Execute(std::string_view sql, std::span<const Value> values) = 0;

  // Makes the transaction durable.
  // Errors: kUnavailable     it was rolled back; nothing happened.
  //         kUnknownOutcome  it may or may not have landed.
  virtual Status Commit() = 0;

  // Undoes the transaction. Never fails in a way that matters: an open transaction dies
  // with its connection.
  virtual void Rollback() = 0;

  // Whether the connection still leads to the data it was opened on. Asked before use.
  virtual Status CheckAlive() = 0;

 protected:
  Connection() = default;
};

// Where databases differ in their words.
struct Dialect {
  std::string_view row_lock;  // After a SELECT that locks: " FOR UPDATE", or nothing.
  // A query that gives a row if the table keymill_store exists, and none if not.
  std::string_view schema_probe;
  // Statements that bring the schema from version i to i + 1, for each i.
  std::vector<std::vector<std::string_view>> migrations;
};

class Driver {
 public:
  virtual ~Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  virtual Result<std::unique_ptr<Connection>> Connect(MonotonicTime deadline) = 0;
  [[nodiscard]] virtual const Dialect& dialect() const = 0;
  // See StoreIdentity::timeline.
  virtual Result<std::string> Timeline(Connection& connection) = 0;

 protected:
  Driver() = default;
};

}  // namespace keymill::store::sql
