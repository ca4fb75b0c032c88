// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What clients of Redis send at connect, transactions, and what nobody should send.

#include "api/resp/session.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/resp/resp_test_support.h"

namespace keymill::api::resp {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

constexpr const char* kTime = "20[0-9-]+T[0-9:]+\\.[0-9]+Z";

class RespSessionTest : public testing::Test {
 protected:
  std::string Answer(std::string_view bytes) {
    TestClient client(server_);
    client.Send(bytes);
    client.Settle();
    closed_ = client.closed();
    return client.output();
  }

  TestServer server_;
  TestClient client_{server_};
  bool closed_ = false;
};

std::string Bytes(const std::vector<std::string_view>& words) {
  std::string bytes;
  wire::AppendRespCommand(words, bytes);
  return bytes;
}

TEST_F(RespSessionTest, HelloChoosesTheVersion) {
  const RespValue second = client_.Ask({"HELLO"});
  EXPECT_EQ(second.type, RespType::kArray) << "version 2 has no maps";
  EXPECT_EQ(ValueOf(second, "proto").integer, 2);
  const RespValue third = client_.Ask({"hello", "3", "AUTH", "default", "x", "setname", "me"});
  ASSERT_EQ(third.type, RespType::kMap);
  EXPECT_EQ(ValueOf(third, "proto").integer, 3);
  EXPECT_EQ(ValueOf(third, "id").type, RespType::kInteger);
  EXPECT_EQ(ValueOf(third, "version").text, "7.0.0");
  EXPECT_EQ(ValueOf(third, "mode").text, "standalone");
  EXPECT_EQ(ValueOf(third, "role").text, "master");
  EXPECT_EQ(ValueOf(third, "modules").type, RespType::kArray);
  EXPECT_EQ(client_.Ask({"CLIENT", "GETNAME"}).text, "me");
  EXPECT_EQ(client_.Ask({"RESET"}).text, "RESET");
  EXPECT_EQ(ValueOf(client_.Ask({"HELLO"}), "proto").integer, 2);
}

TEST_F(RespSessionTest, HelloRefusesWhatItDoesNotKnow) {
  EXPECT_EQ(client_.Error({"HELLO", "4"}), "NOPROTO unsupported protocol version");
  EXPECT_EQ(client_.Error({"HELLO", "x"}),
            "ERR Protocol version is not an integer or out of range");
  EXPECT_EQ(client_.Error({"HELLO", "3", "WHAT"}), "ERR Syntax error in HELLO option 'WHAT'");
  EXPECT_EQ(client_.Error({"HELLO", "3", "AUTH", "maria", "x"}),
            "WRONGPASS invalid username-password pair or user is disabled.");
  EXPECT_EQ(ValueOf(client_.Ask({"HELLO"}), "proto").integer, 2) << "nothing has changed";
}

TEST_F(RespSessionTest, AuthAnswersAsRedisWithoutAPassword) {
  EXPECT_THAT(client_.Error({"AUTH", "x"}),
              StartsWith("ERR AUTH <password> called without any password configured"));
  EXPECT_EQ(client_.Ask({"AUTH", "default", "x"}).text, "OK");
  EXPECT_EQ(client_.Error({"AUTH", "maria", "x"}),
            "WRONGPASS invalid username-password pair or user is disabled.");
  EXPECT_EQ(client_.Error({"AUTH", "a", "b", "c"}), "ERR syntax error");
}

TEST_F(RespSessionTest, SmallOnes) {
  EXPECT_EQ(client_.Ask({"PING"}).text, "PONG");
  EXPECT_EQ(client_.Ask({"PING", "hi"}).text, "hi");
  EXPECT_EQ(client_.Error({"PING", "a", "b"}), "ERR wrong number of arguments for 'ping' command");
  EXPECT_EQ(client_.Ask({"ECHO", std::string_view("a\r\n\0b", 5)}).text,
            std::string("a\r\n\0b", 5));
  EXPECT_EQ(client_.Ask({"SELECT", "0"}).text, "OK");
  EXPECT_EQ(client_.Error({"SELECT", "1"}), "ERR DB index is out of range");
  EXPECT_EQ(client_.Error({"SELECT", "x"}), "ERR value is not an integer or out of range");
  EXPECT_EQ(client_.Ask({"TIME"}).items.size(), 2U);
  EXPECT_EQ(client_.Ask({"DBSIZE"}).integer, 3);
  EXPECT_EQ(client_.Ask({"WATCH", "a"}).text, "OK");
  EXPECT_EQ(client_.Ask({"UNWATCH"}).text, "OK");
  EXPECT_EQ(client_.Error({"CLUSTER", "NODES"}), "ERR This instance has cluster support disabled");
  for (const std::vector<std::string_view>& words :
       std::vector<std::vector<std::string_view>>{{"SUBSCRIBE", "a"},
                                                  {"UNSUBSCRIBE"},
                                                  {"PSUBSCRIBE", "a"},
                                                  {"PUNSUBSCRIBE"},
                                                  {"PUBLISH", "a", "b"},
                                                  {"MONITOR"}}) {
    EXPECT_THAT(client_.Error(words), StartsWith("ERR ")) << words[0];
  }
}

TEST_F(RespSessionTest, QuitAnswersAndCloses) {
  client_.Send(Bytes({"QUIT"}) + Bytes({"PING"}));
  EXPECT_EQ(client_.output(), "+OK\r\n");
  EXPECT_TRUE(client_.closed());
}

TEST_F(RespSessionTest, ClientTellsOfThisConnection) {
  EXPECT_EQ(client_.Ask({"CLIENT", "GETNAME"}).type, RespType::kNull);
  EXPECT_EQ(client_.Ask({"CLIENT", "SETNAME", "one"}).text, "OK");
  EXPECT_EQ(client_.Ask({"client", "setinfo", "lib-name", "redis-py"}).text, "OK");
  EXPECT_EQ(client_.Ask({"CLIENT", "SETINFO", "LIB-VER", "8.0"}).text, "OK");
  const std::int64_t id = client_.Ask({"CLIENT", "ID"}).integer;
  EXPECT_GT(id, 0);
  TestClient other(server_);
  EXPECT_NE(other.Ask({"CLIENT", "ID"}).integer, id);
  for (const char* const what : {"INFO", "LIST"}) {
    EXPECT_EQ(client_.Ask({"CLIENT", what}).text,
              fmt::format("id={} name=one db=0 resp=2 lib-name=redis-py lib-ver=8.0\n", id));
  }
  EXPECT_EQ(client_.Ask({"CLIENT", "NO-EVICT", "on"}).text, "OK");
  EXPECT_EQ(client_.Ask({"CLIENT", "NO-TOUCH", "on"}).text, "OK");
  EXPECT_EQ(client_.Ask({"CLIENT", "REPLY", "ON"}).text, "OK");
  EXPECT_GT(client_.Ask({"CLIENT", "HELP"}).items.size(), 5U);
}

TEST_F(RespSessionTest, ClientRefusesInTheWordsOfRedis) {
  EXPECT_EQ(client_.Error({"CLIENT", "FOO"}), "ERR unknown subcommand 'FOO'. Try CLIENT HELP.");
  EXPECT_EQ(client_.Error({"CLIENT", "MAINT_NOTIFICATIONS", "ON"}),
            "ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.");
  EXPECT_THAT(client_.Error({"CLIENT", "TRACKING", "ON"}), StartsWith("ERR CLIENT TRACKING"));
  EXPECT_EQ(client_.Error({"CLIENT", "SETNAME"}),
            "ERR wrong number of arguments for 'client|setname' command");
  EXPECT_EQ(client_.Error({"CLIENT", "SETNAME", "a b"}),
            "ERR Client names cannot contain spaces, newlines or special characters.");
  EXPECT_EQ(client_.Error({"CLIENT", "SETINFO", "x", "y"}), "ERR Unrecognized option 'x'");
  EXPECT_EQ(client_.Error({"CLIENT", "SETINFO", "LIB-NAME", "y\nz"}),
            "ERR lib-name cannot contain spaces, newlines or special characters.");
  EXPECT_THAT(client_.Error({"CLIENT", "REPLY", "OFF"}), StartsWith("ERR CLIENT REPLY OFF"));
  EXPECT_EQ(client_.Error({"CLIENT", "ID", "x"}),
            "ERR wrong number of arguments for 'client|id' command");
}

TEST_F(RespSessionTest, InfoHasWhatClientsLookFor) {
  const std::string all = client_.Ask({"INFO"}).text;
  for (const char* const line :
       {"redis_version:7.0.0\r\n", "redis_mode:standalone\r\n", "loading:0\r\n", "role:master\r\n",
        "# Keymill\r\n", "keymill_version:1.2.3\r\n", "store_up:1\r\n"}) {
    EXPECT_THAT(all, HasSubstr(line));
  }
  const std::string one = client_.Ask({"INFO", "replication"}).text;
  EXPECT_THAT(one, HasSubstr("role:master"));
  EXPECT_THAT(one, Not(HasSubstr("redis_version")));
  EXPECT_EQ(client_.Ask({"INFO", "everything"}).text, client_.Ask({"INFO"}).text);
  client_.Ask({"HELLO", "3"});
  EXPECT_EQ(client_.Ask({"INFO"}).type, RespType::kVerbatim);
}

TEST_F(RespSessionTest, ConfigTellsAndCannotBeSet) {
  const RespValue save = client_.Ask({"CONFIG", "GET", "save"});
  ASSERT_EQ(save.items.size(), 2U);
  EXPECT_EQ(ValueOf(save, "save").text, "");
  EXPECT_EQ(ValueOf(client_.Ask({"config", "get", "APPEND*"}), "appendonly").text, "no");
  EXPECT_EQ(client_.Ask({"CONFIG", "GET", "nope", "data?ases", "maxm*"}).items.size(), 6U);
  EXPECT_EQ(client_.Ask({"CONFIG", "GET", "nope"}).items.size(), 0U);
  EXPECT_EQ(client_.Error({"CONFIG", "SET", "save", ""}),
            "ERR nothing can be configured over RESP; `keymill config show` lists the settings");
  EXPECT_EQ(client_.Error({"CONFIG", "FOO"}), "ERR unknown subcommand 'FOO'. Try CONFIG HELP.");
  EXPECT_EQ(client_.Error({"CONFIG", "GET"}),
            "ERR wrong number of arguments for 'config|get' command");
}

TEST_F(RespSessionTest, UnknownCommandsAreToldAsRedisTellsThem) {
  EXPECT_EQ(client_.Error({"FOO"}), "ERR unknown command 'FOO', with args beginning with: ");
  EXPECT_EQ(client_.Error({"GET", "a", "b"}),
            "ERR unknown command 'GET', with args beginning with: 'a' 'b' ");
  for (const std::string_view name : {"EVAL", "DEBUG", "FLUSHALL", "SET", "KEYMILL.MINTT", ""}) {
    EXPECT_THAT(client_.Error({name, "x"}),
                StartsWith(fmt::format("ERR unknown command '{}'", name)));
  }
  const std::string longest(1024, 'x');
  EXPECT_EQ(client_.Error({longest}), fmt::format("ERR unknown command '{}', with args beginning "
                                                  "with: ",
                                                  std::string(128, 'x')));
  EXPECT_LT(client_.Error({"a", longest, longest}).size(), 300U);
  EXPECT_THAT(client_.Error({"a\x1b[2J\r\nb"}), HasSubstr("'a?[2J??b'"));
  EXPECT_EQ(client_.Error({"INCR"}), "ERR wrong number of arguments for 'incr' command");
  EXPECT_EQ(client_.Error({"KEYMILL.LIST", "x"}),
            "ERR wrong number of arguments for 'keymill.list' command");
}

TEST_F(RespSessionTest, KeysByName) {
  EXPECT_EQ(client_.Ask({"INCR", "orders"}).integer, 1);
  for (const std::vector<std::string_view>& words : std::vector<std::vector<std::string_view>>{
           {"KEYMILL.EXPLAIN", "orders", "1"}, {"KEYMILL.EXPLAIN", "1"}}) {
    const RespValue told = client_.Ask(words);
    EXPECT_EQ(ValueOf(told, "keyspace").text, "orders");
    EXPECT_EQ(ValueOf(told, "state").text, "issued");
    EXPECT_EQ(ValueOf(told, "number").type, RespType::kBulk) << "never an integer";
  }
  EXPECT_THAT(client_.Error({"KEYMILL.EXPLAIN", "orders", "x"}), StartsWith("NOTFOUND "));
  EXPECT_THAT(client_.Error({"KEYMILL.EXPLAIN", "a", "b", "c"}), StartsWith("ERR wrong number"));

  EXPECT_EQ(client_.Ask({"KEYMILL.CLAIM", "default", "spring", "OWNER", "maria"}).text, "OK");
  EXPECT_EQ(client_.Ask({"KEYMILL.CLAIM", "default", "spring", "owner", "maria"}).text, "OK");
  EXPECT_THAT(client_.Error({"KEYMILL.CLAIM", "default", "spring"}), StartsWith("CONFLICT "));
  EXPECT_THAT(client_.Error({"KEYMILL.CLAIM", "default", "a"}), StartsWith("INVALID "));
  EXPECT_EQ(client_.Error({"KEYMILL.CLAIM", "default", "a", "b"}), "ERR syntax error");

  const RespValue key = client_.Ask({"KEYMILL.DERIVE", "pages", "https://example.com/"});
  EXPECT_EQ(key.type, RespType::kBulk);
  EXPECT_EQ(client_.Ask({"KEYMILL.DERIVE", "pages", "https://example.com/"}), key);
  EXPECT_NE(client_.Ask({"KEYMILL.DERIVE", "pages", "https://example.com/", "SALT", "x"}), key);
  EXPECT_EQ(client_.Error({"KEYMILL.DERIVE", "pages", "a", "b"}), "ERR syntax error");
  EXPECT_THAT(client_.Error({"KEYMILL.MINT", "pages"}), StartsWith("INVALID "));

  client_.Ask({"HELLO", "3"});
  const RespValue list = client_.Ask({"KEYMILL.LIST"});
  ASSERT_EQ(list.items.size(), 3U);
  EXPECT_EQ(list.items[0].type, RespType::kMap);
  EXPECT_EQ(ValueOf(list.items[0], "left").type, RespType::kBulk);
}

TEST_F(RespSessionTest, ExplainTellsTheBlockOfANumber) {
  client_.Ask({"INCR", "orders"});
  const RespValue told = client_.Ask({"KEYMILL.EXPLAIN", "orders", "1"});
  EXPECT_EQ(ValueOf(told, "block_first").text, "1");
  EXPECT_THAT(ValueOf(told, "block_count").text, MatchesRegex("[1-9][0-9]*"));
  EXPECT_EQ(ValueOf(told, "block_state").text, "held");
  EXPECT_THAT(ValueOf(told, "reserved_at").text, MatchesRegex(kTime));
  for (const RespValue& each : told.items) EXPECT_EQ(each.type, RespType::kBulk);
  for (const char* const name : {"block", "instance"}) EXPECT_NE(ValueOf(told, name).text, "");
  for (const char* const name : {"record_state", "since", "generation", "owner", "expires_at"}) {
    EXPECT_EQ(ValueOf(told, name).type, RespType::kNull) << name;
  }
}

TEST_F(RespSessionTest, ExplainTellsTheRecordOfAKey) {
  Recipe recipe = DefaultRecipe(Kind::kPool);
  recipe.expires_s = 3'600;
  server_.Create("codes", recipe);
  const RespValue used =
      client_.Ask({"KEYMILL.EXPLAIN", "codes", client_.Ask({"KEYMILL.MINT", "codes"}).text});
  EXPECT_EQ(ValueOf(used, "state").text, "issued");
  EXPECT_EQ(ValueOf(used, "record_state").text, "used");
  EXPECT_NE(ValueOf(used, "instance").text, "");
  EXPECT_THAT(ValueOf(used, "since").text, MatchesRegex(kTime));
  EXPECT_THAT(ValueOf(used, "expires_at").text, MatchesRegex(kTime));
  EXPECT_EQ(ValueOf(used, "generation").text, "0");
  EXPECT_EQ(ValueOf(used, "generation").type, RespType::kBulk) << "never an integer";
  EXPECT_EQ(ValueOf(used, "owner").type, RespType::kNull);
  EXPECT_EQ(ValueOf(used, "block").type, RespType::kNull);

  client_.Ask({"KEYMILL.CLAIM", "default", "spring", "OWNER", "maria"});
  const RespValue claimed = client_.Ask({"KEYMILL.EXPLAIN", "default", "spring"});
  EXPECT_EQ(ValueOf(claimed, "state").text, "alias");
  EXPECT_EQ(ValueOf(claimed, "record_state").text, "alias");
  EXPECT_EQ(ValueOf(claimed, "owner").text, "maria");
  EXPECT_EQ(ValueOf(claimed, "expires_at").type, RespType::kNull);
}

// What counts a link's followers is no generation.
TEST_F(RespSessionTest, ExplainTellsNoGenerationOfALink) {
  const Status added = AddLink(server_.store().inner(), "orders", "leads");
  ASSERT_TRUE(added.ok()) << added.message();
  const RespValue told = client_.Ask({"KEYMILL.EXPLAIN", "orders", "leads"});
  EXPECT_EQ(ValueOf(told, "record_state").text, "link");
  EXPECT_THAT(ValueOf(told, "since").text, MatchesRegex(kTime));
  EXPECT_EQ(ValueOf(told, "generation").type, RespType::kNull);
}

TEST_F(RespSessionTest, TransactionsRunAllAndTellEachFailure) {
  EXPECT_EQ(client_.Ask({"MULTI"}).text, "OK");
  EXPECT_EQ(client_.Ask({"INCR", "orders"}).text, "QUEUED");
  EXPECT_EQ(client_.Ask({"INCR", "default"}).text, "QUEUED");
  EXPECT_EQ(client_.Ask({"KEYMILL.MINT", "nope"}).text, "QUEUED");
  EXPECT_EQ(client_.Ask({"KEYMILL.MINT", "default", "COUNT", "2"}).text, "QUEUED");
  EXPECT_EQ(client_.Error({"MULTI"}), "ERR MULTI calls can not be nested");
  EXPECT_EQ(client_.Error({"WATCH", "a"}), "ERR WATCH inside MULTI is not allowed");
  const RespValue all = client_.Ask({"EXEC"});
  ASSERT_EQ(all.items.size(), 4U);
  EXPECT_EQ(all.items[0].integer, 1);
  EXPECT_THAT(all.items[1].text, StartsWith("WRONGTYPE"));
  EXPECT_THAT(all.items[2].text, StartsWith("NOTFOUND"));
  EXPECT_EQ(all.items[3].items.size(), 2U);
  EXPECT_EQ(client_.Ask({"PING"}).text, "PONG");
}

TEST_F(RespSessionTest, TransactionsThatAreWrongRunNothing) {
  EXPECT_EQ(client_.Error({"EXEC"}), "ERR EXEC without MULTI");
  EXPECT_EQ(client_.Error({"DISCARD"}), "ERR DISCARD without MULTI");
  for (const std::vector<std::string_view>& wrong :
       std::vector<std::vector<std::string_view>>{{"FOO"}, {"INCR"}}) {
    client_.Ask({"MULTI"});
    client_.Ask({"INCR", "orders"});
    EXPECT_NE(client_.Error(wrong), "");
    EXPECT_EQ(client_.Error({"EXEC"}),
              "EXECABORT Transaction discarded because of previous errors.");
  }
  client_.Ask({"MULTI"});
  client_.Ask({"INCR", "orders"});
  EXPECT_EQ(client_.Ask({"DISCARD"}).text, "OK");
  client_.Ask({"MULTI"});
  EXPECT_EQ(client_.Ask({"RESET"}).text, "RESET");
  EXPECT_EQ(client_.Ask({"INCR", "orders"}).integer, 1) << "nothing was consumed";
  client_.Ask({"MULTI"});
  EXPECT_EQ(client_.Ask({"EXEC"}).items.size(), 0U);
}

TEST_F(RespSessionTest, ATransactionIsBounded) {
  client_.Ask({"MULTI"});
  for (std::size_t i = 0; i < kQueuedMax; ++i) ASSERT_EQ(client_.Ask({"PING"}).text, "QUEUED");
  EXPECT_THAT(client_.Error({"PING"}), StartsWith("ERR too many commands"));
  EXPECT_THAT(client_.Error({"EXEC"}), StartsWith("EXECABORT"));
  client_.Ask({"MULTI"});
  const std::string large(60'000, 'x');
  std::string error;
  for (int i = 0; i < 30 && error.empty(); ++i) error = client_.Error({"ECHO", large});
  EXPECT_THAT(error, StartsWith("ERR too many commands"));
}

TEST_F(RespSessionTest, ALargeTransactionDoesNotPileUp) {
  client_.Ask({"MULTI"});
  for (int i = 0; i < 100; ++i) client_.Ask({"KEYMILL.MINT", "default", "COUNT", "10000"});
  EXPECT_EQ(client_.Ask({"EXEC"}).items.size(), 100U);
  EXPECT_LT(client_.output_max(), 512U * 1024);
}

// R1 to R5, R9 and R10 of what such a server has to withstand.
TEST_F(RespSessionTest, WhatIsEmptyIsPassedOver) {
  for (const char* const bytes : {"*-1\r\n", "*0\r\n", "\r\n", "\n"}) {
    EXPECT_EQ(Answer(std::string(bytes) + "PING\r\n"), "+PONG\r\n") << bytes;
    EXPECT_FALSE(closed_);
  }
}

TEST_F(RespSessionTest, WhatIsNoCommandEndsTheConnection) {
  const std::string bulk = "-ERR Protocol error: invalid bulk length\r\n";
  const std::string count = "-ERR Protocol error: invalid multibulk length\r\n";
  for (const auto& [bytes, expected] : std::vector<std::pair<std::string, std::string>>{
           {"*2147483648\r\n", count},
           {"*1025\r\n", count},
           {"*abc\r\n", count},
           {"*1x\r\n", count},
           {"*1\r\n$-1\r\n", bulk},
           {"*1\r\n$999999999999\r\n", bulk},
           {"*1\r\n$65537\r\n", bulk},
           {"*1\r\n$5\r\nabc\r\nxy", bulk},
           {"*2\r\n$4\r\nPING\r\n:1\r\n", "-ERR Protocol error: expected '$'\r\n"},
           {"*2\r\n$4\r\nPING\r\n+1\r\n", "-ERR Protocol error: expected '$'\r\n"},
           {std::string(64 * 1024 + 1, 'x'), "-ERR Protocol error: too big inline request\r\n"},
           {"PING \"a\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"}}) {
    EXPECT_EQ(Answer("PING\r\n" + bytes), "+PONG\r\n" + expected) << bytes.substr(0, 40);
    EXPECT_TRUE(closed_) << bytes.substr(0, 40);
  }
}

TEST_F(RespSessionTest, HttpEndsTheConnectionAtOnce) {
  for (const char* const bytes :
       {"POST / HTTP/1.1\r\nContent-Length: 20\r\n\r\nINCR orders\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nINCR orders\r\n", "Host: a\r\nINCR orders\r\n",
        "put /x HTTP/1.0\r\n\r\nINCR orders\r\n"}) {
    EXPECT_EQ(Answer(bytes), "") << bytes;
    EXPECT_TRUE(closed_) << bytes;
  }
  EXPECT_EQ(client_.Ask({"INCR", "orders"}).integer, 1) << "nothing was run";
  EXPECT_FALSE(client_.Ask({"KEYMILL.DERIVE", "pages", "HTTP/1.1"}).is_error());
}

// Every message, split at every byte, gives the same answers.
TEST_F(RespSessionTest, WhereTheBytesAreSplitChangesNothing) {
  const std::string messages =
      Bytes({"HELLO", "2"}) + Bytes({"PING"}) + "PING inline\r\n" + Bytes({"MULTI"}) +
      Bytes({"ECHO", "a\r\nb"}) + Bytes({"FOO", "x"}) + Bytes({"EXEC"}) +
      Bytes({"INCRBY", "orders", "0"}) + Bytes({"INCR", "default"}) + Bytes({"INCR", "default"}) +
      Bytes({"COMMAND", "DOCS", "keymill.mint"}) + Bytes({"CONFIG", "GET", "save"}) + "\r\n" +
      Bytes({"KEYMILL.EXPLAIN", "nope", "x"}) + Bytes({"CLIENT", "SETNAME", "n"}) + Bytes({"QUIT"});
  const auto without_id = [](std::string answers) {
    const std::size_t at = answers.find("$2\r\nid\r\n:");
    EXPECT_NE(at, std::string::npos);
    const std::size_t end = answers.find("\r\n", at + 9);
    return answers.erase(at, end - at);
  };
  const std::string whole = without_id(Answer(messages));
  EXPECT_THAT(whole, EndsWith("+OK\r\n"));
  for (std::size_t at = 1; at < messages.size(); ++at) {
    TestClient client(server_);
    client.Send(std::string_view(messages).substr(0, at));
    client.Settle();
    client.Send(std::string_view(messages).substr(at));
    client.Settle();
    ASSERT_EQ(without_id(client.output()), whole) << "split at " << at;
  }
  TestClient client(server_);
  for (const char c : messages) {
    client.Send(std::string_view(&c, 1));
    client.Settle();
  }
  EXPECT_EQ(without_id(client.output()), whole);
}

TEST_F(RespSessionTest, ABegunCommandHasToArriveInTime) {
  client_.Send("PING\r\n");
  EXPECT_FALSE(client_.step().in_request);
  client_.Send("*2\r\n$4\r\nEC");
  EXPECT_TRUE(client_.step().in_request);
  std::string last;
  client_.session().OnTimeout(last);
  EXPECT_EQ(last, "-ERR Protocol error: the command did not arrive in time\r\n");
}

// However it drips: what was begun before gets no more time.
TEST_F(RespSessionTest, OnlyANewCommandHasItsTimeAnew) {
  client_.Send("PING\r\n*2\r\n$4\r\nEC");
  EXPECT_TRUE(client_.step().in_request && client_.step().new_request);
  client_.Send("HO\r\n$3\r\na");
  EXPECT_TRUE(client_.step().in_request);
  EXPECT_FALSE(client_.step().new_request);
  client_.Send("bc\r\n*1\r\n");
  EXPECT_TRUE(client_.step().in_request && client_.step().new_request);
}

TEST_F(RespSessionTest, CommandsThatWaitForExecAreHeld) {
  client_.Send("MULTI\r\n");
  EXPECT_FALSE(client_.step().holding);
  client_.Send("PING\r\n");
  EXPECT_TRUE(client_.step().holding);
  client_.Send("EXEC\r\n");
  EXPECT_FALSE(client_.step().holding);
}

TEST_F(RespSessionTest, ADrainAnswersWhatHasCome) {
  client_.session().OnDrain();
  client_.Send(Bytes({"INCR", "orders"}) + Bytes({"INCR", "orders"}));
  client_.Settle();
  EXPECT_TRUE(client_.closed());
  EXPECT_EQ(client_.TakeAll().size(), 2U);
  TestClient transaction(server_);
  transaction.session().OnDrain();
  transaction.Send(Bytes({"MULTI"}) + Bytes({"PING"}));
  EXPECT_FALSE(transaction.closed()) << "it is not whole yet";
  transaction.Send(Bytes({"EXEC"}));
  EXPECT_TRUE(transaction.closed());
}

TEST_F(RespSessionTest, CommandTellsTheTable) {
  const auto count = static_cast<std::int64_t>(Commands().size());
  EXPECT_EQ(client_.Ask({"COMMAND", "COUNT"}).integer, count);
  for (const std::string_view version : {"2", "3"}) {
    client_.Ask({"HELLO", version});
    const RespValue all = client_.Ask({"COMMAND"});
    ASSERT_EQ(static_cast<std::int64_t>(all.items.size()), count);
    for (const RespValue& each : all.items) {
      ASSERT_EQ(each.items.size(), 10U);
      EXPECT_EQ(each.items[0].type, RespType::kBulk);
      EXPECT_EQ(each.items[1].type, RespType::kInteger);
      for (const RespValue& flag : each.items[2].items) EXPECT_EQ(flag.type, RespType::kSimple);
    }
    const RespValue docs = client_.Ask({"COMMAND", "DOCS"});
    ASSERT_EQ(static_cast<std::int64_t>(docs.items.size()), 2 * count);
    for (std::size_t i = 0; i < docs.items.size(); i += 2) {
      const RespValue& doc = docs.items[i + 1];
      EXPECT_EQ(docs.items[i].type, RespType::kBulk);
      for (const char* const field : {"summary", "since", "group"}) {
        EXPECT_EQ(ValueOf(doc, field).type, RespType::kBulk) << docs.items[i].text;
      }
      for (const RespValue& argument : ValueOf(doc, "arguments").items) {
        EXPECT_EQ(ValueOf(argument, "name").type, RespType::kBulk);
        EXPECT_EQ(ValueOf(argument, "type").type, RespType::kBulk);
        for (const RespValue& flag : ValueOf(argument, "flags").items) {
          EXPECT_EQ(flag.type, RespType::kSimple);
        }
      }
    }
  }
  EXPECT_EQ(client_.Ask({"COMMAND", "LIST"}).items.size(), Commands().size());
  const RespValue some = client_.Ask({"COMMAND", "INFO", "keymill.mint", "nope"});
  ASSERT_EQ(some.items.size(), 2U);
  EXPECT_EQ(some.items[0].items[3].integer, 1) << "the first key";
  EXPECT_EQ(some.items[1].type, RespType::kNull);
  EXPECT_EQ(client_.Ask({"COMMAND", "DOCS", "incr", "nope"}).items.size(), 2U);
  EXPECT_THAT(client_.Ask({"COMMAND", "GETKEYS", "INCR", "orders"}).items,
              ElementsAre(testing::Field(&RespValue::text, "orders")));
  EXPECT_EQ(client_.Error({"COMMAND", "GETKEYS", "PING"}), "ERR The command has no key arguments");
  EXPECT_EQ(client_.Error({"COMMAND", "GETKEYS", "NOPE"}), "ERR Invalid command specified");
  EXPECT_EQ(client_.Error({"COMMAND", "GETKEYS", "INCR"}),
            "ERR Invalid number of arguments specified for command");
  EXPECT_EQ(client_.Error({"COMMAND", "FOO"}), "ERR unknown subcommand 'FOO'. Try COMMAND HELP.");
  EXPECT_GT(client_.Ask({"COMMAND", "HELP"}).items.size(), 5U);
}

TEST_F(RespSessionTest, CommandsAreCountedByNameAndOutcome) {
  std::string bytes;
  for (int i = 0; i < 5; ++i) bytes += Bytes({"INCR", "orders"});
  client_.Send(bytes + Bytes({"INCR", "default"}) + Bytes({"FOO"}));
  client_.Settle();
  MetricFamilies families;
  server_.service().metrics().Collect(families);
  const auto value = [&](const char* command, const char* outcome) {
    return families.Value("keymill_resp_commands_total",
                          {{"command", command}, {"outcome", outcome}});
  };
  EXPECT_EQ(value("incr", "ok"), 5);
  EXPECT_EQ(value("incr", "error"), 1);
  EXPECT_EQ(value("unknown", "error"), 1);
  EXPECT_EQ(value("ping", "ok"), -1) << "what did not occur is not told";
}

}  // namespace
}  // namespace keymill::api::resp
