// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/json.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace keymill {
namespace {

TEST(JsonQuoteTest, PlainTextStaysAsItIs) {
  EXPECT_EQ(JsonQuote(""), R"("")");
  EXPECT_EQ(JsonQuote("links/7"), R"("links/7")");
  EXPECT_EQ(JsonQuote("na\xc3\xafve"), "\"na\xc3\xafve\"");
}

TEST(JsonQuoteTest, QuotesBackslashesAndControlsAreEscaped) {
  EXPECT_EQ(JsonQuote(R"(a"b\c)"), R"("a\"b\\c")");
  EXPECT_EQ(JsonQuote("a\nb"), R"("a\nb")");
  EXPECT_EQ(JsonQuote(std::string_view("\0\x1f\x7f\r\t", 5)),
            R"("\u0000\u001f\u007f\u000d\u0009")");
}

TEST(JsonQuoteTest, WhatIsNoUtf8BecomesAReplacement) {
  EXPECT_EQ(JsonQuote("a\xff"
                      "b"),
            R"("a\ufffdb")");
  EXPECT_EQ(JsonQuote("\xe2\x82"), R"("\ufffd\ufffd")") << "a cut sequence";
  EXPECT_EQ(JsonQuote("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")") << "a surrogate";
}

RC_GTEST_PROP(JsonQuoteProperty, AnyBytesGiveOnePrintableUtf8String, (const std::string& text)) {
  const std::string quoted = JsonQuote(text);
  RC_ASSERT(IsUtf8(quoted));
  RC_ASSERT(quoted.size() >= 2U && quoted.front() == '"' && quoted.back() == '"');
  bool escaped = false;
  for (const char c : quoted.substr(1, quoted.size() - 2)) {
    RC_ASSERT(static_cast<unsigned char>(c) >= 0x20);
    if (!escaped) RC_ASSERT(c != '"');
    escaped = !escaped && c == '\\';
  }
  RC_ASSERT(!escaped);
}

}  // namespace
}  // namespace keymill
