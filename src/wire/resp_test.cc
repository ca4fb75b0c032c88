// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "wire/resp.h"

#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace keymill::wire {
namespace {

using testing::HasSubstr;
using Outcome = RespReader::Outcome;

RespValue Text(RespType type, std::string text) {
  RespValue value;
  value.type = type;
  value.text = std::move(text);
  return value;
}

RespValue Bulk(std::string text) { return Text(RespType::kBulk, std::move(text)); }

RespValue Integer(std::int64_t integer) {
  RespValue value;
  value.type = RespType::kInteger;
  value.integer = integer;
  return value;
}

RespValue Items(RespType type, std::vector<RespValue> items) {
  RespValue value;
  value.type = type;
  value.items = std::move(items);
  return value;
}

struct Reading {
  std::vector<RespValue> values;
  std::string detail;   // "" unless it was malformed.
  bool between = true;  // Whether it ended between two values.
};

// In pieces of the given sizes, in turn; none: all at once.
Reading ReadIn(std::string_view bytes, const std::vector<std::size_t>& sizes,
               const RespLimits& limits = {}) {
  Reading reading;
  RespReader reader(limits);
  for (std::size_t i = 0; !bytes.empty(); ++i) {
    const std::size_t size = sizes.empty() ? bytes.size() : sizes[i % sizes.size()];
    const std::string copy(bytes.substr(0, size));  // So that reading beyond it is noticed.
    bytes.remove_prefix(copy.size());
    std::string_view piece = copy;
    while (!piece.empty()) {
      const Outcome outcome = reader.Read(piece);
      reading.between = outcome == Outcome::kWhole;
      if (outcome == Outcome::kWhole) reading.values.push_back(reader.Take());
      if (outcome == Outcome::kMalformed) {
        reading.detail = reader.detail();
        return reading;
      }
    }
  }
  return reading;
}

RespValue ReadOne(std::string_view bytes) {
  const Reading reading = ReadIn(bytes, {});
  EXPECT_EQ(reading.detail, "") << bytes;
  EXPECT_EQ(reading.values.size(), 1U) << bytes;
  EXPECT_TRUE(reading.between) << bytes;
  return reading.values.empty() ? RespValue() : reading.values.front();
}

std::string Complaint(std::string_view bytes, const RespLimits& limits = {}) {
  return ReadIn(bytes, {}, limits).detail;
}

TEST(RespReaderTest, ReadsEveryType) {
  EXPECT_EQ(ReadOne("+OK\r\n"), Text(RespType::kSimple, "OK"));
  EXPECT_EQ(ReadOne("-ERR no\r\n"), Text(RespType::kError, "ERR no"));
  EXPECT_EQ(ReadOne(":-42\r\n"), Integer(-42));
  EXPECT_EQ(ReadOne(std::string_view("$5\r\na\r\n\0b\r\n", 11)), Bulk(std::string("a\r\n\0b", 5)));
  EXPECT_EQ(ReadOne("$0\r\n\r\n"), Bulk(""));
  EXPECT_EQ(ReadOne("*2\r\n:1\r\n$1\r\nx\r\n"), Items(RespType::kArray, {Integer(1), Bulk("x")}));
  EXPECT_EQ(ReadOne("*0\r\n"), Items(RespType::kArray, {}));
  for (const char* const null : {"_\r\n", "$-1\r\n", "*-1\r\n"}) {
    EXPECT_EQ(ReadOne(null).type, RespType::kNull);
  }
  EXPECT_EQ(ReadOne(",1.5e3\r\n").number, 1500.0);
  EXPECT_EQ(ReadOne(",-inf\r\n").number, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(ReadOne(",nan\r\n").number));
  EXPECT_EQ(ReadOne("#t\r\n").integer, 1);
  EXPECT_EQ(ReadOne("#f\r\n").type, RespType::kBoolean);
  EXPECT_EQ(ReadOne("(-123456789012345678901234567890\r\n").text,
            "-123456789012345678901234567890");
  EXPECT_EQ(ReadOne("!6\r\nERR\r\nx\r\n"), Text(RespType::kError, "ERR\r\nx"));
  EXPECT_EQ(ReadOne("=6\r\ntxt:hi\r\n"), Text(RespType::kVerbatim, "txt:hi"));
  EXPECT_EQ(ReadOne("%1\r\n+a\r\n:1\r\n"),
            Items(RespType::kMap, {Text(RespType::kSimple, "a"), Integer(1)}));
  EXPECT_EQ(ReadOne("~1\r\n:1\r\n"), Items(RespType::kSet, {Integer(1)}));
  EXPECT_EQ(ReadOne(">1\r\n:1\r\n"), Items(RespType::kPush, {Integer(1)}));
}

TEST(RespReaderTest, AttributesBelongToTheValueBehindThem) {
  RespValue one = Integer(1);
  one.attributes = {Bulk("ttl"), Integer(9)};
  EXPECT_EQ(ReadOne("*2\r\n|1\r\n$3\r\nttl\r\n:9\r\n:1\r\n:2\r\n"),
            Items(RespType::kArray, {one, Integer(2)}));
  RespValue array = Items(RespType::kArray, {one});
  array.attributes = {Bulk("a"), Items(RespType::kArray, {one})};
  std::string text;
  RespWriter(text).Value(array);
  EXPECT_EQ(ReadOne(text), array);
  EXPECT_EQ(ReadOne("|0\r\n:1\r\n"), Integer(1));
  EXPECT_FALSE(ReadIn("|1\r\n:1\r\n:2\r\n", {}).between) << "its value is still to come";
}

TEST(RespReaderTest, TheLargestIntegersAreExactAndLargerOnesRefused) {
  EXPECT_EQ(ReadOne(":9223372036854775807\r\n").integer, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(ReadOne(":-9223372036854775808\r\n").integer, std::numeric_limits<std::int64_t>::min());
  EXPECT_NE(Complaint(":9223372036854775808\r\n"), "");
}

TEST(RespReaderTest, WhatIsNoValueIsRefused) {
  for (const char* const bytes : {"x",
                                  "+a\n",
                                  "+a\rb",
                                  ":\r\n",
                                  ":1x\r\n",
                                  ":+-1\r\n",
                                  "$-2\r\n",
                                  "$x\r\n",
                                  "$1\r\nab",
                                  "*-2\r\n",
                                  "%-1\r\n",
                                  "!-1\r\n",
                                  "_x\r\n",
                                  "#x\r\n",
                                  "#\r\n",
                                  ",x\r\n",
                                  ",infinity\r\n",
                                  ",0x1\r\n",
                                  "(\r\n",
                                  "(1.5\r\n",
                                  "=3\r\ntxt\r\n",
                                  "=4\r\ntext\r\n",
                                  "$?\r\n",
                                  "|0\r\n|0\r\n",
                                  "$99999999999999999999\r\n"}) {
    EXPECT_NE(Complaint(bytes), "") << bytes;
  }
}

TEST(RespReaderTest, LimitsHoldBeforeMemoryIsUsed) {
  const RespLimits limits{
      .line_max = 8, .bulk_max = 10, .elements_max = 4, .total_max = 15, .depth_max = 2};
  EXPECT_EQ(Complaint("+12345678\r\n", limits), "");
  EXPECT_THAT(Complaint("+123456789", limits), HasSubstr("line"));
  EXPECT_THAT(Complaint("$11\r\n", limits), HasSubstr("string"));
  EXPECT_THAT(Complaint("*4\r\n", limits), HasSubstr("elements"));
  EXPECT_THAT(Complaint("%2\r\n", limits), HasSubstr("elements"));
  EXPECT_THAT(Complaint("*2\r\n*1\r\n:1\r\n*1\r\n", limits), HasSubstr("elements"));
  EXPECT_THAT(Complaint("*2\r\n$8\r\n12345678\r\n$8\r\n", limits), HasSubstr("too large"));
  EXPECT_THAT(Complaint("*2\r\n+12345678\r\n+12345678\r\n", limits), HasSubstr("too large"));
  EXPECT_THAT(Complaint("*1\r\n*1\r\n*1\r\n", limits), HasSubstr("deep"));
  EXPECT_EQ(ReadIn("*3\r\n:1\r\n:2\r\n:3\r\n*3\r\n:1\r\n:2\r\n:3\r\n", {}, limits).values.size(),
            2U)
      << "each value has its own account";
}

TEST(RespWriterTest, VersionTwoHasNoNewTypes) {
  std::string text;
  RespWriter writer(text, 2);
  writer.Null();
  writer.Boolean(true);
  writer.Double(1.5);
  writer.BigNumber("123");
  writer.Verbatim("txt:hi");
  writer.Map(1);
  writer.Set(0);
  writer.Push(0);
  writer.Error("ERR two\r\nlines");
  EXPECT_EQ(text,
            "$-1\r\n:1\r\n$3\r\n1.5\r\n$3\r\n123\r\n$2\r\nhi\r\n*2\r\n*0\r\n*0\r\n"
            "-ERR two  lines\r\n");
}

TEST(RespWriterTest, ACommandIsAnArrayOfBulkStrings) {
  std::string text;
  const std::vector<std::string_view> words = {"GET", "a b"};
  AppendRespCommand(words, text);
  EXPECT_EQ(text, "*2\r\n$3\r\nGET\r\n$3\r\na b\r\n");
}

using Random = std::mt19937_64;

std::string AnyText(Random& random, std::string_view of) {
  std::string text(random() % 12, ' ');
  for (char& c : text) c = of[random() % of.size()];
  return text;
}

// From a generator of the standard library: rapidcheck's would shrink such trees for hours.
RespValue AnyValue(Random& random, int depth) {
  static constexpr std::string_view kBytes("ab \r\n\0\xff$*", 9);
  RespValue value;
  value.type = static_cast<RespType>(random() % (depth > 0 ? 13 : 9));
  switch (value.type) {
    case RespType::kSimple:
      value.text = AnyText(random, "ab :");
      break;
    case RespType::kError:
    case RespType::kBulk:
      value.text = AnyText(random, kBytes);
      break;
    case RespType::kInteger:
      value.integer = static_cast<std::int64_t>(random());
      break;
    case RespType::kDouble:
      value.number =
          std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 900) - 450);
      break;
    case RespType::kBoolean:
      value.integer = static_cast<std::int64_t>(random() % 2);
      break;
    case RespType::kBigNumber:
      value.text = "-9" + AnyText(random, "0123456789");
      break;
    case RespType::kVerbatim:
      value.text = "txt:" + AnyText(random, kBytes);
      break;
    default:
      break;
  }
  if (value.type >= RespType::kArray) {
    const std::size_t items = random() % 4 * (value.type == RespType::kMap ? 2 : 1);
    for (std::size_t i = 0; i < items; ++i) value.items.push_back(AnyValue(random, depth - 1));
  }
  if (random() % 8 == 0) value.attributes = {Bulk("key"), AnyValue(random, depth - 1)};
  return value;
}

std::vector<std::size_t> AnySizes() {
  return *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 20)));
}

TEST(RespPropertyTest, WhatIsWrittenIsReadBackWhereverItIsSplit) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    Random random(seed);
    std::vector<RespValue> values;
    std::string text;
    for (int i = 0; i < 3; ++i) values.push_back(AnyValue(random, 3));
    for (const RespValue& value : values) RespWriter(text).Value(value);
    const Reading split = ReadIn(text, AnySizes());
    RC_ASSERT(split.detail.empty());
    RC_ASSERT(split.between);
    RC_ASSERT(split.values == values);
  }));
}

TEST(RespPropertyTest, DamagedBytesGiveTheSameWhereverTheyAreSplit) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    Random random(seed);
    std::string text;
    RespWriter(text).Value(AnyValue(random, 3));
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    text[at] = *rc::gen::elementOf(std::string("*$:+-|%~>_,#(!=0123459\r\nx"));
    text += text;
    const RespLimits limits{
        .line_max = 20, .bulk_max = 50, .elements_max = 20, .total_max = 200, .depth_max = 3};
    const Reading split = ReadIn(text, AnySizes(), limits);
    const Reading whole = ReadIn(text, {}, limits);
    // NaN is no equal of itself.
    RC_PRE(text.find("nan") == std::string::npos);
    RC_ASSERT(split.values == whole.values);
    RC_ASSERT(split.detail.empty() == whole.detail.empty());
  }));
}

}  // namespace
}  // namespace keymill::wire
