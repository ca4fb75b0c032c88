// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/pool_upkeep.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/utc_text.h"
#include "mint/keyspace.h"
#include "mint/pool_fill.h"

namespace keymill::mint {
namespace {

// Rows of one change, and keys that are made in one turn: others wait meanwhile.
constexpr std::uint32_t kTidyRows = 1'000;
constexpr std::uint64_t kMadePerTurn = 8'000;

// A large table is counted by reading all of it. It is given no more than one part of so many of
// the time.
constexpr int kCountShare = 50;

// By how much the clock may differ from the store's at most, and at least: an answer takes its
// time.
constexpr std::int64_t kClockOffMaxMs = 600'000;
constexpr std::int64_t kClockOffMinMs = 1'000;

// A key leaves within half of its life (PoolKeyspace::UseByFrom). With each clock off by a quarter,
// any two differ by no more than the other half.
std::int64_t ClockOffMs(const Recipe& recipe) {
  const std::uint64_t life_s =
      recipe.expires_s == 0 ? recipe.quarantine_s : std::min(recipe.expires_s, recipe.quarantine_s);
  return std::clamp(static_cast<std::int64_t>(life_s) * 250, kClockOffMinMs, kClockOffMaxMs);
}

// A change whose outcome is unknown is found done, or due again, the next time.
Result<std::size_t> ChangeSome(KeyRegister& keys, const Keyspace& keyspace,
                               const KeyChange& change) {
  const Result<std::vector<KeyRow>> changed = keys.Change(keyspace, change, /*repeats=*/false);
  if (changed.code() == Code::kUnknownOutcome) return std::size_t{0};
  if (!changed.ok()) return changed.status();
  return changed->size();
}

}  // namespace

void PoolUpkeep::CountTaken(std::uint64_t keys) {
  if (!available_) return;
  if (*available_ >= keys) {
    *available_ -= keys;
    return;
  }
  // Somebody has filled it since.
  available_.reset();
  count_due_ = {};
}

// Safe also while whoever reserved them is alive and still has them in memory: the row loses its
// token here, so that a mark under that token does not match any more, and nothing leaves without a
// mark. The clock decides when, not whether anybody gets a key twice.
Result<std::size_t> PoolUpkeep::Reclaim(KeyRegister& keys, const Keyspace& keyspace) {
  const std::int64_t until_ms = keys.NowMs() - options_.reclaim_after.count();
  if (keyspace.recipe().audit != Audit::kKey || until_ms <= 0) return std::size_t{0};
  return ChangeSome(keys, keyspace,
                    {.match = {.state = KeyState::kReserved, .since_until_ms = until_ms},
                     .to = KeyState::kAvailable,
                     .at_ms = keys.NowMs(),
                     .rows_max = kTidyRows});
}

Result<std::size_t> PoolUpkeep::Expire(KeyRegister& keys, const Keyspace& keyspace) {
  if (keyspace.recipe().expires_s == 0) return std::size_t{0};
  return ChangeSome(keys, keyspace,
                    {.match = {.state = KeyState::kUsed, .expires_until_ms = keys.NowMs()},
                     .to = KeyState::kReleased,
                     .at_ms = keys.NowMs(),
                     .rows_max = kTidyRows});
}

Result<std::size_t> PoolUpkeep::Recycle(KeyRegister& keys, const Keyspace& keyspace) {
  const Recipe& recipe = keyspace.recipe();
  const std::int64_t until_ms =
      keys.NowMs() - static_cast<std::int64_t>(recipe.quarantine_s) * 1'000;
  if (until_ms <= 0) return std::size_t{0};
  return ChangeSome(keys, keyspace,
                    {.match = {.state = KeyState::kReleased, .since_until_ms = until_ms},
                     .to = KeyState::kAvailable,
                     .at_ms = keys.NowMs(),
                     .generations = 1,
                     .rows_max = kTidyRows});
}

// A clock that is years ahead would end every life at once, for keys that others have.
bool PoolUpkeep::MayRecycle(const KeyRegister& keys, const Keyspace& keyspace, const Clock& clock) {
  const Recipe& recipe = keyspace.recipe();
  if (!recipe.recycle) return false;
  const std::int64_t here_ms = clock.WallMs();
  const std::int64_t store_ms = keys.NowMs();
  const bool right = std::abs(here_ms - store_ms) <= ClockOffMs(recipe);
  if (std::exchange(told_clock_, !right) == right) {
    if (right) {
      Log(LogLevel::kInfo, "mint", "keys of {} are recycled again: the clocks agree",
          keyspace.name());
    } else {
      Log(LogLevel::kWarn, "mint",
          "no key of {} is recycled here: this machine's clock says {}, the store's {}. Set it "
          "right",
          keyspace.name(), UtcText(here_ms), UtcText(store_ms));
    }
  }
  return right;
}

PoolUpkeep::Done PoolUpkeep::Tidy(KeyRegister& keys, const Keyspace& keyspace, const Clock& clock) {
  Done done;
  Result<std::size_t> expired = std::size_t{0};
  Result<std::size_t> recycled = std::size_t{0};
  if (MayRecycle(keys, keyspace, clock)) {
    expired = Expire(keys, keyspace);
    if (!expired.ok()) return {.status = expired.status()};
    recycled = Recycle(keys, keyspace);
    if (!recycled.ok()) return {.status = recycled.status()};
  }
  const Result<std::size_t> reclaimed = Reclaim(keys, keyspace);
  if (!reclaimed.ok()) return {.status = reclaimed.status()};
  done.brought = *recycled + *reclaimed > 0;
  done.more = std::max({*expired, *recycled, *reclaimed}) == kTidyRows;
  if (available_) *available_ += *recycled + *reclaimed;
  return done;
}

void PoolUpkeep::Count(KeyRegister& keys, const Keyspace& keyspace, const Clock& clock) {
  const MonotonicTime begun = clock.Monotonic();
  const Result<KeyTable::Counts> counts = keys.Count(keyspace);
  const MonotonicTime now = clock.Monotonic();
  count_due_ =
      now + std::max<MonotonicTime::duration>(options_.tidy_interval, kCountShare * (now - begun));
  // A table that is too large to be counted in time holds nobody up: takes that come short tell
  // the same, if later.
  if (!counts.ok()) return;
  available_ = counts->at(static_cast<std::size_t>(KeyState::kAvailable));
}

PoolUpkeep::Done PoolUpkeep::TopUp(KeyRegister& keys, const Keyspace& keyspace) {
  if (!makes_more() || !available_) return {};
  if (!filling_ && *available_ >= options_.low) return {};
  const std::uint64_t enough = 2 * options_.low;
  const std::uint64_t missing = enough - std::min(enough, *available_);
  if (missing == 0) {
    filling_ = false;
    return {};
  }
  if (!filling_) {
    Log(LogLevel::kInfo, "mint", "{} keys of {} are available: making {} more", *available_,
        keyspace.name(), missing);
  }
  filling_ = true;
  const Result<PoolFill> filled =
      FillPool(keys, keyspace, shape_, std::min(missing, kMadePerTurn), {}, /*patient=*/false);
  if (filled.code() == Code::kExhausted) {
    if (!std::exchange(told_full_, true)) {
      Log(LogLevel::kWarn, "mint", "{}", filled.status().message());
    }
    full_ = true;
    filling_ = false;
    return {.brought = true};  // As many as could be.
  }
  if (!filled.ok()) {
    // What was added is not known; without a new count it would be added again and again.
    available_.reset();
    count_due_ = {};
    filling_ = false;
    return {.status = filled.status()};
  }
  told_full_ = false;
  *available_ += filled->added;
  filling_ = *available_ < enough;
  return {.more = filling_, .brought = true};
}

PoolUpkeep::Done PoolUpkeep::Keep(KeyRegister& keys, const Keyspace& keyspace, const Clock& clock) {
  Done done;
  const MonotonicTime now = clock.Monotonic();
  if (now >= tidy_due_) {
    tidy_due_ = now + options_.tidy_interval;
    full_ = false;
    done = Tidy(keys, keyspace, clock);
    if (!done.status.ok()) return done;
    if (done.more) tidy_due_ = now;
  }
  if (now >= count_due_) Count(keys, keyspace, clock);
  const Done made = TopUp(keys, keyspace);
  return {.status = made.status,
          .more = done.more || made.more,
          .brought = done.brought || made.brought};
}

}  // namespace keymill::mint
