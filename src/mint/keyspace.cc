// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/keyspace.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace keymill::mint {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

// So many keys cost less when they are made on the spot, side by side, than by way of the window.
constexpr std::uint64_t kEnoughToMake = 8;

// Failures after which waiting is pointless. The others pass by themselves.
bool IsFinal(Code code) {
  return code == Code::kExhausted || code == Code::kQuarantined ||
         code == Code::kFailedPrecondition || code == Code::kNotFound || code == Code::kInternal;
}

void CallAll(const std::vector<std::function<void()>>& wakes) {
  for (const auto& wake : wakes) wake();
}

}  // namespace

Keyspace::Keyspace(KeyspaceRecord record, Recipe recipe, keys::Codec codec,
                   std::uint32_t waiters_max, LowSignal low_signal)
    : name_(std::move(record.name)),
      id_(std::move(record.id)),
      recipe_hash_(std::move(record.recipe_hash)),
      recipe_(std::move(recipe)),
      codec_(std::move(codec)),
      created_at_ms_(record.created_at_ms),
      waiters_max_(waiters_max),
      low_signal_(std::move(low_signal)),
      next_(record.next),
      state_(record.state) {
  // A sequence costs less to write than to look up, and a blocklist may leave no key at all.
  const bool suits = recipe_.kind == Kind::kShuffled && recipe_.blocklist.empty();
  if (suits && codec_.size_max() <= KeyWindow::kKeySizeMax) window_.emplace(codec_.size_max());
}

keys::Codec::Written Keyspace::TakeKeys(std::uint32_t count, std::string_view after, char* out) {
  for (;;) {
    const Reservoir::Run run = Take(count);
    if (run.count == 0) return {};
    const auto written =
        window_ && run.count < kEnoughToMake
            ? CopyKeys(run, after, out)
            : codec_.Encode(run.first, static_cast<std::uint32_t>(run.count), after, out);
    CountSkipped(run.count - written.keys);
    // Where the blocklist has something against all of them, the next ones are taken.
    if (written.keys > 0) return written;
  }
}

keys::Codec::Written Keyspace::CopyKeys(const Reservoir::Run& run, std::string_view after,
                                        char* out) {
  keys::Codec::Written written;
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

void Keyspace::MakeBatch(std::uint64_t batch) {
  std::uint64_t first = 0;
  if (!reservoir_.Peek(batch * KeyWindow::kBatch, KeyWindow::kBatch, first)) return;
  if (!window_->Claim(batch)) return;
  std::array<char, KeyWindow::kBatch * KeyWindow::kKeySizeMax> keys;
  codec_.Encode(first, KeyWindow::kBatch, {}, keys.data());
  window_->Publish(batch, keys.data());
}

void Keyspace::SignalLow() {
  // Until the refiller sets a new mark, once is enough.
  if (low_mark_.exchange(kNever, std::memory_order_relaxed) != kNever) low_signal_();
}

void Keyspace::SetLowMark(std::uint64_t target, const RefillState& state) {
  const std::uint64_t added = reservoir_.added();
  const std::uint64_t by_target = added > target / 2 ? added - target / 2 : 0;
  const std::uint64_t by_pace = taken_before_last_block_ + RefillPace(state);
  low_mark_.store(std::max(by_target, by_pace), std::memory_order_relaxed);
}

Status Keyspace::Verdict() {
  if (ForkGeneration() != born_) {
    return {Code::kFailedPrecondition,
            fmt::format("mint {}: this process was forked; open the engine anew", name_)};
  }
  const MutexLock lock(mu_);
  return verdict_;
}

Status Keyspace::DeadlineVerdict() {
  const MutexLock lock(mu_);
  if (!verdict_.ok()) return verdict_;
  if (!last_failure_.ok()) {
    return {Code::kUnavailable, fmt::format("mint {}: {}", name_, last_failure_.message())};
  }
  return {Code::kDeadlineExceeded, fmt::format("mint {}: no block arrived in time", name_)};
}

Result<std::uint64_t> Keyspace::Await(std::uint64_t keys, std::function<void()> wake) {
  std::uint64_t id = 0;
  {
    const MutexLock lock(mu_);
    if (!verdict_.ok() || reservoir_.ahead() > 0) return std::uint64_t{0};
    if (waiters_.size() >= waiters_max_) {
      return Status(Code::kOverloaded, fmt::format("mint {}: too many requests wait", name_));
    }
    wanted_ = true;
    id = ++waiter_count_;
    waiters_.push_back({id, keys, std::move(wake)});
  }
  low_signal_();
  return id;
}

void Keyspace::Forget(std::uint64_t waiter) {
  const MutexLock lock(mu_);
  std::erase_if(waiters_, [waiter](const Waiter& each) { return each.id == waiter; });
}

Keyspace::Stats Keyspace::stats() {
  const MutexLock lock(mu_);
  // What was skipped is counted after it was taken: without care the difference would now and
  // then fall, and to a monitoring system a count that falls is a restart.
  const std::uint64_t skipped = skipped_.load(std::memory_order_relaxed);
  const std::uint64_t taken = reservoir_.taken();
  keys_told_ = std::max(keys_told_, taken - std::min(taken, skipped));
  return {.issued = taken,
          .keys = keys_told_,
          .ahead = reservoir_.ahead(),
          .waiting = waiters_.size(),
          .waited = waiter_count_,
          .rate = rate_.rate(),
          .next = next_,
          .blocks_reserved = blocks_reserved_,
          .blocks_burned = blocks_burned_,
          .blocks_returned = blocks_returned_,
          .wanted = wanted_,
          .state = state_};
}

std::optional<bool> Keyspace::HandedOut(std::uint64_t number) {
  const MutexLock lock(mu_);
  const std::uint64_t taken = reservoir_.taken();
  for (const Held& block : held_) {
    if (number < block.first || number >= block.first + block.count) continue;
    return block.ticket + (number - block.first) < taken;
  }
  return {};
}

std::uint64_t Keyspace::number_end() {
  const MutexLock lock(mu_);
  return number_end_;
}

std::vector<std::function<void()>> Keyspace::DrainWaiters() {
  std::vector<std::function<void()>> wakes;
  wakes.reserve(waiters_.size());
  for (Waiter& waiter : waiters_) wakes.push_back(std::move(waiter.wake));
  waiters_.clear();
  return wakes;
}

void Keyspace::Want() {
  const MutexLock lock(mu_);
  wanted_ = true;
}

std::uint32_t Keyspace::WantedCount(const RefillOptions& options, MonotonicTime now) {
  const MutexLock lock(mu_);
  if (stopped_ || !wanted_) return 0;
  rate_.Observe(reservoir_.taken(), now);
  std::uint64_t waiting = 0;
  for (const Waiter& waiter : waiters_) waiting += waiter.keys;
  const RefillState state{.ahead = reservoir_.ahead(),
                          .waiting = waiting,
                          .rate = rate_.rate(),
                          .last_block = last_block_,
                          .consumed = reservoir_.taken() - taken_before_last_block_,
                          .capacity = capacity(),
                          .remaining = codec_.end() - next_};
  const std::uint32_t count = RefillCount(options, state);
  if (count == 0) SetLowMark(RefillTarget(options, state), state);
  return count;
}

std::vector<std::string> Keyspace::SpentBlocks() {
  const MutexLock lock(mu_);
  const std::uint64_t taken = reservoir_.taken();
  std::vector<std::string> spent;
  // Not the last one: the next grant may extend its ledger row.
  for (std::size_t i = 0; i + 1 < held_.size(); ++i) {
    const std::string& id = held_[i].id;
    const bool whole = std::all_of(held_.begin(), held_.end(), [&](const Held& each) {
      return each.id != id || each.ticket + each.count <= taken;
    });
    if (whole && id != held_.back().id) spent.push_back(id);
  }
  return spent;
}

bool Keyspace::Holds(std::string_view block_id) {
  const MutexLock lock(mu_);
  return std::any_of(held_.begin(), held_.end(),
                     [&](const Held& each) { return each.id == block_id; });
}

void Keyspace::Withhold(Granted granted) {
  const MutexLock lock(mu_);
  withheld_ = std::move(granted);
}

std::optional<Keyspace::Granted> Keyspace::TakeWithheld() {
  const MutexLock lock(mu_);
  return std::exchange(withheld_, std::nullopt);
}

bool Keyspace::AddBlock(const Block& block, const std::vector<std::string>& settled) {
  std::vector<std::function<void()>> wakes;
  {
    const MutexLock lock(mu_);
    if (stopped_) return false;
    KEYMILL_CHECK(block.count > 0 && block.first >= codec_.begin() &&
                  block.first + block.count <= codec_.end());  // B2
    // O1: a sequence only counts upwards on one instance.
    KEYMILL_CHECK(recipe_.kind != Kind::kSequence || block.first >= number_end_);
    const std::uint64_t ticket = reservoir_.added();
    const std::uint64_t taken = reservoir_.taken();  // Before anybody can take of this block.
    std::erase_if(held_, [&](const Held& each) {
      return std::find(settled.begin(), settled.end(), each.id) != settled.end();
    });
    if (!reservoir_.Add(block.first, block.count)) return false;
    if (!held_.empty() && held_.back().id == block.id &&
        held_.back().first + held_.back().count == block.first) {
      held_.back().count += block.count;
    } else {
      held_.push_back({block.id, block.first, block.count, ticket});
    }
    last_block_ = block.count;
    taken_before_last_block_ = taken;
    next_ = std::max(next_, block.seen.next);
    number_end_ = std::max(number_end_, block.first + block.count);
    ++blocks_reserved_;
    verdict_ = Status();
    last_failure_ = Status();
    wakes = DrainWaiters();
  }
  CallAll(wakes);
  return true;
}

void Keyspace::RefillFailed(const Status& why) {
  if (why.code() == Code::kQuarantined || why.code() == Code::kFailedPrecondition ||
      why.code() == Code::kNotFound || why.code() == Code::kInternal) {
    Stop(why);
    return;
  }
  std::vector<std::function<void()>> wakes;
  {
    const MutexLock lock(mu_);
    last_failure_ = why;
    if (why.code() == Code::kUnknownOutcome) ++blocks_burned_;
    if (IsFinal(why.code())) {
      verdict_ = why;
      wakes = DrainWaiters();
    }
  }
  CallAll(wakes);
}

void Keyspace::Stop(Status verdict) {
  std::vector<std::function<void()>> wakes;
  {
    const MutexLock lock(mu_);
    const bool first = !std::exchange(stopped_, true);
    if (verdict.code() == Code::kQuarantined) state_ = KeyspaceState::kQuarantined;
    verdict_ = std::move(verdict);
    // Q1: what was reserved from a store that has gone back in time may be reserved by
    // somebody else again, so none of it leaves any more.
    reservoir_.Seal();
    const std::uint64_t taken = reservoir_.taken();
    for (const Held& block : held_) {
      if (first && block.ticket + block.count > taken) ++blocks_burned_;
    }
    if (first && withheld_) ++blocks_burned_;
    wakes = DrainWaiters();
  }
  CallAll(wakes);
}

void Keyspace::CountReturned(bool returned) {
  const MutexLock lock(mu_);
  ++(returned ? blocks_returned_ : blocks_burned_);
}

void Keyspace::Observe(const KeyspaceRecord& record) {
  {
    const MutexLock lock(mu_);
    next_ = std::max(next_, record.next);
    state_ = record.state;
    if (stopped_) return;
  }
  if (record.state == KeyspaceState::kQuarantined) {
    Stop({Code::kQuarantined, fmt::format("keyspace {} is quarantined: {}", name_, record.reason)});
  } else if (record.state == KeyspaceState::kRetired) {
    Stop({Code::kFailedPrecondition, fmt::format("keyspace {} is retired", name_)});
  }
}

std::vector<Keyspace::Settlement> Keyspace::Close() {
  std::vector<Settlement> settlements;
  std::vector<std::function<void()>> wakes;
  {
    const MutexLock lock(mu_);
    if (!stopped_) {
      stopped_ = true;
      verdict_ = Status(Code::kUnavailable, fmt::format("mint {}: shutting down", name_));
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
        const std::uint64_t used =
            taken <= block.ticket ? 0 : std::min(taken - block.ticket, block.count);
        settle(block.id, block.first, block.count, used);
      }
      if (withheld_) {
        settle(withheld_->block.id, withheld_->block.first, withheld_->block.count, 0);
      }
    }
    wakes = DrainWaiters();
  }
  CallAll(wakes);
  return settlements;
}

}  // namespace keymill::mint
