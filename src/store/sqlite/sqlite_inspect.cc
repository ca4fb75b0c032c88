// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sqlite/sqlite_inspect.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "store/sql/rows.h"
#include "store/sql/schema.h"
#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/sqlite_store.h"

namespace keymill::store {
namespace {

using State = SqliteInspection::State;

// `waited`: the deadline has passed. Whoever is locked out waits until then; what fails sooner
// fails for another reason.
State StateOf(Code code, bool waited) {
  switch (code) {
    case Code::kNotFound:
      return State::kAbsent;
    case Code::kFailedPrecondition:
      return State::kNotOurs;
    case Code::kUnknownOutcome:
      return State::kHotJournal;
    case Code::kInternal:
      return State::kDamaged;
    default:
      return waited ? State::kLocked : State::kUnreadable;
  }
}

// Whether a journal waits to be rolled back. SQLite would find out as well, but as root it gives
// the journal to the database's owner in passing.
bool JournalIsHot(const std::filesystem::path& path, int database) {
  const Descriptor journal(::open((path.string() + "-journal").c_str(), O_RDONLY | O_CLOEXEC));
  char first = 0;  // Zero until the journal is whole.
  if (!journal.open() || ::pread(journal.get(), &first, 1, 0) != 1 || first == 0) return false;
  // Whoever writes holds this byte (sqlite.org/lockingv3.html) until the journal is gone.
  struct flock reserved {};
  reserved.l_type = F_WRLCK;
  reserved.l_whence = SEEK_SET;
  reserved.l_start = 0x40000001;
  reserved.l_len = 1;
  struct stat info {};
  return ::fcntl(database, F_GETLK, &reserved) == 0 && reserved.l_type == F_UNLCK &&
         ::fstat(journal.get(), &info) == 0 && info.st_nlink > 0;
}

// What the file shows without SQLite. Returns whether there is more to see.
bool LookAtFile(const std::filesystem::path& path, SqliteInspection& seen) {
  // Not O_RDONLY alone: a pipe by this name would never open.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!file.open() || ::fstat(file.get(), &info) != 0) {
    const int error = errno;
    if (error == ENOENT) return false;
    seen.state = State::kUnreadable;
    seen.said = std::generic_category().message(error);
    return false;
  }
  if (!S_ISREG(info.st_mode)) {
    seen.state = State::kUnreadable;
    seen.said = "this is not a file";
    return false;
  }
  seen.bytes = static_cast<std::uint64_t>(info.st_size);
  if (seen.bytes == 0) return false;
  // The format's version for readers: 2 is WAL (sqlite.org/fileformat2.html).
  std::array<unsigned char, 20> head{};
  const ssize_t size = ::pread(file.get(), head.data(), head.size(), 0);
  if (size == static_cast<ssize_t>(head.size()) && head[0] == 'S' && head[19] == 2) {
    seen.state = State::kWal;
    return false;
  }
  if (JournalIsHot(path, file.get())) {
    seen.state = State::kHotJournal;
    seen.said =
        fmt::format("a transaction on {} was cut off and is not rolled back yet", path.string());
    return false;
  }
  return true;
}

Status ReadContents(sql::Connection& db, SqliteInspection& seen) {
  Result<std::uint32_t> version = sql::SchemaVersion(db, SqliteDialect());
  if (!version.ok()) return version.status();
  seen.schema_version = *version;
  if (*version == 0) {
    seen.state = State::kNoSchema;
    return {};
  }
  seen.state = State::kReadable;
  Result<StoreIdentity> identity = sql::ReadIdentity(db);
  if (!identity.ok()) return identity.status();
  seen.store_id = identity->store_id;
  if (seen.store_id.empty()) {  // Tables that somebody has made by hand.
    seen.state = State::kNoSchema;
    return {};
  }
  if (*version > seen.schema_known) return {};  // Its tables may be other ones.
  if (*version >= 2) {
    Result<sql::StoreRow> row = sql::SelectStore(db, /*lock=*/"");
    if (!row.ok()) return row.status();
    seen.moved_to = row->moved_to;
    seen.being_filled = !row->fill.empty();
    if (seen.being_filled) return {};  // Who knows what is still missing.
  }
  Result<std::vector<KeyspaceRecord>> keyspaces =
      sql::SelectAllKeyspaces(db, /*lock=*/"", /*testified=*/*version >= 2);
  if (!keyspaces.ok()) return keyspaces.status();
  seen.keyspaces = *std::move(keyspaces);
  // A ledger too long to be read in time is no reason to know nothing.
  Result<std::vector<sql::Row>> newest =
      db.Query("SELECT coalesce(max(reserved_at_ms), 0) FROM keymill_ledger", {});
  if (!newest.ok() && newest.code() != Code::kUnavailable) return newest.status();
  if (newest.ok()) {
    const auto* const ms = std::get_if<std::int64_t>(&newest->front().at(0));
    if (ms != nullptr) seen.newest_ms = *ms;
  }
  for (const KeyspaceRecord& each : seen.keyspaces) {
    seen.newest_ms = std::max(seen.newest_ms, each.created_at_ms);
  }
  return {};
}

void QuickCheck(sql::Connection& db, SqliteInspection& seen) {
  Result<std::vector<sql::Row>> rows = db.Query("PRAGMA quick_check(1)", {});
  if (!rows.ok()) {
    if (rows.code() == Code::kInternal) seen.damage = rows.status().message();
    seen.checked = rows.code() == Code::kInternal;
    return;  // Otherwise out of time: nothing is known.
  }
  seen.checked = true;
  for (const sql::Row& row : *rows) {
    const auto* const text = std::get_if<std::string>(&row.at(0));
    if (text != nullptr && *text != "ok" && seen.damage.empty()) seen.damage = *text;
  }
}

}  // namespace

SqliteInspection InspectSqlite(const std::filesystem::path& path, const Clock& clock,
                               std::chrono::milliseconds patience) {
  SqliteInspection seen;
  seen.schema_known = static_cast<std::uint32_t>(SqliteDialect().migrations.size());
  if (!LookAtFile(path, seen)) return seen;
  MonotonicTime deadline = clock.Monotonic() + patience;
  const auto refuse = [&](const Status& why) {
    seen.state = StateOf(why.code(), clock.Monotonic() >= deadline);
    seen.said = why.message();
    return seen;
  };
  Result<std::unique_ptr<sql::Connection>> opened = OpenSqliteReader(path, clock, deadline);
  if (!opened.ok()) return refuse(opened.status());
  sql::Connection& db = **opened;
  deadline = clock.Monotonic() + patience;
  // One transaction: the figures belong together.
  if (Status begun = db.Begin(sql::Access::kRead, deadline); !begun.ok()) return refuse(begun);
  if (Status read = ReadContents(db, seen); !read.ok()) return refuse(read);
  QuickCheck(db, seen);
  db.Rollback();
  return seen;
}

}  // namespace keymill::store
