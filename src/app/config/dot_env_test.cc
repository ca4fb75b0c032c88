// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/dot_env.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace keymill::app {
namespace {

bool IsOurs(std::string_view name) { return name == "PORT" || name.starts_with("KEYMILL_"); }

std::string ValueOf(std::string_view name, std::string_view text) {
  const auto values = ParseDotEnv(text, ".env", IsOurs);
  if (!values.ok()) return "error: " + values.status().message();
  const auto found = values->find(name);
  return found == values->end() ? "(absent)" : found->second.text;
}

TEST(DotEnvTest, ReadsEveryForm) {
  EXPECT_EQ(ValueOf("PORT", "PORT=8080"), "8080");
  EXPECT_EQ(ValueOf("PORT", "  export  PORT = 8080 \r\n"), "8080");
  EXPECT_EQ(ValueOf("PORT", "\xef\xbb\xbfPORT=8080\n"), "8080");
  EXPECT_EQ(ValueOf("PORT", "PORT=8080 # ours\n"), "8080");
  EXPECT_EQ(ValueOf("PORT", "PORT=80#80\n"), "80#80");
  EXPECT_EQ(ValueOf("PORT", "PORT=\n"), "");
  EXPECT_EQ(ValueOf("PORT", "PORT= # nothing\n"), "");
  EXPECT_EQ(ValueOf("PORT", "PORT='a # \\n $x' # c\n"), "a # \\n $x");
  EXPECT_EQ(ValueOf("PORT", R"(PORT="a \"b\" \\ \$x\t#")"), "a \"b\" \\ $x\t#");
  EXPECT_EQ(ValueOf("PORT", "PORT=''\n"), "");
  EXPECT_EQ(ValueOf("PORT", "#PORT=1\n\n # PORT=2\n"), "(absent)");
}

TEST(DotEnvTest, TakesTheLastOfSeveral) { EXPECT_EQ(ValueOf("PORT", "PORT=1\nPORT=2\n"), "2"); }

TEST(DotEnvTest, ExpandsNothing) { EXPECT_EQ(ValueOf("PORT", "PORT=${X}\n"), "${X}"); }

TEST(DotEnvTest, IgnoresLinesOfOthers) {
  EXPECT_EQ(ValueOf("PORT", "what is this\n=x\nFOO=\"\\q\" bar\nFOO BAR\nPORT=1\n"), "1");
  EXPECT_EQ(ValueOf("PORT", "FOO=\"open\nPORT=1\n"), "1");
  EXPECT_EQ(ValueOf("PORT", "export\nexportPORT=2\nPORTS=3\n"), "(absent)");
}

TEST(DotEnvTest, StepsOverQuotedLinesOfOthers) {
  EXPECT_EQ(ValueOf("PORT", "CERT=\"-----BEGIN\nPORT=666\n-----END\"\n"), "(absent)");
  const auto values = ParseDotEnv("CERT='a\nb'\nPORT=1\n", ".env", IsOurs);
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(values->at("PORT").line, 3);
}

TEST(DotEnvTest, RefusesBadLinesOfOurs) {
  EXPECT_EQ(ValueOf("PORT", "A=1\nPORT 8080\n"), "error: .env:2: PORT: expected NAME=value");
  EXPECT_EQ(ValueOf("PORT", "export PORT"), "error: .env:1: PORT: expected NAME=value");
  EXPECT_EQ(ValueOf("PORT", "PORT: 8080"), "error: .env:1: PORT: expected NAME=value");
  EXPECT_EQ(ValueOf("PORT", "PORT=\"80\nA=1"), "error: .env:1: PORT: a quote is not closed");
  EXPECT_EQ(ValueOf("PORT", "PORT='80\n'\n"), "error: .env:1: PORT: a quote is not closed");
  EXPECT_EQ(ValueOf("PORT", "PORT=\"80\\\""), "error: .env:1: PORT: a quote is not closed");
  EXPECT_EQ(ValueOf("PORT", "\n\nKEYMILL_STORE='a'b\n"),
            "error: .env:3: KEYMILL_STORE: text after the closing quote");
  EXPECT_EQ(ValueOf("PORT", R"(PORT="\q")"),
            "error: .env:1: PORT: only \\n \\r \\t \\\" \\\\ \\$ may follow a backslash in double "
            "quotes");
}

TEST(DotEnvTest, SurvivesRandomText) {
  EXPECT_TRUE(rc::check([] {
    const auto symbol = rc::gen::elementOf(std::string("PORT='\"\\# \t\r\nexport$"));
    const auto text = *rc::gen::container<std::string>(symbol);
    ParseDotEnv(text, ".env", IsOurs).status().Ignore();  // It must only come back.
  }));
}

}  // namespace
}  // namespace keymill::app
