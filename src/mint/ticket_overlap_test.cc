// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/ticket_overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

Recipe Every(std::uint32_t stride, std::uint32_t offset, Kind counter = Kind::kSequence) {
  Recipe recipe = DefaultRecipe(Kind::kTicket);
  recipe.counter = counter;
  recipe.alphabet = "decimal";
  recipe.length = counter == Kind::kShuffled ? 12 : 0;
  recipe.stride = stride;
  recipe.offset = offset;
  return recipe;
}

// By counting: whether two runs of numbers have one in common.
bool MeetByCounting(const Recipe& a, const Recipe& b) {
  for (std::uint32_t i = 0; i <= b.stride; ++i) {
    if ((i * a.stride + a.offset) % b.stride == b.offset % b.stride) return true;
  }
  return false;
}

TEST(TicketOverlapTest, TellsWhichNumbersMeet) {
  for (std::uint32_t s = 1; s <= 12; ++s) {
    for (std::uint32_t t = 1; t <= 12; ++t) {
      for (std::uint32_t o = 1; o <= s; ++o) {
        for (std::uint32_t p = 1; p <= t; ++p) {
          const Recipe a = Every(s, o);
          const Recipe b = Every(t, p);
          ASSERT_EQ(TicketsMeet(a, b), MeetByCounting(a, b)) << s << o << t << p;
        }
      }
    }
  }
}

TEST(TicketOverlapTest, AnotherFormatNeverMeets) {
  const Recipe one = Every(2, 1, Kind::kShuffled);
  EXPECT_TRUE(TicketsMeet(one, one));
  Recipe other = one;
  other.alphabet = "0123456789";  // The same in another spelling.
  other.start = 77;
  other.blocklist = {"123"};
  EXPECT_TRUE(TicketsMeet(one, other));
  other.alphabet = "hex";
  EXPECT_FALSE(TicketsMeet(one, other));
  other = one;
  other.length = 13;
  EXPECT_FALSE(TicketsMeet(one, other));
  other = one;
  other.prefix = "x_";
  EXPECT_FALSE(TicketsMeet(one, other));
  other = one;
  other.check = CheckSymbol::kAppended;
  EXPECT_FALSE(TicketsMeet(one, other));
  other = one;
  other.counter = Kind::kSequence;
  EXPECT_FALSE(TicketsMeet(one, other));
  EXPECT_FALSE(TicketsMeet(one, DefaultRecipe(Kind::kShuffled)));
}

// Both give 1001.
TEST(TicketOverlapTest, OneThatGrowsMeetsEveryLength) {
  const Recipe grows = Every(2, 1);
  Recipe four = grows;
  four.length = 4;
  EXPECT_TRUE(TicketsMeet(grows, four));
  EXPECT_TRUE(TicketsMeet(four, grows));
  Recipe five = grows;
  five.length = 5;
  EXPECT_FALSE(TicketsMeet(four, five));
  four.offset = 2;
  EXPECT_FALSE(TicketsMeet(grows, four));
  four.offset = 1;
  four.prefix = "x_";
  EXPECT_FALSE(TicketsMeet(grows, four));
}

TEST(TicketOverlapTest, AlphabetsCompareByTheirSymbols) {
  const Recipe named = Every(2, 1);
  Recipe spelt = named;
  spelt.alphabet = "0123456789";
  spelt.length = 4;
  EXPECT_TRUE(TicketsMeet(named, spelt));
  EXPECT_TRUE(TicketsMeet(spelt, named));
  spelt.alphabet = "1234567890";
  EXPECT_FALSE(TicketsMeet(named, spelt)) << "the same number is another text";
}

TEST(TicketOverlapTest, NamesTheOtherAndWhatIsFree) {
  const std::vector<Ticket> others = {{"odd", Every(4, 1)}, {"next", Every(8, 2)}};
  EXPECT_TRUE(CheckTickets("k", Every(4, 3), others).ok());
  EXPECT_TRUE(CheckTickets("odd", Every(4, 1), others).ok());  // Itself.
  EXPECT_EQ(CheckTickets("k", Every(4, 1), others).message(),
            "keyspace k would give the same keys as keyspace odd, which has offset 1 of stride 4 "
            "in the same format; of stride 4, offset 3, 4 are free");
  EXPECT_THAT(CheckTickets("k", Every(16, 10), others).message(),
              HasSubstr("keyspace next, which has offset 2 of stride 8 in the same format; of "
                        "stride 16, offset 3, 4, 6, 7, 8, 11, 12, 14, … are free"));
  EXPECT_THAT(CheckTickets("k", Every(3, 1), others).message(),
              HasSubstr("no offset of stride 3 is free"));
  EXPECT_THAT(CheckTickets("k", Every(2, 1), std::vector<Ticket>{{"odd", Every(2, 1)}}).message(),
              HasSubstr("of stride 2, offset 2 is free"));
}

class TicketEngineTest : public EngineTestBase {
 protected:
  // Another instance on the same store, whose calls do not fail.
  std::unique_ptr<Engine> StartAside() {
    return Start(Options(), std::make_unique<FaultyStore>(memory_, std::make_shared<Faults>()),
                 nullptr);
  }
};

TEST_F(TicketEngineTest, CountsInIndicesAndExplainsNumbers) {
  for (const Kind counter : {Kind::kSequence, Kind::kShuffled}) {
    const auto engine = StartMemory();
    CounterKeyspace& even = Create(*engine, Every(2, 2, counter));
    const std::vector<std::string> keys = Mint(*engine, even, 250);
    ASSERT_EQ(keys.size(), 250U);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 250U);
    if (counter == Kind::kSequence) {
      EXPECT_EQ(keys.front(), "2");
      EXPECT_EQ(keys.back(), "500");
    }
    const Result<Explanation> told = engine->Explain("k", keys[120]);
    ASSERT_TRUE(told.ok()) << told.status().message();
    EXPECT_EQ(told->kind, Kind::kTicket);
    EXPECT_EQ(told->number, 242U);
    EXPECT_EQ(told->index, 120U);
    ASSERT_TRUE(told->block);
    EXPECT_LE(told->block->first, 120U);
    EXPECT_EQ(told->state, Explanation::State::kIssued);
    const Result<KeyspaceInfo> info = engine->Describe("k");
    EXPECT_EQ(info->capacity, even.codec().end());
    EXPECT_LT(info->used, 2000U);
  }
}

TEST_F(TicketEngineTest, ExplainRefusesWhatAnotherAuthorityIssued) {
  const auto engine = StartMemory();
  Mint(*engine, Create(*engine, Every(2, 2)), 10);
  const Result<Explanation> told = engine->Explain("k", "7");
  EXPECT_EQ(told.code(), Code::kNotFound);
  EXPECT_THAT(told.status().message(), HasSubstr("is of offset 1"));
}

TEST_F(TicketEngineTest, ASecondOneThatWouldMeetIsRefused) {
  const auto engine = StartSqlite();
  Create(*engine, Every(2, 1), "odd");
  Create(*engine, Every(2, 2), "even");
  for (const Status& refused :
       {engine->CheckCreate("more", Every(4, 3)), engine->Create("more", Every(4, 3)).status()}) {
    EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
    EXPECT_THAT(refused.message(), HasSubstr("the same keys as keyspace odd"));
    EXPECT_THAT(refused.message(), HasSubstr("no offset of stride 4 is free"));
  }
  EXPECT_EQ(engine->Describe("more").code(), Code::kNotFound);
  EXPECT_FALSE(engine->Create("odd", Every(2, 1))->fresh);
  Recipe padded = Every(2, 1);
  padded.length = 4;
  padded.alphabet = "0123456789";
  EXPECT_EQ(engine->Create("more", padded).code(), Code::kFailedPrecondition);
  Recipe other = Every(4, 3);
  other.prefix = "x";
  EXPECT_TRUE(engine->Create("more", other).ok());

  ASSERT_TRUE(engine->Retire("odd").ok());
  EXPECT_TRUE(engine->Create("odds", Every(4, 3)).ok());
}

TEST_F(TicketEngineTest, ConfiguredOnesThatWouldMeetAreRefused) {
  EngineOptions options = Options();
  options.keyspaces = {{"a", Every(2, 1)}, {"b", Every(4, 3)}};
  const auto together = Engine::Open(options, OpenEmptySqlite(), OpenWitness(), clock_);
  EXPECT_EQ(together.code(), Code::kFailedPrecondition);
  EXPECT_THAT(together.status().message(), HasSubstr("keyspace b would give the same keys as"));

  options.keyspaces = {{"a", Every(2, 1)}};
  ASSERT_TRUE(Engine::Open(options, OpenEmptySqlite(), OpenWitness(), clock_).ok());
  options.keyspaces = {{"b", Every(4, 3)}};
  const auto later = Engine::Open(options, OpenEmptySqlite(), OpenWitness(), clock_);
  EXPECT_EQ(later.code(), Code::kFailedPrecondition);
  EXPECT_THAT(later.status().message(), HasSubstr("the same keys as keyspace a"));
  options.keyspaces = {{"a", Every(2, 1)}, {"c", Every(4, 2)}};
  const auto fits = Engine::Open(options, OpenEmptySqlite(), OpenWitness(), clock_);
  EXPECT_TRUE(fits.ok()) << fits.status().message();
}

// Whoever looked before the other was there has to look again.
TEST_F(TicketEngineTest, OfTwoThatAreMadeAtOnceOneStays) {
  for (const std::string_view other : {"a", "z"}) {
    memory_ = store::OpenMemoryStore(clock_);
    const auto aside = StartAside();
    const auto engine = StartFaulty(Options());
    // Between the first look and the creation.
    faults_->after_list = [&, once = false]() mutable {
      if (!std::exchange(once, true)) {
        ASSERT_TRUE(aside->Create(other, Every(2, 1)).ok());
      }
    };
    const Result<Engine::Created> made = engine->Create("k", Every(4, 1));
    faults_->after_list = nullptr;
    EXPECT_EQ(made.code(), Code::kFailedPrecondition);
    EXPECT_THAT(made.status().message(), HasSubstr("k is retired again"));
    EXPECT_EQ(engine->Describe("k")->record.state, KeyspaceState::kRetired);
    EXPECT_EQ(engine->Describe(other)->record.state, KeyspaceState::kOpen);
  }
}

// The smaller name waits for the larger one to give way.
TEST_F(TicketEngineTest, TheSmallerNameStaysWhenTheLargerGivesWay) {
  const auto engine = StartFaulty(Options());
  const auto aside = StartAside();
  int looks = 0;
  faults_->after_list = [&] {
    ++looks;
    if (looks == 1) {
      ASSERT_TRUE(aside->Create("z", Every(2, 1)).ok());
    }
    if (looks == 3) {
      ASSERT_TRUE(aside->Retire("z").ok());
    }
  };
  const Result<Engine::Created> made = engine->Create("k", Every(4, 1));
  faults_->after_list = nullptr;
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE(made->fresh);
  EXPECT_EQ(looks, 4);
}

// A process that died between making its own and looking has left both.
TEST_F(TicketEngineTest, TwoThatAreThereAreBothRefusedUntilOneIsRetired) {
  const auto engine = StartFaulty(Options());
  const auto aside = StartAside();
  // The second look fails: nobody knows, so nobody is retired.
  faults_->after_list = [&, looks = 0]() mutable {
    if (++looks > 1) return;
    ASSERT_TRUE(aside->Create("a", Every(2, 1)).ok());
    faults_->list.push_back({Status(Code::kUnavailable, "away")});
  };
  EXPECT_EQ(engine->Create("k", Every(4, 1)).code(), Code::kUnavailable);
  faults_->after_list = nullptr;
  const Result<Engine::Created> again = engine->Create("k", Every(4, 1));
  EXPECT_EQ(again.code(), Code::kFailedPrecondition);
  EXPECT_THAT(again.status().message(), HasSubstr("retire one of them"));
  EXPECT_EQ(aside->Create("a", Every(2, 1)).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(engine->Retire("a").ok());
  EXPECT_TRUE(engine->Create("k", Every(4, 1)).ok());
}

}  // namespace
}  // namespace keymill::mint
