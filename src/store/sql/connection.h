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
#include "keymill/store.h"

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

  // Makes room for the first table where the dialect's statements need it, and waits, until the
  // deadline of Begin, for whoever else makes or changes the schema; others are kept from it until
  // the transaction ends. Called before anything is written.
  virtual Status LockSchema() { return {}; }

  // Makes the transaction durable.
  // Errors: kUnavailable     it was rolled back; nothing happened.
  //         kUnknownOutcome  it may or may not have landed.
  virtual Status Commit() = 0;

  // Undoes the transaction. Never fails in a way that matters: an open transaction dies
  // with its connection.
  virtual void Rollback() = 0;

  // Whether the last failure was no more than a clash with another transaction (a deadlock, a row
  // that somebody else inserted first) or a link that had died while it was idle: the same work
  // may succeed when it is begun again. Asked before Rollback.
  [[nodiscard]] virtual bool Clashed() const { return false; }

  // Whether the last failure was for want of a right, or of a table, which is how some servers hide
  // what one may not see. Asked before Rollback.
  [[nodiscard]] virtual bool Denied() const { return false; }

  // Whether what crosses the link can be read on its way: it leaves this host, and is not
  // encrypted.
  [[nodiscard]] virtual bool Exposed() const { return false; }

  // Whether the connection still leads to the data it was opened on. Asked before use.
  virtual Status CheckAlive() = 0;

 protected:
  Connection() = default;
};

// Statements that bring a schema from version i to i + 1, for each i. Where such statements commit
// by themselves, each must do nothing when it has been run before.
using Migrations = std::vector<std::vector<std::string_view>>;

// Where databases differ in their words.
struct Dialect {
  std::string_view row_lock;  // After a SELECT that locks: " FOR UPDATE", or nothing.
  // A query that gives a row if the table keymill_store exists, and none if not.
  std::string_view schema_probe;
  Migrations migrations;
  // An expression for StoreIdentity::timeline, of type text, that a SELECT can have beside others:
  // it is wanted with every reservation. Where there is none, Driver::Timeline tells it, and the
  // store agrees with whatever that is.
  std::string_view timeline = {};
  // Where a timeline has to be begun, as long as the expression gives "": a statement that takes
  // a random name.
  std::string_view begin_timeline = {};
  // An expression for StoreIdentity::now_ms, of an integer type; "" where there is no server.
  std::string_view now_ms = {};
  // Where the schema is made in one transaction, so that nobody finds it half made: what to do when
  // keymill_store is there without its row.
  std::string_view emptied_advice = {};
};

class Driver {
 public:
  virtual ~Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  virtual Result<std::unique_ptr<Connection>> Connect(MonotonicTime deadline) = 0;
  [[nodiscard]] virtual const Dialect& dialect() const = 0;
  // See Dialect::timeline.
  virtual Result<std::string> Timeline() { return std::string(); }
  // What an administrator does for a user who was denied something.
  [[nodiscard]] virtual std::string RightsAdvice() const { return {}; }
  // Whether the tables are there, and this user may do with them all that an instance does. In a
  // transaction that reads.
  // Errors: kFailedPrecondition names the right that is missing, or Connection::Denied says so.
  virtual Result<bool> CheckRights(Connection& /*connection*/) { return false; }
  // See Store::Inspect. In a transaction that reads.
  virtual Result<std::vector<StoreFinding>> Inspect(Connection& /*connection*/) {
    return std::vector<StoreFinding>();
  }

 protected:
  Driver() = default;
};

}  // namespace keymill::store::sql
