// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/derived_keyspace.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

Recipe Pages(std::string alphabet = "base62", std::uint32_t length = 7) {
  Recipe recipe = DefaultRecipe(Kind::kDerived);
  recipe.alphabet = std::move(alphabet);
  recipe.length = length;
  return recipe;
}

class DerivedKeyspaceTest : public EngineTestBase {
 protected:
  static void Make(Engine& engine, const Recipe& recipe) {
    const auto created = engine.Create("k", recipe);
    ASSERT_TRUE(created.ok()) << created.status().message();
  }
  static Engine::Derived Derive(Engine& engine, std::string_view content,
                                std::string_view salt = "") {
    const auto derived = engine.Derive("k", content, salt);
    EXPECT_TRUE(derived.ok()) << derived.status().message();
    return derived.ok() ? *derived : Engine::Derived{};
  }
};

TEST_F(DerivedKeyspaceTest, GivesTheSameContentTheSameKey) {
  const auto engine = StartMemory();
  Make(*engine, Pages());
  const auto first = Derive(*engine, "https://example.org/a");
  EXPECT_EQ(first.key.size(), 7U);
  EXPECT_FALSE(first.existing);
  const auto again = Derive(*engine, "https://example.org/a");
  EXPECT_EQ(again.key, first.key);
  EXPECT_TRUE(again.existing);
  EXPECT_NE(Derive(*engine, "https://example.org/b").key, first.key);
}

TEST_F(DerivedKeyspaceTest, TellsContentFromSalt) {
  const auto engine = StartMemory();
  Make(*engine, Pages());
  EXPECT_NE(Derive(*engine, "ab", "c").key, Derive(*engine, "a", "bc").key);
  EXPECT_NE(Derive(*engine, "ab", "c").key, Derive(*engine, "abc").key);
  EXPECT_TRUE(Derive(*engine, "ab", "c").existing);
}

TEST_F(DerivedKeyspaceTest, HasPrefixAndCheckSymbol) {
  const auto engine = StartMemory();
  Recipe recipe = Pages("base32", 6);
  recipe.prefix = "pg_";
  recipe.check = CheckSymbol::kAppended;
  Make(*engine, recipe);
  const auto key = Derive(*engine, "x").key;
  EXPECT_EQ(key.size(), 10U);
  EXPECT_TRUE(key.starts_with("pg_"));
  const auto explained = engine->Explain("k", key);
  ASSERT_TRUE(explained.ok()) << explained.status().message();
  EXPECT_EQ(explained->state, Explanation::State::kIssued);
  EXPECT_EQ(explained->kind, Kind::kDerived);
  std::string mistyped = key;
  mistyped.back() = mistyped.back() == '0' ? '1' : '0';
  EXPECT_THAT(engine->Explain("k", mistyped).status().message(), HasSubstr("mistyped"));
}

// The digest's own digits, as the published vectors of content_digest_test have them.
TEST_F(DerivedKeyspaceTest, TakesTheDigestThatTheRecipeNames) {
  const auto engine = StartMemory();
  Recipe md5 = Pages();
  md5.hash = DigestName::kMd5;
  Make(*engine, Pages());
  ASSERT_TRUE(engine->Create("md5", md5).ok());
  EXPECT_NE(Derive(*engine, "x").key, engine->Derive("md5", "x", "")->key);
}

// K1: what does not fit any more goes on with other digits; nobody gets another's key.
TEST_F(DerivedKeyspaceTest, GivesEveryContentAKeyOfItsOwnUntilAllAreTaken) {
  const auto engine = StartMemory();
  Make(*engine, Pages("base36", 1));
  std::map<std::string, std::string> keys;
  for (int i = 0; i < 36; ++i) {
    const std::string content = std::to_string(i);
    keys[Derive(*engine, content).key] = content;
  }
  EXPECT_EQ(keys.size(), 36U);
  const auto none = engine->Derive("k", "one more", "");
  EXPECT_EQ(none.code(), Code::kExhausted);
  EXPECT_THAT(none.status().message(), HasSubstr("full"));
  for (const auto& each : keys) EXPECT_EQ(Derive(*engine, each.second).key, each.first);
}

TEST_F(DerivedKeyspaceTest, AgreesWithOtherInstancesAtOnce) {
  constexpr int kContents = 60;
  std::vector<std::unique_ptr<Engine>> engines;
  for (int i = 0; i < 2; ++i) {
    engines.push_back(StartSqlite());
    Make(*engines.back(), Pages("base36", 2));
  }
  std::vector<std::vector<std::string>> keys(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int content = 0; content < kContents; ++content) {
        const auto derived = engines[i % 2]->Derive("k", std::to_string(content), "");
        EXPECT_TRUE(derived.ok()) << derived.status().message();
        keys[i].push_back(derived.ok() ? derived->key : "");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : keys) EXPECT_EQ(each, keys[0]);
  EXPECT_EQ(std::set<std::string>(keys[0].begin(), keys[0].end()).size(), std::size_t{kContents});
}

TEST_F(DerivedKeyspaceTest, TakesAllSpellingsOfAUrlForOne) {
  const auto engine = StartMemory();
  Recipe recipe = Pages();
  recipe.canonical_url = true;
  Make(*engine, recipe);
  const auto key = Derive(*engine, "http://h/a?x=1").key;
  EXPECT_EQ(Derive(*engine, "HTTP://H:80/a?x=1").key, key);
  EXPECT_EQ(Derive(*engine, "http%3A%2F%2Fh%2Fa%3Fx%3D1").key, key);
  EXPECT_EQ(engine->Derive("k", "no url", "").code(), Code::kInvalidArgument);
  // Without the option they are different texts.
  ASSERT_TRUE(engine->Create("plain", Pages()).ok());
  EXPECT_NE(engine->Derive("plain", "http://h/a", "")->key,
            engine->Derive("plain", "http://H/a", "")->key);
}

TEST_F(DerivedKeyspaceTest, GivesAnotherKeyEachTimeWhereItIsAskedTo) {
  const auto engine = StartMemory();
  Recipe recipe = Pages();
  recipe.distinct = true;
  Make(*engine, recipe);
  std::set<std::string> keys;
  for (int i = 0; i < 50; ++i) {
    const auto derived = Derive(*engine, "x", i % 2 == 0 ? "" : "salt");
    EXPECT_FALSE(derived.existing);
    keys.insert(derived.key);
  }
  EXPECT_EQ(keys.size(), 50U);
}

// U1: how often a content came is forgotten by a store that went back, and must not lead to the
// same keys again.
TEST_F(DerivedKeyspaceTest, AStoreThatHasForgottenHowOftenItWasGivesOtherKeys) {
  Recipe recipe = Pages();
  recipe.distinct = true;
  std::set<std::string> keys;
  for (int life = 0; life < 2; ++life) {
    const auto engine = StartMemory();  // On a store of its own, as after the loss of all.
    Make(*engine, recipe);
    for (int i = 0; i < 20; ++i) keys.insert(Derive(*engine, "x").key);
  }
  EXPECT_EQ(keys.size(), 40U);
}

TEST_F(DerivedKeyspaceTest, MintsNothing) {
  const auto engine = StartMemory();
  Make(*engine, Pages());
  Keyspace& keyspace = **engine->Lookup("k");
  Status outcome;
  EXPECT_TRUE(Mint(*engine, keyspace, 1, &outcome).empty());
  EXPECT_EQ(outcome.code(), Code::kInvalidArgument);
  EXPECT_THAT(outcome.message(), HasSubstr("keymill derive k CONTENT"));
}

TEST_F(DerivedKeyspaceTest, RefusesWhatItCannotTake) {
  const auto engine = StartMemory();
  Make(*engine, Pages());
  EXPECT_EQ(engine->Derive("k", std::string(kContentSizeMax + 1, 'x'), "").code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(engine->Derive("k", std::string(kContentSizeMax, 'x'), "").ok());
  EXPECT_EQ(engine->Derive("k", "x", std::string(kSaltSizeMax + 1, 'x')).code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(engine->Derive("k", "", "").ok());  // Nothing is a content, too.
  Create(*engine, Orders(), "orders");
  EXPECT_THAT(engine->Derive("orders", "x", "").status().message(), HasSubstr("kind sequence"));
}

TEST_F(DerivedKeyspaceTest, SkipsKeysThatSpellAWord) {
  const auto engine = StartMemory();
  Make(*engine, Pages("base36", 3));
  const std::string word = Derive(*engine, "x").key;
  Recipe polite = Pages("base36", 3);
  polite.blocklist = {word};
  ASSERT_TRUE(engine->Create("polite", polite).ok());
  EXPECT_NE(engine->Derive("polite", "x", "")->key, word);
}

TEST_F(DerivedKeyspaceTest, TellsHowManyThereAre) {
  const auto engine = StartMemory();
  Make(*engine, Pages("base36", 2));
  for (int i = 0; i < 10; ++i) Derive(*engine, std::to_string(i));
  const auto info = engine->Describe("k");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->capacity, 36U * 36U);
  EXPECT_EQ(info->used, 10U);
  EXPECT_EQ(info->left, 36U * 36U - 10U);
  ASSERT_TRUE(info->counts);
  EXPECT_EQ(info->counts->at(static_cast<std::size_t>(KeyState::kDerived)), 10U);
}

// W1: whoever made the key has died before its witness knew, and an older copy gives it away.
TEST_F(DerivedKeyspaceTest, AKeyThatSomebodyElseHasMadeIsWitnessedBeforeItLeaves) {
  const auto engine = StartFaulty(Options(), OpenWitness());
  Make(*engine, Pages());
  engine->StepForTest();
  const KeyspaceRecord before = *memory_->FindKeyspace("k", {});
  std::string key;
  {
    const auto dead = StartFaulty(Options());  // Its witness is lost.
    key = Derive(*dead, "a").key;
  }
  const KeyspaceRecord now = *memory_->FindKeyspace("k", {});
  ASSERT_GT(now.rev, before.rev);
  const auto kept = [&] { return OpenWitness()->Read(engine->identity().store_id, now.id)->rev; };
  ASSERT_EQ(kept(), before.rev);
  EXPECT_EQ(Derive(*engine, "a").key, key);
  EXPECT_EQ(kept(), now.rev);

  // Known contents ask for nothing more, whether they are young, made here, or old.
  faults_->find.assign(100, {{Code::kUnavailable, "a look too many"}});
  EXPECT_EQ(Derive(*engine, "a").key, key);
  const std::string own = Derive(*engine, "b").key;
  EXPECT_EQ(Derive(*engine, "b").key, own);
  faults_->find.clear();
  {
    const auto dead = StartFaulty(Options());
    key = Derive(*dead, "c").key;
  }
  clock_.Advance(std::chrono::minutes(11));
  engine->StepForTest();
  faults_->find.assign(100, {{Code::kUnavailable, "a look too many"}});
  EXPECT_EQ(Derive(*engine, "c").key, key);
  EXPECT_EQ(kept(), memory_->FindKeyspace("k", {})->rev);
}

TEST_F(DerivedKeyspaceTest, AKeyThatCannotBeWitnessedDoesNotLeave) {
  const auto engine = StartFaulty(Options(), OpenWitness());
  Make(*engine, Pages());
  engine->StepForTest();
  {
    const auto dead = StartFaulty(Options());
    Derive(*dead, "a");
  }
  faults_->find.push_back({{Code::kUnavailable, "away"}});
  EXPECT_EQ(engine->Derive("k", "a", "").code(), Code::kUnavailable);
  EXPECT_TRUE(Derive(*engine, "a").existing);
}

}  // namespace
}  // namespace keymill::mint
