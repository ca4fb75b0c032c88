// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/keyspaces_text.h"

#include <string>

#include <gtest/gtest.h>

namespace keymill::app {
namespace {

std::string MessageOf(std::string_view text) { return ParseKeyspaces(text).status().message(); }

TEST(KeyspacesTextTest, ReadsEveryWord) {
  const auto keyspaces = ParseKeyspaces(
      "codes: {alphabet: base58, length: 9, prefix: c_, check: true, start: 5,\n"
      "        blocklist: [bad, worse]}\n"
      "orders: {kind: sequence, alphabet: decimal}\n"
      "plain: {}\n");
  ASSERT_TRUE(keyspaces.ok()) << keyspaces.status().message();
  ASSERT_EQ(keyspaces->size(), 3U);
  const Recipe& codes = keyspaces->at("codes");
  EXPECT_EQ(codes.kind, Kind::kShuffled);
  EXPECT_EQ(codes.alphabet, "base58");
  EXPECT_EQ(codes.length, 9U);
  EXPECT_EQ(codes.prefix, "c_");
  EXPECT_EQ(codes.check, CheckSymbol::kAppended);
  EXPECT_EQ(codes.start, 5U);
  EXPECT_EQ(codes.blocklist, (std::vector<std::string>{"bad", "worse"}));
  EXPECT_EQ(keyspaces->at("orders").start, 1U);
  EXPECT_EQ(keyspaces->at("plain"), DefaultRecipe(Kind::kShuffled));
}

TEST(KeyspacesTextTest, TakesABlocklistWithCommas) {
  const auto keyspaces = ParseKeyspaces("a: {blocklist: \"bad, worse\"}");
  ASSERT_TRUE(keyspaces.ok()) << keyspaces.status().message();
  EXPECT_EQ(keyspaces->at("a").blocklist, (std::vector<std::string>{"bad", "worse"}));
}

TEST(KeyspacesTextTest, TakesAnEmptyMappingForNone) {
  const auto keyspaces = ParseKeyspaces("{}");
  ASSERT_TRUE(keyspaces.ok());
  EXPECT_TRUE(keyspaces->empty());
}

TEST(KeyspacesTextTest, ParsesWhatItPrints) {
  std::map<std::string, Recipe> keyspaces = {{"default", DefaultRecipe(Kind::kShuffled)},
                                             {"null", DefaultRecipe(Kind::kSequence)},
                                             {"a.b-c", DefaultRecipe(Kind::kSequence)}};
  Recipe odd = DefaultRecipe(Kind::kSequence);
  odd.alphabet = "01$:{}[],&*!|>'@`";
  odd.prefix = "x-.";
  odd.start = 0;
  keyspaces["odd"] = odd;
  Recipe full = DefaultRecipe(Kind::kShuffled);
  full.alphabet = "base58";
  full.prefix = "null";
  full.check = CheckSymbol::kAppended;
  full.blocklist = {"bad", "worse"};
  keyspaces["full"] = full;
  // A line that is longer than YAML allows a key to be.
  for (int i = 0; i < 100; ++i) keyspaces[std::to_string(i)] = full;
  const std::string text = KeyspacesText(keyspaces);
  const auto parsed = ParseKeyspaces(text);
  ASSERT_TRUE(parsed.ok()) << text << "\n" << parsed.status().message();
  EXPECT_EQ(*parsed, keyspaces) << text;
  EXPECT_EQ(KeyspacesText({{"default", DefaultRecipe(Kind::kShuffled)}}),
            "{default: {kind: shuffled, alphabet: base62, length: 7}}");
  EXPECT_EQ(KeyspacesText({}), "{}");
}

TEST(KeyspacesTextTest, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(MessageOf("[a]"),
            "value:1:1: keyspaces: expected a mapping of names to recipes, such as {orders: "
            "{kind: sequence}}, not a list");
  EXPECT_EQ(MessageOf("a: 7"),
            "value:1:4: keyspaces.a: expected a recipe, such as {kind: shuffled, length: 7}, not "
            "\"7\"");
  EXPECT_EQ(MessageOf("a:\nb: {}\n"),
            "value:1:1: keyspaces.a: expected a recipe, such as {kind: shuffled, length: 7}, not "
            "nothing");
  EXPECT_EQ(MessageOf("a:\n  length: [7]\n"),
            "value:2:11: keyspaces.a.length: expected one value, not a list");
  EXPECT_EQ(MessageOf("a:\n  blocklist: {b: c}\n"),
            "value:2:14: keyspaces.a.blocklist: expected a list of words, not a mapping");
  EXPECT_EQ(MessageOf("a:\n  blocklist: [b, [c]]\n"),
            "value:2:18: keyspaces.a.blocklist: expected a word, not a list");
}

// The words after the place are those of the recipe itself; only the place is ours.
TEST(KeyspacesTextTest, PointsAtTheWordThatIsWrong) {
  EXPECT_TRUE(MessageOf("ok: {}\n\"a b\": {}\n").starts_with("value:2:1: keyspaces: "));
  const std::string unknown = MessageOf("a:\n  kind: sequence\n  lenght: 7\n");
  EXPECT_TRUE(unknown.starts_with("value:3:3: keyspaces.a: ")) << unknown;
  EXPECT_TRUE(unknown.ends_with(", did you mean \"length\"?")) << unknown;
  const std::string kind = MessageOf("a:\n  length: 7\n  kind: pond\n");
  EXPECT_TRUE(kind.starts_with("value:3:9: keyspaces.a: ")) << kind;
  const std::string length = MessageOf("a:\n  length: many\n");
  EXPECT_TRUE(length.starts_with("value:2:11: keyspaces.a: ")) << length;
}

TEST(KeyspacesTextTest, KeepsControlCharactersOutOfMessages) {
  const std::string message = MessageOf("a: {kind: \"\\e[31m\"}");
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_NE(message.find("\\x1b[31m"), std::string::npos) << message;
}

}  // namespace
}  // namespace keymill::app
