// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/foreign_snowflake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/utc_text.h"

namespace keymill::keys {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Field = ForeignSnowflake::Field;

// The example of Discord's API reference.
TEST(ForeignSnowflakeTest, DecodesDiscordsExample) {
  const auto decoded = *DecodeForeignSnowflake("discord", 175'928'847'299'117'063);
  EXPECT_EQ(UtcText(decoded.time_ms), "2016-04-30T11:18:25.796Z");
  EXPECT_THAT(decoded.fields,
              ElementsAre(Field{"worker", 1}, Field{"process", 0}, Field{"increment", 7}));
}

// The example in the source of Leaf's decoder: 2019-09-06 09:35:00.834 in China.
TEST(ForeignSnowflakeTest, DecodesLeafsExample) {
  const auto decoded = *DecodeForeignSnowflake("leaf", 1'169'786'042'799'259'000);
  EXPECT_EQ(decoded.time_ms, 1'567'733'700'834);
  EXPECT_THAT(decoded.fields, ElementsAre(Field{"worker", 39}, Field{"sequence", 3448}));
}

// Twitter's masks: 0x1F000 the worker, 0x3E0000 the datacenter.
TEST(ForeignSnowflakeTest, DividesTwittersWorkerByItsMasks) {
  EXPECT_THAT(DecodeForeignSnowflake("twitter", 0x1F000)->fields,
              ElementsAre(Field{"datacenter", 0}, Field{"worker", 31}, Field{"sequence", 0}));
  EXPECT_THAT(DecodeForeignSnowflake("twitter", 0x3E0000)->fields,
              ElementsAre(Field{"datacenter", 31}, Field{"worker", 0}, Field{"sequence", 0}));
  EXPECT_EQ(DecodeForeignSnowflake("twitter", 0x3FFFFF)->time_ms, 1'288'834'974'657);
  EXPECT_EQ(DecodeForeignSnowflake("twitter", 0x400000)->time_ms, 1'288'834'974'658);
}

// The worked example of Instagram's article: user 31341 of 2000 logical shards, 5001st id of its
// table, 1387263000 ms after the epoch.
TEST(ForeignSnowflakeTest, DecodesInstagramsExample) {
  const std::uint64_t id = std::uint64_t{1'387'263'000} << 23 | 1341 << 10 | 5001 % 1024;
  const auto decoded = *DecodeForeignSnowflake("instagram", id);
  EXPECT_EQ(decoded.time_ms, 1'314'220'021'721 + 1'387'263'000);
  EXPECT_THAT(decoded.fields, ElementsAre(Field{"shard", 1341}, Field{"sequence", 905}));
}

TEST(ForeignSnowflakeTest, OnlyDiscordUsesTheSignBit) {
  const std::uint64_t id = std::uint64_t{1} << 63;
  EXPECT_EQ(DecodeForeignSnowflake("discord", id)->time_ms,
            1'420'070'400'000 + (std::int64_t{1} << 41));
  for (const std::string_view service : {"twitter", "instagram", "leaf"}) {
    EXPECT_EQ(DecodeForeignSnowflake(service, id).code(), Code::kInvalidArgument) << service;
    EXPECT_TRUE(DecodeForeignSnowflake(service, id - 1).ok()) << service;
  }
}

TEST(ForeignSnowflakeTest, NamesWhatItKnows) {
  EXPECT_THAT(ForeignSnowflakeNames(), ElementsAre("twitter", "discord", "instagram", "leaf"));
  const Status status = DecodeForeignSnowflake("discrod", 1).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("did you mean \"discord\"?"));
  EXPECT_THAT(status.message(), HasSubstr("twitter, discord, instagram, leaf"));
}

}  // namespace
}  // namespace keymill::keys
