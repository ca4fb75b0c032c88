// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/postgres/postgres_connection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/sql/first_words.h"

namespace keymill::store {
namespace {

using sql::Access;
using sql::Row;
using sql::Value;

// The longest that the server waits for our next statement inside a transaction. What is done
// between two takes microseconds; a process that is stopped there must not hold the row's lock.
constexpr std::int64_t kIdleMsMax = 1'000;

constexpr std::string_view kIdleTooLong = "25P03";
constexpr std::string_view kUniqueViolation = "23505";
constexpr std::string_view kNoRight = "42501";
// Also for tables in a schema that we may not look into.
constexpr std::string_view kNoTable = "42P01";

bool IsClass(std::string_view sqlstate, std::string_view name) {
  return sqlstate.starts_with(name);
}

// A clash with another transaction, after which the same work may succeed: a deadlock, a row
// that somebody else inserted first, a session that was taken from a process that slept.
bool IsClash(std::string_view sqlstate) {
  return sqlstate == "40001" || sqlstate == "40P01" || sqlstate == kUniqueViolation ||
         sqlstate == kIdleTooLong;
}

// What a statement's failure means, before COMMIT was sent: nothing has happened.
Status StatementError(const PqAnswer& answer, std::string_view what, std::string_view where) {
  std::string said = fmt::format("{} on {}: {}", what, where, answer.said);
  const std::string& state = answer.sqlstate;
  if (!state.empty()) said += fmt::format(" ({})", state);
  if (state.empty() || answer.fatal || IsClash(state)) return {Code::kUnavailable, said};
  if (state == kNoRight) return {Code::kUnavailable, said};  // See Denied.
  // Connections, resources, locks and cancellation, operators, the server's files; a standby.
  for (const std::string_view name : {"08", "53", "55", "57", "58", "25006", "28"}) {
    if (IsClass(state, name)) return {Code::kUnavailable, said};
  }
  return {Code::kInternal, said};
}

// Whether a failed COMMIT is known to have been undone. The list is short on purpose: whatever
// else is said, by the server or by somebody in between, may have been said after the fact.
bool WasUndone(const PqAnswer& answer) {
  const std::string& state = answer.sqlstate;
  if (state == kIdleTooLong) return true;
  if (answer.fatal) return false;
  return state == "40001" || state == "40P01" || IsClass(state, "23");
}

std::int64_t ReadNumber(const char* data, std::size_t size) {
  std::uint64_t bits = size > 0 && (static_cast<unsigned char>(data[0]) & 0x80U) != 0
                           ? ~std::uint64_t{0}
                           : std::uint64_t{0};
  for (std::size_t i = 0; i < size; ++i) {
    bits = bits << 8U | static_cast<unsigned char>(data[i]);
  }
  return static_cast<std::int64_t>(bits);
}

Value ReadValue(const PGresult* result, int row, int column) {
  // Object ids of pg_type: bool, bytea, int8, int2, int4.
  constexpr std::array<Oid, 4> kNumbers = {16, 20, 21, 23};
  constexpr Oid kBytea = 17;
  const char* const data = PQgetvalue(result, row, column);
  const auto size = static_cast<std::size_t>(PQgetlength(result, row, column));
  const Oid type = PQftype(result, column);
  const bool null = PQgetisnull(result, row, column) != 0;
  if (!null && std::find(kNumbers.begin(), kNumbers.end(), type) != kNumbers.end()) {
    return ReadNumber(data, size);
  }
  if (type == kBytea) return sql::Bytes{std::string(data, size)};
  return std::string(data, size);
}

// Until the end of the transaction.
constexpr std::string_view kSchemaLock = "SELECT pg_advisory_xact_lock(1263356236)";  // "KMIL"

class PostgresConnection final : public sql::Connection {
 public:
  PostgresConnection(std::unique_ptr<PqLink> link, const std::string& schema, std::string where,
                     const Clock& clock)
      : link_(std::move(link)),
        schema_(QuoteName(schema)),
        where_(std::move(where)),
        clock_(clock) {}

  Status Begin(Access access, MonotonicTime deadline) override {
    access_ = access;
    deadline_ = deadline;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock_.Monotonic());
    const std::int64_t left_ms = std::clamp<std::int64_t>(left.count(), 1, 3'600'000);
    // Somewhat less than is left, so that the server has time to say what it waited for.
    std::string script = fmt::format(
        "BEGIN ISOLATION LEVEL {}; SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = {}; "
        "SET LOCAL idle_in_transaction_session_timeout = {}; SET LOCAL search_path = {}, pg_temp; "
        "SET LOCAL client_min_messages = warning",  // Commit listens for them.
        access == Access::kWrite ? "READ COMMITTED READ WRITE" : "REPEATABLE READ READ ONLY",
        std::max<std::int64_t>(left_ms * 9 / 10, 1), std::max<std::int64_t>(left_ms * 19 / 20, 1),
        std::min(left_ms, kIdleMsMax), schema_);
    if (access == Access::kWrite) script += "; SET LOCAL synchronous_commit = on";
    const PqAnswer answer = link_->RunScript(script, deadline);
    denied_ = false;
    if (answer.ok()) {
      clashed_ = false;
      used_ = true;
      return {};
    }
    // A session that ended while nobody looked says nothing of the next one.
    clashed_ = link_->lost() && used_ && clock_.Monotonic() < deadline;
    Status failed = StatementError(answer, "begin", where_);
    Rollback();
    return failed;
  }

  Result<std::vector<Row>> Query(std::string_view sql, std::span<const Value> values) override {
    const PqAnswer answer = link_->Run(NumberedPlaceholders(sql), values, deadline_);
    if (!answer.ok()) return Failed(answer, sql);
    std::vector<Row> rows;
    const int columns = PQnfields(answer.result.get());
    for (int row = 0; row < PQntuples(answer.result.get()); ++row) {
      Row& read = rows.emplace_back();
      for (int column = 0; column < columns; ++column) {
        read.push_back(ReadValue(answer.result.get(), row, column));
      }
    }
    return rows;
  }

  Result<std::int64_t> Execute(std::string_view sql, std::span<const Value> values) override {
    const PqAnswer answer = link_->Run(NumberedPlaceholders(sql), values, deadline_);
    if (!answer.ok()) return Failed(answer, sql);
    const std::string_view changed = PQcmdTuples(answer.result.get());
    std::int64_t count = 0;
    std::from_chars(changed.data(), changed.data() + changed.size(), count);
    return count;
  }

  // CREATE … IF NOT EXISTS fails when two do it at once, and where the schema is there already for
  // a role that may make none.
  Status LockSchema() override {
    if (Result<std::int64_t> locked = Execute(kSchemaLock, {}); !locked.ok()) {
      return locked.status();
    }
    const std::array<Value, 1> name = {schema_};
    Result<std::vector<Row>> absent = Query("SELECT pg_catalog.to_regnamespace(?) IS NULL", name);
    if (!absent.ok()) return absent.status();
    if (absent->size() == 1 && absent->front().at(0) == Value(std::int64_t{0})) return {};
    return Execute(fmt::format("CREATE SCHEMA IF NOT EXISTS {}", schema_), {}).status();
  }

  Status Commit() override {
    if (link_->lost() || clock_.Monotonic() >= deadline_) {
      link_.reset();  // Nothing was sent: the server undoes it when the session ends.
      return {Code::kUnavailable, fmt::format("commit on {}: too late", where_)};
    }
    if (!link_->can_commit()) return LostTransaction();
    const PqAnswer answer = link_->Run("COMMIT", {}, deadline_);
    if (access_ == Access::kRead) {
      return answer.ok() ? Status() : StatementError(answer, "commit", where_);
    }
    if (!answer.ok()) {
      clashed_ = IsClash(answer.sqlstate);
      return {WasUndone(answer) ? Code::kUnavailable : Code::kUnknownOutcome,
              fmt::format("commit on {}: {}", where_, answer.said)};
    }
    // "might not have been replicated": the standby that takes over may not have it. Nor does any
    // other warning belong to a commit that went as it should.
    if (!answer.warning.empty()) {
      return {Code::kUnknownOutcome,
              fmt::format("commit on {}: the server warned: {}", where_, answer.warning)};
    }
    if (const std::string_view done = PQcmdStatus(answer.result.get()); done != "COMMIT") {
      return {Code::kUnavailable,
              fmt::format("commit on {}: the server answered {}", where_, done)};
    }
    return {};
  }

  void Rollback() override {
    if (!link_ || link_->lost() || !link_->in_transaction()) return;
    // The link counts as lost if this does not work.
    if (!link_->RunScript("ROLLBACK", deadline_).ok()) link_.reset();
  }

  Status CheckAlive() override {
    if (link_) link_->Look();
    if (link_ && !link_->lost() && !link_->in_transaction()) return {};
    return {Code::kUnavailable, fmt::format("use {}: the connection was lost", where_)};
  }

  [[nodiscard]] bool Clashed() const override { return clashed_; }
  [[nodiscard]] bool Denied() const override { return denied_; }
  [[nodiscard]] bool Exposed() const override { return link_ && link_->exposed(); }

 private:
  // COMMIT without a transaction succeeds, with a warning. Who asks for one without having one
  // talks to somebody in between who has ended it, or never began it: then each statement may have
  // been committed by itself.
  Status LostTransaction() {
    const bool undone = access_ == Access::kRead || link_->in_transaction();
    link_.reset();
    return {undone ? Code::kUnavailable : Code::kUnknownOutcome,
            fmt::format("commit on {}: the transaction is gone", where_)};
  }

  Status Failed(const PqAnswer& answer, std::string_view sql) {
    clashed_ = IsClash(answer.sqlstate);
    denied_ = answer.sqlstate == kNoRight || answer.sqlstate == kNoTable;
    return StatementError(answer, FirstWords(sql), where_);
  }

  std::unique_ptr<PqLink> link_;
  const std::string schema_;  // Quoted.
  const std::string where_;
  const Clock& clock_;
  Access access_ = Access::kRead;
  MonotonicTime deadline_;
  bool clashed_ = false;
  bool denied_ = false;
  bool used_ = false;
};

}  // namespace

std::string NumberedPlaceholders(std::string_view sql) {
  std::string numbered;
  int count = 0;
  char quote = 0;
  for (const char c : sql) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '?') {
      numbered += fmt::format("${}", ++count);
      continue;
    }
    numbered += c;
  }
  return numbered;
}

std::string QuoteName(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string QuoteText(std::string_view text) {
  std::string quoted = text.find('\\') == std::string_view::npos ? "'" : "E'";
  for (const char c : text) quoted.append(c == '\'' || c == '\\' ? 2 : 1, c);
  return quoted + '\'';
}

Status ConnectError(const PqAnswer& answer, std::string_view where) {
  const std::string& state = answer.sqlstate;
  std::string said = fmt::format("connect to {}: {}", where, answer.said);
  if (!state.empty()) said += fmt::format(" ({})", state);
  if (state == "3D000") said += "; create it: CREATE DATABASE …";
  // Authorization, no such database, no right to connect.
  const bool refused = IsClass(state, "28") || state == "3D000" || state == kNoRight;
  return {refused ? Code::kFailedPrecondition : Code::kUnavailable, std::move(said)};
}

std::unique_ptr<sql::Connection> MakePostgresConnection(std::unique_ptr<PqLink> link,
                                                        const std::string& schema,
                                                        std::string where, const Clock& clock) {
  return std::make_unique<PostgresConnection>(std::move(link), schema, std::move(where), clock);
}

}  // namespace keymill::store
