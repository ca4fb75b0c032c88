// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A keyspace whose keys are made of a time, a worker and a sequence. Time is reserved in the store
// ahead of use, per worker, exactly as numbers are: no clock and no lease decides whether an id is
// unique.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "keys/codec.h"
#include "mint/keyspace.h"
#include "mint/refill_policy.h"
#include "mint/worker_leases.h"
#include "mint/worker_line.h"

namespace keymill::mint {

struct SnowflakeOptions {
  WorkerChoice choice = {};
  // Whether time may be reserved although this machine's clock is far ahead of the store's.
  bool accept_clock_ahead = false;
};

class SnowflakeKeyspace final : public Keyspace {
 public:
  // A clock that is further ahead of the store's than this is wrong, and ids made by it would
  // outrun all that come after.
  static constexpr std::int64_t kAheadMaxMs = 600'000;

  SnowflakeKeyspace(const KeyspaceRecord& record, Recipe recipe, keys::Codec codec,
                    SnowflakeOptions options, const Clock& clock, std::uint32_t waiters_max,
                    LowSignal low_signal);

  keys::Written TakeKeys(std::uint32_t count, std::string_view after, char* out) override;
  [[nodiscard]] bool CouldIssue(std::string_view key) const override {
    return codec_.Decode(key).ok();
  }
  Result<Explanation> Explain(std::string_view key, WitnessedStore& store) override;

  [[nodiscard]] bool numbered() const override { return true; }
  [[nodiscard]] std::optional<std::uint64_t> NumberOf(std::string_view key) const override;

  // A worker id of this instance, if it has one yet.
  [[nodiscard]] std::optional<std::uint32_t> worker() const;

  // The text of an id, whether or not anybody has it.
  [[nodiscard]] std::string KeyOf(std::uint64_t id) const;

  // ---- For the refiller: one thread at a time. ----

  Refilled Refill(const Supply& supply) override;
  MonotonicTime Tick() override;
  Result<std::string> LostHold(const Supply& supply) override;
  Closed Close(Closing& closing) override;

 private:
  // Never moved: takers have no lock. A worker id that is given up is replaced by another.
  struct Seat {
    std::atomic<WorkerLine*> line{nullptr};
    // For the refiller only.
    WorkerWindow window;
    std::vector<std::unique_ptr<WorkerLine>> lines;  // All that ever sat here.
    MonotonicTime ask_at;  // Not before: what was wanted was not to be had,
    Status refusal;        // for this reason; OK while there is time left all the same.
  };

  // With time in hand the store is not to blame: the clock is, or there is no id left at this
  // moment.
  [[nodiscard]] Status LateVerdict() const override;
  [[nodiscard]] bool HasKeys() const override;
  void Drop() override KEYMILL_REQUIRES(mu_);
  void Tell(Stats& stats) override KEYMILL_REQUIRES(mu_);

  // What became of ids that were taken: so many keys.
  void CountSkipped(std::uint64_t now, std::uint64_t ids, std::uint64_t keys);
  // Whether the blocklist has something against all ids of this moment.
  [[nodiscard]] bool IsSkipping(std::uint64_t now) const;
  // For how many units of time that is not asked again.
  [[nodiscard]] std::uint64_t SkipTicks() const;

  // The present unit of time. Errors: kClockRegressed before the epoch, kExhausted after the end.
  [[nodiscard]] Result<std::uint64_t> Now() const;
  // Whether the clock may be trusted with another window. kClockRegressed.
  [[nodiscard]] Status CheckClock(const Supply& supply) const;
  // Sees to the time of one seat. OK when there is enough.
  Status Supply1(const Supply& supply, Seat& seat, bool extra, std::uint64_t now,
                 std::uint32_t ticks, bool& granted);
  // By how many units the clock may go back and is waited for.
  [[nodiscard]] std::uint64_t BackTicks() const;
  // More time for the worker id. False when it cannot go on with what there is.
  Result<bool> Lengthen(const Supply& supply, Seat& seat, WorkerLine& line, std::uint64_t now,
                        std::uint32_t ticks);
  // Puts another worker id in the place of the one that sits there.
  void Replace(const Supply& supply, Seat& seat, WorkerWindow window);
  // Gives the time of a line back that nobody takes from any more.
  void Settle(const Supply& supply, WorkerLine& line, const WorkerWindow& window);
  Status Pause(Seat& seat, Status refusal) const;
  keys::Written Write(const WorkerLine& line, const WorkerRun& run, std::string_view after,
                      char* out) const;

  const keys::Codec codec_;
  const SnowflakeLayout layout_;
  const SnowflakeOptions options_;
  const Clock& clock_;
  WorkerLeases leases_;
  std::vector<Seat> seats_;
  std::atomic<std::uint64_t> issued_{0};
  std::atomic<std::uint64_t> skipped_{0};  // Of these; not more, ever.
  std::atomic<std::uint64_t> skipped_in_a_row_{0};
  std::atomic<std::uint64_t> skip_until_{0};
  RateMeter rate_ KEYMILL_GUARDED_BY(mu_);
  std::uint64_t blocks_reserved_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t blocks_returned_ KEYMILL_GUARDED_BY(mu_) = 0;
};

}  // namespace keymill::mint
