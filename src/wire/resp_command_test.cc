// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "wire/resp_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "wire/resp.h"

namespace keymill::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Command = std::vector<std::string>;
using Outcome = RespCommandReader::Outcome;

struct Reading {
  std::vector<Command> commands;
  std::string detail;
};

// In pieces of the given sizes, in turn; none: all at once.
Reading ReadIn(std::string_view bytes, const std::vector<std::size_t>& sizes,
               const RespCommandLimits& limits = {}) {
  Reading reading;
  RespCommandReader reader(limits);
  for (std::size_t i = 0; !bytes.empty(); ++i) {
    const std::size_t size = sizes.empty() ? bytes.size() : sizes[i % sizes.size()];
    const std::string copy(bytes.substr(0, size));
    bytes.remove_prefix(copy.size());
    std::string_view piece = copy;
    while (!piece.empty()) {
      const Outcome outcome = reader.Read(piece);
      if (outcome == Outcome::kWhole) {
        reading.commands.emplace_back(reader.words().begin(), reader.words().end());
      }
      if (outcome == Outcome::kMalformed) {
        reading.detail = reader.detail();
        return reading;
      }
    }
  }
  return reading;
}

TEST(RespCommandReaderTest, ReadsArraysOfBulkStrings) {
  const Reading reading = ReadIn("*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n*1\r\n$0\r\n\r\n", {});
  EXPECT_THAT(reading.commands, ElementsAre(Command{"GET", "a\r\nb"}, Command{""}));
  EXPECT_EQ(reading.detail, "");
}

TEST(RespCommandReaderTest, ReadsLinesOfWords) {
  const Reading reading =
      ReadIn("PING\r\n  set  a b \n\r\n\nget \"a \\x41\\n\\\"\" 'it\\'s' x\r\n", {});
  EXPECT_THAT(reading.commands, ElementsAre(Command{"PING"}, Command{"set", "a", "b"},
                                            Command{"get", "a A\n\"", "it's", "x"}));
}

TEST(RespCommandReaderTest, EmptyCommandsArePassedOver) {
  EXPECT_THAT(ReadIn("*0\r\n*-1\r\n\r\nPING\r\n", {}).commands, ElementsAre(Command{"PING"}));
}

TEST(RespCommandReaderTest, WhatIsNoCommandIsRefused) {
  EXPECT_THAT(ReadIn("*x\r\n", {}).detail, HasSubstr("invalid multibulk length"));
  EXPECT_THAT(ReadIn("*1\r\n:1\r\n", {}).detail, HasSubstr("expected '$'"));
  EXPECT_THAT(ReadIn("*1\r\n$-1\r\n", {}).detail, HasSubstr("invalid bulk length"));
  EXPECT_THAT(ReadIn("*1\r\n$1\r\nab", {}).detail, HasSubstr("invalid bulk length"));
  EXPECT_THAT(ReadIn("*1\r\n$1\r\na\rb", {}).detail, HasSubstr("invalid bulk length"));
  EXPECT_THAT(ReadIn("*1\n", {}).detail, HasSubstr("expected CRLF"));
  EXPECT_THAT(ReadIn("a \"b\r\n", {}).detail, HasSubstr("unbalanced quotes"));
  EXPECT_THAT(ReadIn("a \"b\"c\r\n", {}).detail, HasSubstr("unbalanced quotes"));
}

TEST(RespCommandReaderTest, LimitsHold) {
  const RespCommandLimits limits{.line_max = 8, .words_max = 2, .word_max = 5, .total_max = 8};
  EXPECT_EQ(ReadIn("12345678\r\n", {}, limits).detail, "");
  for (const std::string_view line : {"123456789", "123456789\n", "12345678\rx", "123456789\r\n"}) {
    EXPECT_THAT(ReadIn(line, {}, limits).detail, HasSubstr("too big inline")) << line;
  }
  for (const std::string_view line : {"12345678", "12345678\r"}) {
    EXPECT_EQ(ReadIn(line, {}, limits).detail, "") << line;
  }
  EXPECT_THAT(ReadIn("a b c\r\n", {}, limits).detail, HasSubstr("too big inline"));
  EXPECT_THAT(ReadIn("*3\r\n", {}, limits).detail, HasSubstr("invalid multibulk"));
  EXPECT_THAT(ReadIn("*1\r\n$6\r\n", {}, limits).detail, HasSubstr("invalid bulk"));
  EXPECT_THAT(ReadIn("*2\r\n$5\r\n12345\r\n$4\r\n", {}, limits).detail, HasSubstr("invalid bulk"));
}

TEST(RespCommandPropertyTest, WhatIsSentIsReadBackWhereverItIsSplit) {
  EXPECT_TRUE(rc::check([](const std::vector<std::vector<std::string>>& commands) {
    std::string text;
    std::vector<Command> sent;
    for (const auto& command : commands) {
      AppendRespCommand(std::vector<std::string_view>(command.begin(), command.end()), text);
      if (!command.empty()) sent.push_back(command);
    }
    const auto sizes = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 20)));
    RC_ASSERT(ReadIn(text, sizes).commands == sent);
  }));
}

TEST(RespCommandPropertyTest, AnyBytesGiveTheSameWhereverTheyAreSplit) {
  EXPECT_TRUE(rc::check([] {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("*$0123\r\n\r\n\r\n \"'\\x4ab")));
    const auto sizes = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 5)));
    const RespCommandLimits limits{.line_max = 9, .words_max = 3, .word_max = 6, .total_max = 9};
    const Reading whole = ReadIn(text, {}, limits);
    const Reading split = ReadIn(text, sizes, limits);
    RC_ASSERT(whole.commands == split.commands);
    RC_ASSERT(whole.detail == split.detail);
  }));
}

}  // namespace
}  // namespace keymill::wire
