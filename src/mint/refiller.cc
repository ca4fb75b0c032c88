// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The engine's background half: one thread that makes blocking calls to the store, so that
// no request has to. It keeps every reservoir supplied and looks at the store every few
// seconds to notice when it has gone back in time.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/random.h"
#include "base/thread_name.h"
#include "mint/engine.h"

namespace keymill::mint {
namespace {

// After a failure the store is left alone for this long, however many requests arrive.
constexpr std::chrono::milliseconds kRetryPause{50};

// Blocks reserved for one keyspace before the others get their turn.
constexpr int kBlocksPerTurn = 64;

// How often a stop asks a store that does not answer, over all its blocks.
constexpr int kCloseAttempts = 2;

}  // namespace

void Engine::Notify() {
  const MutexLock lock(mu_);
  notified_ = true;
  wake_.NotifyOne();
}

void Engine::Run() {
  NameThisThread("keymill-refill");
  for (;;) {
    const MonotonicTime due = Step();
    const MutexLock lock(mu_);
    while (!notified_ && !stop_) {
      if (!wake_.WaitUntil(mu_, due)) break;
    }
    notified_ = false;
    if (stop_) return;
  }
}

MonotonicTime Engine::Step() {
  const MutexLock lock(refill_mu_);
  const MonotonicTime now = clock_.Monotonic();
  if (failed_) return now + std::chrono::hours(1);
  if (now < retry_not_before_) return retry_not_before_;
  const bool audit = now >= audit_due_;
  if (audit) {
    Audit();
    audit_due_ = clock_.Monotonic() + options_.audit_interval;
  }
  bool reachable = true;
  for (Keyspace* const keyspace : catalog_.All()) {
    // An exhausted keyspace is asked again only now and then: somebody may give back.
    if (!audit && keyspace->Verdict().code() == Code::kExhausted) continue;
    reachable = Refill(*keyspace);
    if (!reachable) break;
  }
  if (reachable) {
    reserving_ = true;  // Nobody wants what was refused any more.
  } else {
    retry_not_before_ = clock_.Monotonic() + kRetryPause;
    return retry_not_before_;
  }
  return audit_due_;
}

bool Engine::Refill(Keyspace& keyspace) {
  for (int i = 0; i < kBlocksPerTurn; ++i) {
    std::optional<Keyspace::Granted> granted = keyspace.TakeWithheld();
    if (!granted) {
      const std::uint32_t count = keyspace.WantedCount(refill_, clock_.Monotonic());
      if (count == 0) return true;
      std::vector<std::string> spent = keyspace.SpentBlocks();
      Result<Block> block = ReserveBlock(keyspace, count, spent);
      if (!block.ok()) return RefillFailed(keyspace, block.status());
      granted = {*std::move(block), std::move(spent)};
    }
    // W1: the witness knows of a block before its first key can leave.
    if (Status seen = RecordWitness(keyspace, granted->block.seen); !seen.ok()) {
      keyspace.Withhold(*std::move(granted));
      return RefillFailed(keyspace, seen);
    }
    SetReserving(true, {});
    const Block& block = granted->block;
    if (!keyspace.AddBlock(block, granted->settled)) {
      GiveBackUnused(keyspace, block);
      return true;
    }
    Log(LogLevel::kDebug, "mint", "reserved {} numbers of {} from {}", block.count, keyspace.name(),
        block.first);
  }
  Notify();  // Its turn is over, its need may not be.
  return true;
}

void Engine::GiveBackUnused(Keyspace& keyspace, const Block& block) {
  // A block that extends a row of the reservoir stays with it until the row is settled.
  if (keyspace.Holds(block.id)) return;
  // If that fails it is burned, which is always allowed.
  keyspace.CountReturned(GiveBack(keyspace, block.id, block.first).ok());
}

Status Engine::GiveBack(Keyspace& keyspace, const std::string& block_id,
                        std::uint64_t first_unused) {
  Result<Witness> witness = Witnessed(keyspace.id());
  if (!witness.ok()) return witness.status();
  Result<Witness> seen = store_->GiveBack({.keyspace_id = keyspace.id(),
                                           .block_id = block_id,
                                           .first_unused = first_unused,
                                           .witness = *witness},
                                          StoreDeadline());
  if (!seen.ok()) return seen.status();
  RecordWitness(keyspace, *seen).Ignore();  // Older is safe: it only notices less.
  return {};
}

bool Engine::RefillFailed(Keyspace& keyspace, const Status& failure) {
  const bool news = keyspace.Verdict().code() != failure.code();
  keyspace.RefillFailed(failure);
  switch (failure.code()) {
    case Code::kInternal:
      Fatal(failure);
      return false;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
      SetReserving(false, failure.message());
      return false;
    case Code::kUnknownOutcome:
      Log(LogLevel::kWarn, "mint", "a block of {} is burned: {}", keyspace.name(),
          failure.message());
      return false;
    case Code::kExhausted:
      SetReserving(true, {});
      if (news) Log(LogLevel::kWarn, "mint", "{}", failure.message());
      return true;
    default:
      SetReserving(true, {});
      Log(LogLevel::kError, "mint", "keyspace {} stops: {}", keyspace.name(), failure.message());
      return true;
  }
}

void Engine::SetReserving(bool works, std::string_view why) {
  reserving_ = works;
  SetStoreUp(works, why);
}

void Engine::SetStoreUp(bool up, std::string_view why) {
  if (store_up_.exchange(up) == up) return;
  if (up) {
    Log(LogLevel::kInfo, "mint", "the store is back");
  } else {
    Log(LogLevel::kWarn, "mint", "the store is away: {}", why);
  }
}

Result<Block> Engine::ReserveBlock(Keyspace& keyspace, std::uint32_t count,
                                   const std::vector<std::string>& spent) {
  Result<Witness> witness = Witnessed(keyspace.id());
  if (!witness.ok()) return witness.status();
  const bool counts_upwards = keyspace.recipe().kind == Kind::kSequence;
  return store_->Reserve({.keyspace_id = keyspace.id(),
                          .recipe_hash = keyspace.recipe_hash(),
                          .count = count,
                          .witness = *witness,
                          .instance = instance_,
                          .reservation = RandomHex(16),
                          .above = counts_upwards ? keyspace.number_end() : 0,
                          .spent = spent},
                         StoreDeadline());
}

Result<Witness> Engine::Witnessed(const std::string& keyspace_id) {
  Witness seen;
  {
    const MutexLock lock(seen_mu_);
    seen = seen_[keyspace_id];
  }
  if (!witness_) return seen;
  Result<Witness> kept = witness_->Read(identity_.store_id, keyspace_id);
  if (!kept.ok()) return kept.status();
  return Witness{std::max(seen.rev, kept->rev), std::max(seen.next, kept->next)};
}

void Engine::Remember(const std::string& keyspace_id, const Witness& now) {
  const MutexLock lock(seen_mu_);
  Witness& seen = seen_[keyspace_id];
  seen = {std::max(seen.rev, now.rev), std::max(seen.next, now.next)};
}

Status Engine::BindWitness(const std::vector<WitnessFile::Sighting>& sightings) {
  for (const WitnessFile::Sighting& each : sightings) Remember(each.keyspace_id, each.seen);
  if (!witness_) return {};
  return witness_->Bind(identity_.store_id, options_.location, sightings);
}

Status Engine::RecordWitness(const Keyspace& keyspace, const Witness& now) {
  Remember(keyspace.id(), now);
  if (!witness_) return {};
  return witness_->Record(identity_.store_id, keyspace.id(), keyspace.name(), now).status();
}

void Engine::Audit() {
  // The witness before the store: other processes go on reserving, and a witness that is
  // read after the store may be ahead of what was read, although nothing went back.
  const std::vector<Keyspace*> keyspaces = catalog_.All();
  if (keyspaces.empty()) return;
  std::vector<std::pair<Keyspace*, std::optional<Witness>>> witnessed;
  bool readable = true;  // Asked no further once it is not: each attempt may take a second.
  for (Keyspace* const keyspace : keyspaces) {
    std::optional<Witness> known;
    if (readable) {
      Result<Witness> seen = Witnessed(keyspace->id());
      readable = seen.ok();
      if (readable) known = *seen;
    }
    witnessed.emplace_back(keyspace, known);
  }
  Result<std::vector<KeyspaceRecord>> records = store_->ListKeyspaces(StoreDeadline());
  if (!records.ok()) {
    if (records.code() == Code::kInternal) {
      Fatal(records.status());
    } else {
      SetStoreUp(false, records.status().message());
    }
    return;
  }
  // A store that can be read may still refuse every reservation: a full disk does.
  if (reserving_) SetStoreUp(true, {});
  for (const auto& [known, seen] : witnessed) {
    Keyspace* const keyspace = known;
    const auto found =
        std::find_if(records->begin(), records->end(),
                     [&](const KeyspaceRecord& record) { return record.id == keyspace->id(); });
    if (found == records->end()) {
      keyspace->RefillFailed(
          {Code::kQuarantined, fmt::format("keyspace {} has vanished from the store: the store was "
                                           "replaced or went back",
                                           keyspace->name())});
      continue;
    }
    if (seen) {
      AuditOne(*keyspace, *found, *seen);
    } else {
      keyspace->Observe(*found);  // The next reservation says why there is no witness.
    }
  }
}

void Engine::AuditOne(Keyspace& keyspace, const KeyspaceRecord& record, const Witness& seen) {
  if (record.state == KeyspaceState::kOpen && (record.rev < seen.rev || record.next < seen.next)) {
    const std::string reason = fmt::format(
        "the store went back: revision {} and next number {} were seen, now it says "
        "{} and {}",
        seen.rev, seen.next, record.rev, record.next);
    Log(LogLevel::kError, "mint", "keyspace {} is quarantined: {}", keyspace.name(), reason);
    if (Status done = store_->Quarantine(keyspace.id(), reason, StoreDeadline()); !done.ok()) {
      Log(LogLevel::kError, "mint", "{}", done.message());
    }
    keyspace.RefillFailed({Code::kQuarantined, reason});
    return;
  }
  if (record.rev > seen.rev) {
    RecordWitness(keyspace, {record.rev, record.next}).Ignore();  // Retried at the next look.
  }
  keyspace.Observe(record);
}

void Engine::SetRefill(const RefillOptions& refill) {
  const MutexLock lock(refill_mu_);
  refill_ = refill;
}

void Engine::WarmUp(Keyspace& keyspace) {
  keyspace.Want();
  const MutexLock lock(refill_mu_);
  if (!failed_ && !closed_) Refill(keyspace);
}

void Engine::Fatal(const Status& why) {
  if (failed_.exchange(true)) return;
  Log(LogLevel::kError, "mint", "the store failed for good: {}", why.message());
  for (Keyspace* const keyspace : catalog_.All()) keyspace->RefillFailed(why);
  if (options_.on_fatal) options_.on_fatal(why);
}

std::uint64_t Engine::Close(MonotonicTime deadline) {
  if (closed_.exchange(true)) return 0;
  {
    const MutexLock lock(mu_);
    stop_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  std::uint64_t given_back = 0;
  std::uint64_t too_late = 0;
  // A busy sibling may hold the witness or the store for a moment. Once nothing answers, the
  // rest is burned: somebody waits for us to end.
  int attempts = kCloseAttempts;
  Status away;
  const MutexLock lock(refill_mu_);
  for (Keyspace* const keyspace : catalog_.All()) {
    for (const Keyspace::Settlement& block : keyspace->Close()) {
      if (clock_.Monotonic() >= deadline) {
        if (block.unused > 0) keyspace->CountReturned(false);
        too_late += block.unused;
        continue;
      }
      Status done = away;
      while (attempts > 0) {
        done = GiveBack(*keyspace, block.block_id, block.first_unused);
        if (done.code() != Code::kUnavailable && done.code() != Code::kDeadlineExceeded) break;
        away = done;
        --attempts;
      }
      if (block.unused > 0) keyspace->CountReturned(done.ok());
      if (done.ok()) {
        given_back += block.unused;
        continue;
      }
      if (block.unused == 0) continue;  // Nothing is lost with it.
      Log(LogLevel::kWarn, "mint", "{}; {} numbers of {} are burned", done.message(), block.unused,
          keyspace->name());
    }
  }
  if (too_late > 0) {
    Log(LogLevel::kWarn, "mint", "the time for a stop has passed; {} numbers are burned", too_late);
  }
  return given_back;
}

}  // namespace keymill::mint
