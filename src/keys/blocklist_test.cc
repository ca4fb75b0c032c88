// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/blocklist.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace keymill::keys {
namespace {

Blocklist Make(const std::vector<std::string>& words) { return *Blocklist::Make(words); }

TEST(BlocklistTest, WithoutWordsMatchesNothing) {
  const Blocklist list = Make({});
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(list.Matches("anything"));
  EXPECT_FALSE(list.Matches(""));
}

TEST(BlocklistTest, FindsAWordAnywhereInAnyCase) {
  const Blocklist list = Make({"DaMn", "b00"});
  EXPECT_FALSE(list.empty());
  for (const char* const text : {"damn", "DAMN", "xdAmN", "damnx", "9B00", "xxxb00xxx"}) {
    EXPECT_TRUE(list.Matches(text)) << text;
  }
  for (const char* const text : {"dam", "dumn", "amn", "b0", "b0b0", ""}) {
    EXPECT_FALSE(list.Matches(text)) << text;
  }
}

TEST(BlocklistTest, FindsWordsThatBeginWithOrContainEachOther) {
  const Blocklist list = Make({"abcd", "abc", "abcdefg", "zabcz", "bcx"});
  EXPECT_TRUE(list.Matches("0abc0"));
  EXPECT_TRUE(list.Matches("0bcx0"));
  EXPECT_FALSE(list.Matches("0abd0"));
}

TEST(BlocklistTest, RefusesWordsThatAreNoWordsAndNamesThem) {
  for (const char* const word :
       {"", "ab", "abcdefghijklmnopq", "a-b", "a b c", "\xc3\xa4\xc3\xb6"}) {
    const Result<Blocklist> list = Blocklist::Make(std::vector<std::string>{"fine", word});
    ASSERT_EQ(list.code(), Code::kInvalidArgument);
    EXPECT_THAT(list.status().message(), testing::HasSubstr(word));
  }
  EXPECT_TRUE(Blocklist::Make(std::vector<std::string>{"abc", "abcdefghijklmnop"}).ok());
}

TEST(BlocklistTest, TakesAThousandWordsAndNoMore) {
  std::vector<std::string> words;
  for (int i = 0; i < 1000; ++i) words.push_back(std::to_string(100000 + i));
  EXPECT_TRUE(Blocklist::Make(words).ok());
  words.push_back("toomany");
  const Result<Blocklist> list = Blocklist::Make(words);
  EXPECT_EQ(list.code(), Code::kInvalidArgument);
  EXPECT_THAT(list.status().message(), testing::HasSubstr("toomany"));
}

// Against a plain search. Two letters in two cases, so that words overlap a lot.
RC_GTEST_PROP(BlocklistProperty, AgreesWithAPlainSearch, ()) {
  const auto letters = rc::gen::element('a', 'b', 'A', 'B');
  const auto word = rc::gen::mapcat(rc::gen::inRange<std::size_t>(3, 7), [&](std::size_t size) {
    return rc::gen::container<std::string>(size, letters);
  });
  const auto words = *rc::gen::container<std::vector<std::string>>(word);
  const auto text = *rc::gen::container<std::string>(letters);
  const auto lower = [](std::string s) {
    for (char& c : s) c = static_cast<char>(c | 0x20);
    return s;
  };
  const bool expected = std::any_of(words.begin(), words.end(), [&](const std::string& w) {
    return lower(text).find(lower(w)) != std::string::npos;
  });
  RC_ASSERT(Make(words).Matches(text) == expected);
}

}  // namespace
}  // namespace keymill::keys
