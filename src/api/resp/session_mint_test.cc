// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Minting over RESP.

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/resp/resp_test_support.h"

namespace keymill::api::resp {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

constexpr std::string_view kNotInteger = "ERR value is not an integer or out of range";

class RespMintTest : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
};

std::string Bytes(const std::vector<std::string_view>& words) {
  std::string bytes;
  wire::AppendRespCommand(words, bytes);
  return bytes;
}

TEST_F(RespMintTest, OneKeyIsABulkString) {
  for (const std::vector<std::string_view>& words : std::vector<std::vector<std::string_view>>{
           {"KEYMILL.MINT", "default"}, {"spop", "default"}, {"LPop", "default"}}) {
    const RespValue key = client_.Ask(words);
    EXPECT_EQ(key.type, RespType::kBulk);
    EXPECT_EQ(key.text.size(), 7U);
  }
  EXPECT_EQ(client_.Ask({"KEYMILL.MINT", "orders"}).text, "1");
  EXPECT_EQ(client_.Ask({"KEYMILL.MINT", "orders"}).text, "2");
}

TEST_F(RespMintTest, ManyKeysAreAnArray) {
  for (const std::string_view name : {"default", "orders"}) {
    const RespValue keys = client_.Ask({"KEYMILL.MINT", name, "count", "5000"});
    ASSERT_EQ(keys.type, RespType::kArray);
    std::set<std::string> seen;
    for (const RespValue& key : keys.items) {
      EXPECT_EQ(key.type, RespType::kBulk);
      seen.insert(key.text);
    }
    EXPECT_EQ(seen.size(), 5000U);
  }
}

TEST_F(RespMintTest, SpopGivesASetInTheThirdVersion) {
  EXPECT_EQ(client_.Ask({"SPOP", "default", "3"}).type, RespType::kArray);
  client_.Ask({"HELLO", "3"});
  EXPECT_EQ(client_.Ask({"SPOP", "default", "3"}).type, RespType::kSet);
  EXPECT_EQ(client_.Ask({"LPOP", "default", "3"}).type, RespType::kArray);
  EXPECT_EQ(client_.Ask({"KEYMILL.MINT", "default", "COUNT", "3"}).type, RespType::kArray);
}

TEST_F(RespMintTest, CountsHaveBounds) {
  const auto error = [&](std::string_view count) {
    return client_.Error({"KEYMILL.MINT", "default", "COUNT", count});
  };
  EXPECT_EQ(error("x"), kNotInteger);
  EXPECT_EQ(error("0"), "ERR value is out of range, must be positive");
  EXPECT_EQ(error("-1"), "ERR value is out of range, must be positive");
  EXPECT_EQ(error("10001"), "INVALID at most 10000 at once");
  EXPECT_EQ(error("10000"), "");
  EXPECT_EQ(client_.Error({"SPOP", "default", "-1"}),
            "ERR value is out of range, must be positive");
  EXPECT_EQ(client_.Error({"SPOP", "default", "10001"}), "INVALID at most 10000 at once");
  EXPECT_EQ(client_.Ask({"LPOP", "default", "0"}).items.size(), 0U);
  EXPECT_EQ(client_.Error({"KEYMILL.MINT", "default", "3"}), "ERR syntax error");
  EXPECT_EQ(client_.Error({"KEYMILL.MINT", "default", "MANY", "3"}), "ERR syntax error");
  EXPECT_EQ(client_.Error({"SPOP", "default", "1", "2"}), "ERR syntax error");
}

TEST_F(RespMintTest, AnUnknownKeyspaceIsAnErrorThatSaysHowToCreateIt) {
  for (const std::vector<std::string_view>& words :
       std::vector<std::vector<std::string_view>>{{"KEYMILL.MINT", "nope"},
                                                  {"SPOP", "nope"},
                                                  {"LPOP", "nope", "3"},
                                                  {"INCR", "nope"},
                                                  {"INCRBY", "nope", "3"},
                                                  {"KEYMILL.EXPLAIN", "nope", "a"},
                                                  {"KEYMILL.CLAIM", "nope", "spring"},
                                                  {"KEYMILL.DERIVE", "nope", "text"}}) {
    const std::string error = client_.Error(words);
    EXPECT_THAT(error, StartsWith("NOTFOUND there is no keyspace \"nope\""));
    EXPECT_THAT(error, HasSubstr("keymill keyspace create nope"));
  }
}

TEST_F(RespMintTest, IncrGivesNumbersOfSequences) {
  EXPECT_EQ(client_.Ask({"INCR", "orders"}).integer, 1);
  EXPECT_EQ(client_.Ask({"incr", "orders"}).integer, 2);
  EXPECT_EQ(client_.Ask({"INCRBY", "orders", "1"}).integer, 3);
  EXPECT_EQ(client_.Ask({"KEYMILL.MINT", "orders"}).text, "4");
  for (const std::string_view name : {"default", "pages"}) {
    EXPECT_THAT(client_.Error({"INCR", name}),
                StartsWith("WRONGTYPE Operation against a key holding the wrong kind of value"));
  }
}

TEST_F(RespMintTest, IncrbyGivesTheLastOfARun) {
  EXPECT_EQ(client_.Ask({"INCR", "orders"}).integer, 1);
  const std::int64_t last = client_.Ask({"INCRBY", "orders", "100"}).integer;
  EXPECT_GE(last, 101);
  EXPECT_EQ(client_.Ask({"INCR", "orders"}).integer, last + 1);
  const std::int64_t far = client_.Ask({"INCRBY", "orders", "1000000"}).integer;
  EXPECT_GE(far, last + 1 + 1'000'000);
  EXPECT_GT(client_.Ask({"INCR", "orders"}).integer, far);
}

TEST_F(RespMintTest, IncrbyRefusesWhatIsNoPositiveNumber) {
  EXPECT_EQ(client_.Ask({"INCR", "orders"}).integer, 1);
  for (const std::string_view increment :
       {"-5", "0", "9223372036854775808", "1e3", "", " 1", "1 ", "+1", "0x1"}) {
    EXPECT_EQ(client_.Error({"INCRBY", "orders", increment}), kNotInteger) << increment;
  }
  EXPECT_EQ(client_.Error({"INCRBY", "orders", "1000001"}), "INVALID at most 1000000 at once");
  EXPECT_EQ(client_.Ask({"INCR", "orders"}).integer, 2) << "nothing was consumed";
}

TEST_F(RespMintTest, NoNumberAbove2To53LeavesAsAnInteger) {
  Recipe high = DefaultRecipe(Kind::kSequence);
  high.alphabet = "decimal";
  high.start = kIntegerLast - 2;
  server_.Create("high", high);
  EXPECT_THAT(client_.Error({"INCRBY", "high", "4"}),
              StartsWith("ERR increment or decrement would overflow"));
  EXPECT_EQ(client_.Ask({"INCR", "high"}).integer, 9007199254740990) << "nothing was consumed";
  EXPECT_EQ(client_.Ask({"INCRBY", "high", "2"}).integer, 9007199254740992);
  EXPECT_THAT(client_.Error({"INCR", "high"}),
              StartsWith("ERR increment or decrement would overflow"));
  EXPECT_EQ(client_.Ask({"KEYMILL.MINT", "high"}).text, "9007199254740993");
}

// The same when they come in one piece, on the short way for repeats.
TEST_F(RespMintTest, RepeatsStopAt2To53) {
  Recipe high = DefaultRecipe(Kind::kSequence);
  high.start = kIntegerLast - 2;
  server_.Create("high", high);
  std::string bytes;
  for (int i = 0; i < 10; ++i) bytes += Bytes({"INCR", "high"});
  client_.Send(bytes);
  client_.Settle();
  const std::vector<RespValue> answers = client_.TakeAll();
  ASSERT_EQ(answers.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(answers[i].is_error(), i >= 3) << i;
}

TEST_F(RespMintTest, PipelinedCommandsAreAnsweredInOrder) {
  std::string bytes;
  for (int i = 0; i < 200; ++i) {
    bytes += Bytes({"INCR", "orders"});
    if (i % 50 == 0) bytes += Bytes({"ECHO", "between"});
  }
  client_.Send(bytes);
  client_.Settle();
  std::int64_t expected = 1;
  for (const RespValue& value : client_.TakeAll()) {
    if (value.type == RespType::kBulk) continue;
    EXPECT_EQ(value.integer, expected++);
  }
  EXPECT_EQ(expected, 201);
}

// What follows a command that was looked up must not be taken for its repetition.
TEST_F(RespMintTest, CommandsOfTwoKeyspacesDoNotMix) {
  Recipe other = DefaultRecipe(Kind::kSequence);
  other.alphabet = "decimal";
  other.start = 500;
  server_.Create("others", other);
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    for (const std::string_view name : {"orders", "orders", "nope", "others", "others"}) {
      bytes += Bytes({"INCR", name});
    }
    bytes += Bytes({"MULTI"}) + Bytes({"INCR", "others"}) + Bytes({"EXEC"});
    bytes += Bytes({"INCR", "orders"});
  }
  client_.Send(bytes);
  client_.Settle();
  std::int64_t order = 1;
  std::int64_t of_others = 500;
  const std::vector<RespValue> answers = client_.TakeAll();
  ASSERT_EQ(answers.size(), 27U);
  for (std::size_t i = 0; i < answers.size(); i += 9) {
    EXPECT_EQ(answers[i].integer, order++);
    EXPECT_EQ(answers[i + 1].integer, order++);
    EXPECT_TRUE(answers[i + 2].is_error());
    EXPECT_EQ(answers[i + 3].integer, of_others++);
    EXPECT_EQ(answers[i + 4].integer, of_others++);
    EXPECT_EQ(answers[i + 7].items.at(0).integer, of_others++);
    EXPECT_EQ(answers[i + 8].integer, order++);
  }
}

TEST_F(RespMintTest, ManyAnswersDoNotPileUp) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += Bytes({"KEYMILL.MINT", "default", "COUNT", "10000"});
  client_.Send(bytes);
  client_.Settle();
  EXPECT_LT(client_.output_max(), 512U * 1024);
  EXPECT_EQ(client_.TakeAll().size(), 100U);
}

TEST_F(RespMintTest, WithoutAMintItIsUnavailable) {
  server_.backend().SetEngine(nullptr);
  EXPECT_THAT(client_.Error({"KEYMILL.MINT", "default"}), StartsWith("UNAVAILABLE "));
  EXPECT_THAT(client_.Error({"KEYMILL.LIST"}), StartsWith("UNAVAILABLE "));
  EXPECT_EQ(client_.Ask({"PING"}).text, "PONG");
}

TEST_F(RespMintTest, ARetiredKeyspaceIsAConflict) {
  ASSERT_TRUE(server_.engine().Retire("orders").ok());
  EXPECT_THAT(client_.Error({"INCR", "orders"}), StartsWith("CONFLICT "));
}

class RespWaitTest : public testing::Test {
 protected:
  FakeClock clock_;
  TestServer server_{clock_};
  TestClient client_{server_};
};

TEST_F(RespWaitTest, AnEmptyReservoirParksUntilABlockComes) {
  for (const std::vector<std::string_view>& words : std::vector<std::vector<std::string_view>>{
           {"INCR", "orders"}, {"KEYMILL.MINT", "default"}, {"INCRBY", "orders", "5000"}}) {
    client_.SendCommand(words);
    EXPECT_TRUE(client_.parked());
    EXPECT_EQ(client_.step().wake_at, clock_.Monotonic() + 2s);
    client_.SendCommand({"PING"});
    EXPECT_EQ(client_.output(), "") << "answers keep their order";
    client_.Settle();
    EXPECT_FALSE(client_.Take().is_error());
    EXPECT_EQ(client_.Take().text, "PONG");
  }
}

TEST_F(RespWaitTest, ADeadlineIsUnavailable) {
  server_.store().down = true;
  client_.SendCommand({"INCR", "orders"});
  server_.Refill();
  ASSERT_TRUE(client_.parked());
  client_.Poke();  // Woken for nothing.
  ASSERT_TRUE(client_.parked());
  clock_.Advance(3s);
  client_.Poke();
  EXPECT_THAT(client_.Take().text, StartsWith("UNAVAILABLE "));
  server_.store().down = false;
  clock_.Advance(10s);
  EXPECT_EQ(client_.Ask({"INCR", "orders"}).integer, 1) << "and it recovers";
}

TEST_F(RespWaitTest, WhatIsThereIsAnsweredWhenTheRestDoesNotCome) {
  client_.Ask({"KEYMILL.MINT", "default"});
  server_.store().down = true;
  client_.SendCommand({"KEYMILL.MINT", "default", "COUNT", "10000"});
  ASSERT_TRUE(client_.parked());
  clock_.Advance(3s);
  client_.Poke();
  const RespValue keys = client_.Take();
  EXPECT_EQ(keys.type, RespType::kArray);
  EXPECT_GT(keys.items.size(), 0U);
  EXPECT_LT(keys.items.size(), 10000U);
}

TEST_F(RespWaitTest, AStoreThatHangsIsWaitedForUntilTheDeadline) {
  server_.store().stuck = true;
  client_.SendCommand({"KEYMILL.LIST"});
  ASSERT_TRUE(client_.parked());
  ASSERT_TRUE(server_.store().entered.Await());
  clock_.Advance(3s);
  client_.Poke();
  EXPECT_EQ(client_.Take().text, "UNAVAILABLE the store did not answer in time; try again");
  server_.store().stuck = false;
  server_.store().released.Raise();
}

TEST_F(RespWaitTest, ASessionThatEndsWhileItWaitsIsForgotten) {
  client_.SendCommand({"INCR", "orders"});
  ASSERT_TRUE(client_.parked());
  client_.Destroy();
  EXPECT_EQ(server_.engine().Find("orders")->stats().waiting, 0U);
  server_.Refill();
}

TEST_F(RespWaitTest, ATransactionWaitsInTheMiddle) {
  client_.SendCommand({"MULTI"});
  for (int i = 0; i < 3; ++i) client_.SendCommand({"INCRBY", "orders", "900"});
  client_.SendCommand({"KEYMILL.LIST"});
  client_.SendCommand({"EXEC"});
  client_.SendCommand({"PING"});
  client_.Settle();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(client_.Take().is_error());
  const RespValue answers = client_.Take();
  ASSERT_EQ(answers.items.size(), 4U);
  EXPECT_GE(answers.items[1].integer, answers.items[0].integer + 900);
  EXPECT_GE(answers.items[2].integer, answers.items[1].integer + 900);
  EXPECT_EQ(answers.items[3].items.size(), 3U);
  EXPECT_EQ(client_.Take().text, "PONG");
}

}  // namespace
}  // namespace keymill::api::resp
