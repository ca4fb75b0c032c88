// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/keyspace_json.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace keymill::api::http {
namespace {

TEST(KeyspaceJsonTest, ReadsAFlatObject) {
  const auto words =
      ParseWords(R"( {"kind":"sequence","length":7,"check":true,"blocklist":["a","b"]} )");
  ASSERT_TRUE(words.ok()) << words.status().message();
  ASSERT_EQ(words->size(), 4U);
  EXPECT_EQ((*words)[0].word, "kind");
  EXPECT_EQ((*words)[0].values, std::vector<std::string>{"sequence"});
  EXPECT_EQ((*words)[1].values, std::vector<std::string>{"7"});
  EXPECT_EQ((*words)[2].values, std::vector<std::string>{"true"});
  EXPECT_EQ((*words)[3].values, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(ParseWords("{}")->empty());
}

TEST(KeyspaceJsonTest, RefusesEverythingElse) {
  for (const std::string json : {"",
                                 " ",
                                 "null",
                                 "1",
                                 "\"a\"",
                                 "[]",
                                 "[{}]",
                                 "{",
                                 "}",
                                 "{\"a\"}",
                                 "{\"a\":}",
                                 "{\"a\":1,}",
                                 "{'a':1}",
                                 "{a:1}",
                                 "{\"a\":null}",
                                 "{\"a\":{}}",
                                 "{\"a\":[{}]}",
                                 "{\"a\":[[]]}",
                                 "{\"a\":1,\"a\":2}",
                                 "{\"a\":NaN}",
                                 "{\"a\":Infinity}",
                                 "{\"a\":1}x",
                                 "{}{}",
                                 "{\"a\":01}",
                                 "{\"a\":1e400}",
                                 "{\"a\":\"\xff\"}",
                                 "{\"a\":\"\n\"}",
                                 "/**/{}"}) {
    const auto words = ParseWords(json);
    EXPECT_EQ(words.code(), Code::kInvalidArgument) << json;
    EXPECT_TRUE(words.status().message().starts_with("body: ")) << json;
  }
}

TEST(KeyspaceJsonTest, NothingHidesBehindANul) {
  using namespace std::string_literals;
  for (const std::string& json : {"{\"a\":1}\0"s, "{\"a\":1}\0garbage"s, "\0{}"s, "{\"a\0\":1}"s}) {
    EXPECT_EQ(ParseWords(json).code(), Code::kInvalidArgument);
  }
}

TEST(KeyspaceJsonTest, ReadsIntegersAsTheyWereSent) {
  const auto words = ParseIntegers(R"({"a":5,"b":-5,"c":18446744073709551617})");
  ASSERT_TRUE(words.ok());
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(*words, (Pairs{{"a", "5"}, {"b", "-5"}, {"c", "18446744073709551617"}}));
  for (const std::string value : {"\"1\"", "[1]", "1.5", "1e5", "1E5", "true", "null", "{}"}) {
    EXPECT_EQ(ParseIntegers("{\"a\":" + value + "}").status().message(),
              "body: a must be a whole number")
        << value;
  }
  EXPECT_EQ(ParseIntegers("{\"a\":1e400}").status().message(),
            "body: a is 1e400: no number is that large here");
}

TEST(KeyspaceJsonTest, ReadsStringsAndNothingElse) {
  const auto words = ParseStrings(R"({"a":"5","b":"\u20ac\n"})");
  ASSERT_TRUE(words.ok());
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(*words, (Pairs{{"a", "5"}, {"b", "\u20ac\n"}}));
  for (const std::string value :
       {"1", "-1", "[\"1\"]", "1.5", "18446744073709551617", "true", "null", "{}"}) {
    EXPECT_EQ(ParseStrings("{\"a\":" + value + "}").status().message(), "body: a must be a string")
        << value;
  }
  for (const std::string json : {"1", "\"a\"", "[]", "[\"a\"]", "true"}) {
    EXPECT_EQ(ParseStrings(json).status().message(), "body: an object is expected") << json;
  }
}

TEST(KeyspaceJsonTest, DepthAndWidthCostNothing) {
  EXPECT_FALSE(ParseWords(std::string(1 << 20, '[')).ok());
  std::string nested;
  for (int i = 0; i < 10'000; ++i) nested += "{\"a\":";
  EXPECT_FALSE(ParseWords(nested).ok());
  std::string wide = "{";
  for (int i = 0; i < 100; ++i) wide += fmt::format("{}\"{}\":1", i == 0 ? "" : ",", i);
  EXPECT_EQ(ParseWords(wide + "}").status().message(), "body: too many names");
}

TEST(KeyspaceJsonTest, WritesTimes) {
  EXPECT_EQ(IsoTime(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(IsoTime(1'750'000'000'123), "2025-06-15T15:06:40Z");
}

}  // namespace
}  // namespace keymill::api::http
