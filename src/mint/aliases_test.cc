// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/aliases.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

class AliasesTest : public EngineTestBase {
 protected:
  static Claim ClaimOn(Engine& engine, std::string_view alias, std::string_view owner = "",
                       std::string_view keyspace = "k") {
    const Result<Claim> claim = engine.ClaimKey(keyspace, alias, owner);
    EXPECT_TRUE(claim.ok()) << claim.status().message();
    return claim.ok() ? *claim : Claim{ClaimVerdict::kInvalid, "an error"};
  }
  static ClaimVerdict VerdictOn(Engine& engine, std::string_view alias, std::string_view owner = "",
                                std::string_view keyspace = "k") {
    return ClaimOn(engine, alias, owner, keyspace).verdict;
  }
};

TEST_F(AliasesTest, HasOneOwnerForEver) {
  const auto engine = StartMemory();
  Create(*engine, DefaultRecipe(Kind::kShuffled));
  EXPECT_EQ(VerdictOn(*engine, "my-talk", "ann"), ClaimVerdict::kClaimed);
  EXPECT_EQ(VerdictOn(*engine, "my-talk", "ann"), ClaimVerdict::kYours);
  EXPECT_EQ(VerdictOn(*engine, "my-talk", "bob"), ClaimVerdict::kTaken);
  EXPECT_EQ(VerdictOn(*engine, "my-talk"), ClaimVerdict::kTaken);
  // Case counts.
  EXPECT_EQ(VerdictOn(*engine, "My-talk", "bob"), ClaimVerdict::kClaimed);
  // Another keyspace has its own.
  Create(*engine, DefaultRecipe(Kind::kShuffled), "other");
  EXPECT_EQ(VerdictOn(*engine, "my-talk", "bob", "other"), ClaimVerdict::kClaimed);
}

TEST_F(AliasesTest, NobodyClaimsTwiceWithoutAnOwner) {
  const auto engine = StartMemory();
  Create(*engine, DefaultRecipe(Kind::kShuffled));
  EXPECT_EQ(VerdictOn(*engine, "my-talk"), ClaimVerdict::kClaimed);
  EXPECT_EQ(VerdictOn(*engine, "my-talk"), ClaimVerdict::kTaken);
}

TEST_F(AliasesTest, HasAForm) {
  const auto engine = StartMemory();
  Create(*engine, DefaultRecipe(Kind::kUuid4));
  for (const std::string_view bad :
       {"", "ab", "-ab", "_ab", "a b", "a.b", "ab/", "äbc", "seventeen-symbols", "abc\n"}) {
    EXPECT_EQ(VerdictOn(*engine, bad), ClaimVerdict::kInvalid) << bad;
  }
  EXPECT_THAT(ClaimOn(*engine, "ab").detail, HasSubstr("3 to 16"));
  for (const std::string_view good : {"abc", "a__", "0--", "sixteen-symbols_", "ABC"}) {
    EXPECT_EQ(VerdictOn(*engine, good), ClaimVerdict::kClaimed) << good;
  }
}

TEST_F(AliasesTest, IsNoReservedWord) {
  const auto engine = StartMemory();
  Recipe recipe = DefaultRecipe(Kind::kUuid4);
  Create(*engine, recipe);
  EXPECT_EQ(VerdictOn(*engine, "admin"), ClaimVerdict::kReserved);
  EXPECT_EQ(VerdictOn(*engine, "Admin"), ClaimVerdict::kReserved);
  EXPECT_EQ(VerdictOn(*engine, "get-key"), ClaimVerdict::kReserved);
  EXPECT_EQ(VerdictOn(*engine, "admins"), ClaimVerdict::kClaimed);
  recipe = DefaultRecipe(Kind::kShuffled);
  recipe.blocklist = {"rude"};
  Create(*engine, recipe, "polite");
  EXPECT_EQ(VerdictOn(*engine, "so-RUDE", "", "polite"), ClaimVerdict::kReserved);
}

TEST_F(AliasesTest, IsNoKeyThatTheKeyspaceCouldMake) {
  const auto engine = StartMemory();
  Create(*engine, DefaultRecipe(Kind::kShuffled));  // 7 symbols of base62
  EXPECT_EQ(VerdictOn(*engine, "abcdefg"), ClaimVerdict::kLooksGenerated);
  EXPECT_EQ(VerdictOn(*engine, "abcdef-"), ClaimVerdict::kClaimed);
  EXPECT_EQ(VerdictOn(*engine, "abcdefgh"), ClaimVerdict::kClaimed);
  Recipe orders = Orders();
  orders.prefix = "ord";
  Create(*engine, orders, "orders");
  EXPECT_EQ(VerdictOn(*engine, "ord12", "", "orders"), ClaimVerdict::kLooksGenerated);
  EXPECT_EQ(VerdictOn(*engine, "ord012", "", "orders"), ClaimVerdict::kClaimed);
  EXPECT_EQ(VerdictOn(*engine, "123", "", "orders"), ClaimVerdict::kClaimed);
  Recipe odd = DefaultRecipe(Kind::kTicket);
  odd.alphabet = "decimal";
  odd.stride = 2;
  Create(*engine, odd, "odd");
  EXPECT_EQ(VerdictOn(*engine, "123", "", "odd"), ClaimVerdict::kLooksGenerated);
  EXPECT_EQ(VerdictOn(*engine, "124", "", "odd"), ClaimVerdict::kLooksGenerated)
      << "the even ones are those of another authority";
  EXPECT_EQ(VerdictOn(*engine, "0124", "", "odd"), ClaimVerdict::kClaimed);
  Recipe later = orders;
  later.start = 1'001;
  Create(*engine, later, "later");
  EXPECT_EQ(VerdictOn(*engine, "ord1000", "", "later"), ClaimVerdict::kLooksGenerated)
      << "what lies before the start was another service's";
  EXPECT_EQ(VerdictOn(*engine, "ord1001", "", "later"), ClaimVerdict::kLooksGenerated);
  EXPECT_EQ(VerdictOn(*engine, "ord01000", "", "later"), ClaimVerdict::kClaimed);
  // Longer than numbers need: the secret says which of these texts will never come.
  Recipe wide = DefaultRecipe(Kind::kTicket);
  wide.counter = Kind::kShuffled;
  wide.length = 12;
  Create(*engine, wide, "wide");
  for (const std::string_view alias : {"000000000000", "AzL8n0Y58m6z", "zzzzzzzzzzzz"}) {
    EXPECT_EQ(VerdictOn(*engine, alias, "", "wide"), ClaimVerdict::kLooksGenerated) << alias;
  }
  auto ids = engine->Create("ids", DefaultRecipe(Kind::kSnowflake));
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(VerdictOn(*engine, "1234567890", "", "ids"), ClaimVerdict::kLooksGenerated);
  EXPECT_EQ(VerdictOn(*engine, "12345678-90", "", "ids"), ClaimVerdict::kClaimed);
}

TEST_F(AliasesTest, IsTakenWhereTheKeyWasDerivedAndTheOtherWayRound) {
  const auto engine = StartMemory();
  Recipe recipe = DefaultRecipe(Kind::kDerived);
  ASSERT_TRUE(engine->Create("k", recipe).ok());
  const auto derived = engine->Derive("k", "content", "");
  ASSERT_TRUE(derived.ok());
  EXPECT_EQ(VerdictOn(*engine, derived->key), ClaimVerdict::kTaken);
  // What another content's key would be is claimed first: the content gets another one.
  const auto twin = StartMemory();
  ASSERT_TRUE(twin->Create("k", recipe).ok());
  ASSERT_EQ(VerdictOn(*twin, derived->key), ClaimVerdict::kClaimed);
  const auto other = twin->Derive("k", "content", "");
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->key, derived->key);
  EXPECT_FALSE(other->existing);
}

TEST_F(AliasesTest, IsExplained) {
  const auto engine = StartMemory();
  Create(*engine, DefaultRecipe(Kind::kShuffled));
  clock_.StepWall(std::chrono::milliseconds(5'000));
  ASSERT_EQ(VerdictOn(*engine, "my-talk", "ann"), ClaimVerdict::kClaimed);
  const auto explained = engine->Explain("k", "my-talk");
  ASSERT_TRUE(explained.ok()) << explained.status().message();
  EXPECT_EQ(explained->state, Explanation::State::kAlias);
  ASSERT_TRUE(explained->record);
  EXPECT_EQ(explained->record->owner, "ann");
  EXPECT_EQ(explained->record->since_ms, clock_.WallMs());
  EXPECT_EQ(engine->Explain("k", "no-such-alias").code(), Code::kNotFound);
}

TEST_F(AliasesTest, OneOfManyAtOnceWins) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 20;
  std::vector<std::unique_ptr<Engine>> engines;
  for (int i = 0; i < 2; ++i) {
    engines.push_back(StartSqlite());
    Create(*engines.back(), DefaultRecipe(Kind::kShuffled));
  }
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> winners{0};
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const auto claim = engines[static_cast<std::size_t>(i % 2)]->ClaimKey(
            "k", "race-" + std::to_string(round), std::to_string(i));
        EXPECT_TRUE(claim.ok()) << claim.status().message();
        if (claim.ok() && claim->verdict == ClaimVerdict::kClaimed) ++winners;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(winners, 1);
  }
}

TEST_F(AliasesTest, IsRefusedWhereNothingCanBeSaid) {
  const auto engine = StartMemory();
  EXPECT_EQ(engine->ClaimKey("k", "my-talk", "").code(), Code::kNotFound);
  Create(*engine, DefaultRecipe(Kind::kShuffled));
  EXPECT_EQ(engine->ClaimKey("k", "my-talk", std::string(201, 'x')).code(), Code::kInvalidArgument);
  ASSERT_TRUE(engine->Retire("k").ok());
  EXPECT_EQ(engine->ClaimKey("k", "my-talk", "").code(), Code::kFailedPrecondition);
}

// Q1: a claim that was lost with the store would be somebody else's next.
TEST_F(AliasesTest, IsNotGivenAnewByAStoreThatWentBack) {
  const std::filesystem::path old = dir_.path() / "old.db";
  {
    const auto engine = StartSqlite();
    Create(*engine, DefaultRecipe(Kind::kShuffled));
    engine->Close();
    std::filesystem::copy_file(db(), old);
  }
  {
    const auto engine = StartSqlite();
    ASSERT_EQ(VerdictOn(*engine, "my-talk", "ann"), ClaimVerdict::kClaimed);
  }
  std::filesystem::copy_file(old, db(), std::filesystem::copy_options::overwrite_existing);
  const auto engine = StartSqlite();
  EXPECT_EQ(engine->ClaimKey("k", "my-talk", "bob").code(), Code::kQuarantined);
}

}  // namespace
}  // namespace keymill::mint
