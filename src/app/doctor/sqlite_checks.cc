// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/sqlite_checks.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/doctor/keyspace_checks.h"

namespace keymill::app::doctor {
namespace {

using State = store::SqliteInspection::State;

Finding CheckFiles(const SqliteFacts& facts) {
  for (const FileFacts& file : facts.files) {
    // A file system that is mounted read-only is told of with the file system.
    if (file.access_error == 0 || file.access_error == EROFS) continue;
    return {"files", Severity::kProblem,
            fmt::format("user {} cannot use {}: {}", facts.user, file.path,
                        std::generic_category().message(file.access_error)),
            OwnershipFix(facts.user, file.path, /*directory=*/false)};
  }
  for (const FileFacts& file : facts.files) {
    if (file.path != facts.path || (file.mode & 077) == 0) continue;
    return {
        "files", Severity::kWarning,
        fmt::format("{} has mode {:03o}: it holds the secrets of shuffled keyspaces, and others "
                    "can read or change them",
                    file.path, file.mode),
        fmt::format("chmod 600 {}", ShellWord(file.path))};
  }
  if (facts.files.empty()) return {"files", Severity::kOk, "none seen", ""};
  return {"files", Severity::kOk, fmt::format("{}, all ours to use", facts.files.size()), ""};
}

Finding MissingStore(const SqliteFacts& facts) {
  const std::string known = Remembered(facts.witness);
  if (!known.empty()) {
    return {
        "store", Severity::kProblem,
        fmt::format("{} is missing, but the witness remembers {}: starting anew would repeat keys",
                    facts.path, known),
        fmt::format("restore the database or mount the right volume; to start anew on purpose: "
                    "mv {0} {0}.old",
                    ShellWord(facts.witness_path))};
  }
  if (!facts.may_create) {
    return {"store", Severity::kProblem,
            fmt::format("{} is missing, and store_create is never", facts.path),
            "mount the right volume, or start once with --store-create auto"};
  }
  return {"store", Severity::kOk,
          fmt::format("{} is not there yet; the first start makes it", facts.path), ""};
}

Finding ReadableStore(const SqliteFacts& facts) {
  const store::SqliteInspection& seen = facts.seen;
  const std::string says = fmt::format("{}, {} KiB, schema version {}, rollback journal",
                                       facts.path, seen.bytes / 1024, seen.schema_version);
  if (seen.schema_version > seen.schema_known) {
    return {"store", Severity::kProblem,
            fmt::format("{}, but this program knows {}", says, seen.schema_known),
            "run a keymill that is at least as new as the one that last opened it; which this is: "
            "keymill version"};
  }
  if (seen.being_filled) return FilledStore(says);
  if (!seen.moved_to.empty()) return SealedStore(says, seen.moved_to);
  if (seen.schema_version < seen.schema_known) {
    return {"store", Severity::kNote, fmt::format("{}, of {}", says, seen.schema_known),
            "nothing: the next start brings it up to date"};
  }
  return {"store", Severity::kOk, says, ""};
}

Finding CheckStore(const SqliteFacts& facts) {
  const std::string word = ShellWord(facts.path);
  const std::string& said = facts.seen.said;
  switch (facts.seen.state) {
    case State::kAbsent:
    case State::kNoSchema:
      return MissingStore(facts);
    case State::kReadable:
      return ReadableStore(facts);
    case State::kLocked:
      return {"store", Severity::kWarning, fmt::format("not looked at: {}", said),
              fmt::format("fuser -v {} says who has it; ask again when it is done", word)};
    case State::kHotJournal:
      return {"store", Severity::kWarning, fmt::format("{} ({}-journal)", said, facts.path),
              fmt::format("keymill keyspace list{} rolls it back, as any start does; never remove "
                          "the journal",
                          facts.flags)};
    case State::kWal:
      return {
          "store", Severity::kWarning,
          fmt::format("{} is in WAL mode, which another program must have set; not looked at, "
                      "since that would leave files",
                      facts.path),
          fmt::format("stop every keymill, then: sqlite3 {} 'PRAGMA journal_mode = DELETE'", word)};
    case State::kNotOurs:
      return {"store", Severity::kProblem, said,
              "name another file: store: sqlite:PATH in keymill.yml, or --store sqlite:PATH"};
    case State::kUnreadable:
      return {"store", Severity::kProblem, fmt::format("read {}: {}", facts.path, said),
              fmt::format("{}; if the disk fails (dmesg --level err), put a backup in its place",
                          OwnershipFix(facts.user, facts.path, /*directory=*/false))};
    case State::kDamaged:
      break;
  }
  return {
      "store", Severity::kProblem, said,
      fmt::format("stop every keymill, then: mv {0} {0}.damaged, and put a backup in its place; "
                  "doctor tells how far back it is",
                  word)};
}

Finding CheckIntegrity(const SqliteFacts& facts) {
  const std::string word = ShellWord(facts.path);
  if (!facts.seen.damage.empty()) {
    return {"integrity", Severity::kProblem,
            fmt::format("{} is damaged: {}", facts.path, facts.seen.damage),
            fmt::format("stop every keymill, then: mv {0} {0}.damaged, and put a backup in its "
                        "place; doctor tells how far back it is",
                        word)};
  }
  if (!facts.seen.checked) {
    return {
        "integrity", Severity::kNote, "too much to check in a second, and a check holds writers up",
        fmt::format("when it may take its time: sqlite3 -readonly {} 'PRAGMA quick_check'", word)};
  }
  return {"integrity", Severity::kOk, "quick_check found nothing", ""};
}

// Only sensible for a store that could be read.
Finding CheckWitness(const SqliteFacts& facts) {
  const std::string& path = facts.witness_path;
  if (!facts.witness.exists) {
    if (facts.seen.keyspaces.empty()) {
      return {"witness", Severity::kOk, fmt::format("{} has nothing to remember yet", path), ""};
    }
    return {
        "witness", Severity::kWarning,
        fmt::format("{} is missing, so that nobody can tell whether the database is an old copy",
                    path),
        fmt::format("restore it from a backup; if you are sure of the database, keymill mint -n 1 "
                    "{}{} writes a new one",
                    ShellWord(facts.seen.keyspaces.front().name), facts.flags)};
  }
  const std::string location = fmt::format("sqlite:{}", facts.path);
  for (const auto& [id, known] : facts.witness.locations) {
    if (known != location || id == facts.seen.store_id) continue;
    return {"witness", Severity::kProblem,
            fmt::format("another store was at {} before: its id was {}, this one's is {}",
                        facts.path, id, facts.seen.store_id),
            fmt::format("put the right database back; if the change is meant: mv {0} {0}.old",
                        ShellWord(path))};
  }
  return {"witness", Severity::kOk,
          fmt::format("{}, keyspaces seen: {}", path, facts.witness.keyspaces.size()), ""};
}

}  // namespace

Findings CheckSqlite(const SqliteFacts& facts) {
  Findings findings = {CheckFiles(facts), CheckStore(facts)};
  if (!facts.witness_status.ok()) {
    findings.push_back(UnreadableWitness(facts.witness_status, facts.user, facts.witness_path));
  }
  const store::SqliteInspection& seen = facts.seen;
  if (seen.state != State::kReadable || seen.schema_version > seen.schema_known) return findings;
  findings.push_back(CheckIntegrity(facts));
  if (facts.witness_status.ok()) findings.push_back(CheckWitness(facts));
  for (Finding& each : CheckKeyspaces({.keyspaces = seen.keyspaces,
                       .store_id = seen.store_id,
                       .witness = facts.witness,
                       .configured = facts.configured,
                       .flags = facts.flags,
                       .now_ms = facts.now_ms,
                       .newer_copy = fmt::format("put the newer copy back at {}", facts.path)})) {
    findings.push_back(std::move(each));
  }
  return findings;
}

}  // namespace keymill::app::doctor
