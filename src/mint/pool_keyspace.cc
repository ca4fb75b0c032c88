// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/pool_keyspace.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/random.h"

namespace keymill::mint {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

// Takes and marks for one keyspace before the others get their turn.
constexpr int kStepsPerTurn = 8;

// Fewer keys at a time are not taken or returned, however slow the store is.
constexpr std::uint32_t kSentMin = 100;

// Where each key is marked before it leaves, none leaves without the store: more than the next
// moment needs would only be withheld from others.
constexpr std::chrono::milliseconds kRunwayOfReserved{1'000};

// Stores take keys in some order, that of their digits for one: keys that leave in it would let
// anybody guess the next one.
void Shuffle(std::vector<std::string>& keys) {
  for (std::size_t i = keys.size(); i > 1; --i) {
    std::array<std::uint8_t, 8> bytes{};
    RandomBytesAhead(bytes);
    std::uint64_t number = 0;
    for (const std::uint8_t byte : bytes) number = number << 8 | byte;
    std::swap(keys[i - 1], keys[number % i]);
  }
}

bool HasNotHappened(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded;
}

// How many keys to send at once after `sent` as the most: those were perhaps too many for the time
// that there is.
std::uint32_t NextMax(std::uint32_t sent, const Status& status) {
  return status.ok() ? std::min(static_cast<std::uint32_t>(KeyTable::kKeysMax), sent * 2)
                     : std::max(kSentMin, sent / 2);
}

}  // namespace

PoolKeyspace::PoolKeyspace(KeyspaceRecord record, Recipe recipe, keys::KeyShape shape,
                           const PoolOptions& options, const Clock& clock,
                           std::uint32_t waiters_max, LowSignal low_signal)
    : Keyspace(std::move(record), std::move(recipe), shape.size(), /*fixed_key_size=*/true,
               waiters_max, std::move(low_signal)),
      shape_(std::move(shape)),
      options_(options),
      clock_(clock),
      upkeep_(options_, shape_),
      low_mark_(kNever),
      pile_(shape_.size()) {}

keys::Written PoolKeyspace::TakeKeys(std::uint32_t count, std::string_view after, char* out) {
  if (Inherited() || !HasKeys()) return {};
  keys::Written written;
  {
    const MutexLock lock(pile_mu_);
    GiveUpOld();
    written = pile_.Take(count, after, out);
    ready_.store(pile_.size(), std::memory_order_relaxed);
  }
  const std::uint64_t issued =
      issued_.fetch_add(written.keys, std::memory_order_relaxed) + written.keys;
  // Until the refiller sets a new mark, once is enough.
  if (issued >= low_mark_.load(std::memory_order_relaxed) &&
      low_mark_.exchange(kNever, std::memory_order_relaxed) != kNever) {
    SignalLow();
  }
  return written;
}

void PoolKeyspace::GiveUpOld() {
  if (!pile_.ages()) return;
  pile_.GiveUpOld(clock_.Monotonic(), clock_.WallMs());
}

// No clock is asked whether that is safe: none of them has left, and whoever has one of them since
// has it under another token. Only a store that went back forgets that: see LostHold.
Result<bool> PoolKeyspace::ReturnOld(KeyRegister& keys) {
  {
    const MutexLock lock(mu_);
    if (stopped_) return false;
    const MutexLock pile_lock(pile_mu_);
    GiveUpOld();
    ready_.store(pile_.size(), std::memory_order_relaxed);
    for (KeyPile::Batch& batch : pile_.TakeOld()) old_.push_back(std::move(batch));
  }
  for (int i = 0; i < kStepsPerTurn; ++i) {
    std::string token;
    std::vector<std::string> part;
    {
      const MutexLock lock(mu_);
      if (old_.empty()) return false;
      const KeyPile::Batch& batch = old_.front();
      token = batch.token;
      const std::size_t count = std::min(std::size_t{return_max_}, batch.keys.size());
      part.assign(batch.keys.end() - static_cast<std::ptrdiff_t>(count), batch.keys.end());
      ForgetReturned(part, batch);
    }
    const Result<std::vector<KeyRow>> rows =
        keys.Change(*this,
                    {.match = {.keys = part, .state = KeyState::kUsed, .token = token},
                     .to = KeyState::kAvailable,
                     .at_ms = keys.NowMs(),
                     .rows_max = static_cast<std::uint32_t>(part.size())},
                    /*repeats=*/false);
    return_max_ = NextMax(return_max_, rows.status());
    if (!rows.ok()) return rows.status();
    upkeep_.CountReturned(rows->size());
    const MutexLock lock(mu_);
    ++(rows->empty() ? blocks_burned_ : returned_);
    if (old_.empty()) continue;
    std::vector<std::string>& left = old_.front().keys;
    left.resize(left.size() - part.size());
    if (left.empty()) old_.pop_front();
  }
  const MutexLock lock(mu_);
  return !old_.empty();
}

// That a key which went back is not ours any more is no sign of a store that went back. One that
// has left was marked at the same time, and stays ours.
void PoolKeyspace::ForgetReturned(const std::vector<std::string>& keys,
                                  const KeyPile::Batch& batch) {
  if (!newest_ || newest_->token != batch.token) return;
  if (std::find(keys.begin(), keys.end(), newest_->key) == keys.end()) return;
  if (batch.gone.empty()) {
    newest_.reset();
  } else {
    newest_->key = batch.gone;
  }
}

Result<Explanation> PoolKeyspace::Explain(std::string_view key, WitnessedStore& /*store*/) {
  if (Status shaped = shape_.Check(key); !shaped.ok()) return NotIssued(name(), shaped.message());
  return NotIssued(name(), "it was never in the pool");
}

void PoolKeyspace::Tell(Stats& stats) {
  stats.issued = issued_.load(std::memory_order_relaxed);
  stats.keys = stats.issued;
  stats.ahead = ready_.load(std::memory_order_relaxed);
  stats.rate = rate_.rate();
  stats.available = available_;
  stats.blocks_reserved = takes_;
  stats.blocks_returned = returned_;
}

// By the store's clock, where it has one: others would recycle at once what one that is years
// behind says.
std::int64_t PoolKeyspace::ExpiryFrom(const Supply& supply) const {
  if (recipe().expires_s == 0) return 0;
  return supply.store.NowMs() + static_cast<std::int64_t>(recipe().expires_s) * 1'000;
}

// Somebody else may recycle a key, by his own clock and whether it has left this process or not:
// once it has expired, or after somebody has released it without ever having had it. So it leaves
// within half of its life and of the quarantine: clocks may differ by the other half before anybody
// else could have it, too.
KeyPile::UseBy PoolKeyspace::UseByFrom(MonotonicTime begun, std::int64_t begun_ms) const {
  const std::chrono::milliseconds half = HalfLife();
  if (half.count() == 0) return {};
  return {begun + half, begun_ms + half.count()};
}

std::chrono::milliseconds PoolKeyspace::HalfLife() const {
  std::uint64_t seconds = recipe().expires_s;
  if (recipe().recycle) {
    seconds = seconds == 0 ? recipe().quarantine_s : std::min(seconds, recipe().quarantine_s);
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds) * 500);
}

std::uint64_t PoolKeyspace::Ahead() {
  if (!audits_keys()) return ready_.load(std::memory_order_relaxed);
  std::uint64_t keys = 0;
  for (const Hold& hold : holds_) keys += hold.keys.size();
  return keys;
}

std::uint32_t PoolKeyspace::WantedCount(const RefillOptions& options) {
  const MutexLock lock(mu_);
  if (stopped_) return 0;
  rate_.Observe(issued_.load(std::memory_order_relaxed), clock_.Monotonic());
  RefillOptions rules = options;
  if (audits_keys()) {
    rules.runway_target = std::min(rules.runway_target, kRunwayOfReserved);
  } else if (const std::chrono::milliseconds half = HalfLife(); half.count() > 0) {
    // What would be too old before it is used would only be taken to be returned.
    rules.runway_target = std::min(rules.runway_target, half / 2);
  }
  // Where more are made as they are used the end is not near, however few are available: but
  // nobody takes all that the others could have until then.
  std::uint64_t remaining = upkeep_.available().value_or(kNumberEnd);
  if (upkeep_.makes_more()) {
    remaining = std::max(remaining, std::min(options_.low, kNumberEnd / 64) * 64);
  }
  const std::uint64_t consumed = audits_keys() ? marked_ : issued_.load(std::memory_order_relaxed);
  const RefillState state{.ahead = Ahead(),
                          .waiting = KeysAwaited(),
                          .rate = rate_.rate(),
                          // One that was exhausted is asked again as at first.
                          .last_block = Failing() ? 0 : last_take_,
                          .consumed = consumed - consumed_before_last_take_,
                          .capacity = kNumberEnd,  // Only what is available can be taken.
                          .remaining = remaining};
  const std::uint32_t count = RefillCount(rules, state);
  if (count == 0 && !audits_keys() && rules.ahead_of_need) {
    const std::uint64_t added = consumed + state.ahead;
    const std::uint64_t spare = std::min(added, RefillTarget(rules, state) / 2);
    low_mark_.store(std::max(added - spare, consumed_before_last_take_ + RefillPace(state)),
                    std::memory_order_relaxed);
  }
  return std::min(count, take_max_);
}

std::uint32_t PoolKeyspace::MarkCount() {
  const MutexLock lock(mu_);
  if (stopped_ || holds_.empty()) return 0;
  // What was marked before is on its way to those who waited for it then.
  return static_cast<std::uint32_t>(
      std::min({KeysAwaited(), std::uint64_t{options_.group_max}, std::uint64_t{KeyTable::kKeysMax},
                std::uint64_t{holds_.front().keys.size()}}));
}

PoolKeyspace::Refilled PoolKeyspace::Refill(const Supply& supply) {
  {
    const MutexLock lock(mu_);
    if (stopped_ || !wanted_) return {};
  }
  KeyRegister keys(supply.store, [&]() -> Result<std::string> { return supply.timeline; });
  const Result<bool> returned = ReturnOld(keys);
  // It is tried again, and holds nobody up who can be served.
  if (!returned.ok() && !HasNotHappened(returned.code()) &&
      returned.code() != Code::kUnknownOutcome) {
    return {.status = returned.status()};
  }
  Served served = Serve(supply, keys);
  if (!served.status.ok()) return {.status = served.status};
  Refilled done{.granted = served.granted, .more = served.more || (returned.ok() && *returned)};
  if (supply.options.ahead_of_need || served.dry) {
    const PoolUpkeep::Done kept = upkeep_.Keep(keys, *this, clock_);
    // What is only to be tidied holds nobody up who can be served, here or elsewhere.
    if (HasNotHappened(kept.status.code()) && !served.dry) {
      Log(LogLevel::kWarn, "mint", "look after the pool of {}: {}", name(), kept.status.message());
    } else if (!kept.status.ok()) {
      return {.status = kept.status};
    }
    done.more = done.more || kept.more;
    if (served.dry && kept.brought) {
      served = Serve(supply, keys);
      if (!served.status.ok()) return {.status = served.status};
      done.granted = done.granted || served.granted;
      done.more = done.more || served.more;
    }
  }
  const MutexLock lock(mu_);
  available_ = upkeep_.available();
  if (served.dry && Ahead() == 0 && !HasKeys()) {
    // Those that got too old here are the pool's, and come back to it with the store.
    if (!old_.empty() && !returned.ok()) {
      return {.status = {Code::kUnavailable, returned.status().message()}};
    }
    if (old_.empty() && !upkeep_.makes_more()) return {.status = Exhausted()};
    done.more = true;  // Some will come back, or others have taken what was made.
  }
  return done;
}

Status PoolKeyspace::Exhausted() const {
  return {Code::kExhausted,
          options_.low == 0
              ? fmt::format("keyspace {0} is exhausted: no key is available in its pool. Fill it: "
                            "keymill pool fill {0} -n N",
                            name())
              : fmt::format("keyspace {} is exhausted: no key is available in its pool, and nearly "
                            "all that it could have are there already. Make one with longer keys",
                            name())};
}

PoolKeyspace::Served PoolKeyspace::Serve(const Supply& supply, KeyRegister& keys) {
  Served all;
  all.status = Release(keys);
  for (int i = 0; i < kStepsPerTurn && all.status.ok(); ++i) {
    // Who waits goes first.
    const std::uint32_t marks = MarkCount();
    const std::uint32_t takes = marks == 0 ? WantedCount(supply.options) : 0;
    if (marks + takes == 0) return all;
    const Served step = marks > 0 ? MarkSome(supply, keys, marks) : TakeSome(supply, keys, takes);
    all.status = step.status;
    all.granted = all.granted || step.granted;
    all.dry = step.dry;
    if (step.dry) return all;
  }
  all.more = true;
  return all;
}

PoolKeyspace::Served PoolKeyspace::TakeSome(const Supply& supply, KeyRegister& keys,
                                            std::uint32_t count) {
  const MonotonicTime begun = clock_.Monotonic();
  const std::int64_t begun_ms = clock_.WallMs();
  const std::string token = RandomHex(16);
  Result<KeyTable::Taken> taken =
      keys.Take(*this, {.count = count,
                        .to = audits_keys() ? KeyState::kReserved : KeyState::kUsed,
                        .instance = {},
                        .token = token,
                        .at_ms = begun_ms,
                        .expires_at_ms = audits_keys() ? 0 : ExpiryFrom(supply)});
  if (taken.code() == Code::kExhausted) {
    upkeep_.FoundDry();
    return {.dry = true};
  }
  // Of an unknown outcome nothing leaves: what was used is burned, what was reserved is reclaimed.
  take_max_ = NextMax(take_max_, taken.status());
  if (!taken.ok()) return {.status = taken.status()};
  upkeep_.CountTaken(taken->keys.size());
  if (taken->keys.size() < count) upkeep_.FoundDry();
  Log(LogLevel::kDebug, "mint", "took {} keys of {}", taken->keys.size(), name());
  // Somebody may have written into the table by hand.
  const std::size_t foreign =
      std::erase_if(taken->keys, [&](const std::string& key) { return !shape_.Check(key).ok(); });
  if (foreign > 0) {
    Log(LogLevel::kError, "mint", "{} keys in the pool of {} are not of its recipe, and are burned",
        foreign, name());
  }
  Shuffle(taken->keys);
  {
    const MutexLock lock(mu_);
    if (stopped_) return {};
    ++takes_;
    last_take_ = taken->keys.size();
    consumed_before_last_take_ = audits_keys() ? marked_ : issued_.load(std::memory_order_relaxed);
    if (taken->keys.empty()) return {};
    if (audits_keys()) {
      holds_.push_back({token, std::move(taken->keys)});
      // Nobody gets one of these before it is marked, but whoever asks may wait for that.
      static_cast<void>(SuppliedWith(0));
    } else {
      unattested_ = {{token, std::move(taken->keys), UseByFrom(begun, begun_ms)}, taken->seen};
    }
  }
  if (audits_keys()) return {.status = keys.Attest(*this, taken->seen), .granted = true};
  return {.status = Release(keys), .granted = true};
}

PoolKeyspace::Served PoolKeyspace::MarkSome(const Supply& supply, KeyRegister& keys,
                                            std::uint32_t count) {
  Hold part;
  {
    const MutexLock lock(mu_);
    if (stopped_ || holds_.empty()) return {};
    Hold& front = holds_.front();
    part.token = front.token;
    const auto rest = front.keys.end() - std::min<std::ptrdiff_t>(count, std::ssize(front.keys));
    part.keys.assign(std::move_iterator(rest), std::move_iterator(front.keys.end()));
    front.keys.erase(rest, front.keys.end());
    if (front.keys.empty()) holds_.pop_front();
  }
  const MonotonicTime begun = clock_.Monotonic();
  const std::int64_t begun_ms = clock_.WallMs();
  // The token is the fence: what somebody has reclaimed since does not match.
  const Result<KeyTable::Changed> marked = keys.Mark(
      *this, {.match = {.keys = part.keys, .state = KeyState::kReserved, .token = part.token},
              .to = KeyState::kUsed,
              .at_ms = keys.NowMs(),
              .expires_at_ms = ExpiryFrom(supply),
              .rows_max = static_cast<std::uint32_t>(part.keys.size())});
  if (!marked.ok()) {
    // N1: of an unknown outcome nothing leaves. They are used, or reserved until they are
    // reclaimed.
    const MutexLock lock(mu_);
    if (HasNotHappened(marked.code()) && !stopped_) holds_.push_front(std::move(part));
    return {.status = marked.status()};
  }
  std::set<std::string_view> ours;
  for (const KeyRow& row : marked->rows) ours.insert(row.key);
  {
    const MutexLock lock(mu_);
    marked_ += part.keys.size();
    if (stopped_) return {};
    if (ours.size() < part.keys.size()) {
      // Somebody is reclaiming what this token has, and nobody should wait while we find that out
      // key by key. What is still reserved is reclaimed as well.
      std::erase_if(holds_, [&](const Hold& hold) { return hold.token == part.token; });
    }
    std::erase_if(part.keys, [&](const std::string& key) { return !ours.contains(key); });
    if (part.keys.empty()) return {};
    unattested_ = {{part.token, std::move(part.keys), UseByFrom(begun, begun_ms)}, marked->seen};
  }
  return {.status = Release(keys), .granted = true};
}

Status PoolKeyspace::Release(KeyRegister& keys) {
  std::optional<Unattested> waiting;
  {
    const MutexLock lock(mu_);
    waiting = std::exchange(unattested_, std::nullopt);
  }
  if (!waiting) return {};
  const Status seen = keys.Attest(*this, waiting->seen);
  Wakes wakes;
  {
    const MutexLock lock(mu_);
    if (stopped_) return {};
    if (!seen.ok()) {
      unattested_ = std::move(waiting);
      return {seen.code(), seen.message()};
    }
    {
      const MutexLock pile_lock(pile_mu_);
      pile_.Add(waiting->batch);
      ready_.store(pile_.size(), std::memory_order_relaxed);
    }
    newest_ = {waiting->batch.keys.back(), waiting->batch.token};
    wakes = audits_keys() ? SuppliedWith(waiting->batch.keys.size()) : Supplied();
  }
  CallAll(wakes);
  return {};
}

void PoolKeyspace::Drop() {
  // Q1: in a store that has gone back they may be available again, to others.
  const MutexLock lock(pile_mu_);
  blocks_burned_ += pile_.Clear().size() + (unattested_ ? 1 : 0);
  ready_.store(0, std::memory_order_relaxed);
  unattested_.reset();
  holds_.clear();  // Nothing of these has left, or could.
  old_.clear();
}

// A store that has the newest of what was marked here has all that came before. What is reserved
// need not be looked at: it is compared when it is marked.
Result<std::string> PoolKeyspace::LostHold(const Supply& supply) {
  std::optional<KeyPile::Sample> sample;
  bool held = false;  // Nobody has had it yet in this life.
  {
    const MutexLock lock(mu_);
    if (stopped_) return std::string();
    const MutexLock pile_lock(pile_mu_);
    GiveUpOld();
    ready_.store(pile_.size(), std::memory_order_relaxed);
    // Q1: others may have had these since, in a time that the store has lost; then it has them
    // under our token again. So they go back to nobody.
    blocks_burned_ += pile_.TakeOld().size() + old_.size();
    old_.clear();
    if (unattested_ && unattested_->batch.use_by.IsOver(clock_.Monotonic(), clock_.WallMs())) {
      ++blocks_burned_;
      unattested_.reset();
    }
    sample = pile_.Newest();
    if (unattested_) sample = {unattested_->batch.keys.back(), unattested_->batch.token};
    held = sample.has_value();
    if (!held) sample = newest_;
  }
  if (!sample || (!held && recipe().recycle)) return std::string();
  KeyTable* const table = supply.store.store().key_table();
  const Result<std::optional<KeyRow>> row =
      table->FindKey(id(), sample->key, supply.store.Deadline());
  if (!row.ok()) return Status(Code::kUnavailable, row.status().message());
  // Who had it in an earlier life may have released it once more: the mark is there all the same.
  if (row->has_value() && (*row)->token == sample->token &&
      ((*row)->state == KeyState::kUsed || (*row)->state == KeyState::kReleased)) {
    return std::string();
  }
  return fmt::format("the store went back: keys that {} took are not its own any more",
                     supply.store.instance());
}

PoolKeyspace::Closed PoolKeyspace::Close(Closing& closing) {
  struct Settlement {
    KeyState state = KeyState::kUsed;
    std::string token;
    std::vector<std::string> keys;
  };
  std::vector<Settlement> settlements;
  Wakes wakes;
  {
    const MutexLock lock(mu_);
    if (!stopped_) {
      wakes = End({Code::kUnavailable, fmt::format("mint {}: shutting down", name())});
      const MutexLock pile_lock(pile_mu_);
      for (KeyPile::Batch& batch : pile_.Clear()) {
        settlements.push_back({KeyState::kUsed, batch.token, std::move(batch.keys)});
      }
      ready_.store(0, std::memory_order_relaxed);
      if (unattested_) {
        KeyPile::Batch& batch = unattested_->batch;
        settlements.push_back({KeyState::kUsed, batch.token, std::move(batch.keys)});
      }
      unattested_.reset();
      for (KeyPile::Batch& batch : old_) {
        settlements.push_back({KeyState::kUsed, batch.token, std::move(batch.keys)});
      }
      old_.clear();
      for (Hold& hold : holds_) {
        settlements.push_back({KeyState::kReserved, hold.token, std::move(hold.keys)});
      }
      holds_.clear();
    }
  }
  CallAll(wakes);
  KeyRegister keys(closing.supply().store,
                   [&]() -> Result<std::string> { return closing.supply().timeline; });
  Closed closed;
  for (const Settlement& each : settlements) {
    // What is only reserved is not lost: somebody reclaims it.
    const std::uint64_t burned = each.state == KeyState::kUsed ? each.keys.size() : 0;
    std::uint64_t given_back = 0;
    Status done;
    if (closing.InTime()) {
      done = closing.Try([&]() -> Status {
        const Result<std::vector<KeyRow>> rows =
            keys.Change(*this,
                        {.match = {.keys = each.keys, .state = each.state, .token = each.token},
                         .to = KeyState::kAvailable,
                         .at_ms = keys.NowMs(),
                         .rows_max = static_cast<std::uint32_t>(each.keys.size())},
                        /*repeats=*/false);
        if (rows.ok()) given_back = rows->size();
        return rows.status();
      });
      if (!done.ok() && burned > 0) {
        Log(LogLevel::kWarn, "mint", "{}; {} keys of {} are burned", done.message(), burned,
            name());
      }
    } else {
      closed.too_late += burned;
    }
    closed.given_back += given_back;
    const MutexLock lock(mu_);
    if (given_back > 0) {
      ++returned_;
    } else if (burned > 0) {
      ++blocks_burned_;
    }
  }
  return closed;
}

}  // namespace keymill::mint
