// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A keyspace by itself, with the test in the part of the refiller.

#include "mint/counter_keyspace.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace keymill::mint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class KeyspaceTest : public testing::Test {
 protected:
  std::unique_ptr<CounterKeyspace> Make(Kind kind = Kind::kSequence,
                                        std::uint32_t waiters_max = 3) {
    Recipe recipe = DefaultRecipe(kind);
    recipe.start = 0;
    const std::vector<std::uint8_t> secret(kind == Kind::kShuffled ? keys::kSecretSize : 0, 7);
    auto codec = keys::Codec::Make(recipe, secret);
    EXPECT_TRUE(codec.ok()) << codec.status().message();
    KeyspaceRecord record;
    record.name = "k";
    record.id = "id";
    record.end = codec->end();
    record.rev = 1;
    return std::make_unique<CounterKeyspace>(record, recipe, *std::move(codec), waiters_max,
                                             [this] { ++signals_; });
  }
  static bool Add(CounterKeyspace& keyspace, std::string id, std::uint64_t first,
                  std::uint32_t count, const std::vector<std::string>& settled = {}) {
    return keyspace.AddBlock({std::move(id), first, count, {1, first + count}}, settled);
  }
  static std::uint64_t TakeAll(CounterKeyspace& keyspace, std::uint64_t count) {
    std::uint64_t got = 0;
    while (got < count) {
      const auto run = keyspace.Take(count - got);
      if (run.count == 0) break;
      got += run.count;
    }
    return got;
  }

  std::atomic<int> signals_{0};
};

TEST_F(KeyspaceTest, AWaiterIsWokenOnceWhenABlockArrives) {
  const auto keyspace = Make();
  int woken = 0;
  const auto waiter = keyspace->Await(5, [&] { ++woken; });
  ASSERT_TRUE(waiter.ok());
  EXPECT_NE(*waiter, 0U);
  EXPECT_EQ(signals_, 1) << "the refiller is told";
  EXPECT_EQ(keyspace->stats().waiting, 1U);
  ASSERT_TRUE(Add(*keyspace, "a", 0, 10));
  EXPECT_EQ(woken, 1);
  ASSERT_TRUE(Add(*keyspace, "a", 10, 10));
  EXPECT_EQ(woken, 1);
}

TEST_F(KeyspaceTest, AwaitSaysTryAgainWhenThereIsSomethingNow) {
  const auto keyspace = Make();
  ASSERT_TRUE(Add(*keyspace, "a", 0, 10));
  const auto waiter = keyspace->Await(5, [] { FAIL() << "never called"; });
  ASSERT_TRUE(waiter.ok());
  EXPECT_EQ(*waiter, 0U);
}

TEST_F(KeyspaceTest, AwaitSaysTryAgainWhenWaitingIsPointless) {
  const auto keyspace = Make();
  keyspace->RefillFailed({Code::kExhausted, "all gone"});
  EXPECT_EQ(*keyspace->Await(5, [] {}), 0U);
  EXPECT_EQ(keyspace->Verdict().code(), Code::kExhausted);
}

TEST_F(KeyspaceTest, AForgottenWaiterIsNotWoken) {
  const auto keyspace = Make();
  int woken = 0;
  const auto first = keyspace->Await(1, [&] { woken += 1; });
  const auto second = keyspace->Await(1, [&] { woken += 10; });
  keyspace->Forget(*first);
  keyspace->Forget(12345);  // Nobody.
  ASSERT_TRUE(Add(*keyspace, "a", 0, 10));
  EXPECT_EQ(woken, 10);
  keyspace->Forget(*second);
}

TEST_F(KeyspaceTest, TooManyWaitersAreOverload) {
  const auto keyspace = Make(Kind::kSequence, 3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(keyspace->Await(1, [] {}).ok());
  EXPECT_EQ(keyspace->Await(1, [] {}).code(), Code::kOverloaded);
  ASSERT_TRUE(Add(*keyspace, "a", 0, 1));
  EXPECT_EQ(TakeAll(*keyspace, 1), 1U);
  EXPECT_TRUE(keyspace->Await(1, [] {}).ok()) << "there is room again";
}

TEST_F(KeyspaceTest, WhateverEndsTheWaitWakesEverybody) {
  for (const Code code : {Code::kExhausted, Code::kQuarantined, Code::kFailedPrecondition,
                          Code::kNotFound, Code::kInternal}) {
    const auto keyspace = Make();
    int woken = 0;
    ASSERT_TRUE(keyspace->Await(1, [&] { ++woken; }).ok());
    keyspace->RefillFailed({code, "because"});
    EXPECT_EQ(woken, 1) << CodeName(code);
    EXPECT_EQ(keyspace->Verdict().code(), code);
    EXPECT_EQ(keyspace->DeadlineVerdict().code(), code);
  }
}

TEST_F(KeyspaceTest, WhatPassesByItselfWakesNobody) {
  for (const Code code :
       {Code::kUnavailable, Code::kDeadlineExceeded, Code::kUnknownOutcome, Code::kOverloaded}) {
    const auto keyspace = Make();
    int woken = 0;
    ASSERT_TRUE(keyspace->Await(1, [&] { ++woken; }).ok());
    keyspace->RefillFailed({code, "the reason"});
    EXPECT_EQ(woken, 0) << CodeName(code);
    EXPECT_TRUE(keyspace->Verdict().ok());
    EXPECT_EQ(keyspace->DeadlineVerdict().code(),
              code == Code::kOverloaded ? code : Code::kUnavailable);
    EXPECT_THAT(keyspace->DeadlineVerdict().message(), HasSubstr("the reason"));
    ASSERT_TRUE(Add(*keyspace, "a", 0, 1));
    EXPECT_EQ(keyspace->DeadlineVerdict().code(), Code::kDeadlineExceeded) << "it is over";
  }
}

TEST_F(KeyspaceTest, WithoutAFailureALateBlockIsADeadlineExceeded) {
  EXPECT_EQ(Make()->DeadlineVerdict().code(), Code::kDeadlineExceeded);
}

// Takers that find nothing and wait must be woken by the very block that they missed. Each
// round adds one number for each taker; a lost wake-up would leave the test hanging.
TEST_F(KeyspaceTest, NoWakeUpIsLostBetweenTakeAndAwait) {
  constexpr std::uint64_t kKeysEach = 300;
  const auto keyspace = Make(Kind::kSequence, 100);
  std::atomic<std::uint64_t> got{0};
  std::vector<std::thread> takers;
  for (int i = 0; i < 2; ++i) {
    takers.emplace_back([&] {
      for (std::uint64_t mine = 0; mine < kKeysEach;) {
        if (keyspace->Take(1).count == 1) {
          ++mine;
          ++got;
          continue;
        }
        const auto woken = std::make_shared<std::atomic<bool>>(false);
        const auto waiter = keyspace->Await(1, [woken] {
          woken->store(true);
          woken->notify_one();
        });
        ASSERT_TRUE(waiter.ok());
        if (*waiter != 0) woken->wait(false);
      }
    });
  }
  std::uint64_t added = 0;
  while (added < 2 * kKeysEach) {
    if (got < added) {
      std::this_thread::yield();
      continue;  // Never ahead of the takers: every key goes through the narrow gate.
    }
    ASSERT_TRUE(Add(*keyspace, "a", added, 1));
    ++added;
  }
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(got, 2 * kKeysEach);
}

TEST_F(KeyspaceTest, ClosingSettlesEveryBlockAtItsFirstUnusedNumber) {
  const auto keyspace = Make(Kind::kShuffled);
  ASSERT_TRUE(Add(*keyspace, "a", 100, 10));
  ASSERT_TRUE(Add(*keyspace, "a", 110, 10));  // The same row, grown.
  ASSERT_TRUE(Add(*keyspace, "b", 500, 10));
  ASSERT_TRUE(Add(*keyspace, "c", 50, 10));
  EXPECT_EQ(TakeAll(*keyspace, 23), 23U);
  const auto settled = keyspace->Seal();
  ASSERT_EQ(settled.size(), 3U);
  EXPECT_EQ(settled[0].first_unused, 120U);
  EXPECT_EQ(settled[0].unused, 0U);
  EXPECT_EQ(settled[1].first_unused, 503U);
  EXPECT_EQ(settled[1].unused, 7U);
  EXPECT_EQ(settled[2].first_unused, 50U);
  EXPECT_EQ(settled[2].unused, 10U);
  EXPECT_TRUE(keyspace->Seal().empty()) << "works once";
  EXPECT_EQ(keyspace->Take(1).count, 0U);
  EXPECT_EQ(keyspace->Verdict().code(), Code::kUnavailable);
}

// A returned block may come between two grants of one growing ledger row. The row is settled
// once, behind everything of it that was handed out; anything else repeats keys.
TEST_F(KeyspaceTest, ARowThatGrewAfterAnotherBlockIsSettledOnceBehindItsLastUsedNumber) {
  struct Case {
    std::uint64_t taken;
    std::uint64_t first_unused;
    std::uint64_t unused;
  };
  for (const Case each :
       {Case{0, 1000, 30}, Case{4, 1004, 26}, Case{10, 1010, 20}, Case{12, 1010, 20},
        Case{15, 1010, 20}, Case{18, 1013, 17}, Case{35, 1030, 0}}) {
    const auto keyspace = Make(Kind::kShuffled);
    ASSERT_TRUE(Add(*keyspace, "row", 1000, 10));
    ASSERT_TRUE(Add(*keyspace, "returned", 20, 5));
    ASSERT_TRUE(Add(*keyspace, "row", 1010, 20));
    EXPECT_EQ(TakeAll(*keyspace, each.taken), each.taken);
    const auto settled = keyspace->Seal();
    ASSERT_EQ(settled.size(), 2U) << each.taken;
    EXPECT_EQ(settled[0].block_id, "row");
    EXPECT_EQ(settled[0].first_unused, each.first_unused) << each.taken;
    EXPECT_EQ(settled[0].unused, each.unused) << each.taken;
  }
}

TEST_F(KeyspaceTest, ARowIsSpentOnlyWhenAllItsPartsAre) {
  const auto keyspace = Make(Kind::kShuffled);
  ASSERT_TRUE(Add(*keyspace, "row", 1000, 10));
  ASSERT_TRUE(Add(*keyspace, "returned", 20, 5));
  ASSERT_TRUE(Add(*keyspace, "row", 1010, 20));
  ASSERT_TRUE(Add(*keyspace, "last", 7000, 5));
  EXPECT_EQ(TakeAll(*keyspace, 20), 20U);
  EXPECT_THAT(keyspace->SpentBlocks(), ElementsAre("returned"));
  ASSERT_TRUE(Add(*keyspace, "last", 7005, 5, {"returned"}));
  EXPECT_TRUE(keyspace->Holds("row"));
  EXPECT_FALSE(keyspace->Holds("returned"));
  EXPECT_EQ(TakeAll(*keyspace, 25), 25U);
  EXPECT_THAT(keyspace->SpentBlocks(), testing::Each("row")) << "the last row may still grow";
  EXPECT_FALSE(keyspace->SpentBlocks().empty());
}

TEST_F(KeyspaceTest, KnowsWhatItHasHandedOut) {
  const auto keyspace = Make(Kind::kShuffled);
  ASSERT_TRUE(Add(*keyspace, "a", 100, 10));
  ASSERT_TRUE(Add(*keyspace, "b", 20, 10));
  EXPECT_EQ(TakeAll(*keyspace, 12), 12U);
  EXPECT_EQ(keyspace->HandedOut(100), true);
  EXPECT_EQ(keyspace->HandedOut(109), true);
  EXPECT_EQ(keyspace->HandedOut(21), true);
  EXPECT_EQ(keyspace->HandedOut(22), false);
  EXPECT_EQ(keyspace->HandedOut(29), false);
  EXPECT_EQ(keyspace->HandedOut(30), std::nullopt);
  EXPECT_EQ(keyspace->HandedOut(99), std::nullopt);
}

TEST_F(KeyspaceTest, AQuarantineStopsWhatIsStillHeld) {
  const auto keyspace = Make();
  ASSERT_TRUE(Add(*keyspace, "a", 0, 10));
  KeyspaceRecord record;
  record.state = KeyspaceState::kQuarantined;
  record.reason = "it went back";
  keyspace->Observe(record);
  EXPECT_EQ(keyspace->Take(1).count, 0U);
  EXPECT_EQ(keyspace->Verdict().code(), Code::kQuarantined);
  EXPECT_THAT(keyspace->Verdict().message(), HasSubstr("it went back"));
  EXPECT_FALSE(Add(*keyspace, "b", 10, 10)) << "and takes no more";
  EXPECT_TRUE(keyspace->Seal().empty()) << "nothing is given back to a store that went back";
}

TEST_F(KeyspaceTest, ARetirementStopsIt) {
  const auto keyspace = Make();
  ASSERT_TRUE(Add(*keyspace, "a", 0, 10));
  KeyspaceRecord record;
  record.state = KeyspaceState::kRetired;
  keyspace->Observe(record);
  EXPECT_EQ(keyspace->Take(1).count, 0U);
  EXPECT_EQ(keyspace->Verdict().code(), Code::kFailedPrecondition);
  EXPECT_EQ(keyspace->stats().state, KeyspaceState::kRetired);
}

TEST_F(KeyspaceTest, NothingIsReservedBeforeSomebodyWantsKeys) {
  FakeClock clock;
  const auto keyspace = Make();
  EXPECT_EQ(keyspace->WantedCount({}, clock.Monotonic()), 0U);
  keyspace->Want();
  EXPECT_EQ(keyspace->WantedCount({}, clock.Monotonic()), 1000U);
}

TEST_F(KeyspaceTest, SignalsOnceWhenItRunsLow) {
  FakeClock clock;
  const auto keyspace = Make();
  keyspace->Want();
  ASSERT_TRUE(Add(*keyspace, "a", 0, 1000));
  EXPECT_EQ(keyspace->WantedCount({.block_size = 1000}, clock.Monotonic()), 0U);
  signals_ = 0;
  EXPECT_EQ(TakeAll(*keyspace, 499), 499U);
  EXPECT_EQ(signals_, 0);
  EXPECT_EQ(TakeAll(*keyspace, 1), 1U);
  EXPECT_EQ(signals_, 1);
  EXPECT_EQ(TakeAll(*keyspace, 100), 100U);
  EXPECT_EQ(signals_, 1) << "once is enough";
  EXPECT_GT(keyspace->WantedCount({.block_size = 1000}, clock.Monotonic()), 0U);
}

TEST_F(KeyspaceTest, CountsUnknownOutcomes) {
  const auto keyspace = Make();
  keyspace->RefillFailed({Code::kUnknownOutcome, "the reply was lost"});
  keyspace->RefillFailed({Code::kUnavailable, "away"});
  EXPECT_EQ(keyspace->stats().blocks_burned, 1U);
  EXPECT_EQ(keyspace->stats().blocks_reserved, 0U);
}

// Keys are made ahead in batches; what comes out must be each number's own key, once.
TEST_F(KeyspaceTest, KeysTakenByManyThreadsAreThoseOfTheNumbers) {
  for (const Kind kind : {Kind::kShuffled, Kind::kSequence}) {
    const auto keyspace = Make(kind);
    constexpr std::uint64_t kNumbers = 30'000;
    std::uint64_t added = 0;
    for (std::uint32_t size = 37; added < kNumbers; size = size * 7 % 1009 + 1) {
      const auto count =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(size, kNumbers - added));
      // Every other block leaves a hole, so that tickets and numbers part.
      ASSERT_TRUE(Add(*keyspace, std::to_string(added), 2 * added, count));
      added += count;
    }
    std::set<std::string> got;
    std::vector<std::vector<std::string>> taken(3);
    std::vector<std::thread> threads;
    for (auto& mine : taken) {
      threads.emplace_back([&keyspace, &mine] {
        constexpr std::uint32_t kMost = 20;
        std::vector<char> out(kMost * (keyspace->codec().size_max() + 1));
        // One, a few from the window, many on the spot.
        for (std::uint32_t count = 1;; count = count * 3 % kMost) {
          const auto written = keyspace->TakeKeys(count, "\n", out.data());
          if (written.keys == 0) return;
          std::string_view lines(out.data(), written.bytes);
          for (std::uint32_t i = 0; i < written.keys; ++i) {
            const std::size_t end = lines.find('\n');
            mine.emplace_back(lines.substr(0, end));
            lines.remove_prefix(end + 1);
          }
          EXPECT_TRUE(lines.empty());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::uint64_t keys = 0;
    for (const auto& mine : taken) {
      for (const std::string& each : mine) {
        const auto number = keyspace->codec().Decode(each);
        ASSERT_TRUE(number.ok()) << each;
        ASSERT_EQ(keyspace->HandedOut(*number), true) << each << " is no number of these blocks";
        got.insert(each);
        ++keys;
      }
    }
    EXPECT_EQ(keys, kNumbers);
    EXPECT_EQ(got.size(), kNumbers);
  }
}

TEST(KeyspaceDeathTest, ASequenceThatWouldCountDownwardsEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Recipe recipe = DefaultRecipe(Kind::kSequence);
  auto codec = keys::Codec::Make(recipe, {});
  KeyspaceRecord record;
  record.name = "k";
  CounterKeyspace keyspace(record, recipe, *std::move(codec), 1, [] {});
  ASSERT_TRUE(keyspace.AddBlock({"a", 100, 10, {1, 110}}, {}));
  EXPECT_DEATH(keyspace.AddBlock({"b", 50, 10, {2, 110}}, {}), "invariant broken");
}

}  // namespace
}  // namespace keymill::mint
