// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/mariadb/mariadb_connection.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <mariadb/mysqld_error.h>

#include "store/mariadb/mariadb_link.h"
#include "store/resolve.h"
#include "store/sql/first_words.h"

namespace keymill::store {
namespace {

using sql::Access;
using sql::Row;
using sql::Value;
using Seconds = std::chrono::duration<double>;

// How long a transaction may do nothing, and the schema's lock be held in idleness. Statements
// follow each other within milliseconds, unless the process is frozen.
constexpr int kIdleSeconds = 1;
constexpr int kIdleSchemaSeconds = 5;

// Errors that connector headers of some versions do not name.
constexpr unsigned kStatementTimeoutMysql = 3024;  // max_execution_time.
constexpr unsigned kIdleTooLong = 4031;
constexpr unsigned kReadOnlyMode = 1836;
constexpr unsigned kBadSocketUser = 1698;

// Another transaction was in the way, and the server has said so before any commit.
bool IsClash(unsigned error) {
  switch (error) {
    case ER_LOCK_DEADLOCK:
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_CHECKREAD:
    case ER_TABLE_DEF_CHANGED:
    case ER_DUP_ENTRY:  // Two have created the same keyspace at once: the second run finds it.
      return true;
    default:
      return false;
  }
}

// Nor is a table that we have no right on there for us. One that is missing may be on its way: a
// dump that is being loaded drops each before it makes it anew.
bool IsDenial(unsigned error) {
  switch (error) {
    case ER_NO_SUCH_TABLE:
    case ER_TABLEACCESS_DENIED_ERROR:
    case ER_COLUMNACCESS_DENIED_ERROR:
    case ER_SPECIFIC_ACCESS_DENIED_ERROR:
    case ER_DBACCESS_DENIED_ERROR:
      return true;
    default:
      return false;
  }
}

// The one place that reads the server's error numbers. Nothing is kUnknownOutcome here: a
// transaction without its COMMIT is undone by the server.
Code CodeOfError(unsigned error) {
  switch (error) {
    case ER_LOCK_DEADLOCK:
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_CHECKREAD:
    case ER_TABLE_DEF_CHANGED:
    case ER_STATEMENT_TIMEOUT:
    case kStatementTimeoutMysql:
    case ER_CONNECTION_KILLED:
    case kIdleTooLong:
    case ER_OPTION_PREVENTS_STATEMENT:
    case kReadOnlyMode:
    case ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION:
    case ER_BINLOG_STMT_MODE_AND_ROW_ENGINE:
    case ER_BINLOG_LOGGING_IMPOSSIBLE:
    case ER_UNKNOWN_COM_ERROR:  // Galera: not ready.
    case ER_QUERY_INTERRUPTED:
    case ER_SERVER_SHUTDOWN:
    case ER_CON_COUNT_ERROR:
    case ER_TOO_MANY_USER_CONNECTIONS:
    case ER_USER_LIMIT_REACHED:
    case ER_HOST_IS_BLOCKED:
    case ER_OUT_OF_RESOURCES:
    case ER_OUTOFMEMORY:
    case ER_DISK_FULL:
    case ER_ERROR_ON_WRITE:
    case ER_GET_ERRNO:
    case ER_RECORD_FILE_FULL:
    case ER_TABLEACCESS_DENIED_ERROR:
    case ER_COLUMNACCESS_DENIED_ERROR:
    case ER_SPECIFIC_ACCESS_DENIED_ERROR:
      return Code::kUnavailable;
    case ER_ACCESS_DENIED_ERROR:
    case ER_DBACCESS_DENIED_ERROR:
    case ER_HOST_NOT_PRIVILEGED:
    case kBadSocketUser:
      return Code::kFailedPrecondition;
    case ER_BAD_DB_ERROR:
      return Code::kNotFound;
    default:
      return Code::kInternal;
  }
}

// Server-wide, so it names the database; hashed, because names of locks are short.
constexpr std::string_view kSchemaLockName = "CONCAT('keymill.', SHA1(DATABASE()))";

class MariadbConnection final : public sql::Connection {
 public:
  MariadbConnection(std::string place, const Clock& clock)
      : place_(std::move(place)), clock_(clock), link_(clock) {}

  Status Connect(const MariadbOptions& options, const HostPort* host, bool use_database,
                 MonotonicTime deadline) {
    deadline_ = deadline;
    const Sent sent = link_.Connect(options, host, use_database, deadline);
    if (sent == Sent::kDone) return {};
    denied_ = sent == Sent::kRefused && IsDenial(link_.error_number());
    return Failed("connect to", CodeOf(sent));
  }

  // Sets what the store relies on, whatever the server's defaults are.
  Status SetUp() {
    Result<std::vector<Row>> server =
        Query("SELECT LOWER(VERSION()) LIKE '%mariadb%', @@global.read_only IN ('0', 'OFF')", {});
    if (!server.ok()) return server.status();
    mariadb_ = server->front().at(0) == Value(std::int64_t{1});
    if (server->front().at(1) != Value(std::int64_t{1})) {
      return {Code::kUnavailable, fmt::format("use {}: the server is read-only", place_)};
    }
    for (const std::string_view statement :
         {"SET NAMES utf8mb4",
          "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', autocommit = 0, "
          "time_zone = '+00:00', default_storage_engine = InnoDB",
          // What is read after the row's lock was obtained must be what is there then.
          "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE"}) {
      if (Result<std::int64_t> set = Execute(statement, {}); !set.ok()) return set.status();
    }
    return LimitIdleness();
  }

  // A session that does not commit by itself has a transaction as soon as it needs one, also
  // after a CREATE TABLE, which ends the one before.
  Status Begin(Access access, MonotonicTime deadline) override {
    deadline_ = deadline;
    access_ = access;
    clashed_ = false;
    denied_ = false;
    const Seconds left = deadline - clock_.Monotonic();
    if (left.count() <= 0) return Late("begin");
    // In this order: the server gives up a statement, we the connection. A statement that nobody
    // waits for any more must not go on to wait for a lock.
    const double statement = std::clamp(left.count() * 0.9, 0.001, 3600.0);
    const int lock = std::max(1, static_cast<int>(statement));
    std::string set = fmt::format(
        "SET SESSION innodb_lock_wait_timeout = {}, lock_wait_timeout = {}, ", lock, lock);
    set += mariadb_ ? fmt::format("max_statement_time = {:.3f}", statement)
                    : fmt::format("max_execution_time = {:.0f}", std::max(1.0, statement * 1000));
    const Status begun = Execute(set, {}).status();
    // Nothing has happened, whatever went wrong; CheckAlive tells whether the link is still good.
    return begun.ok() ? begun : Status(Code::kUnavailable, begun.message());
  }

  Result<std::vector<Row>> Query(std::string_view sql, std::span<const Value> values) override {
    std::vector<Row> rows;
    if (Status done = Run(sql, values, &rows); !done.ok()) return done;
    return rows;
  }

  Result<std::int64_t> Execute(std::string_view sql, std::span<const Value> values) override {
    if (Status done = Run(sql, values, nullptr); !done.ok()) return done;
    return link_.changed();
  }

  // Tables are made outside transactions here. The lock belongs to the session, so that it
  // outlives those commits.
  Status LockSchema() override {
    // What was read so far keeps tables from being changed, by whoever has the lock now.
    if (Result<std::int64_t> ended = Execute("ROLLBACK", {}); !ended.ok()) return ended.status();
    if (Status limited = LimitSession(kIdleSchemaSeconds); !limited.ok()) return limited;
    schema_locked_ = true;  // From here on there is something to undo.
    const Seconds left = deadline_ - clock_.Monotonic();
    Result<std::vector<Row>> locked =
        Query(fmt::format("SELECT GET_LOCK({}, {:.0f})", kSchemaLockName,
                          std::clamp(left.count(), 0.0, 3600.0)),
              {});
    if (!locked.ok()) return locked.status();
    if (locked->size() == 1 && locked->front().at(0) == Value(std::int64_t{1})) return {};
    return {Code::kUnavailable,
            fmt::format("make the schema in {}: another instance is at it", place_)};
  }

  [[nodiscard]] bool Clashed() const override { return clashed_; }
  [[nodiscard]] bool Denied() const override { return denied_; }

  Status Commit() override {
    if (clock_.Monotonic() >= deadline_) {
      Rollback();
      return Late("commit");
    }
    const Sent sent = link_.Run("COMMIT", deadline_, nullptr);
    if (sent == Sent::kDone) {
      UnlockSchema();
      return {};
    }
    broken_ = true;
    if (access_ == Access::kRead) return {};  // What was read was committed by others.
    if (sent == Sent::kRefused && link_.error_number() == ER_LOCK_DEADLOCK) {
      clashed_ = true;
      return Failed("commit in", Code::kUnavailable);
    }
    // The reply was lost, perhaps not the write; an error at this point says no more.
    return Failed("commit in", Code::kUnknownOutcome);
  }

  // After a time-out only the statement is undone, so the rest must be told to go.
  void Rollback() override {
    if (link_.dead()) return;
    // Time for one answer more than the caller had, rather than a connection for each clash.
    const MonotonicTime end =
        std::max(deadline_, clock_.Monotonic() + std::chrono::milliseconds(50));
    if (link_.Run("ROLLBACK", end, nullptr) != Sent::kDone) broken_ = true;
    UnlockSchema();
  }

  Status CheckAlive() override {
    if (!broken_ && !link_.dead()) return {};
    return {Code::kUnavailable, fmt::format("use {}: the connection was lost", place_)};
  }

 private:
  Status Run(std::string_view sql, std::span<const Value> values, std::vector<Row>* rows) {
    if (clock_.Monotonic() >= deadline_) return Late(FirstWords(sql));
    const Sent sent = link_.Run(WithValues(sql, values), deadline_, rows);
    if (sent == Sent::kDone) return {};
    clashed_ = sent == Sent::kRefused && IsClash(link_.error_number());
    denied_ = sent == Sent::kRefused && IsDenial(link_.error_number());
    const unsigned error = link_.error_number();
    // Another host may be the one to write to now; a new connection looks for it.
    if (error == ER_OPTION_PREVENTS_STATEMENT || error == kReadOnlyMode) broken_ = true;
    return Failed(fmt::format("{} in", FirstWords(sql)), CodeOf(sent));
  }

  // MySQL, and MariaDB before 10.3, cannot tell an idle transaction from an idle session: there
  // the session ends, and is opened anew when it is needed again.
  Status LimitIdleness() {
    const Result<std::int64_t> set =
        Execute(fmt::format("SET SESSION idle_transaction_timeout = {}", kIdleSeconds), {});
    if (set.ok()) return {};
    if (link_.dead() || link_.error_number() != ER_UNKNOWN_SYSTEM_VARIABLE) return set.status();
    session_limited_ = true;
    return LimitSession(kIdleSeconds);
  }

  Status LimitSession(int seconds) {
    return Execute(fmt::format("SET SESSION wait_timeout = {}", seconds), {}).status();
  }

  void UnlockSchema() {
    if (!std::exchange(schema_locked_, false) || link_.dead()) return;
    const std::string release = fmt::format("SELECT RELEASE_LOCK({})", kSchemaLockName);
    const MonotonicTime end = std::max(deadline_, clock_.Monotonic() + std::chrono::seconds(1));
    const std::string limit = session_limited_ ? std::to_string(kIdleSeconds) : "DEFAULT";
    // The question has begun a transaction, like every other one.
    for (const std::string& statement :
         {release, std::string("COMMIT"), "SET SESSION wait_timeout = " + limit}) {
      if (link_.Run(statement, end, nullptr) == Sent::kDone) continue;
      broken_ = true;
      return;
    }
  }

  [[nodiscard]] Code CodeOf(Sent sent) const {
    return sent == Sent::kLost ? Code::kUnavailable : CodeOfError(link_.error_number());
  }

  [[nodiscard]] Status Failed(std::string_view tried, Code code) const {
    return {code, fmt::format("{} {}: {}", tried, place_, link_.error_text())};
  }

  [[nodiscard]] Status Late(std::string_view tried) const {
    return {Code::kUnavailable, fmt::format("{} in {}: no time is left", tried, place_)};
  }

  const std::string place_;  // "database keys at db1:3306"
  const Clock& clock_;
  MariadbLink link_;
  bool mariadb_ = true;
  bool session_limited_ = false;
  bool broken_ = false;
  bool clashed_ = false;
  bool denied_ = false;
  bool schema_locked_ = false;
  Access access_ = Access::kRead;
  MonotonicTime deadline_;
};

using Opened = Result<std::unique_ptr<sql::Connection>>;

// One place to connect to, and what messages call it.
struct Place {
  const HostPort* address = nullptr;  // The Unix socket if nullptr.
  std::string name;
};

Status WithAdvice(const Status& denied, const MariadbOptions& options) {
  return {Code::kFailedPrecondition,
          fmt::format("{}. {}", denied.message(), MariadbRightsAdvice(options))};
}

Status CreateDatabase(const MariadbOptions& options, const Place& place, const Clock& clock,
                      MonotonicTime deadline) {
  MariadbConnection server(place.name, clock);
  Status up = server.Connect(options, place.address, /*use_database=*/false, deadline);
  if (up.ok()) up = server.SetUp();
  if (!up.ok()) return up;
  Result<std::int64_t> made = server.Execute(
      fmt::format("CREATE DATABASE IF NOT EXISTS {}", QuoteMariadbName(options.database)), {});
  if (made.ok()) return {};
  if (server.Denied()) return WithAdvice(made.status(), options);
  return {made.code() == Code::kInternal ? Code::kFailedPrecondition : made.code(),
          made.status().message()};
}

Opened OpenAt(const MariadbOptions& options, const Place& place, bool create, const Clock& clock,
              MonotonicTime deadline) {
  auto connection = std::make_unique<MariadbConnection>(place.name, clock);
  Status up = connection->Connect(options, place.address, /*use_database=*/true, deadline);
  if (up.code() == Code::kNotFound && create) {
    if (Status made = CreateDatabase(options, place, clock, deadline); !made.ok()) return made;
    connection = std::make_unique<MariadbConnection>(place.name, clock);
    up = connection->Connect(options, place.address, /*use_database=*/true, deadline);
  }
  if (up.ok()) up = connection->SetUp();
  if (!up.ok()) return connection->Denied() ? WithAdvice(up, options) : up;
  return std::unique_ptr<sql::Connection>(std::move(connection));
}

// Calls try_one for each of `all` until one succeeds. One that never answers must leave time for
// the next, so each has its share of what is left.
template <typename T, typename TryOne>
Opened TryInTurn(const std::vector<T>& all, const Clock& clock, MonotonicTime deadline,
                 TryOne try_one) {
  Status failed;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const MonotonicTime now = clock.Monotonic();
    Opened opened =
        try_one(all[i], now + (deadline - now) / static_cast<std::int64_t>(all.size() - i));
    if (opened.ok()) return opened;
    // What a server has said weighs more than that another one did not answer.
    if (failed.ok() || failed.code() == Code::kUnavailable) failed = opened.status();
  }
  return failed;
}

Opened OpenHost(const MariadbOptions& options, const HostPort& host, bool create,
                const Clock& clock, MonotonicTime deadline) {
  Result<std::vector<HostAddress>> addresses = ResolveHost(host.host, host.port, clock, deadline);
  if (!addresses.ok()) return addresses.status();
  // A certificate has the name, so the connector must look it up once more.
  if (options.tls && options.tls_verify) addresses->assign(1, {.text = host.host});
  const std::string name =
      fmt::format("database {} at {}:{}", options.database, host.host, host.port);
  return TryInTurn(*addresses, clock, deadline, [&](const HostAddress& address, MonotonicTime end) {
    const HostPort at{address.text, host.port};
    return OpenAt(options, {&at, name}, create, clock, end);
  });
}

}  // namespace

Opened OpenMariadbConnection(const MariadbOptions& options, bool create, const Clock& clock,
                             MonotonicTime deadline) {
  if (options.hosts.empty()) {
    const std::string name =
        fmt::format("database {} at {}", options.database,
                    options.socket.empty() ? std::string_view("the Unix socket") : options.socket);
    return OpenAt(options, {nullptr, name}, create, clock, deadline);
  }
  return TryInTurn(options.hosts, clock, deadline, [&](const HostPort& host, MonotonicTime end) {
    return OpenHost(options, host, create, clock, end);
  });
}

}  // namespace keymill::store
