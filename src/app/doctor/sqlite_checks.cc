// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/sqlite_checks.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "keys/recipe_text.h"
#include "mint/engine.h"
#include "mint/forecast.h"

namespace keymill::app::doctor {
namespace {

using State = store::SqliteInspection::State;
using Seen = mint::WitnessFile::View::Seen;

constexpr double kUsedWarning = 0.9;
constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kSoonDays = 30;

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

// "sqlite:/srv/data/keymill.db", or "" when the witness remembers nothing.
std::string Remembered(const mint::WitnessFile::View& witness) {
  if (!witness.locations.empty()) return witness.locations.begin()->second;
  return witness.keyspaces.empty() ? "" : "a store";
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

// A keyspace that was seen in this store and that it has not any more.
Findings CheckLost(const SqliteFacts& facts) {
  Findings findings;
  for (const Seen& each : facts.witness.keyspaces) {
    if (each.store_id != facts.seen.store_id) continue;
    const bool kept =
        std::any_of(facts.seen.keyspaces.begin(), facts.seen.keyspaces.end(),
                    [&](const KeyspaceRecord& record) { return record.id == each.keyspace_id; });
    if (kept) continue;
    findings.push_back(
        {"keyspace " + each.name, Severity::kProblem,
         "the witness has seen it and the store does not have it: the store went back to an older "
         "copy",
         fmt::format("put the newer copy back at {}; without one, use another name", facts.path)});
  }
  return findings;
}

const Seen* WitnessOf(const SqliteFacts& facts, const KeyspaceRecord& record) {
  for (const Seen& each : facts.witness.keyspaces) {
    if (each.store_id == facts.seen.store_id && each.keyspace_id == record.id) return &each;
  }
  return nullptr;
}

double UsedShare(const KeyspaceRecord& record) {
  const auto capacity = static_cast<double>(record.end - record.first);
  return capacity > 0 ? static_cast<double>(record.next - record.first) / capacity : 1;
}

// A keyspace's recipe is fixed, so that more keys need another one.
std::string Successor(const SqliteFacts& facts, const KeyspaceRecord& record) {
  const Result<Recipe> recipe = keys::ParseRecipeText(record.recipe);
  const std::string name = ShellWord(record.name + "2");
  if (!recipe.ok()) return fmt::format("keymill keyspace create {}{}", name, facts.flags);
  const std::string prefix =
      recipe->prefix.empty() ? "" : fmt::format(" --prefix {}", ShellWord(recipe->prefix));
  return fmt::format("keymill keyspace create {} --kind {} --alphabet {} --length {}{}{}", name,
                     KindName(recipe->kind), ShellWord(recipe->alphabet), recipe->length + 1,
                     prefix, facts.flags);
}

// Days until nothing is left at the average rate so far; -1 when there is nothing to say. A day's
// experience is the least: the first block of a small keyspace is no rate.
std::int64_t DaysLeft(const KeyspaceRecord& record, std::int64_t now_ms) {
  if (now_ms - record.created_at_ms < kDayMs) return -1;
  const auto at = mint::ExhaustedAtMs({.used = record.next - record.first,
                                       .left = record.end - record.next,
                                       .created_at_ms = record.created_at_ms},
                                      now_ms);
  return at ? (*at - now_ms) / kDayMs : -1;
}

Finding CheckKeyspace(const SqliteFacts& facts, const KeyspaceRecord& record) {
  const std::string check = "keyspace " + record.name;
  const std::string word = ShellWord(record.name);
  if (const auto wanted = facts.configured.find(record.name); wanted != facts.configured.end()) {
    const Status fits = mint::CheckRecipe(record, wanted->second);
    if (!fits.ok()) {
      return {check, Severity::kProblem, fmt::format("serve refuses to start: {}", fits.message()),
              fmt::format("mend keyspaces in the configuration; the store has: keymill keyspace "
                          "show {}{}",
                          word, facts.flags)};
    }
  }
  if (record.state == KeyspaceState::kRetired) return {check, Severity::kOk, "retired", ""};
  if (record.state == KeyspaceState::kQuarantined) {
    return {check, Severity::kProblem, fmt::format("quarantined: {}", record.reason),
            fmt::format("put the newer copy of the database back, or: keymill recover {}{}", word,
                        facts.flags)};
  }
  const Seen* const seen = WitnessOf(facts, record);
  if (seen != nullptr && (record.rev < seen->seen.rev || record.next < seen->seen.next)) {
    return {
        check, Severity::kProblem,
        fmt::format("the store went back: revision {} and next number {} were seen, now it says "
                    "{} and {}",
                    seen->seen.rev, seen->seen.next, record.rev, record.next),
        fmt::format("put the newer copy of the database back, or: keymill recover {}{}", word,
                    facts.flags)};
  }
  const double used = UsedShare(record);
  const std::string says =
      fmt::format("{:.1f} % used, {} left", used * 100, record.end - record.next);
  if (record.next == record.end) {
    return {check, Severity::kProblem, "exhausted: no new number is left",
            Successor(facts, record)};
  }
  if (used > kUsedWarning) {
    return {check, Severity::kWarning, says, Successor(facts, record)};
  }
  const std::int64_t days = DaysLeft(record, facts.now_ms);
  if (days >= 0 && days < kSoonDays) {
    return {check, Severity::kWarning,
            fmt::format("{}, which last {} days at this rate", says, days),
            Successor(facts, record)};
  }
  return {check, Severity::kOk, says, ""};
}

}  // namespace

Findings CheckSqlite(const SqliteFacts& facts) {
  Findings findings = {CheckFiles(facts), CheckStore(facts)};
  if (!facts.witness_status.ok()) {
    const bool damaged = facts.witness_status.code() == Code::kFailedPrecondition;
    findings.push_back({"witness", Severity::kProblem, facts.witness_status.message(),
                        damaged ? fmt::format("restore {} from a backup", facts.witness_path)
                                : OwnershipFix(facts.user, facts.witness_path, false)});
  }
  const store::SqliteInspection& seen = facts.seen;
  if (seen.state != State::kReadable || seen.schema_version > seen.schema_known) return findings;
  findings.push_back(CheckIntegrity(facts));
  if (facts.witness_status.ok()) findings.push_back(CheckWitness(facts));
  std::size_t sound = 0;
  double fullest = 0;
  for (const KeyspaceRecord& record : seen.keyspaces) {
    Finding finding = CheckKeyspace(facts, record);
    if (finding.severity == Severity::kOk) {
      ++sound;
      if (record.state == KeyspaceState::kOpen) fullest = std::max(fullest, UsedShare(record));
    } else {
      findings.push_back(std::move(finding));
    }
  }
  for (Finding& lost : CheckLost(facts)) findings.push_back(std::move(lost));
  findings.push_back({"keyspaces", Severity::kOk,
                      fmt::format("{} of {} are well, the fullest {:.1f} % used", sound,
                                  seen.keyspaces.size(), fullest * 100),
                      ""});
  return findings;
}

}  // namespace keymill::app::doctor
