// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A keyspace whose keys are numbers as text: blocks of them are reserved in the store, and spent
// from a reservoir.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "keys/codec.h"
#include "mint/key_window.h"
#include "mint/keyspace.h"
#include "mint/refill_policy.h"
#include "mint/reservoir.h"
#include "mint/taken_list.h"

namespace keymill::mint {

class CounterKeyspace final : public Keyspace {
 public:
  CounterKeyspace(KeyspaceRecord record, Recipe recipe, keys::Codec codec,
                  std::uint32_t waiters_max, LowSignal low_signal);

  [[nodiscard]] const keys::Codec& codec() const { return codec_; }

  // Takes up to `count` numbers that nobody else will ever get, none above `last`; none when the
  // reservoir is empty. The same promises as TakeKeys.
  Reservoir::Run Take(std::uint64_t count, std::uint64_t last = Reservoir::kNoLast) {
    if (Inherited()) return {};
    const Reservoir::Run run = reservoir_.Take(count, last);
    if (run.ticket_end >= low_mark_.load(std::memory_order_relaxed)) ReachLowMark();
    return run;
  }

  // The most that TakeRun gives at once. More would be a block that a crash loses.
  static constexpr std::uint64_t kRunMax = 1'000'000;

  // Takes exactly `count` consecutive numbers, none above `last`, or nothing. Numbers that are left
  // over before them are lost. AwaitRun says when to try again.
  // REQUIRES: 1 <= count <= kRunMax
  Reservoir::Run TakeRun(std::uint64_t count, std::uint64_t last);

  // As Await, for TakeRun.
  // Errors: kOverloaded; kExhausted when so many numbers are not left in a row.
  Result<std::uint64_t> AwaitRun(std::uint64_t count, std::function<void()> wake);

  keys::Written TakeKeys(std::uint32_t count, std::string_view after, char* out) override;

  // Of a ticket, whether it or one of those that share its stride could.
  [[nodiscard]] bool CouldIssue(std::string_view key) const override;
  Result<Explanation> Explain(std::string_view key, WitnessedStore& store) override;
  // Not where a secret hides them.
  [[nodiscard]] bool numbered() const override { return !codec_.shuffled(); }
  [[nodiscard]] std::optional<std::uint64_t> NumberOf(std::string_view key) const override;

  // Whether this instance has handed out `number`: true, false while it still holds it, and
  // nothing when it is not one of its own.
  std::optional<bool> HandedOut(std::uint64_t number);

  // ---- For the refiller: one thread at a time. ----

  Refilled Refill(const Supply& supply) override;
  Result<std::string> LostHold(const Supply& supply) override;
  Closed Close(Closing& closing) override;

  // What the store granted, and which spent blocks it was told of with the request.
  struct Granted {
    Block block;
    std::vector<std::string> settled;
  };
  // Keeps a grant that may not be used yet; the next Refill begins with it.
  void Withhold(Granted granted);

  // How much to ask the store for now; 0 for nothing. Updates the rate.
  std::uint32_t WantedCount(const RefillOptions& options, MonotonicTime now);

  // Whether a block of this id is in the reservoir, in part at least. A grant that extends
  // its ledger row must not be given back by itself: that would settle the whole row.
  bool Holds(std::string_view block_id);

  // Blocks whose every number was handed out, to be reported with the next reservation.
  std::vector<std::string> SpentBlocks();

  // In how many pieces it remembers what it holds, for tests of the cost.
  std::size_t HeldPieces();

  // What the store granted, and which spent blocks it was told of. Wakes everybody who
  // waits. Returns false when the block does not fit; it was not added.
  bool AddBlock(const Block& block, const std::vector<std::string>& settled) {
    return AddRuns(block, {{block.first, block.count}}, settled) == 1;
  }
  // The same where not all numbers of the block are to be had: those of `runs`, in order, as many
  // runs as there is room for. Returns how many.
  std::size_t AddRuns(const Block& block, const std::vector<NumberRun>& runs,
                      const std::vector<std::string>& settled);

  // A block that must be settled: everything in it below first_unused was handed out.
  struct Settlement {
    std::string block_id;
    std::uint64_t first_unused = 0;
    std::uint64_t unused = 0;
  };
  // The last number of each block of which some has not been handed out, and of the newest one in
  // any case: the store has those before it if it has that.
  struct HeldEnd {
    std::string block_id;
    std::uint64_t last = 0;
  };
  std::vector<HeldEnd> HeldEnds();
  // Seals the reservoir and returns how the held blocks stand. Works once.
  std::vector<Settlement> Seal();

 private:
  // A block in the order of its tickets; adjacent blocks of one ledger row are one. A row
  // has several entries when something else was granted before it grew: all of them share
  // its id, and the later ones hold the higher numbers.
  struct Held {
    std::string id;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t ticket = 0;  // Of `first`.
    // All of it was handed out: then it may hold numbers between, which have no tickets.
    bool used_up = false;

    // How many were handed out, once `taken` tickets were.
    [[nodiscard]] std::uint64_t UsedOf(std::uint64_t taken) const {
      if (used_up) return count;
      return taken <= ticket ? 0 : std::min(taken - ticket, count);
    }
  };

  [[nodiscard]] bool HasKeys() const override { return reservoir_.ahead() > 0; }
  [[nodiscard]] bool HasRun(std::uint64_t count) const override { return reservoir_.HasRun(count); }
  // Makes one of neighbours that are used up: codes that were in use before cut a block into many.
  void Compact(std::uint64_t taken) KEYMILL_REQUIRES(mu_);
  void Drop() override KEYMILL_REQUIRES(mu_);
  void Tell(Stats& stats) override KEYMILL_REQUIRES(mu_);

  void ReachLowMark();
  void SetLowMark(std::uint64_t target, const RefillState& state) KEYMILL_REQUIRES(mu_);
  // Writes the keys of `run` from the window, and those that are not there by themselves.
  keys::Written CopyKeys(const Reservoir::Run& run, std::string_view after, char* out);
  void MakeBatch(std::uint64_t batch);

  Result<Block> Reserve(const Supply& supply, std::uint32_t count,
                        const std::vector<std::string>& spent);
  Status GiveBack(const Supply& supply, const std::string& block_id, std::uint64_t first_unused);
  // Adds what the keyspace may use of a grant that is witnessed. False when there is no room.
  Result<bool> Use(const Supply& supply, const Granted& granted);
  // A block for which there is no room.
  void GiveBackUnused(const Supply& supply, const Block& block);
  std::optional<Granted> TakeWithheld();
  // A block that was settled went back to the store, or could not.
  void CountReturned(bool returned);
  // The highest number that was ever in this reservoir, plus one: a process that counts
  // upwards must be granted nothing below.
  std::uint64_t NumberEnd();

  const keys::Codec codec_;
  Reservoir reservoir_;
  std::optional<KeyWindow> window_;         // Where making keys in batches pays.
  std::optional<TakenList> taken_;          // Where codes were in use before. The refiller's.
  std::atomic<std::uint64_t> low_mark_{0};  // Signal once this ticket is reached.
  std::atomic<std::uint64_t> skipped_{0};

  std::vector<Held> held_ KEYMILL_GUARDED_BY(mu_);
  std::optional<Granted> withheld_ KEYMILL_GUARDED_BY(mu_);
  std::uint64_t last_block_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t taken_before_last_block_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t number_end_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t keys_told_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t blocks_reserved_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t blocks_returned_ KEYMILL_GUARDED_BY(mu_) = 0;
  RateMeter rate_ KEYMILL_GUARDED_BY(mu_);
};

// The keyspace as one whose numbers mean something by themselves: a sequence without a blocklist,
// which would skip some. Null for any other.
CounterKeyspace* AsPlainSequence(Keyspace& keyspace);

}  // namespace keymill::mint
