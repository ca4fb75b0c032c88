// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "links/link_book.h"

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/engine_test_support.h"

namespace keymill::links {
namespace {

using mint::ClaimVerdict;
using testing::ElementsAre;
using testing::HasSubstr;
using Found = LinkCache::Found;

constexpr std::chrono::hours kDay{24};

class LinkBookTest : public mint::EngineTestBase {
 protected:
  LinkBookTest() : engine_(StartFaulty(Options())), book_(Settings(), clock_) {
    Create(*engine_, DefaultRecipe(Kind::kShuffled));
    engine_->StepForTest();
    book_.SetEngine(engine_.get());
  }
  ~LinkBookTest() override { book_.Stop(); }

  static LinkOptions Settings(std::string keyspace = "k") {
    return {.keyspace = std::move(keyspace), .background = false};
  }

  Creation Make(const NewLink& wanted) {
    Result<Creation> made = book_.Create(wanted, MonotonicTime());
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *std::move(made) : Creation{};
  }
  Code CodeOf(const NewLink& wanted) { return book_.Create(wanted, MonotonicTime()).code(); }

  std::optional<Link> Find(std::string_view key) {
    Result<std::optional<Link>> link = book_.Find(key);
    EXPECT_TRUE(link.ok()) << link.status().message();
    return link.ok() ? *std::move(link) : std::nullopt;
  }
  Found Follow(std::string_view key, std::uint64_t hits = 1) {
    return book_.Follow(key, clock_.Monotonic(), hits, [](std::string_view) {});
  }
  std::int64_t In(std::chrono::milliseconds time) const { return clock_.WallMs() + time.count(); }

  std::unique_ptr<mint::Engine> engine_;
  LinkBook book_;
};

TEST_F(LinkBookTest, ALinkHasAKeyOfItsKeyspace) {
  const Creation made = Make({.url = "https://a.test/"});
  EXPECT_FALSE(made.existing);
  EXPECT_FALSE(made.link.alias);
  EXPECT_EQ(made.link.key.size(), 7U);
  EXPECT_EQ(Find(made.link.key), made.link);
  EXPECT_NE(Make({.url = "https://a.test/"}).link.key, made.link.key);
  EXPECT_EQ(*book_.Load(made.link.key, 1), "https://a.test/");
  EXPECT_EQ(Follow(made.link.key), Found::kLink);
}

TEST_F(LinkBookTest, AnAliasHasOneLinkForEver) {
  EXPECT_EQ(Make({.url = "https://a.test/", .alias = "my-talk"}).link.key, "my-talk");
  // Who repeats it for want of an answer finds it done.
  EXPECT_TRUE(Make({.url = "https://a.test/", .alias = "my-talk"}).existing);
  EXPECT_EQ(Make({.url = "https://b.test/", .alias = "my-talk"}).claim.verdict,
            ClaimVerdict::kTaken);
  EXPECT_EQ(Find("my-talk")->url, "https://a.test/");
  ASSERT_TRUE(*book_.Delete("my-talk"));
  clock_.StepWall(-kDay);  // As at an instance whose clock is behind.
  EXPECT_EQ(Find("my-talk"), std::nullopt);
  EXPECT_FALSE(*book_.Delete("my-talk"));
  EXPECT_EQ(Make({.url = "https://b.test/", .alias = "my-talk"}).claim.verdict,
            ClaimVerdict::kTaken);
  EXPECT_EQ(engine_->ClaimKey("k", "my-talk", "ann")->verdict, ClaimVerdict::kTaken);
}

TEST_F(LinkBookTest, AClaimedAliasIsNoLinkAndStaysSo) {
  ASSERT_EQ(engine_->ClaimKey("k", "mine", "ann")->verdict, ClaimVerdict::kClaimed);
  EXPECT_EQ(Make({.url = "https://a.test/", .alias = "mine"}).claim.verdict, ClaimVerdict::kTaken);
  EXPECT_EQ(Find("mine"), std::nullopt);
  EXPECT_FALSE(*book_.Delete("mine"));
}

TEST_F(LinkBookTest, AliasesAreJudgedAsEverywhere) {
  const auto verdict = [&](std::string alias) {
    return Make({.url = "https://a.test/", .alias = std::move(alias)}).claim.verdict;
  };
  EXPECT_EQ(verdict("ab"), ClaimVerdict::kInvalid);
  EXPECT_EQ(verdict("admin"), ClaimVerdict::kReserved);
  EXPECT_EQ(verdict("abcdefg"), ClaimVerdict::kLooksGenerated);
}

TEST_F(LinkBookTest, DedupeFindsTheLinkThatLeadsThere) {
  const Creation first = Make({.url = "https://a.test/", .dedupe = true});
  EXPECT_FALSE(first.existing);
  const std::uint64_t issued = engine_->Find("k")->stats().issued;
  const Creation again = Make({.url = "HTTPS://A.test:443", .dedupe = true});
  EXPECT_TRUE(again.existing);
  EXPECT_EQ(again.link.key, first.link.key);
  EXPECT_EQ(engine_->Find("k")->stats().issued, issued) << "no key was taken out for it";
  // Another end is another link; so is one that nobody wants to share.
  EXPECT_NE(Make({.url = "https://a.test/", .expires_at_ms = In(kDay), .dedupe = true}).link.key,
            first.link.key);
  EXPECT_NE(Make({.url = "https://a.test/"}).link.key, first.link.key);
  // One that is gone is made anew.
  ASSERT_TRUE(*book_.Delete(first.link.key));
  EXPECT_FALSE(Make({.url = "https://a.test/", .dedupe = true}).existing);
  EXPECT_EQ(CodeOf({.url = "https://a.test/", .alias = "my-talk", .dedupe = true}),
            Code::kInvalidArgument);
}

TEST_F(LinkBookTest, EndsWhenItSays) {
  EXPECT_EQ(CodeOf({.url = "https://a.test/", .expires_at_ms = In({})}), Code::kInvalidArgument);
  const std::string minted =
      Make({.url = "https://a.test/", .expires_at_ms = In(std::chrono::seconds(1))}).link.key;
  Make({.url = "https://a.test/", .alias = "talk", .expires_at_ms = In(std::chrono::seconds(1))});
  EXPECT_EQ(*book_.Load(minted, 0), "https://a.test/");
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Follow(minted), Found::kNothing) << "nor from memory";
  EXPECT_EQ(*book_.Load(minted, 0), "");
  EXPECT_EQ(Find("talk"), std::nullopt);
  EXPECT_TRUE(book_.List("", 10)->links.empty());
  // A day later the minted one is forgotten; an alias stays taken.
  book_.StepForTest();
  EXPECT_TRUE(*engine_->FindKey("k", minted));
  clock_.Advance(kDay);
  book_.StepForTest();
  EXPECT_FALSE(*engine_->FindKey("k", minted));
  EXPECT_TRUE(*engine_->FindKey("k", "talk"));
  EXPECT_EQ(Make({.url = "https://b.test/", .alias = "talk"}).claim.verdict, ClaimVerdict::kTaken);
}

TEST_F(LinkBookTest, DeletingTakesItOutOfMemory) {
  const std::string key = Make({.url = "https://a.test/"}).link.key;
  EXPECT_EQ(*book_.Load(key, 1), "https://a.test/");
  ASSERT_TRUE(*book_.Delete(key));
  EXPECT_EQ(Follow(key), Found::kNothing);
  EXPECT_EQ(*book_.Load(key, 1), "");
  EXPECT_EQ(Follow(key), Found::kNone);
}

// Years ahead, it would forget links that others follow.
TEST_F(LinkBookTest, AWrongClockForgetsNothing) {
  faults_->store_now_ms = clock_.WallMs();
  clock_.Advance(std::chrono::seconds(5));
  engine_->StepForTest();
  const std::string key = Make({.url = "https://a.test/", .expires_at_ms = In(kDay)}).link.key;
  clock_.StepWall(std::chrono::hours(87'600));
  book_.StepForTest();
  clock_.StepWall(-std::chrono::hours(87'600));
  EXPECT_TRUE(Find(key));
  faults_->store_now_ms = In(3 * kDay);
  clock_.StepWall(3 * kDay);
  clock_.Advance(std::chrono::seconds(5));
  engine_->StepForTest();
  book_.StepForTest();
  EXPECT_EQ(engine_->Explain("k", key)->record, std::nullopt);
}

TEST_F(LinkBookTest, ALinkIsExplainedByItsRecord) {
  const std::string key = Make({.url = "https://a.test/"}).link.key;
  const auto told = engine_->Explain("k", key);
  ASSERT_TRUE(told.ok()) << told.status().message();
  EXPECT_EQ(told->state, mint::Explanation::State::kIssued);
  ASSERT_TRUE(told->record);
  EXPECT_EQ(told->record->state, KeyState::kLink);
  EXPECT_TRUE(told->block);
}

TEST_F(LinkBookTest, AnAliasThatWasAskedForBeforeIsFollowedAtOnce) {
  EXPECT_EQ(*book_.Load("my-talk", 1), "");
  EXPECT_EQ(Follow("my-talk"), Found::kNone);
  Make({.url = "https://a.test/", .alias = "my-talk"});
  EXPECT_EQ(*book_.Load("my-talk", 1), "https://a.test/");
}

TEST_F(LinkBookTest, HitsAreWrittenDownByTheirDigits) {
  std::vector<std::string> keys;
  for (int i = 0; i < 20; ++i) {
    keys.push_back(Make({.url = "https://a.test/", .expires_at_ms = In(kDay)}).link.key);
    ASSERT_TRUE(book_.Load(keys.back(), 0).ok());
    Follow(keys.back(), static_cast<std::uint64_t>(i) * 13);
  }
  clock_.Advance(std::chrono::seconds(5));
  faults_->changes.clear();
  book_.StepForTest();
  EXPECT_LE(faults_->changes.size(), 9U) << "247 has eight digits, and one change forgets";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::optional<Link> link = Find(keys[i]);
    ASSERT_TRUE(link);
    EXPECT_EQ(link->hits, i * 13);
    EXPECT_EQ(link->counted_at_ms, i == 0 ? 0 : clock_.WallMs());
    EXPECT_EQ(link->expires_at_ms - link->created_at_ms, std::chrono::milliseconds(kDay).count());
  }
}

TEST_F(LinkBookTest, HitsWaitForAStoreThatIsAway) {
  const std::string key = Make({.url = "https://a.test/"}).link.key;
  ASSERT_TRUE(book_.Load(key, 5).ok());
  faults_->change_keys.push_back({{Code::kUnavailable, "away"}});
  faults_->changes.clear();
  book_.StepForTest();
  EXPECT_EQ(Find(key)->hits, 0U);
  EXPECT_EQ(faults_->changes.size(), 2U) << "one digit of two, and what is forgotten";
  book_.StepForTest();
  EXPECT_EQ(Find(key)->hits, 5U);
}

TEST_F(LinkBookTest, HitsWhoseFateIsUnknownAreNotCountedTwice) {
  const std::string key = Make({.url = "https://a.test/"}).link.key;
  ASSERT_TRUE(book_.Load(key, 1).ok());
  faults_->change_keys.push_back(
      {{Code::kUnknownOutcome, "no answer"}, mint::Faults::When::kAfter});
  book_.StepForTest();
  book_.StepForTest();
  EXPECT_EQ(Find(key)->hits, 1U);
  MetricFamilies families;
  book_.Collect(families);
  EXPECT_EQ(families.Value("keymill_links_hits_lost_total"), 1);
}

TEST_F(LinkBookTest, LateHitsDoNotReviveADeletedAlias) {
  Make({.url = "https://a.test/", .alias = "my-talk"});
  ASSERT_TRUE(book_.Load("my-talk", 3).ok());
  ASSERT_TRUE(*book_.Delete("my-talk"));
  clock_.Advance(std::chrono::seconds(5));
  book_.StepForTest();
  EXPECT_EQ(Find("my-talk"), std::nullopt);
}

TEST_F(LinkBookTest, ALostAnswerMakesNoSecondLink) {
  faults_->add_keys.push_back({{Code::kUnknownOutcome, "no answer"}, mint::Faults::When::kAfter});
  EXPECT_EQ(Make({.url = "https://a.test/", .alias = "my-talk"}).claim.verdict,
            ClaimVerdict::kClaimed);
  faults_->add_keys.push_back({{Code::kUnknownOutcome, "no answer"}, mint::Faults::When::kAfter});
  const Creation made = Make({.url = "https://a.test/"});
  EXPECT_FALSE(made.existing);
  EXPECT_EQ(book_.List("", 10)->links.size(), 2U);
  EXPECT_EQ(Find(made.link.key)->url, "https://a.test/");
}

TEST_F(LinkBookTest, OfManyAtOnceOneGetsTheAlias) {
  constexpr int kThreads = 4;
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> winners{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const std::string url = "https://a.test/" + std::to_string(t);
        const auto made =
            book_.Create({.url = url, .alias = "alias-" + std::to_string(round)}, MonotonicTime());
        if (made.ok() && made->claim.verdict == ClaimVerdict::kClaimed) ++winners;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(winners, 1);
  }
}

TEST_F(LinkBookTest, ListsAllThatHaveNotEnded) {
  std::set<std::string> made;
  for (int i = 0; i < 25; ++i) made.insert(Make({.url = "https://a.test/"}).link.key);
  ASSERT_EQ(engine_->ClaimKey("k", "mine", "ann")->verdict, ClaimVerdict::kClaimed);
  ASSERT_TRUE(*book_.Delete(*made.begin()));
  made.erase(made.begin());
  std::set<std::string> listed;
  std::string cursor;
  do {
    const Result<LinkPage> page = book_.List(cursor, 10);
    ASSERT_TRUE(page.ok()) << page.status().message();
    for (const Link& link : page->links) EXPECT_TRUE(listed.insert(link.key).second);
    cursor = page->cursor;
  } while (!cursor.empty());
  EXPECT_EQ(listed, made);
}

TEST_F(LinkBookTest, WithoutAMintOrAKeyspaceItSaysWhatIsMissing) {
  LinkBook early(Settings(), clock_);
  EXPECT_EQ(early.Create({.url = "https://a.test/"}, MonotonicTime()).code(), Code::kUnavailable);
  LinkBook elsewhere(Settings("nobody"), clock_);
  elsewhere.SetEngine(engine_.get());
  EXPECT_THAT(elsewhere.Find("my-talk").status().message(), HasSubstr("links_keyspace"));
  Create(*engine_, DefaultRecipe(Kind::kUuid7), "ids");
  ASSERT_TRUE(engine_->Create("codes", DefaultRecipe(Kind::kPool)).ok());
  LinkBook pool(Settings("codes"), clock_);
  pool.SetEngine(engine_.get());
  EXPECT_THAT(pool.Create({.url = "https://a.test/"}, MonotonicTime()).status().message(),
              HasSubstr("of kind pool"));
  for (LinkBook* const book : {&elsewhere, &pool}) book->Stop();
}

TEST_F(LinkBookTest, KnowsWhereItsLinksAreServed) {
  EXPECT_EQ(book_.PublicUrl("k"), "");
  book_.SetPublicUrl("http://127.0.0.1:8081");
  EXPECT_EQ(book_.PublicUrl("k"), "http://127.0.0.1:8081/k");
  LinkBook named({.public_url = "https://sho.rt/"}, clock_);
  named.SetPublicUrl("http://127.0.0.1:8081");
  EXPECT_EQ(named.PublicUrl("k"), "https://sho.rt/k");
}

TEST_F(LinkBookTest, WordsThatNobodyCanHaveAreNotAskedFor) {
  const int asked = faults_->find_key_calls;
  for (const char* const key : {"favicon.ico", "x", "wp-login.php", "robots", "a/b"}) {
    EXPECT_EQ(*book_.Load(key, 1), "") << key;
  }
  EXPECT_EQ(faults_->find_key_calls, asked);
  EXPECT_EQ(*book_.Load("my-talk", 1), "");
  EXPECT_EQ(faults_->find_key_calls, asked + 1);
}

}  // namespace
}  // namespace keymill::links
