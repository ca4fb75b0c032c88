// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Whether the engine's background half may trust the store: its timeline, its settings, and a look
// every few seconds at whether it has gone back in time.

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/random.h"
#include "mint/engine.h"
#include "mint/kinds.h"
#include "mint/worker_leases.h"

namespace keymill::mint {
namespace {

// How long a dump may take to fill the table that it has just made. What comes after must still fit
// into the grace period, also where the store is far away.
constexpr std::chrono::milliseconds kSecondLook{1'000};

}  // namespace

Status Engine::WatchTimeline() {
  const Result<StoreIdentity> identity = store_.store().Identity(StoreDeadline());
  if (identity.code() == Code::kInternal) Fatal(identity.status());
  if (!identity.ok()) {
    timeline_.Miss(clock_.Monotonic());
    return {Code::kUnavailable, identity.status().message()};
  }
  store_.SeeClock(*identity);
  watch_due_ = clock_.Monotonic() + options_.watch_interval;
  if (identity->store_id != store_.identity().store_id) {
    // S2: nothing in it is ours to change, and what we hold is of the right one.
    return {Code::kUnavailable,
            fmt::format("another store is at {} now: put the right one back", options_.location)};
  }
  if (!timeline_.See(*identity, clock_.Monotonic())) return {};
  compare_ = true;
  reserving_ = true;  // What failed was reserved in the timeline before.
  Log(LogLevel::kWarn, "mint", "the store's server was started anew or is another one{}",
      timeline_.Settled(clock_.Monotonic())
          ? ""
          : "; nothing is reserved until every instance has compared what it has seen");
  return {};
}

Status Engine::Audit(bool full) {
  const bool was_away = !store_up_;
  if (Status answers = WatchTimeline(); !answers.ok()) return answers;
  const bool changed = compare_;
  // Before anything else: others wait for the objection.
  if (full || compare_) {
    if (Status looked = AuditKeyspaces(); !looked.ok()) {
      audit_due_ = clock_.Monotonic();  // All of it once more, as soon as the store is asked again.
      return looked;
    }
    compare_ = false;
  }
  if (Status asked = WatchSafety(was_away || changed); !asked.ok()) return asked;
  // A store that can be read may still refuse every reservation: a full disk does.
  if (reserving_) SetStoreUp(true, {});
  return {};
}

Status Engine::AuditKeyspaces() {
  // The witness before the store: other processes go on reserving, and a witness that is
  // read after the store may be ahead of what was read, although nothing went back.
  const std::vector<Keyspace*> keyspaces = catalog_.All();
  audit_due_ = clock_.Monotonic() + options_.audit_interval;
  Result<std::vector<WitnessFile::Sighting>> recalled = store_.Recall();
  if (!recalled.ok()) {
    // S4: others wait for what this host has seen. At other times, the next reservation says why.
    if (compare_) return {Code::kUnavailable, recalled.status().message()};
    recalled = std::vector<WitnessFile::Sighting>();
  }
  const std::vector<WitnessFile::Sighting>& sightings = *recalled;
  if (keyspaces.empty() && sightings.empty()) return {};
  std::vector<std::pair<Keyspace*, Witness>> witnessed;
  witnessed.reserve(keyspaces.size());
  for (Keyspace* const keyspace : keyspaces) {
    witnessed.emplace_back(keyspace, store_.Remembered(keyspace->id()));
  }
  looked_ms_ = store_.NowMs();
  Result<std::vector<KeyspaceRecord>> records = store_.store().ListKeyspaces(StoreDeadline());
  if (records.code() == Code::kInternal) Fatal(records.status());
  if (!records.ok()) return {Code::kUnavailable, records.status().message()};
  quarantined_ = static_cast<std::size_t>(std::count_if(
      records->begin(), records->end(),
      [](const KeyspaceRecord& record) { return record.state == KeyspaceState::kQuarantined; }));
  if (compare_) objected_ = quarantined_;
  std::map<std::string_view, const KeyspaceRecord*> by_id;
  for (const KeyspaceRecord& record : *records) by_id[record.id] = &record;
  std::map<std::string_view, std::uint64_t> kept;
  for (const WitnessFile::Sighting& each : sightings) kept[each.keyspace_id] = each.seen.rev;
  std::set<std::string_view> asked;
  for (const auto& [known, seen] : witnessed) {
    Keyspace& keyspace = *known;
    asked.insert(keyspace.id());
    const auto found = by_id.find(keyspace.id());
    if (found == by_id.end()) {
      if (Status told = AuditVanished(keyspace, *records); !told.ok()) return told;
      continue;
    }
    Status looked = AuditOne(keyspace, *found->second, seen, kept[keyspace.id()]);
    if (!looked.ok()) return looked;
  }
  Status failed;
  for (const WitnessFile::Sighting& each : sightings) {
    if (asked.contains(each.keyspace_id)) continue;
    const auto found = by_id.find(each.keyspace_id);
    const KeyspaceRecord* const record = found != by_id.end() ? found->second : nullptr;
    // One that fails is enough to know that the store is away; the others follow with the next
    // look.
    failed = AuditSighting(each, record, *records);
    if (!failed.ok()) break;
  }
  if (!compare_) return failed;
  // Last, for it asks the store once for every block: who waits for our objection waits for a while
  // only, and what is behind was seen above. What others have lost does not make it less urgent.
  for (const auto& [keyspace, seen] : witnessed) {
    if (!by_id.contains(keyspace->id())) continue;
    if (Status held = VerifyHeld(*keyspace); !held.ok()) return held;
  }
  return failed;
}

Status Engine::AuditSighting(const WitnessFile::Sighting& seen, const KeyspaceRecord* record,
                             const std::vector<KeyspaceRecord>& records) {
  if (IsWorkerLine(seen.name)) return AuditLine(seen, record, records);
  if (record != nullptr) return AuditUnasked(seen, *record);
  // Which recipe it had is not known, nor needed.
  return Occupy(seen.name, seen.keyspace_id, DefaultRecipe(Kind::kShuffled), records);
}

Status Engine::AuditLine(const WitnessFile::Sighting& seen, const KeyspaceRecord* record,
                         const std::vector<KeyspaceRecord>& records) {
  const auto named = [&](std::string_view name) -> const KeyspaceRecord* {
    const auto found = std::find_if(records.begin(), records.end(),
                                    [&](const KeyspaceRecord& each) { return each.name == name; });
    return found != records.end() ? &*found : nullptr;
  };
  const KeyspaceRecord* const keyspace = named(KeyspaceOfLine(seen.name));
  if (keyspace == nullptr) return {};  // What has vanished is the keyspace.
  if (record == nullptr) {
    const KeyspaceRecord* const other = named(seen.name);
    if (other != nullptr && IsRecovered(*other, seen.seen.next)) return {};
    // As in AuditVanished: somebody else may have made it anew, and have the same time.
    const std::string gone =
        fmt::format("{} has vanished from the store: it was replaced or went back", seen.name);
    if (Keyspace* const known = Find(keyspace->name))
      known->RefillFailed({Code::kQuarantined, gone});
    if (vanished_.insert(seen.keyspace_id).second) {
      audit_due_ = std::min(audit_due_, clock_.Monotonic() + kSecondLook);
      return {};
    }
    return QuarantineForLine(*keyspace, gone);
  }
  const bool behind = record->rev < seen.seen.rev || record->next < seen.seen.next;
  if (record->state == KeyspaceState::kOpen && behind) {
    // As in AuditOne: the store compares for itself.
    const Result<Witness> compared = store_.store().GiveBack(
        {.keyspace_id = record->id, .block_id = RandomHex(16), .witness = seen.seen},
        StoreDeadline());
    if (compared.code() == Code::kUnavailable || compared.code() == Code::kUnknownOutcome) {
      return {Code::kUnavailable, compared.status().message()};
    }
    if (compared.code() != Code::kQuarantined) return {};
    return QuarantineForLine(*keyspace, compared.status().message());
  }
  if (record->state != KeyspaceState::kQuarantined) return {};
  const Witness& told = record->testified;
  if (told.rev < seen.seen.rev || told.next < seen.seen.next) {
    const Status done =
        store_.store().Quarantine(record->id, record->reason, seen.seen, StoreDeadline());
    if (!done.ok()) return {Code::kUnavailable, done.message()};
  }
  return QuarantineForLine(*keyspace, record->reason);
}

bool Engine::IsRecovered(const KeyspaceRecord& line, std::uint64_t lost_next) {
  return line.first >= lost_next || store_.Remembered(line.id).next >= lost_next;
}

Status Engine::QuarantineForLine(const KeyspaceRecord& keyspace, const std::string& reason) {
  if (keyspace.state == KeyspaceState::kOpen) {
    Log(LogLevel::kError, "mint", "keyspace {} is quarantined: {}", keyspace.name, reason);
    const Status done = store_.store().Quarantine(keyspace.id, reason,
                                                  store_.Remembered(keyspace.id), StoreDeadline());
    if (!done.ok()) return {Code::kUnavailable, done.message()};
  }
  if (Keyspace* const known = Find(keyspace.name)) {
    known->RefillFailed({Code::kQuarantined, reason});
  }
  return {};
}

Status Engine::AuditUnasked(const WitnessFile::Sighting& seen, const KeyspaceRecord& record) {
  if (record.rev >= seen.seen.rev && record.next >= seen.seen.next) return {};
  Result<Keyspace*> keyspace = Adopt(record);
  if (!keyspace.ok()) {
    Log(LogLevel::kError, "mint", "{}", keyspace.status().message());
    return {};
  }
  return (*keyspace)->id() == record.id ? AuditOne(**keyspace, record, seen.seen, seen.seen.rev)
                                        : Status();
}

Status Engine::AuditVanished(Keyspace& keyspace, const std::vector<KeyspaceRecord>& records) {
  const Status gone(Code::kQuarantined,
                    fmt::format("keyspace {} has vanished from the store: the store was replaced "
                                "or went back",
                                keyspace.name()));
  if (keyspace.Verdict().code() != Code::kQuarantined) {
    Log(LogLevel::kError, "mint", "{}", gone.message());
  }
  keyspace.RefillFailed(gone);
  // Of keys that are stored one by one none would be left to meet: what stands in their place has
  // numbers, and none left.
  const Recipe& recipe = keyspace.recipe();
  return Occupy(keyspace.name(), keyspace.id(),
                IsStoredByKey(recipe.kind) ? DefaultRecipe(Kind::kShuffled) : recipe, records);
}

Status Engine::Occupy(std::string_view name, std::string_view id, const Recipe& recipe,
                      const std::vector<KeyspaceRecord>& records) {
  const auto known =
      std::find_if(records.begin(), records.end(),
                   [&](const KeyspaceRecord& record) { return record.name == name; });
  // A dump may just be filling the table: it would fail on what was written in between.
  if (known == records.end() && vanished_.insert(std::string(id)).second) {
    audit_due_ = std::min(audit_due_, clock_.Monotonic() + kSecondLook);
    return {};
  }
  // Either somebody who did not know it has made it anew, or nobody yet: then this process does,
  // before anybody can hand out keys of it.
  Result<KeyspaceRecord> other = known != records.end() ? *known : MakeAnew(name, recipe);
  if (other.code() == Code::kFailedPrecondition) return {};  // Nobody makes any in a sealed store.
  if (!other.ok()) return {Code::kUnavailable, other.status().message()};
  if (other->id == id || other->state != KeyspaceState::kOpen) return {};
  // Its keys may be those that are out already, all of them, so that a recovery finds nothing left.
  const Status done = store_.store().Quarantine(
      other->id, "another keyspace had this name before: the store went back. Use another name",
      {other->rev, other->end}, StoreDeadline());
  if (!done.ok()) return {Code::kUnavailable, done.message()};
  return {};
}

Status Engine::AuditOne(Keyspace& keyspace, const KeyspaceRecord& record, const Witness& seen,
                        std::uint64_t kept) {
  if (record.state == KeyspaceState::kOpen && (record.rev < seen.rev || record.next < seen.next)) {
    // What was read may be old where reads are. To settle a block that does not exist makes the
    // store compare for itself, in the transaction that quarantines the keyspace. In any timeline:
    // a store may take nothing else from one that is not agreed on yet, and then is when to object.
    const Result<Witness> compared = store_.store().GiveBack(
        {.keyspace_id = keyspace.id(), .block_id = RandomHex(16), .witness = seen},
        StoreDeadline());
    if (compared.code() == Code::kUnavailable || compared.code() == Code::kUnknownOutcome) {
      return {Code::kUnavailable, compared.status().message()};  // Others wait for this one.
    }
    if (compared.code() != Code::kQuarantined) return {};
    Log(LogLevel::kError, "mint", "keyspace {} is quarantined: {}", keyspace.name(),
        compared.status().message());
    keyspace.RefillFailed(compared.status());
    return {};
  }
  const Witness& told = record.testified;
  if (record.state == KeyspaceState::kQuarantined &&
      (told.rev < seen.rev || told.next < seen.next)) {
    // Q2: a recovery goes above what every instance has seen, so each says it.
    const Status done =
        store_.store().Quarantine(keyspace.id(), record.reason, seen, StoreDeadline());
    if (!done.ok()) return {Code::kUnavailable, done.message()};  // A recovery may be near.
  }
  // Beyond a seal, which changes no revision, there is one more in the store that it was moved to:
  // an older copy without the seal is behind from now on.
  const Witness now{record.rev + (record.state == KeyspaceState::kSealed ? 1 : 0), record.next};
  // Retried at the next look.
  if (now.rev <= kept || store_.Record(keyspace.id(), keyspace.name(), now).ok()) {
    keyspace.Witnessed(looked_ms_);
  }
  if (record.state == KeyspaceState::kSealed && !keyspace.sealed()) {
    Log(LogLevel::kError, "mint",
        "keyspace {} gets no more numbers: its store was moved to {}; name that one and restart",
        keyspace.name(), record.reason);
  }
  keyspace.Observe(record);
  return {};
}

Status Engine::VerifyHeld(Keyspace& keyspace) {
  const Result<std::string> lost = keyspace.LostHold(MakeSupply());
  if (!lost.ok()) return lost.status();
  if (!lost->empty()) {
    Log(LogLevel::kError, "mint", "keyspace {} is quarantined: {}", keyspace.name(), *lost);
    // It holds nothing any more from here on, so that a second look would find nothing wrong.
    unsaid_[keyspace.id()] = *lost;
    keyspace.RefillFailed({Code::kQuarantined, *lost});
  }
  const auto unsaid = unsaid_.find(keyspace.id());
  if (unsaid == unsaid_.end()) return {};
  const Status done = store_.store().Quarantine(keyspace.id(), unsaid->second,
                                                store_.Remembered(keyspace.id()), StoreDeadline());
  // One that was sealed, or has vanished, gives nothing to anybody.
  if (!done.ok() && done.code() != Code::kFailedPrecondition && done.code() != Code::kNotFound) {
    return {Code::kUnavailable, done.message()};
  }
  unsaid_.erase(unsaid);
  return {};
}

Status Engine::WatchSafety(bool now) {
  const bool was_safe = safety_.verdict().ok();
  // Once it is not safe, whoever mends it should not have to wait for a minute.
  const Status safe = Inspect(now || !was_safe);
  if (safe.ok()) return {};
  if (safe.code() != Code::kFailedPrecondition) return {Code::kUnavailable, safe.message()};
  if (was_safe) Log(LogLevel::kError, "mint", "no more numbers are reserved: {}", safe.message());
  return {};
}

Status Engine::Inspect(bool now) {
  if (!options_.inspect || (!now && clock_.Monotonic() < inspect_due_)) return {};
  const Result<std::vector<StoreFinding>> found = store_.store().Inspect(StoreDeadline());
  if (!found.ok()) return found.status();
  inspect_due_ = clock_.Monotonic() + options_.inspect_interval;
  return safety_.Judge(*found);
}

Status Engine::MayReserve() {
  const Status safe = safety_.verdict();
  if (safe.ok() && !compare_) {
    if (Status agreed = Agree(); !agreed.ok()) return agreed;
  }
  const bool compared = !compare_ && timeline_.Settled(clock_.Monotonic());
  const bool may = compared && safe.ok();
  pausing_.store(!may, std::memory_order_relaxed);
  {
    const MutexLock lock(permit_mu_);
    permitted_ = may ? std::optional(timeline_.timeline()) : std::nullopt;
  }
  if (!safe.ok()) return {Code::kUnavailable, safe.message()};
  if (compared) return {};
  return {Code::kUnavailable,
          "the store's server was started anew or is another one; what was seen of it is being "
          "compared"};
}

Status Engine::Agree() {
  if (!timeline_.MustAgree(clock_.Monotonic())) return {};
  // Once more, for objections that came while everybody waited.
  if (Status compared = AuditKeyspaces(); !compared.ok()) return compared;
  // Who has many keyspaces to object to, one by one, may need longer than the period.
  if (std::exchange(objected_, quarantined_) < quarantined_) {
    timeline_.WaitOn(clock_.Monotonic());
    return {};
  }
  // Whoever starts later need not wait then.
  if (Status told = store_.store().AgreeOnTimeline(timeline_.timeline(), StoreDeadline());
      !told.ok()) {
    return {Code::kUnavailable, told.message()};
  }
  return WatchTimeline();
}

void Engine::AwaitSettled() {
  const auto wait = [this] {
    const MutexLock lock(refill_mu_);
    return timeline_.settled_at() - clock_.Monotonic();
  }();
  if (wait > std::chrono::nanoseconds(0)) std::this_thread::sleep_for(wait);
}

}  // namespace keymill::mint
