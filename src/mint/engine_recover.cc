// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// How a keyspace whose store went back in time is closed, and opened again.

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/random.h"
#include "keys/recipe_text.h"
#include "mint/code_import.h"
#include "mint/engine.h"
#include "mint/patience.h"
#include "mint/worker_leases.h"

namespace keymill::mint {
namespace {

// Rows of one transaction.
constexpr std::uint32_t kBurnedAtOnce = 2'000;

// All blocks that are lent, and all that were given back, are burned in one step: there may be a
// row for each that anybody borrowed in years.
constexpr std::chrono::seconds kRecoverTimeout{30};

}  // namespace

Result<bool> Engine::QuarantineIfBehind(std::string_view name) {
  Result<KeyspaceRecord> record = store_.store().FindKeyspace(name, StoreDeadline());
  if (!record.ok()) return record.status();
  Result<std::vector<KeyspaceRecord>> lines = LinesOf(name);
  if (!lines.ok()) return lines.status();
  for (const KeyspaceRecord& line : *lines) {
    Result<bool> quarantined = ProbeQuarantine(line);
    if (!quarantined.ok()) return quarantined;
    if (!*quarantined) continue;
    if (Status done = QuarantineForLine(*record, line.reason); !done.ok()) return done;
    return true;
  }
  return ProbeQuarantine(*record);
}

Result<bool> Engine::ProbeQuarantine(const KeyspaceRecord& record) {
  Result<Witness> floor = store_.Witnessed(record.id);
  if (!floor.ok()) return floor.status();
  // Nobody may have asked the store for numbers since it went back. To settle a block that does
  // not exist changes nothing, unless the store is behind: then it quarantines the keyspace, in the
  // transaction that finds it so.
  const Result<Witness> probed = store_.store().GiveBack(
      {.keyspace_id = record.id, .block_id = RandomHex(16), .witness = *floor}, StoreDeadline());
  if (probed.code() == Code::kUnavailable || probed.code() == Code::kUnknownOutcome) {
    return probed.status();
  }
  return probed.code() == Code::kQuarantined;
}

// Each step can be made again, so a store that is slow for a moment does not end it half-way.
Result<RecoverReport> Engine::Recover(std::string_view name) {
  if (Status named = CheckKeyspaceName(name); !named.ok()) return named;
  const auto looked = AskPatiently([&] { return QuarantineIfBehind(name); });
  if (!looked.ok()) return looked.status();
  const auto record =
      AskPatiently([&] { return store_.store().FindKeyspace(name, StoreDeadline()); });
  if (!record.ok()) return record.status();
  // Never further: what is quarantined from now on was not prepared below.
  if (record->state != KeyspaceState::kQuarantined) {
    return Status(
        Code::kFailedPrecondition,
        fmt::format("recover {}: it is not quarantined, there is nothing to recover", name));
  }
  // Before the keyspace itself: as long as that is closed nobody uses them.
  if (Status lines = RecoverLines(*record); !lines.ok()) return lines;
  const Result<std::uint64_t> burned = BurnPool(*record);
  if (!burned.ok()) return burned.status();
  Result<RecoverReport> report = RecoverOne(*record);
  if (!report.ok()) return report;
  report->keys_burned = *burned;
  report->forgotten = ForgottenBy(*record);
  if (!report->forgotten.empty()) {
    Log(LogLevel::kWarn, "mint", "recover {}: {}", name, report->forgotten);
  }
  return report;
}

Result<RecoverReport> Engine::RecoverOne(const KeyspaceRecord& record) {
  const auto floor = AskPatiently([&] { return store_.Witnessed(record.id); });
  if (!floor.ok()) return floor.status();
  bool lost = false;  // An answer of the store; not what was written, perhaps.
  Result<RecoverReport> report = AskPatiently([&] {
    const MonotonicTime deadline = clock_.Monotonic() + kRecoverTimeout;
    Result<RecoverReport> answer = store_.store().Recover(record.id, *floor, deadline);
    if (lost && answer.code() == Code::kFailedPrecondition) return RecoveredBefore(record);
    lost = lost || answer.code() == Code::kUnknownOutcome;
    return answer;
  });
  if (!report.ok()) return report;
  const Status kept =
      AskPatiently([&] { return store_.Record(record.id, record.name, report->seen); });
  if (!kept.ok()) return kept;
  return report;
}

Result<RecoverReport> Engine::RecoveredBefore(const KeyspaceRecord& record) {
  const Result<KeyspaceRecord> now = store_.store().FindKeyspace(record.name, StoreDeadline());
  if (!now.ok()) return now.status();
  if (now->id != record.id || now->state != KeyspaceState::kOpen) {
    return Status(
        Code::kFailedPrecondition,
        fmt::format("recover {}: somebody else has changed it meanwhile; look at `keymill "
                    "keyspace show {}`",
                    record.name, record.name));
  }
  return RecoverReport{.next_before = record.next,
                       .next_after = now->next,
                       .returned_burned = std::nullopt,
                       .seen = {now->rev, now->next}};
}

Status Engine::RecoverLines(const KeyspaceRecord& keyspace) {
  const auto lines = AskPatiently([&] { return LinesOf(keyspace.name); });
  if (!lines.ok()) return lines.status();
  std::set<std::string> ids;
  for (const KeyspaceRecord& line : *lines) {
    ids.insert(line.id);
    const auto quarantined = AskPatiently([&] { return ProbeQuarantine(line); });
    if (!quarantined.ok()) return quarantined.status();
    if (!*quarantined) continue;
    if (Result<RecoverReport> done = RecoverOne(line); !done.ok()) return done.status();
  }
  std::map<std::string, std::uint64_t> lost;  // By name, and until when they were used.
  const auto recalled = AskPatiently([&] { return store_.Recall(); });
  if (!recalled.ok()) return recalled.status();
  for (const WitnessFile::Sighting& seen : *recalled) {
    if (!IsWorkerLine(seen.name) || KeyspaceOfLine(seen.name) != keyspace.name) continue;
    if (ids.contains(seen.keyspace_id)) continue;
    std::uint64_t& next = lost[seen.name];
    next = std::max(next, seen.seen.next);
  }
  for (const auto& each : lost) {
    const std::string& name = each.first;
    const std::uint64_t next = each.second;
    const auto found = std::find_if(lines->begin(), lines->end(),
                                    [&](const KeyspaceRecord& line) { return line.name == name; });
    // One that is not there begins again above all that was seen of it.
    const auto line = AskPatiently([&]() -> Result<KeyspaceRecord> {
      if (found != lines->end()) return *found;
      return store_.store().CreateKeyspace(NewWorkerLine(keyspace, name, next), StoreDeadline());
    });
    if (!line.ok()) return line.status();
    if (IsRecovered(*line, next)) continue;
    // Somebody who has seen less of it has made it anew.
    const Status closed = AskPatiently([&] {
      return store_.store().Quarantine(line->id, "it was made anew below time that was used before",
                                       {line->rev, next}, StoreDeadline());
    });
    if (!closed.ok()) return closed;
    if (Result<RecoverReport> done = RecoverOne(*line); !done.ok()) return done.status();
  }
  return {};
}

// In the time that the store has lost, whatever was available may have been taken, what was
// reserved marked, and what was released recycled. None of it may be handed out again, so all of it
// is used before the keyspace is open to anybody. Where keys are recycled, those that are used may
// be in a later life than the store knows: it ends by the recipe's own time from now, and nobody
// can end it by the name of an earlier one.
Result<std::uint64_t> Engine::BurnPool(const KeyspaceRecord& record) {
  Result<Keyspace*> found = Adopt(record);
  if (!found.ok()) return found.status();
  const Keyspace& keyspace = **found;
  const Recipe& recipe = keyspace.recipe();
  if (recipe.kind != Kind::kPool) return std::uint64_t{0};
  KeyRegister keys(
      store_, []() -> Result<std::string> { return std::string(); },
      /*recovering=*/true);
  const std::int64_t now_ms = keys.NowMs();
  const std::int64_t end_ms =
      recipe.expires_s == 0 ? 0 : now_ms + static_cast<std::int64_t>(recipe.expires_s) * 1'000;
  std::uint64_t burned = 0;
  for (;;) {
    // What was taken without an answer is used as well, only not counted.
    const auto taken = AskPatiently([&] {
      return keys.Take(keyspace, {.count = kBurnedAtOnce,
                                  .to = KeyState::kUsed,
                                  .instance = {},
                                  .token = RandomHex(16),
                                  .at_ms = now_ms,
                                  .expires_at_ms = end_ms});
    });
    if (taken.code() == Code::kExhausted) break;
    if (!taken.ok()) return taken.status();
    burned += taken->keys.size();
  }
  // Repeating these does no harm: what has changed does not match any more.
  const auto burn = [&](const KeyMatch& match, std::uint32_t lives) -> Result<std::uint64_t> {
    for (std::uint64_t rows = 0;;) {
      const auto changed = AskPatiently([&] {
        return keys.Change(keyspace, {.match = match,
                                      .to = KeyState::kUsed,
                                      .at_ms = now_ms,
                                      .expires_at_ms = end_ms,
                                      .generations = lives,
                                      .rows_max = kBurnedAtOnce});
      });
      if (!changed.ok()) return changed.status();
      if (changed->empty()) return rows;
      rows += changed->size();
    }
  };
  // What was released may be somebody else's by now, in its next life.
  for (const auto& [state, lives] :
       {std::pair(KeyState::kReserved, 0U), {KeyState::kReleased, 1U}}) {
    const Result<std::uint64_t> rows = burn({.state = state}, lives);
    if (!rows.ok()) return rows.status();
    burned += *rows;
  }
  if (recipe.recycle) {
    if (Status raised = RaiseGenerations(keys, keyspace, now_ms, end_ms); !raised.ok()) {
      return raised;
    }
  }
  if (recipe.recycle && end_ms != 0) {
    // Whatever a clock that was ahead has left.
    const Result<std::uint64_t> rows =
        burn({.state = KeyState::kUsed, .expires_until_ms = end_ms - 1}, 0);
    if (!rows.ok()) return rows.status();
  }
  return burned;
}

// Page by page and key by key, each as it was read: a change by state alone would find what it has
// changed again.
Status Engine::RaiseGenerations(KeyRegister& keys, const Keyspace& keyspace, std::int64_t now_ms,
                                std::int64_t end_ms) {
  KeyTable::Query query{.state = KeyState::kUsed, .until_ms = now_ms, .rows_max = kBurnedAtOnce};
  do {
    auto page = AskPatiently([&] { return keys.List(keyspace, query); });
    if (!page.ok()) return page.status();
    KeyMatch match{.state = KeyState::kUsed, .since_until_ms = now_ms - 1};
    for (KeyRow& row : page->rows) {
      // An end would bring it back into the pool one day.
      if (!IsImported(row)) match.keys.push_back(std::move(row.key));
    }
    query.cursor = std::move(page->cursor);
    if (match.keys.empty()) continue;
    // Repeated, it finds nothing of what it has changed: those are used since now.
    const auto changed = AskPatiently([&] {
      return keys.Change(keyspace, {.match = match,
                                    .to = KeyState::kUsed,
                                    .at_ms = now_ms,
                                    .expires_at_ms = end_ms,
                                    .generations = 1,
                                    .rows_max = kBurnedAtOnce});
    });
    if (!changed.ok()) return changed.status();
  } while (!query.cursor.empty());
  return {};
}

std::string Engine::ForgottenBy(const KeyspaceRecord& record) {
  const Result<Recipe> recipe = keys::ParseRecipeText(record.recipe);
  KeyTable* const table = store_.store().key_table();
  if (!recipe.ok() || table == nullptr) return {};
  std::string forgotten;
  if (recipe->kind == Kind::kPool) {
    forgotten =
        "keys that were made and handed out in the time that the store has lost are not known any "
        "more: a fill may, by chance, make one of them again. ";
  }
  if (recipe->kind == Kind::kDerived && recipe->distinct) {
    forgotten =
        "keys that were derived in the time that the store has lost are not known any more: one of "
        "them may, by chance, be given again. ";
  } else if (recipe->kind == Kind::kDerived) {
    forgotten =
        "content that was derived in the time that the store has lost is forgotten: its keys may "
        "be given to other content. ";
  }
  // Whether somebody uses them at all.
  const Result<KeyTable::Counts> counts = table->CountKeys(record.id, StoreDeadline());
  if (!counts.ok() || counts->at(static_cast<std::size_t>(KeyState::kAlias)) > 0) {
    forgotten +=
        "Aliases that were claimed in the time that the store has lost are forgotten: others may "
        "claim them. ";
  }
  if (!counts.ok() || counts->at(static_cast<std::size_t>(KeyState::kLink)) > 0) {
    forgotten +=
        "Links that were made in the time that the store has lost lead nowhere: make them again. ";
  }
  // Of derived keys the notes count how often a content came.
  const bool notes = !counts.ok() || counts->at(static_cast<std::size_t>(KeyState::kNote)) > 0;
  if (notes && recipe->kind != Kind::kDerived) {
    forgotten +=
        "Requests with an Idempotency-Key in that time are forgotten: a retry gets other keys. ";
  }
  if (!forgotten.empty()) forgotten.pop_back();
  return forgotten;
}

}  // namespace keymill::mint
