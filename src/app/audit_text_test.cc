// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/audit_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace keymill::app {
namespace {

constexpr std::int64_t kMoment = 1'767'225'600'123;  // 2026-01-01T00:00:00.123Z

TEST(AuditTextTest, ALineOfCsvHasAsManyFieldsAsTheHeader) {
  EXPECT_EQ(AuditHeader(AuditFormat::kCsv),
            "keyspace,key,state,since,instance,owner,expires_at,generation\n");
  EXPECT_EQ(AuditLine(AuditFormat::kCsv, "codes",
                      {.key = "abc",
                       .state = KeyState::kUsed,
                       .since_ms = kMoment,
                       .instance = "host/1",
                       .expires_at_ms = kMoment + 1'000,
                       .generation = 2}),
            "codes,abc,used,2026-01-01T00:00:00.123Z,host/1,,2026-01-01T00:00:01.123Z,2\n");
  EXPECT_EQ(AuditLine(AuditFormat::kCsv, "codes", {.key = "abc", .since_ms = kMoment}),
            "codes,abc,available,2026-01-01T00:00:00.123Z,,,,0\n");
}

TEST(AuditTextTest, CsvQuotesWhatWouldEndAField) {
  const auto owned = [](std::string owner) {
    return AuditLine(
        AuditFormat::kCsv, "k",
        {.key = "a", .state = KeyState::kAlias, .since_ms = kMoment, .owner = std::move(owner)});
  };
  const std::string before = "k,a,alias,2026-01-01T00:00:00.123Z,,";
  EXPECT_EQ(owned("plain; it's"), before + "plain; it's,,0\n");
  EXPECT_EQ(owned("a,b"), before + "\"a,b\",,0\n");
  EXPECT_EQ(owned("a\"b"), before + "\"a\"\"b\",,0\n");
  EXPECT_EQ(owned("a\nb\r"), before + "\"a\nb\r\",,0\n");
  // A key may be made of any printable symbols.
  EXPECT_EQ(AuditLine(AuditFormat::kCsv, "k", {.key = "\",\"", .since_ms = kMoment}),
            "k,\"\"\",\"\"\",available,2026-01-01T00:00:00.123Z,,,,0\n");
}

TEST(AuditTextTest, JsonLeavesOutWhatAKeyDoesNotHave) {
  const auto json = nlohmann::json::parse(
      AuditLine(AuditFormat::kJson, "k",
                {.key = "a\"", .state = KeyState::kAlias, .since_ms = kMoment, .owner = "o\n"}));
  EXPECT_EQ(json["key"], "a\"");
  EXPECT_EQ(json["owner"], "o\n");
  EXPECT_EQ(json["generation"], "0");
  EXPECT_FALSE(json.contains("instance"));
  EXPECT_FALSE(json.contains("expires_at"));
  EXPECT_EQ(AuditHeader(AuditFormat::kJson), "");
}

TEST(AuditTextTest, TheFollowersOfALinkAreNoLivesOfAKey) {
  const KeyRow link{.key = "a", .state = KeyState::kLink, .since_ms = kMoment, .generation = 7};
  EXPECT_EQ(AuditLine(AuditFormat::kCsv, "k", link), "k,a,link,2026-01-01T00:00:00.123Z,,,,\n");
  const auto json = nlohmann::json::parse(AuditLine(AuditFormat::kJson, "k", link));
  EXPECT_EQ(json["state"], "link");
  EXPECT_FALSE(json.contains("generation"));
  EXPECT_EQ(AuditLine(AuditFormat::kText, "k", link).find('7'), std::string::npos);
}

TEST(AuditTextTest, TextIsOneLineWhateverAnOwnerIsCalled) {
  const std::string line = AuditLine(
      AuditFormat::kText, "k",
      {.key = "a", .state = KeyState::kAlias, .since_ms = kMoment, .owner = "\x1b[31m\n"});
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

}  // namespace
}  // namespace keymill::app
