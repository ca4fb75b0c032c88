// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/snowflake_keyspace.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/utc_text.h"
#include "keys/snowflake_layout.h"

namespace keymill::mint {
namespace {

// How often whoever waits for the clock is told to look again. What was missed meanwhile can still
// be had: see WorkerLine::kLagTicks.
constexpr std::chrono::milliseconds kLook{1};

// The upper digits of an id are its time: where the blocklist has something against so many in a
// row, it may have something against all of them for hours. Then it is tried again so often.
constexpr std::uint64_t kSkippedMax = 4'096;
constexpr std::int64_t kSkipPauseMs = 10;

// A clock that went back by less is waited for; by more, another worker id is taken.
constexpr std::int64_t kBackMs = 500;

// How often a worker id is asked for that was not to be had, or more of its time.
constexpr std::chrono::milliseconds kAskAgain{1'000};

// No worker id is to be had now, for all that the store knows.
bool IsRefusal(Code code) {
  return code == Code::kExhausted || code == Code::kOverloaded || code == Code::kClockRegressed;
}

// A different one for each thread, so that they begin with different workers.
std::uint32_t ThreadNumber() {
  static std::atomic<std::uint32_t> threads{0};
  thread_local const std::uint32_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

SnowflakeKeyspace::SnowflakeKeyspace(const KeyspaceRecord& record, Recipe recipe, keys::Codec codec,
                                     SnowflakeOptions options, const Clock& clock,
                                     std::uint32_t waiters_max, LowSignal low_signal)
    : Keyspace(record, std::move(recipe), codec.size_max(), codec.fixed_size(), waiters_max,
               std::move(low_signal)),
      codec_(std::move(codec)),
      layout_(this->recipe().layout),
      options_(options),
      clock_(clock),
      leases_(record, layout_, options.choice),
      seats_(this->recipe().workers) {}

Result<std::uint64_t> SnowflakeKeyspace::Now() const {
  Result<std::uint64_t> ticks = keys::SnowflakeTicks(layout_, clock_.WallMs());
  if (ticks.ok() || ticks.code() == Code::kExhausted) return ticks;
  return Status(Code::kClockRegressed,
                fmt::format("mint {}: {}", name(), ticks.status().message()));
}

keys::Written SnowflakeKeyspace::TakeKeys(std::uint32_t count, std::string_view after, char* out) {
  if (Inherited()) return {};
  const Result<std::uint64_t> now = Now();
  if (!now.ok() || IsSkipping(*now)) return {};
  const std::size_t begin = seats_.size() == 1 ? 0 : ThreadNumber() % seats_.size();
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    WorkerLine* const line =
        seats_[(begin + i) % seats_.size()].line.load(std::memory_order_acquire);
    if (line == nullptr) continue;
    const WorkerRun run = line->Take(*now, count);
    if (run.count == 0) continue;
    issued_.fetch_add(run.count, std::memory_order_relaxed);
    const keys::Written written = Write(*line, run, after, out);
    if (!recipe().blocklist.empty()) CountSkipped(*now, run.count, written.keys);
    if (written.keys > 0) return written;
  }
  return {};
}

void SnowflakeKeyspace::CountSkipped(std::uint64_t now, std::uint64_t ids, std::uint64_t keys) {
  skipped_.fetch_add(ids - keys, std::memory_order_release);
  if (keys > 0) {
    skipped_in_a_row_.store(0, std::memory_order_relaxed);
  } else if (skipped_in_a_row_.fetch_add(ids, std::memory_order_relaxed) + ids >= kSkippedMax) {
    skip_until_.store(now + SkipTicks(), std::memory_order_relaxed);
  }
}

std::uint64_t SnowflakeKeyspace::SkipTicks() const {
  return std::max<std::uint64_t>(kSkipPauseMs / layout_.unit_ms, 1);
}

// A clock that went back does not make the pause longer.
bool SnowflakeKeyspace::IsSkipping(std::uint64_t now) const {
  const std::uint64_t until = skip_until_.load(std::memory_order_relaxed);
  return until > now && until - now <= SkipTicks();
}

keys::Written SnowflakeKeyspace::Write(const WorkerLine& line, const WorkerRun& run,
                                       std::string_view after, char* out) const {
  const std::uint64_t sequences = keys::SnowflakeSequencesEnd(layout_);
  keys::Written written;
  for (std::uint64_t at = run.first; at < run.first + run.count;) {
    const std::uint64_t ticks = at >> layout_.sequence_bits;
    const auto sequence = static_cast<std::uint32_t>(at & (sequences - 1));
    const std::uint64_t same = std::min(run.first + run.count - at, sequences - sequence);
    const std::uint64_t id = keys::ComposeSnowflake(layout_, {ticks, line.worker(), sequence});
    // The last id of 63 bits is no number: see Codec.
    const std::uint64_t fits = std::min(same, codec_.end() - std::min(id, codec_.end()));
    const keys::Written more = codec_.Encode(
        std::min(id, codec_.end()), static_cast<std::uint32_t>(fits), after, out + written.bytes);
    written.bytes += more.bytes;
    written.keys += more.keys;
    at += same;
  }
  return written;
}

std::string SnowflakeKeyspace::KeyOf(std::uint64_t id) const {
  std::string key(codec_.size_max(), '\0');
  // The last id of 63 bits is never made.
  key.resize(codec_.Encode(std::min(id, codec_.end() - 1), 1, "", key.data()).bytes);
  return key;
}

bool SnowflakeKeyspace::HasKeys() const {
  const Result<std::uint64_t> now = Now();
  if (!now.ok() || IsSkipping(*now)) return false;
  return std::any_of(seats_.begin(), seats_.end(), [&](const Seat& seat) {
    const WorkerLine* const line = seat.line.load(std::memory_order_acquire);
    return line != nullptr && line->HasSome(*now);
  });
}

Status SnowflakeKeyspace::LateVerdict() const {
  const Result<std::uint64_t> now = Now();
  if (!now.ok()) return now.status();
  if (const std::uint64_t skipped = skipped_in_a_row_.load(std::memory_order_relaxed);
      skipped >= kSkippedMax) {
    return {
        Code::kOverloaded,
        fmt::format("mint {}: the blocklist skipped {} ids in a row, for they spell their time: "
                    "try again later, or make a keyspace without a blocklist",
                    name(), skipped)};
  }
  std::optional<std::uint64_t> wait;  // Units of time, until the first of them has an id again.
  for (const Seat& seat : seats_) {
    const WorkerLine* const line = seat.line.load(std::memory_order_acquire);
    if (line == nullptr || line->end() <= *now) continue;
    const std::uint64_t due = std::max(line->ticks(), *now);
    wait = std::min(wait.value_or(due - *now), due - *now);
  }
  if (!wait) return Keyspace::LateVerdict();
  if (*wait > 1) {
    return {Code::kClockRegressed,
            fmt::format("mint {}: no id is due yet: this machine's clock is {} ms behind the last "
                        "ones; they go on when it has caught up",
                        name(), *wait * layout_.unit_ms)};
  }
  return {Code::kOverloaded,
          fmt::format("mint {}: the ids of every moment went to others; ask again, for fewer at a "
                      "time, or make a keyspace with more workers",
                      name())};
}

MonotonicTime SnowflakeKeyspace::Tick() {
  Wakes wakes;
  bool wait = false;
  {
    const MutexLock lock(mu_);
    if (stopped_ || KeysAwaited() == 0) return MonotonicTime::max();
    // Without a worker id there is nothing that time alone could bring.
    const bool none = std::all_of(seats_.begin(), seats_.end(), [](const Seat& seat) {
      return seat.line.load(std::memory_order_acquire) == nullptr;
    });
    if (none) return MonotonicTime::max();
    wait = !HasKeys();
    if (!wait) wakes = Supplied();
  }
  CallAll(wakes);
  return wait ? clock_.Monotonic() + kLook : MonotonicTime::max();
}

Status SnowflakeKeyspace::CheckClock(const Supply& supply) const {
  const std::int64_t store_ms = supply.store.NowMs();
  const std::int64_t ahead_ms = clock_.WallMs() - store_ms;
  if (options_.accept_clock_ahead || ahead_ms <= kAheadMaxMs) return {};
  return {
      Code::kClockRegressed,
      fmt::format("mint {}: this machine's clock says {}, the store's {}, {} s earlier. Set the "
                  "clock right; if it is the store's that is wrong, accept_clock_ahead says so",
                  name(), UtcText(clock_.WallMs()), UtcText(store_ms), ahead_ms / 1000)};
}

Keyspace::Refilled SnowflakeKeyspace::Refill(const Supply& supply) {
  bool waiting = false;
  {
    const MutexLock lock(mu_);
    if (stopped_ || !wanted_) return {};
    waiting = KeysAwaited() > 0;
    rate_.Observe(issued_.load(std::memory_order_relaxed), clock_.Monotonic());
  }
  const Result<std::uint64_t> now = Now();
  if (!now.ok()) return {.status = now.status()};
  if (Status clock = CheckClock(supply); !clock.ok()) return {.status = clock};
  const auto runway = static_cast<std::uint64_t>(supply.options.runway_target.count());
  // Who mints once and ends needs a moment only.
  const std::uint64_t ms =
      supply.options.ahead_of_need ? std::max<std::uint64_t>(runway, 2'000) : 2'000;
  const auto ticks = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(ms / layout_.unit_ms, 2, Store::kBlockCountMax));
  if (!supply.options.ahead_of_need && !waiting) return {};
  Refilled done;
  Status refusal;
  bool served = false;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    // Where one was refused a worker id, the others need not ask.
    if (!refusal.ok() && seats_[i].line.load(std::memory_order_relaxed) == nullptr) continue;
    bool granted = false;
    Status supplied = Supply1(supply, seats_[i], i > 0, *now, ticks, granted);
    done.granted = done.granted || granted;
    if (supplied.ok()) {
      served = true;
    } else if (IsRefusal(supplied.code())) {
      if (refusal.ok()) refusal = supplied;
    } else {
      done.status = supplied;
      return done;
    }
  }
  // One of them is enough.
  if (!served) {
    done.status = refusal;
    return done;
  }
  Wakes wakes;
  {
    const MutexLock lock(mu_);
    if (stopped_) {
      for (Seat& seat : seats_) seat.line.store(nullptr, std::memory_order_release);
    } else if (HasKeys() || Failing()) {
      wakes = Supplied();  // If there are none yet, time brings them.
    } else {
      ForgetFailure();  // Only time is missing now.
    }
  }
  CallAll(wakes);
  if (done.granted && !HasKeys()) SignalLow();  // Somebody has to look at the clock from now on.
  return done;
}

Status SnowflakeKeyspace::Supply1(const Supply& supply, Seat& seat, bool extra, std::uint64_t now,
                                  std::uint32_t ticks, bool& granted) {
  WorkerLine* const line = seat.line.load(std::memory_order_relaxed);
  const bool ahead = line != nullptr && line->ticks() > now + BackTicks() + 1;
  if (line != nullptr && !ahead && line->end() > now && line->end() - now > ticks / 2) return {};
  if (clock_.Monotonic() < seat.ask_at) return seat.refusal;
  if (line != nullptr && !ahead) {
    Result<bool> more = Lengthen(supply, seat, *line, now, ticks);
    if (!more.ok()) return more.status();
    granted = true;
    if (*more) return {};
    // Perhaps somebody has only tried whether it is free.
    if (line->end() > now + ticks / 4) return Pause(seat, {});
  }
  // As long as it has time it is given up for another one only. That also holds after the clock
  // went back: once that has caught up, it goes on.
  const bool kept = line != nullptr && (ahead || line->end() > now);
  std::vector<std::uint32_t> ours;
  for (const Seat& each : seats_) {
    const WorkerLine* const other = each.line.load(std::memory_order_relaxed);
    if (other != nullptr && (&each != &seat || kept)) ours.push_back(other->worker());
  }
  Result<WorkerWindow> window = leases_.Take(supply, now, ticks, extra, ours);
  if (window.ok()) {
    granted = true;
    Replace(supply, seat, *std::move(window));
    return {};
  }
  if (!IsRefusal(window.code())) return window.status();
  if (ahead) {
    return Pause(seat, {Code::kClockRegressed,
                        fmt::format("mint {}: the clock went back by {} ms, and there is no other "
                                    "worker id; set it right, or wait",
                                    name(), (line->ticks() - now) * layout_.unit_ms)});
  }
  return Pause(seat, kept ? Status() : window.status());
}

std::uint64_t SnowflakeKeyspace::BackTicks() const {
  return static_cast<std::uint64_t>(kBackMs) / layout_.unit_ms;
}

Status SnowflakeKeyspace::Pause(Seat& seat, Status refusal) const {
  seat.ask_at = clock_.Monotonic() + kAskAgain;
  seat.refusal = std::move(refusal);
  return seat.refusal;
}

Result<bool> SnowflakeKeyspace::Lengthen(const Supply& supply, Seat& seat, WorkerLine& line,
                                         std::uint64_t now, std::uint32_t ticks) {
  const std::uint64_t end = line.end();
  const Result<Block> block = leases_.More(supply, seat.window, now, ticks, line.ticks());
  if (!block.ok()) return block.status();
  const std::uint64_t block_end = block->first + block->count;
  const bool joins = seat.window.Joins(*block);
  if (joins || block->first == end || (block->first > end && block->first <= now + BackTicks())) {
    seat.window.Add(*block);
    line.Extend(joins ? end : block->first, block_end);
    const MutexLock lock(mu_);
    ++blocks_reserved_;
    return true;
  }
  // Somebody else has this worker id, or had it and gave time back: above ours, which is of no use
  // yet, or below, which is of no use any more. If that fails it is burned, which is always
  // allowed.
  leases_.GiveBack(supply, seat.window, block->id, block->first < end ? block_end : block->first)
      .Ignore();
  return false;
}

void SnowflakeKeyspace::Replace(const Supply& supply, Seat& seat, WorkerWindow window) {
  auto fresh = std::make_unique<WorkerLine>(window.worker, layout_.sequence_bits);
  fresh->Extend(window.held.front().first, window.held.front().end);
  // Who mints once and ends is not asked which worker it was.
  Log(supply.options.ahead_of_need ? LogLevel::kInfo : LogLevel::kDebug, "mint",
      "keyspace {} makes ids as worker {}", name(), window.worker);
  WorkerWindow before = std::exchange(seat.window, std::move(window));
  // U1: a row that goes on is not settled.
  std::erase_if(before.held, [&](const WorkerWindow::Held& held) {
    return held.block_id == seat.window.held.front().block_id;
  });
  seat.lines.push_back(std::move(fresh));
  WorkerLine* line = nullptr;
  {
    const MutexLock lock(mu_);
    ++blocks_reserved_;
    if (!stopped_) line = seat.line.exchange(seat.lines.back().get(), std::memory_order_acq_rel);
  }
  if (line != nullptr) Settle(supply, *line, before);
}

void SnowflakeKeyspace::Settle(const Supply& supply, WorkerLine& line, const WorkerWindow& window) {
  const std::uint64_t first_unused = line.Close();
  bool returned = false;
  for (const WorkerWindow::Held& held : window.held) {
    // If that fails the time is burned, which is always allowed.
    returned =
        leases_
            .GiveBack(supply, window, held.block_id, std::clamp(first_unused, held.first, held.end))
            .ok();
  }
  const MutexLock lock(mu_);
  if (returned) ++blocks_returned_;
}

Result<std::string> SnowflakeKeyspace::LostHold(const Supply& supply) {
  for (const Seat& seat : seats_) {
    const WorkerLine* const line = seat.line.load(std::memory_order_acquire);
    if (line == nullptr) continue;
    const WorkerWindow& window = seat.window;
    // The newest: a store that has it still has the others.
    const WorkerWindow::Held& held = window.held.back();
    const Result<std::optional<LedgerRow>> row =
        supply.store.store().FindBlock(window.line_id, held.end - 1, supply.store.Deadline());
    if (row.ok() && row->has_value() && (*row)->block_id == held.block_id &&
        (*row)->state == BlockState::kHeld) {
      continue;
    }
    if (!row.ok() && row.code() != Code::kNotFound) {
      return Status(Code::kUnavailable, row.status().message());
    }
    return fmt::format(
        "the store went back: the time of worker {} was reserved by {} and is not "
        "its own any more",
        window.worker, supply.store.instance());
  }
  return std::string();
}

void SnowflakeKeyspace::Drop() {
  for (Seat& seat : seats_) {
    if (WorkerLine* const line = seat.line.exchange(nullptr, std::memory_order_acq_rel)) {
      line->Close();
    }
  }
}

Keyspace::Closed SnowflakeKeyspace::Close(Closing& closing) {
  Wakes wakes;
  bool was_stopped = false;
  {
    const MutexLock lock(mu_);
    was_stopped = stopped_;
    if (!stopped_) wakes = End({Code::kUnavailable, fmt::format("mint {}: shutting down", name())});
  }
  CallAll(wakes);
  Closed closed;
  if (was_stopped) return closed;
  for (Seat& seat : seats_) {
    WorkerLine* const line = seat.line.exchange(nullptr, std::memory_order_acq_rel);
    if (line == nullptr) continue;
    const std::uint64_t used = line->Close();
    for (const WorkerWindow::Held& held : seat.window.held) {
      const std::uint64_t first_unused = std::clamp(used, held.first, held.end);
      if (!closing.InTime()) {
        closed.too_late += held.end - first_unused;
        continue;
      }
      // Time that goes back is no count of keys, and is not told beside them. If it cannot, it is
      // burned.
      closing
          .Try([&] {
            return leases_.GiveBack(closing.supply(), seat.window, held.block_id, first_unused);
          })
          .Ignore();
    }
  }
  return closed;
}

void SnowflakeKeyspace::Tell(Stats& stats) {
  const Result<std::uint64_t> now = Now();
  const std::uint64_t skipped = skipped_.load(std::memory_order_acquire);
  stats.issued = issued_.load(std::memory_order_relaxed);
  stats.keys = stats.issued - skipped;
  for (const Seat& seat : seats_) {
    const WorkerLine* const line = seat.line.load(std::memory_order_acquire);
    if (line == nullptr || !now.ok() || line->end() <= *now) continue;
    // After a clock that went back so far it gives none, however much it has.
    if (line->ticks() > *now + BackTicks() + 1) continue;
    stats.ahead += (line->end() - *now) << layout_.sequence_bits;
  }
  stats.rate = rate_.rate();
  stats.blocks_reserved = blocks_reserved_;
  stats.blocks_returned = blocks_returned_;
}

std::optional<std::uint64_t> SnowflakeKeyspace::NumberOf(std::string_view key) const {
  const Result<std::uint64_t> id = codec_.Decode(key);
  if (!id.ok()) return {};
  return *id;
}

std::optional<std::uint32_t> SnowflakeKeyspace::worker() const {
  for (const Seat& seat : seats_) {
    const WorkerLine* const line = seat.line.load(std::memory_order_acquire);
    if (line != nullptr) return line->worker();
  }
  return {};
}

Result<Explanation> SnowflakeKeyspace::Explain(std::string_view key, WitnessedStore& store) {
  const Result<std::uint64_t> id = codec_.Decode(key);
  if (!id.ok()) return NotIssued(name(), id.status().message());
  const Result<keys::SnowflakeParts> parts = keys::DecomposeSnowflake(layout_, *id);
  if (!parts.ok()) return NotIssued(name(), parts.status().message());
  const std::int64_t time_ms = keys::SnowflakeTimeMs(layout_, parts->ticks);
  const auto never = [&] {
    return NotIssued(
        name(), fmt::format("worker {} never had the time {}", parts->worker, UtcText(time_ms)));
  };
  const Result<KeyspaceRecord> line =
      store.store().FindKeyspace(WorkerLineName(name(), parts->worker), store.Deadline());
  if (line.code() == Code::kNotFound) return never();
  if (!line.ok()) return line.status();
  Result<std::optional<LedgerRow>> row =
      store.store().FindBlock(line->id, parts->ticks, store.Deadline());
  if (!row.ok()) return row.status();
  if (!row->has_value() || (*row)->state == BlockState::kReturned) return never();
  // Which ids of a unit of time were handed out, nobody keeps a record of.
  const bool burned = (*row)->state == BlockState::kBurned;
  return Explanation{.state = burned ? Explanation::State::kUnknown : Explanation::State::kReserved,
                     .keyspace = name(),
                     .kind = recipe().kind,
                     .number = *id,
                     .time_ms = time_ms,
                     .worker = parts->worker,
                     .sequence = parts->sequence,
                     .block = **std::move(row)};
}

}  // namespace keymill::mint
