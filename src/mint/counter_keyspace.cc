// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/counter_keyspace.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "mint/lending.h"

namespace keymill::mint {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

// So many keys cost less when they are made on the spot, side by side, than by way of the window.
constexpr std::uint64_t kEnoughToMake = 8;

// Numbers that the blocklist may skip in a row before the caller has a say again.
constexpr std::uint64_t kSkippedMax = 1U << 16;

// Blocks reserved for one keyspace before the others get their turn.
constexpr int kBlocksPerTurn = 64;

// Whether the block is a loan that cannot come back any more: nobody knows what was used of it.
bool IsOverdue(const LedgerRow& row, const Clock& clock) {
  if (row.state != BlockState::kLent) return false;
  return clock.WallMs() >= LoanEndMs(row.block_id).value_or(0);
}

}  // namespace

CounterKeyspace::CounterKeyspace(KeyspaceRecord record, Recipe recipe, keys::Codec codec,
                                 std::uint32_t waiters_max, LowSignal low_signal)
    : Keyspace(std::move(record), std::move(recipe), codec.size_max(), codec.fixed_size(),
               waiters_max, std::move(low_signal)),
      codec_(std::move(codec)) {
  // A sequence costs less to write than to look up, and a blocklist may leave no key at all.
  const bool suits = codec_.shuffled() && this->recipe().blocklist.empty();
  if (suits && codec_.size_max() <= KeyWindow::kKeySizeMax) window_.emplace(codec_.size_max());
  if (!this->recipe().taken.empty()) taken_.emplace(id());
}

keys::Written CounterKeyspace::TakeKeys(std::uint32_t count, std::string_view after, char* out) {
  for (std::uint64_t skipped = 0; skipped < kSkippedMax;) {
    const Reservoir::Run run = Take(count);
    if (run.count == 0) return {};
    const auto written =
        window_ && run.count < kEnoughToMake
            ? CopyKeys(run, after, out)
            : codec_.Encode(run.first, static_cast<std::uint32_t>(run.count), after, out);
    if (written.keys < run.count) {
      skipped_.fetch_add(run.count - written.keys, std::memory_order_relaxed);
    }
    // Where the blocklist has something against all of them, the next ones are taken.
    if (written.keys > 0) return written;
    skipped += run.count;
  }
  return {};
}

Reservoir::Run CounterKeyspace::TakeRun(std::uint64_t count, std::uint64_t last) {
  if (Inherited()) return {};
  std::uint64_t passed = 0;
  const Reservoir::Run run = reservoir_.TakeRun(count, last, passed);
  if (passed > 0) skipped_.fetch_add(passed, std::memory_order_relaxed);
  if (run.ticket_end >= low_mark_.load(std::memory_order_relaxed)) ReachLowMark();
  return run;
}

Result<std::uint64_t> CounterKeyspace::AwaitRun(std::uint64_t count, std::function<void()> wake) {
  {
    const MutexLock lock(mu_);
    if (!Failing() && !HasRun(count) && codec_.end() - next_ < count) {
      return Status(Code::kExhausted,
                    fmt::format("mint {}: {} numbers in a row are not left", name(), count));
    }
  }
  return Await(count, std::move(wake), /*in_a_row=*/true);
}

keys::Written CounterKeyspace::CopyKeys(const Reservoir::Run& run, std::string_view after,
                                        char* out) {
  keys::Written written;
  for (std::uint64_t i = 0; i < run.count; ++i) {
    const std::uint64_t ticket = run.ticket_end - run.count + i;
    const std::uint64_t batch = ticket / KeyWindow::kBatch;
    const std::uint64_t place = ticket % KeyWindow::kBatch;
    // One thread gets the ticket in the middle; the first one only helps out at the start.
    if (place == KeyWindow::kBatch / 2) MakeBatch(batch + 1);
    if (place == 0) MakeBatch(batch);
    char* const key = out + written.bytes;
    if (window_->Read(ticket, key)) {
      after.copy(key + codec_.size_max(), after.size());
      written.bytes += codec_.size_max() + after.size();
    } else {
      written.bytes += codec_.Encode(run.first + i, 1, after, key).bytes;
    }
    ++written.keys;
  }
  return written;
}

void CounterKeyspace::MakeBatch(std::uint64_t batch) {
  std::uint64_t first = 0;
  if (!reservoir_.Peek(batch * KeyWindow::kBatch, KeyWindow::kBatch, first)) return;
  if (!window_->Claim(batch)) return;
  std::array<char, KeyWindow::kBatch * KeyWindow::kKeySizeMax> keys;
  codec_.Encode(first, KeyWindow::kBatch, {}, keys.data());
  window_->Publish(batch, keys.data());
}

void CounterKeyspace::ReachLowMark() {
  // Until the refiller sets a new mark, once is enough.
  if (low_mark_.exchange(kNever, std::memory_order_relaxed) != kNever) SignalLow();
}

void CounterKeyspace::SetLowMark(std::uint64_t target, const RefillState& state) {
  const std::uint64_t added = reservoir_.added();
  const std::uint64_t by_target = added > target / 2 ? added - target / 2 : 0;
  const std::uint64_t by_pace = taken_before_last_block_ + RefillPace(state);
  low_mark_.store(std::max(by_target, by_pace), std::memory_order_relaxed);
}

void CounterKeyspace::Tell(Stats& stats) {
  // What was skipped is counted after it was taken: without care the difference would now and
  // then fall, and to a monitoring system a count that falls is a restart.
  const std::uint64_t skipped = skipped_.load(std::memory_order_relaxed);
  const std::uint64_t taken = reservoir_.taken();
  keys_told_ = std::max(keys_told_, taken - std::min(taken, skipped));
  stats.issued = taken;
  stats.keys = keys_told_;
  stats.ahead = reservoir_.ahead();
  stats.rate = rate_.rate();
  stats.blocks_reserved = blocks_reserved_;
  stats.blocks_returned = blocks_returned_;
}

std::optional<bool> CounterKeyspace::HandedOut(std::uint64_t number) {
  const MutexLock lock(mu_);
  const std::uint64_t taken = reservoir_.taken();
  for (const Held& block : held_) {
    if (number < block.first || number >= block.first + block.count) continue;
    return number - block.first < block.UsedOf(taken);
  }
  return {};
}

bool CounterKeyspace::CouldIssue(std::string_view key) const { return codec_.HasForm(key); }

std::optional<std::uint64_t> CounterKeyspace::NumberOf(std::string_view key) const {
  const Result<std::uint64_t> index = codec_.Decode(key);
  if (!numbered() || !index.ok()) return {};
  return codec_.NumberOf(*index);
}

Result<Explanation> CounterKeyspace::Explain(std::string_view key, WitnessedStore& store) {
  // What the store counts, which is the number itself except for tickets.
  const Result<std::uint64_t> index = codec_.Decode(key);
  if (!index.ok()) return NotIssued(name(), index.status().message());
  const std::uint64_t number = codec_.NumberOf(*index);
  if (taken_) {
    TakenList list(id());  // The other one is the refiller's.
    const Result<std::vector<NumberRun>> free = list.FreeOf(store, *index, 1);
    if (!free.ok()) return free.status();
    if (free->empty()) {
      return NotIssued(name(), "it was in use before this keyspace was made, and was imported");
    }
  }
  Result<std::optional<LedgerRow>> row = store.store().FindBlock(id(), *index, store.Deadline());
  if (!row.ok()) return row.status();
  if (!row->has_value()) {
    return NotIssued(name(), fmt::format("its number, {}, is not reserved yet", number));
  }
  const BlockState state = (*row)->state;
  if (state == BlockState::kReturned) {
    return NotIssued(name(), fmt::format("number {} was given back unused", number));
  }
  Explanation explanation{.state = Explanation::State::kReserved,
                          .keyspace = name(),
                          .kind = recipe().kind,
                          .number = number,
                          .block = **std::move(row)};
  if (recipe().kind == Kind::kTicket) explanation.index = *index;
  if (state == BlockState::kSpent || HandedOut(*index) == true) {
    explanation.state = Explanation::State::kIssued;
  } else if (state == BlockState::kBurned || IsOverdue(*explanation.block, store.clock())) {
    explanation.state = Explanation::State::kUnknown;
  }
  return explanation;
}

CounterKeyspace::Refilled CounterKeyspace::Refill(const Supply& supply) {
  Refilled done;
  if (taken_) {
    const Result<bool> complete = taken_->CheckComplete(supply.store);
    if (!complete.ok()) return {.status = complete.status()};
    if (!*complete) return {.status = TakenList::Incomplete(), .alone = true};
  }
  for (int i = 0; i < kBlocksPerTurn; ++i) {
    std::optional<Granted> granted = TakeWithheld();
    if (!granted) {
      const std::uint32_t count = WantedCount(supply.options, supply.store.clock().Monotonic());
      if (count == 0) return done;
      std::vector<std::string> spent = SpentBlocks();
      Result<Block> block = Reserve(supply, count, spent);
      if (!block.ok()) return {.status = block.status()};
      granted = {*std::move(block), std::move(spent)};
    }
    // W1: the witness knows of a block before its first key can leave.
    if (Status seen = supply.store.Record(id(), name(), granted->block.seen); !seen.ok()) {
      Withhold(*std::move(granted));
      return {.status = seen};
    }
    done.granted = true;
    const Block& block = granted->block;
    const Result<bool> used = Use(supply, *granted);
    if (!used.ok()) {
      Withhold(*std::move(granted));
      return {.status = used.status()};
    }
    if (!*used) return done;
    Log(LogLevel::kDebug, "mint", "reserved {} numbers of {} from {}", block.count, name(),
        block.first);
  }
  done.more = true;
  return done;
}

Result<bool> CounterKeyspace::Use(const Supply& supply, const Granted& granted) {
  const Block& block = granted.block;
  if (!taken_) {
    if (AddBlock(block, granted.settled)) return true;
    GiveBackUnused(supply, block);
    return false;
  }
  // A5: what is not on the list.
  Result<std::vector<NumberRun>> runs = taken_->FreeOf(supply.store, block.first, block.count);
  if (!runs.ok()) return runs.status();
  if (runs->empty()) {
    // All of it was in use before: spent, as far as the ledger is concerned.
    if (!Holds(block.id)) GiveBack(supply, block.id, block.first + block.count).Ignore();
    return true;
  }
  const std::size_t added = AddRuns(block, *runs, granted.settled);
  if (added == runs->size()) return true;
  if (added == 0) {
    GiveBackUnused(supply, block);
    return false;
  }
  // What there was no room for comes next.
  Block rest = block;
  rest.first = (*runs)[added].first;
  rest.count = static_cast<std::uint32_t>(block.first + block.count - rest.first);
  Withhold({std::move(rest), {}});
  return false;
}

Result<Block> CounterKeyspace::Reserve(const Supply& supply, std::uint32_t count,
                                       const std::vector<std::string>& spent) {
  Result<Witness> witness = supply.store.Witnessed(id());
  if (!witness.ok()) return witness.status();
  return supply.store.store().Reserve({.keyspace_id = id(),
                                       .recipe_hash = recipe_hash(),
                                       .count = count,
                                       .witness = *witness,
                                       .timeline = supply.timeline,
                                       .instance = supply.store.instance(),
                                       .reservation = RandomHex(16),
                                       .above = codec_.shuffled() ? 0 : NumberEnd(),
                                       .spent = spent},
                                      supply.store.Deadline());
}

void CounterKeyspace::GiveBackUnused(const Supply& supply, const Block& block) {
  // A block that extends a row of the reservoir stays with it until the row is settled.
  if (Holds(block.id)) return;
  // If that fails it is burned, which is always allowed.
  CountReturned(GiveBack(supply, block.id, block.first).ok());
}

Status CounterKeyspace::GiveBack(const Supply& supply, const std::string& block_id,
                                 std::uint64_t first_unused) {
  Result<Witness> witness = supply.store.Witnessed(id());
  if (!witness.ok()) return witness.status();
  Result<Witness> seen = supply.store.store().GiveBack({.keyspace_id = id(),
                                                        .block_id = block_id,
                                                        .first_unused = first_unused,
                                                        .witness = *witness,
                                                        .timeline = supply.timeline},
                                                       supply.store.Deadline());
  if (!seen.ok()) return seen.status();
  supply.store.Record(id(), name(), *seen).Ignore();  // Older is safe: it only notices less.
  return {};
}

std::uint64_t CounterKeyspace::NumberEnd() {
  const MutexLock lock(mu_);
  return number_end_;
}

std::uint32_t CounterKeyspace::WantedCount(const RefillOptions& options, MonotonicTime now) {
  const MutexLock lock(mu_);
  if (stopped_ || !wanted_) return 0;
  rate_.Observe(reservoir_.taken(), now);
  const RefillState state{.ahead = reservoir_.ahead(),
                          .waiting = KeysAwaited(),
                          .rate = rate_.rate(),
                          .last_block = last_block_,
                          .consumed = reservoir_.taken() - taken_before_last_block_,
                          .capacity = capacity(),
                          .remaining = codec_.end() - next_};
  std::uint32_t count = RefillCount(options, state);
  // Whoever needs a run is served by one block, however small blocks are otherwise.
  if (const std::uint64_t run = RunAwaited(); run > 0 && !HasRun(run)) {
    count = std::max(
        count, static_cast<std::uint32_t>(std::min<std::uint64_t>(run, Store::kBlockCountMax)));
  }
  if (count == 0) SetLowMark(RefillTarget(options, state), state);
  return count;
}

void CounterKeyspace::Compact(std::uint64_t taken) {
  std::vector<Held> kept;
  for (Held& each : held_) {
    each.used_up = each.UsedOf(taken) == each.count;
    Held* const before = kept.empty() ? nullptr : &kept.back();
    if (before != nullptr && before->used_up && each.used_up && before->id == each.id &&
        before->first + before->count <= each.first) {
      before->count = each.first + each.count - before->first;
    } else {
      kept.push_back(std::move(each));
    }
  }
  held_ = std::move(kept);
}

std::size_t CounterKeyspace::HeldPieces() {
  const MutexLock lock(mu_);
  return held_.size();
}

std::vector<std::string> CounterKeyspace::SpentBlocks() {
  const MutexLock lock(mu_);
  const std::uint64_t taken = reservoir_.taken();
  Compact(taken);
  std::vector<std::string> spent;
  // Not the last one: the next grant may extend its ledger row.
  for (std::size_t i = 0; i + 1 < held_.size(); ++i) {
    const std::string& id = held_[i].id;
    const bool whole = std::all_of(held_.begin(), held_.end(), [&](const Held& each) {
      return each.id != id || each.UsedOf(taken) == each.count;
    });
    if (whole && id != held_.back().id) spent.push_back(id);
  }
  return spent;
}

bool CounterKeyspace::Holds(std::string_view block_id) {
  const MutexLock lock(mu_);
  return std::any_of(held_.begin(), held_.end(),
                     [&](const Held& each) { return each.id == block_id; });
}

void CounterKeyspace::Withhold(Granted granted) {
  const MutexLock lock(mu_);
  withheld_ = std::move(granted);
}

std::optional<CounterKeyspace::Granted> CounterKeyspace::TakeWithheld() {
  const MutexLock lock(mu_);
  return std::exchange(withheld_, std::nullopt);
}

std::size_t CounterKeyspace::AddRuns(const Block& block, const std::vector<NumberRun>& runs,
                                     const std::vector<std::string>& settled) {
  Wakes wakes;
  std::size_t added = 0;
  {
    const MutexLock lock(mu_);
    if (stopped_) return 0;
    KEYMILL_CHECK(block.count > 0 && block.first >= codec_.begin() &&
                  block.first + block.count <= codec_.end());  // B2
    // O1: a sequence only counts upwards on one instance.
    KEYMILL_CHECK(codec_.shuffled() || block.first >= number_end_);
    const std::uint64_t taken = reservoir_.taken();  // Before anybody can take of this block.
    const std::uint64_t before = reservoir_.added();
    std::erase_if(held_, [&](const Held& each) {
      return std::find(settled.begin(), settled.end(), each.id) != settled.end();
    });
    for (const NumberRun& run : runs) {
      const std::uint64_t ticket = reservoir_.added();
      if (!reservoir_.Add(run.first, run.count)) break;
      ++added;
      if (!held_.empty() && held_.back().id == block.id && !held_.back().used_up &&
          held_.back().first + held_.back().count == run.first) {
        held_.back().count += run.count;
      } else {
        held_.push_back({block.id, run.first, run.count, ticket});
      }
      number_end_ = std::max(number_end_, run.first + run.count);
    }
    if (added == 0) return 0;
    last_block_ = reservoir_.added() - before;  // What was to be had of it sets the pace.
    taken_before_last_block_ = taken;
    next_ = std::max(next_, block.seen.next);
    ++blocks_reserved_;
    wakes = Supplied();
  }
  CallAll(wakes);
  return added;
}

void CounterKeyspace::Drop() {
  // Q1: what was reserved from a store that has gone back in time may be reserved by
  // somebody else again, so none of it leaves any more.
  reservoir_.Seal();
  const std::uint64_t taken = reservoir_.taken();
  for (const Held& block : held_) {
    if (block.UsedOf(taken) < block.count) ++blocks_burned_;
  }
  if (withheld_) ++blocks_burned_;
}

void CounterKeyspace::CountReturned(bool returned) {
  const MutexLock lock(mu_);
  ++(returned ? blocks_returned_ : blocks_burned_);
}

std::vector<CounterKeyspace::HeldEnd> CounterKeyspace::HeldEnds() {
  std::vector<HeldEnd> ends;
  const MutexLock lock(mu_);
  if (stopped_) return ends;
  const std::uint64_t taken = reservoir_.taken();
  for (const Held& block : held_) {
    if (block.UsedOf(taken) == block.count && &block != &held_.back()) continue;
    ends.push_back({block.id, block.first + block.count - 1});
  }
  if (withheld_) {
    const Block& block = withheld_->block;
    ends.push_back({block.id, block.first + block.count - 1});
  }
  return ends;
}

// An instance that was cut off while the store went back may find it ahead of all that it has seen
// once others have gone on: but what it holds is then somebody else's, or nobody's. The store may
// still have the beginning of a block that grew since.
Result<std::string> CounterKeyspace::LostHold(const Supply& supply) {
  WitnessedStore& store = supply.store;
  for (const HeldEnd& block : HeldEnds()) {
    const Result<std::optional<LedgerRow>> row =
        store.store().FindBlock(id(), block.last, store.Deadline());
    if (!row.ok()) return Status(Code::kUnavailable, row.status().message());
    const bool ours = row->has_value() && (*row)->block_id == block.block_id &&
                      ((*row)->state == BlockState::kHeld || (*row)->state == BlockState::kSpent);
    if (ours) continue;
    return fmt::format(
        "the store went back: numbers up to {} were reserved by {} and are not its own any more",
        block.last, store.instance());
  }
  return std::string();
}

std::vector<CounterKeyspace::Settlement> CounterKeyspace::Seal() {
  std::vector<Settlement> settlements;
  Wakes wakes;
  {
    const MutexLock lock(mu_);
    if (!stopped_) {
      wakes = End({Code::kUnavailable, fmt::format("mint {}: shutting down", name())});
      reservoir_.Seal();
      const std::uint64_t taken = reservoir_.taken();
      // U1: a row is settled once, behind the last of its numbers that was handed out.
      const auto settle = [&](const std::string& id, std::uint64_t first, std::uint64_t count,
                              std::uint64_t used) {
        auto row = std::find_if(settlements.begin(), settlements.end(),
                                [&](const Settlement& each) { return each.block_id == id; });
        if (row == settlements.end()) row = settlements.insert(row, {id, first, 0});
        if (used > 0) row->first_unused = first + used;
        row->unused += count - used;
      };
      for (const Held& block : held_) {
        settle(block.id, block.first, block.count, block.UsedOf(taken));
      }
      if (withheld_) {
        settle(withheld_->block.id, withheld_->block.first, withheld_->block.count, 0);
      }
    }
  }
  CallAll(wakes);
  return settlements;
}

CounterKeyspace::Closed CounterKeyspace::Close(Closing& closing) {
  Closed closed;
  for (const Settlement& block : Seal()) {
    if (!closing.InTime()) {
      if (block.unused > 0) CountReturned(false);
      closed.too_late += block.unused;
      continue;
    }
    const Status done =
        closing.Try([&] { return GiveBack(closing.supply(), block.block_id, block.first_unused); });
    if (block.unused > 0) CountReturned(done.ok());
    if (done.ok()) {
      closed.given_back += block.unused;
    } else if (block.unused > 0) {  // Otherwise nothing is lost with it.
      Log(LogLevel::kWarn, "mint", "{}; {} numbers of {} are burned", done.message(), block.unused,
          name());
    }
  }
  return closed;
}

CounterKeyspace* AsPlainSequence(Keyspace& keyspace) {
  const Recipe& recipe = keyspace.recipe();
  if (recipe.kind != Kind::kSequence || !recipe.blocklist.empty()) return nullptr;
  return static_cast<CounterKeyspace*>(&keyspace);
}

}  // namespace keymill::mint
