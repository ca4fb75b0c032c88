// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/quote.h"

#include <string>

#include <gtest/gtest.h>

namespace keymill::app {
namespace {

TEST(RedactTest, HidesWhatStandsBeforeTheAt) {
  EXPECT_EQ(Redact("postgres://bob:hunter2@db/keys"), "postgres://***@db/keys");
  EXPECT_EQ(Redact("redis://:hunter2@db"), "redis://***@db");
  EXPECT_EQ(Redact("postgres://bob:a/b@c:d@db/keys"), "postgres://***@db/keys");
  EXPECT_EQ(Redact("postgres:bob:hunter2@db"), "postgres:***@db");
  EXPECT_EQ(Redact("hunter2@db"), "***@db");
  EXPECT_EQ(Redact("@x://"), "***@x://");
}

TEST(RedactTest, HidesPasswordParameters) {
  EXPECT_EQ(Redact("postgres://db/k?Password=hunter2&x=1"), "postgres://db/k?Password=***&x=1");
  EXPECT_EQ(Redact("a?token=x&token=y"), "a?token=***&token=***");
  EXPECT_EQ(Redact("a?secret="), "a?secret=***");
}

TEST(RedactTest, LeavesTheRestAlone) {
  EXPECT_EQ(Redact("sqlite:keymill.db"), "sqlite:keymill.db");
  EXPECT_EQ(Redact(""), "");
}

TEST(QuoteValueTest, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(QuoteValue("a\x1b[31m\nb"), "\"a\\x1b[31m\\x0ab\"");
  EXPECT_EQ(QuoteValue("\x7f"), "\"\\x7f\"");
  EXPECT_EQ(QuoteValue("\xc2\x9b"), "\"\\xc2\\x9b\"");
  EXPECT_EQ(QuoteValue(std::string(1, '\0')), "\"\\x00\"");
}

TEST(QuoteValueTest, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(QuoteValue("h\xc3\xa9"), "\"h\xc3\xa9\"");
  EXPECT_EQ(QuoteValue("\xff\xc3"), "\"\\xff\\xc3\"");
  EXPECT_EQ(QuoteValue("\xe0\x80\x80"), "\"\\xe0\\x80\\x80\"");  // Overlong.
  EXPECT_EQ(QuoteValue("\xed\xa0\x80"), "\"\\xed\\xa0\\x80\"");  // A surrogate.
}

TEST(QuoteValueTest, CutsLongValues) {
  EXPECT_EQ(QuoteValue(std::string(80, 'a')), "\"" + std::string(80, 'a') + "\"");
  EXPECT_EQ(QuoteValue(std::string(1'000'000, 'a')), "\"" + std::string(80, 'a') + "…\"");
}

}  // namespace
}  // namespace keymill::app
