// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sqlite/sqlite_connection.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "store/sql/first_words.h"

namespace keymill::store {
namespace {

using sql::Access;
using sql::Row;
using sql::Value;

constexpr std::int64_t kApplicationId = 1263356236;  // "KMIL"

// The one place that reads SQLite's codes. A COMMIT that fails is a known outcome here:
// with a rollback journal the transaction is undone, so nothing is ever kUnknownOutcome.
Status SqliteError(sqlite3* db, int code, std::string_view what, std::string_view path) {
  const std::string said = fmt::format("{} {}: {}", what, path,
                                       db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CANTOPEN:
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_INTERRUPT:
    case SQLITE_PROTOCOL:
      return {Code::kUnavailable, said};
    case SQLITE_NOTADB:
      return {Code::kFailedPrecondition, said};
    case SQLITE_IOERR:
      // A failed fsync may have thrown away what it could not write; asking again would
      // only be told that all is well.
      return {(code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC) ? Code::kInternal
                                                                             : Code::kUnavailable,
              said};
    default:
      return {Code::kInternal, said};
  }
}

bool IsNumber(const Value& value, std::int64_t expected) {
  const auto* const number = std::get_if<std::int64_t>(&value);
  return number != nullptr && *number == expected;
}

class SqliteConnection final : public sql::Connection {
 public:
  SqliteConnection(sqlite3* db, std::string path, const Clock& clock)
      : path_(std::move(path)), clock_(clock), db_(db) {
    sqlite3_busy_handler(db_, &SqliteConnection::OnBusy, this);
    sqlite3_extended_result_codes(db_, 1);
  }
  ~SqliteConnection() override { sqlite3_close_v2(db_); }

  Status Begin(Access access, MonotonicTime deadline) override {
    deadline_ = deadline;
    const auto begun = Execute(access == Access::kWrite ? "BEGIN IMMEDIATE" : "BEGIN", {});
    return begun.status();
  }

  Result<std::vector<Row>> Query(std::string_view sql, std::span<const Value> values) override {
    std::vector<Row> rows;
    Status done = Run(sql, values, &rows);
    if (!done.ok()) return done;
    return rows;
  }

  Result<std::int64_t> Execute(std::string_view sql, std::span<const Value> values) override {
    Status done = Run(sql, values, nullptr);
    if (!done.ok()) return done;
    return static_cast<std::int64_t>(sqlite3_changes64(db_));
  }

  Status Commit() override {
    Status done = Run("COMMIT", {}, nullptr);  // The busy handler retries until the deadline.
    if (!done.ok()) Rollback();
    return done;
  }

  void Rollback() override {
    if (sqlite3_get_autocommit(db_) == 0) Run("ROLLBACK", {}, nullptr).Ignore();
  }

  // A file that was replaced under an open connection would let two processes count in two
  // files of one name.
  Status CheckAlive() override {
    int moved = 0;
    sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved == 0) return {};
    return {Code::kUnavailable, fmt::format("use {}: the file was moved or replaced", path_)};
  }

  // Refuses what is no store of ours; sets what durability needs and reads it back.
  Status SetUp(MonotonicTime deadline) {
    deadline_ = deadline;
    sqlite3_progress_handler(db_, kStepsBetweenLooks, &SqliteConnection::OnProgress, this);
    // First of all: setting the journal mode would rewrite another program's file.
    if (Status ours = CheckOurs(); !ours.ok()) return ours;
    struct Pragma {
      std::string_view set;
      std::string_view read;
      Value want;
    };
    const Pragma pragmas[] = {
        {"PRAGMA journal_mode = DELETE", "PRAGMA journal_mode", std::string("delete")},
        {"PRAGMA synchronous = EXTRA", "PRAGMA synchronous", std::int64_t{3}},
        {"PRAGMA mmap_size = 0", "PRAGMA mmap_size", std::int64_t{0}},
        {"PRAGMA locking_mode = NORMAL", "PRAGMA locking_mode", std::string("normal")},
        {"PRAGMA trusted_schema = OFF", "PRAGMA trusted_schema", std::int64_t{0}},
    };
    for (const Pragma& pragma : pragmas) {
      if (Result<std::vector<Row>> set = Query(pragma.set, {}); !set.ok()) return set.status();
      Result<std::vector<Row>> got = Query(pragma.read, {});
      if (!got.ok()) return got.status();
      // mmap_size answers with no row at all where the build has no memory mapping.
      if (!got->empty() && got->front().at(0) != pragma.want) {
        return {Code::kFailedPrecondition,
                fmt::format("set up {}: SQLite did not accept \"{}\"", path_, pragma.set)};
      }
    }
    return {};
  }

  // Instead of SetUp, for a connection that only reads, and what another program has written.
  Status SetUpForeign(MonotonicTime deadline) {
    deadline_ = deadline;
    sqlite3_progress_handler(db_, kStepsBetweenLooks, &SqliteConnection::OnProgress, this);
    return Query("PRAGMA trusted_schema = OFF", {}).status();
  }

  // Instead of SetUp, for a connection that only reads.
  Status SetUpReader(MonotonicTime deadline) {
    deadline_ = deadline;
    sqlite3_progress_handler(db_, kStepsBetweenLooks, &SqliteConnection::OnProgress, this);
    Status ours = CheckOurs();
    if (sqlite3_extended_errcode(db_) == SQLITE_READONLY_ROLLBACK) {
      return {Code::kUnknownOutcome,
              fmt::format("read {}: a transaction was cut off and is not rolled back yet", path_)};
    }
    if (!ours.ok()) return ours;
    return Query("PRAGMA trusted_schema = OFF", {}).status();
  }

 private:
  static constexpr int kStepsBetweenLooks = 10'000;  // Of SQLite's machine: well under 1 ms.

  // Long reads end at their deadline; nobody else can write while they last. What writes is short,
  // and is not cut off.
  static int OnProgress(void* self) {
    const auto& connection = *static_cast<const SqliteConnection*>(self);
    if (sqlite3_txn_state(connection.db_, "main") == SQLITE_TXN_WRITE) return 0;
    return connection.clock_.Monotonic() >= connection.deadline_ ? 1 : 0;
  }

  static int OnBusy(void* self, int tries) {
    const auto& connection = *static_cast<const SqliteConnection*>(self);
    if (connection.clock_.Monotonic() >= connection.deadline_) return 0;
    // Short naps: whoever sleeps longer than the others sleeps while they take turns.
    std::this_thread::sleep_for(std::chrono::milliseconds(tries < 200 ? 1 : 5));
    return 1;
  }

  Status CheckOurs() {
    Result<std::vector<Row>> tables = Query("SELECT count(*) FROM sqlite_schema", {});
    if (!tables.ok()) return tables.status();
    Result<std::vector<Row>> id = Query("PRAGMA application_id", {});
    if (!id.ok()) return id.status();
    if (IsNumber(tables->front().at(0), 0) || IsNumber(id->front().at(0), kApplicationId)) {
      return {};
    }
    return {Code::kFailedPrecondition,
            fmt::format("open {}: this SQLite file belongs to another program", path_)};
  }

  Status Run(std::string_view sql, std::span<const Value> values, std::vector<Row>* rows) {
    sqlite3_stmt* raw = nullptr;
    int code = sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
    if (code != SQLITE_OK) return SqliteError(db_, code, FirstWords(sql), path_);
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
    for (std::size_t i = 0; i < values.size(); ++i) {
      code = Bind(statement.get(), static_cast<int>(i) + 1, values[i]);
      if (code != SQLITE_OK) return SqliteError(db_, code, FirstWords(sql), path_);
    }
    while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
      if (rows != nullptr) rows->push_back(ReadRow(statement.get()));
    }
    if (code != SQLITE_DONE) return SqliteError(db_, code, FirstWords(sql), path_);
    return {};
  }

  static int Bind(sqlite3_stmt* statement, int at, const Value& value) {
    if (const auto* const number = std::get_if<std::int64_t>(&value)) {
      return sqlite3_bind_int64(statement, at, *number);
    }
    if (const auto* const bytes = std::get_if<sql::Bytes>(&value)) {
      // A null pointer would bind NULL, so an empty blob needs an address too.
      const char* const data = bytes->data.empty() ? "" : bytes->data.data();
      return sqlite3_bind_blob64(statement, at, data, bytes->data.size(), SQLITE_TRANSIENT);
    }
    const auto& text = std::get<std::string>(value);
    return sqlite3_bind_text64(statement, at, text.data(), text.size(), SQLITE_TRANSIENT,
                               SQLITE_UTF8);
  }

  static Row ReadRow(sqlite3_stmt* statement) {
    Row row;
    const int columns = sqlite3_column_count(statement);
    for (int i = 0; i < columns; ++i) {
      const int type = sqlite3_column_type(statement, i);
      if (type == SQLITE_INTEGER) {
        row.emplace_back(std::int64_t{sqlite3_column_int64(statement, i)});
        continue;
      }
      const void* const data = sqlite3_column_blob(statement, i);
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, i));
      std::string bytes;
      if (size > 0) bytes.assign(static_cast<const char*>(data), size);
      if (type == SQLITE_BLOB) {
        row.emplace_back(sql::Bytes{std::move(bytes)});
      } else {
        row.emplace_back(std::move(bytes));
      }
    }
    return row;
  }

  const std::string path_;
  const Clock& clock_;
  sqlite3* const db_;
  MonotonicTime deadline_;
};

// A missing or empty file holds no store. An empty one is what a crash leaves behind when
// it comes before the first commit.
bool HoldsNothing(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? error == std::errc::no_such_file_or_directory : size == 0;
}

// The file holds secrets: nobody else may read it, whatever the umask says. SQLite gives
// its journal the same mode. A failure shows when SQLite opens the file.
void MakePrivateFile(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
}

Result<std::unique_ptr<SqliteConnection>> OpenToRead(const std::filesystem::path& path,
                                                     const Clock& clock) {
  if (HoldsNothing(path)) {
    return Status(Code::kNotFound,
                  fmt::format("read {}: there is no such database", path.string()));
  }
  sqlite3* db = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  if (code != SQLITE_OK) {
    Status failed = SqliteError(db, code, "read", path.string());
    sqlite3_close_v2(db);
    return failed;
  }
  return std::make_unique<SqliteConnection>(db, path.string(), clock);
}

}  // namespace

Result<std::unique_ptr<sql::Connection>> OpenSqliteConnection(const std::filesystem::path& path,
                                                              bool create, const Clock& clock,
                                                              MonotonicTime deadline) {
  if (!create && HoldsNothing(path)) {
    return Status(Code::kNotFound,
                  fmt::format("open {}: there is no such database", path.string()));
  }
  if (create) MakePrivateFile(path);
  sqlite3* db = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  if (code != SQLITE_OK) {
    Status failed = SqliteError(db, code, "open", path.string());
    sqlite3_close_v2(db);
    return failed;
  }
  auto connection = std::make_unique<SqliteConnection>(db, path.string(), clock);
  if (Status ready = connection->SetUp(deadline); !ready.ok()) return ready;
  return std::unique_ptr<sql::Connection>(std::move(connection));
}

Result<std::unique_ptr<sql::Connection>> OpenSqliteReader(const std::filesystem::path& path,
                                                          const Clock& clock,
                                                          MonotonicTime deadline) {
  auto opened = OpenToRead(path, clock);
  if (!opened.ok()) return opened.status();
  if (Status ready = (*opened)->SetUpReader(deadline); !ready.ok()) return ready;
  return std::unique_ptr<sql::Connection>(*std::move(opened));
}

Result<std::unique_ptr<sql::Connection>> OpenForeignSqlite(const std::filesystem::path& path,
                                                           const Clock& clock,
                                                           MonotonicTime deadline) {
  auto opened = OpenToRead(path, clock);
  if (!opened.ok()) return opened.status();
  if (Status ready = (*opened)->SetUpForeign(deadline); !ready.ok()) return ready;
  return std::unique_ptr<sql::Connection>(*std::move(opened));
}

}  // namespace keymill::store
