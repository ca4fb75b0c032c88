// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/code_import.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/engine_test_support.h"
#include "mint/pool_test_support.h"
#include "mint/taken_list.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kCapacity = 1'000'000;

Recipe SixDigits(Kind kind = Kind::kShuffled) {
  Recipe recipe = DefaultRecipe(kind);
  recipe.alphabet = "decimal";
  recipe.length = 6;
  return recipe;
}

// Every `step`-th of all codes of six digits.
std::vector<std::string> EveryNth(std::uint64_t step) {
  std::vector<std::string> codes;
  for (std::uint64_t i = 0; i < kCapacity; i += step) codes.push_back(fmt::format("{:06}", i));
  return codes;
}

class CodeImportTest : public PoolTestBase {
 protected:
  static CodeImport Import(Engine& engine, const Recipe& recipe,
                           const std::vector<std::string>& codes) {
    const auto import = engine.Import("k", recipe, codes, {});
    EXPECT_TRUE(import.ok()) << import.status().message();
    return import.ok() ? *import : CodeImport{};
  }

  static std::vector<bool> Drain(Engine& engine, std::uint64_t count) {
    Keyspace& keyspace = *engine.Find("k");
    keyspace.Want();
    std::vector<bool> got(kCapacity);
    for (const std::string& key : Mint(engine, keyspace, count)) {
      EXPECT_FALSE(got[std::stoul(key)]) << "twice: " << key;
      got[std::stoul(key)] = true;
    }
    return got;
  }
};

// Whatever part of the format was in use, and however it is divided into blocks.
TEST_F(CodeImportTest, AllNumbersButThoseOfTheListAreFree) {
  for (const std::uint64_t step : {4, 1'000}) {
    const std::vector<std::string> codes = EveryNth(step);
    const auto engine = StartFaulty(Options());
    const std::string name = fmt::format("k{}", step);
    ASSERT_TRUE(engine->Import(name, SixDigits(), codes, {}).ok());
    auto& keyspace = static_cast<CounterKeyspace&>(*engine->Find(name));
    std::vector<bool> free(kCapacity);
    WitnessedStore store(std::make_unique<FaultyStore>(memory_, faults_), nullptr, "test",
                         std::chrono::seconds(1), clock_);
    TakenList list(keyspace.id());
    for (std::uint64_t first = 0; first < kCapacity; first += 777) {
      const auto runs = list.FreeOf(store, first, std::min<std::uint64_t>(777, kCapacity - first));
      ASSERT_TRUE(runs.ok()) << runs.status().message();
      for (const NumberRun& run : *runs) {
        for (std::uint64_t i = 0; i < run.count; ++i) free[run.first + i] = true;
      }
    }
    std::vector<bool> wanted(kCapacity, true);
    for (const std::string& code : codes) wanted[*keyspace.codec().Decode(code)] = false;
    EXPECT_TRUE(free == wanted) << "every " << step;
  }
}

TEST_F(CodeImportTest, WhatIsGivenBackIsStillRidOfThem) {
  const std::vector<std::string> codes = EveryNth(4);
  std::vector<bool> all(kCapacity);
  std::uint64_t count = 0;
  for (int round = 0; round < 4; ++round) {
    const auto engine = StartFaulty(Options(1'000));
    Import(*engine, SixDigits(), codes);
    const std::vector<bool> got = Drain(*engine, 777);
    for (std::uint64_t i = 0; i < kCapacity; ++i) {
      if (!got[i]) continue;
      ++count;
      ASSERT_TRUE(i % 4 != 0 && !all[i]) << i;
      all[i] = true;
    }
    engine->StepForTest();  // It never holds nothing.
    EXPECT_GT(engine->Close(), 0U);
  }
  EXPECT_EQ(count, 4U * 777U);
}

// A block that codes in use cut into pieces is remembered in one as soon as it was handed out, or a
// server would look through more of them with each block.
TEST_F(CodeImportTest, WhatWasHandedOutIsRememberedInOnePiece) {
  const auto engine = StartFaulty(Options());
  Import(*engine, SixDigits(), EveryNth(3));
  auto& keyspace = static_cast<CounterKeyspace&>(*engine->Find("k"));
  keyspace.Want();
  const std::vector<std::string> keys = Mint(*engine, keyspace, 2'000);
  ASSERT_EQ(keys.size(), 2'000U);
  EXPECT_LT(keyspace.HeldPieces(), 200U);
  for (const std::string& key : keys) {
    const auto told = engine->Explain("k", key);
    ASSERT_TRUE(told.ok()) << told.status().message();
    EXPECT_EQ(told->state, Explanation::State::kIssued) << key;
  }
  // None of it comes again after a clean stop.
  engine->Close();
  const auto next = StartFaulty(Options());
  std::set<std::string> all(keys.begin(), keys.end());
  Keyspace& again = **next->Lookup("k");
  again.Want();
  for (const std::string& key : Mint(*next, again, 2'000)) EXPECT_TRUE(all.insert(key).second);
}

TEST_F(CodeImportTest, NothingIsGivenOutBeforeTheListIsComplete) {
  const auto engine = StartFaulty(Options(100));
  const std::vector<std::string> codes = EveryNth(10);
  faults_->add_keys.push_back({{Code::kUnavailable, "the store went away"}});
  EXPECT_EQ(engine->Import("k", SixDigits(), codes, {}).code(), Code::kUnavailable);
  ASSERT_NE(engine->Find("k"), nullptr);
  engine->Find("k")->Want();
  EXPECT_EQ(TakeNow(*engine->Find("k"), 5).size(), 0U);
  engine->StepForTest();
  EXPECT_EQ(TakeNow(*engine->Find("k"), 5).size(), 0U);
  EXPECT_EQ(faults_->reserve_calls, 0);
  EXPECT_TRUE(engine->store_up()) << "the others get their numbers";
  const CodeImport again = Import(*engine, SixDigits(), codes);
  EXPECT_FALSE(again.fresh);
  EXPECT_EQ(again.skipped, codes.size());
  for (const std::size_t step : {1, 2}) {
    const std::vector<bool> got = Drain(*engine, 50 * step);
    for (std::uint64_t i = 0; i < kCapacity; i += 10) ASSERT_FALSE(got[i]);
  }
}

TEST_F(CodeImportTest, TheListBelongsToTheRecipe) {
  const auto engine = StartMemory();
  Import(*engine, SixDigits(), EveryNth(10));
  const auto other = engine->Import("k", SixDigits(), EveryNth(20), {});
  EXPECT_EQ(other.code(), Code::kFailedPrecondition);
  EXPECT_THAT(other.status().message(), HasSubstr("taken is"));
  // Whoever does not know of it gets the keyspace all the same, and the list with it.
  const auto created = engine->Create("k", SixDigits());
  ASSERT_TRUE(created.ok()) << created.status().message();
  EXPECT_FALSE(created->fresh);
}

TEST_F(CodeImportTest, CodesOfAnotherShapeCannotBeClaimed) {
  const auto engine = StartMemory();
  const CodeImport import =
      Import(*engine, SixDigits(), {"000001", "my-link", "no spaces or ~ in an alias", "promo"});
  EXPECT_EQ(import.skipped, 1U);
  EXPECT_EQ(import.claimed, 2U);
  EXPECT_EQ(import.ignored, 1U);
  EXPECT_EQ(engine->ClaimKey("k", "promo", "somebody")->verdict, ClaimVerdict::kTaken);
  EXPECT_EQ(engine->ClaimKey("k", "promo2", "somebody")->verdict, ClaimVerdict::kClaimed);
  const auto explained = engine->Explain("k", "000001");
  EXPECT_EQ(explained.code(), Code::kNotFound);
  EXPECT_THAT(explained.status().message(), HasSubstr("was in use before"));
}

TEST_F(CodeImportTest, ASequenceBeginsBehindTheLast) {
  const auto engine = StartMemory();
  EXPECT_EQ(Import(*engine, SixDigits(Kind::kSequence), {"000007", "000041", "x"}).skipped, 2U);
  EXPECT_EQ(engine->Find("k")->recipe().start, 42U);
}

TEST_F(CodeImportTest, NobodyClaimsWhatASequenceHasLeftBehind) {
  const auto engine = StartMemory();
  Import(*engine, SixDigits(Kind::kSequence), {"000007", "001000"});
  for (const std::string_view code : {"000007", "000008", "001000", "001001"}) {
    EXPECT_EQ(engine->ClaimKey("k", code, "somebody")->verdict, ClaimVerdict::kLooksGenerated)
        << code;
  }
}

TEST_F(CodeImportTest, CodesThatItCannotMakeLeaveTheListAlone) {
  const auto engine = StartFaulty(Options(1'000));
  Import(*engine, SixDigits(), EveryNth(4));
  const CodeImport others = Import(*engine, SixDigits(), {"promo-code"});
  EXPECT_EQ(others.skipped, 0U);
  EXPECT_EQ(others.claimed, 1U);
  EXPECT_EQ(engine->ClaimKey("k", "promo-code", "somebody")->verdict, ClaimVerdict::kTaken);
  Import(*engine, SixDigits(), {});
  const std::vector<bool> got = Drain(*engine, 5'000);
  for (std::uint64_t i = 0; i < kCapacity; i += 4) ASSERT_FALSE(got[i]) << i;
}

// The last twenty numbers are hardly ever these codes', whatever the secret; and if one is, the
// list is not empty, and right all the same.
TEST_F(CodeImportTest, AllOfThemMayLieBelowTheStart) {
  const auto engine = StartMemory();
  Recipe late = SixDigits();
  late.start = kCapacity - 20;
  const std::vector<std::string> codes = {"000000", "000001"};
  Import(*engine, late, codes);
  EXPECT_EQ(Import(*engine, late, codes).skipped, 2U) << "once more changes nothing";
  const std::vector<bool> got = Drain(*engine, 10);
  EXPECT_EQ(std::count(got.begin(), got.end(), true), 10);
  EXPECT_FALSE(got[0] || got[1]);
}

TEST_F(CodeImportTest, APoolHasThemUsed) {
  const auto engine = StartFaulty(PoolOptionsOf());
  Recipe pool = Pool(Audit::kBatch, "decimal", 6);
  pool.length = 3;
  MakePool(*engine, pool, 300);
  std::vector<std::string> codes;
  for (int i = 0; i < 1'000; i += 2) codes.push_back(fmt::format("{:03}", i));
  EXPECT_EQ(Import(*engine, pool, codes).met, 0U);
  EXPECT_EQ(Import(*engine, pool, codes).met, 0U) << "once more changes nothing";
  std::set<std::string> got;
  engine->Find("k")->Want();
  for (int i = 0; i < 20; ++i) {
    for (const std::string& key : TakeNow(*engine->Find("k"), 100)) got.insert(key);
    engine->StepForTest();
  }
  ASSERT_GT(got.size(), 50U);
  for (const std::string& key : got) EXPECT_EQ(std::stoi(key) % 2, 1) << key;
  const auto met = engine->Import("k", pool, {*got.begin()}, {});
  ASSERT_TRUE(met.ok());
  EXPECT_EQ(met->met, 1U) << "it went out before it was imported";
}

TEST_F(CodeImportTest, AStoreThatIsSlowForAMomentIsAskedAgain) {
  const auto engine = StartFaulty(Options());
  for (int i = 0; i < 4; ++i) {
    faults_->add_keys.push_back({{Code::kUnavailable, "no answer by the deadline"}});
  }
  Import(*engine, SixDigits(Kind::kPool), {"000001"});
  EXPECT_TRUE(*engine->FindKey("k", "000001"));
}

TEST_F(CodeImportTest, OtherKindsAreRefused) {
  const auto engine = StartMemory();
  const auto refused = engine->Import("k", DefaultRecipe(Kind::kSnowflake), {"1"}, {});
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.status().message(), HasSubstr("snowflake"));
}

TEST(TakenDigestTest, IsOfTheWholeList) {
  EXPECT_EQ(TakenDigest({"a", "b"}).size(), 32U);
  EXPECT_NE(TakenDigest({"a", "b"}), TakenDigest({"ab"}));
  EXPECT_EQ(TakenDigest({"a", "b"}), TakenDigest({"a", "b"}));
}

}  // namespace
}  // namespace keymill::mint
