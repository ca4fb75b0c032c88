// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "wire/percent.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace keymill::wire {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(PercentTest, DecodesExactlyOnce) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", ""},
      {"abc", "abc"},
      {"a%62c", "abc"},
      {"%41", "A"},
      {"%2f%2F", "//"},
      {"%2e%2E", ".."},
      {"%252e", "%2e"},
      {"%25", "%"},
      {"%c3%a9", "\xc3\xa9"},
      {"a+b", "a+b"},
      {"%20", " "},
      {"\xc3\xa9", "\xc3\xa9"},
      {"..%2f", "../"},
      {"%F0%9F%98%80", "\xf0\x9f\x98\x80"}};
  for (const auto& [text, decoded] : rows) {
    const Result<std::string> result = PercentDecode(text);
    ASSERT_TRUE(result.ok()) << text;
    EXPECT_EQ(*result, decoded) << text;
  }
}

TEST(PercentTest, ChecksATargetAsAWhole) {
  for (const auto& [path, query] : Pairs{{"/", ""},
                                         {"/a%20b", "c=%41&d+e"},
                                         {"/%c3%a9", "%c3%a9=%25"},
                                         {"/\xc3\xa9", "\xc3\xa9"}}) {
    EXPECT_TRUE(CheckTarget(path, query).ok()) << path << '?' << query;
  }
  for (const std::string bad : {"%", "%4", "%zz", "%00", "%0a", "%7f", "%c0%af", "%ff", "\xff"}) {
    EXPECT_EQ(CheckTarget("/" + bad, "").code(), Code::kInvalidArgument) << bad;
    EXPECT_EQ(CheckTarget("/", bad).code(), Code::kInvalidArgument) << bad;
    EXPECT_EQ(CheckTarget("/", "a=b&c=" + bad).code(), Code::kInvalidArgument) << bad;
  }
  EXPECT_NE(CheckTarget("/", "c=%zz").message().find("\"c\""), std::string::npos);
}

TEST(PercentTest, RefusesWhatIsNoText) {
  for (const std::string text :
       {"%",   "%2",        "a%",           "a%2",  "%G0",  "%0G",  "%-1",      "% 1",
        "%%",  "%00",       "%0a",          "%0D",  "%1f",  "%7F",  "%c0%af",   "%ff",
        "%c3", "%ed%a0%80", "%f5%80%80%80", "\xff", "\x01", "\r\n", "%e0%80%af"}) {
    EXPECT_EQ(PercentDecode(text).code(), Code::kInvalidArgument) << text;
    EXPECT_EQ(PercentDecode(text, true).code(), Code::kInvalidArgument) << text;
  }
  EXPECT_FALSE(PercentDecode(std::string_view("a\0b", 3)).ok());
}

TEST(PercentTest, PlusIsASpaceInQueriesOnly) {
  EXPECT_EQ(*PercentDecode("a+b%2B", true), "a b+");
  EXPECT_EQ(*PercentDecode("a+b%2B"), "a+b+");
}

TEST(PercentTest, TakesQueriesApart) {
  const std::vector<std::pair<std::string, Pairs>> rows = {{"", {}},
                                                           {"a=b", {{"a", "b"}}},
                                                           {"a", {{"a", ""}}},
                                                           {"a=", {{"a", ""}}},
                                                           {"=a", {{"", "a"}}},
                                                           {"a=b=c", {{"a", "b=c"}}},
                                                           {"a=1&a=2", {{"a", "1"}, {"a", "2"}}},
                                                           {"&&a=1&", {{"a", "1"}}},
                                                           {"a%3D=%26", {{"a=", "&"}}},
                                                           {"a+b=c+d", {{"a b", "c d"}}}};
  for (const auto& [query, pairs] : rows) {
    const auto result = ParseQuery(query);
    ASSERT_TRUE(result.ok()) << query;
    EXPECT_EQ(*result, pairs) << query;
  }
}

TEST(PercentTest, NamesTheParameterThatIsMalformed) {
  const auto result = ParseQuery("a=1&count=%zz");
  ASSERT_EQ(result.code(), Code::kInvalidArgument);
  EXPECT_NE(result.status().message().find("\"count\""), std::string::npos);
  EXPECT_EQ(ParseQuery("%zz=1").code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace keymill::wire
