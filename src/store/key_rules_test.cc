// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/key_rules.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

KeyRow Row(std::string key, KeyState state = KeyState::kAlias, std::string identity = "") {
  return {.key = std::move(key), .state = state, .since_ms = 5, .identity = std::move(identity)};
}

KeyTable::TakeRequest Take() {
  return {.count = 1, .to = KeyState::kUsed, .instance = "i", .token = "t", .at_ms = 7};
}

TEST(KeyRulesTest, StatesHaveNamesThatAreReadBack) {
  for (std::size_t i = 0; i < kKeyStates; ++i) {
    const auto state = static_cast<KeyState>(i);
    EXPECT_EQ(*ParseKeyState(KeyStateName(state)), state);
  }
  EXPECT_EQ(KeyStateName(KeyState::kAvailable), "available");
  EXPECT_EQ(KeyStateName(KeyState::kNote), "note");
  EXPECT_EQ(KeyStateName(KeyState::kLink), "link");
  EXPECT_EQ(ParseKeyState("spent").code(), Code::kInternal);
  EXPECT_EQ(ParseKeyState("").code(), Code::kInternal);
}

TEST(KeyRulesTest, RowsThatStoresTake) {
  EXPECT_TRUE(CheckKeyRow(Row("k")).ok());
  EXPECT_TRUE(CheckKeyRow(Row(" ~")).ok());
  EXPECT_TRUE(CheckKeyRow(Row(std::string(80, 'k'))).ok());
  EXPECT_TRUE(CheckKeyRow(Row("k", KeyState::kDerived, std::string(64, 'f'))).ok());
  KeyRow note = Row("k", KeyState::kNote);
  note.note.assign(kKeyNoteSizeMax, '\0');
  EXPECT_TRUE(CheckKeyRow(note).ok());
}

TEST(KeyRulesTest, RowsThatNoStoreTakes) {
  const auto refused = [](const KeyRow& row, const std::string& word) {
    const Status status = CheckKeyRow(row);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(word));
  };
  refused(Row(""), "printable");
  refused(Row(std::string(81, 'k')), "80");
  refused(Row("a\x7f"), "printable");
  refused(Row(std::string("a\0b", 3)), "printable");
  refused(Row("k", KeyState::kDerived, std::string(64, 'F')), "lower case");
  refused(Row("k", KeyState::kDerived, std::string(63, 'f')), "64 hex digits");
  KeyRow row = Row("k");
  row.owner.assign(201, 'o');
  refused(row, "owner");
  row = Row("k");
  row.instance = std::string("a\0b", 3);
  refused(row, "instance");
  row = Row("k");
  row.token.assign(65, 't');
  refused(row, "token");
  row = Row("k");
  row.note = "n";
  refused(row, "note");
  row = Row("k");
  row.expires_at_ms = -1;
  refused(row, "negative");
}

TEST(KeyRulesTest, TakesNeedATokenAndAStateThatSaysTaken) {
  EXPECT_TRUE(CheckTake(Take()).ok());
  auto request = Take();
  request.token.clear();
  EXPECT_EQ(CheckTake(request).code(), Code::kInvalidArgument);
  request = Take();
  request.to = KeyState::kAvailable;
  EXPECT_EQ(CheckTake(request).code(), Code::kInvalidArgument);
  request = Take();
  request.count = 0;
  EXPECT_EQ(CheckTake(request).code(), Code::kInvalidArgument);
  request.count = KeyTable::kKeysMax + 1;
  EXPECT_EQ(CheckTake(request).code(), Code::kInvalidArgument);
  request = Take();
  request.instance.assign(256, 'i');
  EXPECT_EQ(CheckTake(request).code(), Code::kInvalidArgument);
}

TEST(KeyRulesTest, OnlyNotesGoAndNothingBecomesOne) {
  EXPECT_TRUE(CheckChange({.match = {.state = KeyState::kNote}, .to = {}}).ok());
  EXPECT_TRUE(CheckChange({.match = {.state = KeyState::kNote}, .to = KeyState::kNote}).ok());
  EXPECT_TRUE(CheckChange({.match = {.state = KeyState::kUsed}, .to = KeyState::kReleased}).ok());
  EXPECT_EQ(CheckChange({.match = {.state = KeyState::kUsed}, .to = {}}).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(CheckChange({.match = {.state = KeyState::kUsed}, .to = KeyState::kNote}).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(CheckChange({.match = {.state = KeyState::kNote}, .to = KeyState::kUsed}).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(CheckChange({.match = {.state = KeyState::kNote}, .to = {}, .rows_max = 0}).code(),
            Code::kInvalidArgument);
}

TEST(KeyRulesTest, AnIdentityThatIsThereCountsBeforeAKey) {
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  const std::vector<KeyRow> there = {Row("k1", KeyState::kDerived, a), Row("k2")};
  const AddPlan plan =
      DecideAdd({Row("k2", KeyState::kDerived, a), Row("k2"), Row("k3"), Row("k3"),
                 Row("k4", KeyState::kDerived, b), Row("k5", KeyState::kDerived, b)},
                there);
  EXPECT_THAT(plan.added, ElementsAre(2, 4));
  ASSERT_EQ(plan.present.size(), 6U);
  EXPECT_EQ(plan.present[0], there[0]);
  EXPECT_EQ(plan.present[1], there[1]);
  EXPECT_EQ(plan.present[2], std::nullopt);
  EXPECT_EQ(plan.present[3], Row("k3"));
  EXPECT_EQ(plan.present[5], Row("k4", KeyState::kDerived, b));
}

TEST(KeyRulesTest, WhatIsNotAskedForMatches) {
  KeyRow row = Row("k", KeyState::kReserved);
  row.token = "t";
  row.generation = 2;
  row.expires_at_ms = 9;
  EXPECT_TRUE(Matches(row, {.state = KeyState::kReserved}));
  EXPECT_FALSE(Matches(row, {.state = KeyState::kUsed}));
  EXPECT_TRUE(Matches(row, {.state = KeyState::kReserved, .token = "t"}));
  EXPECT_FALSE(Matches(row, {.state = KeyState::kReserved, .token = "T"}));
  EXPECT_TRUE(Matches(row, {.state = KeyState::kReserved, .generation = 2}));
  EXPECT_FALSE(Matches(row, {.state = KeyState::kReserved, .generation = 0}));
  EXPECT_TRUE(Matches(row, {.state = KeyState::kReserved, .since_until_ms = 5}));
  EXPECT_FALSE(Matches(row, {.state = KeyState::kReserved, .since_until_ms = 4}));
  EXPECT_TRUE(Matches(row, {.state = KeyState::kReserved, .expires_until_ms = 9}));
  EXPECT_FALSE(Matches(row, {.state = KeyState::kReserved, .expires_until_ms = 8}));
  row.expires_at_ms = 0;
  EXPECT_FALSE(Matches(row, {.state = KeyState::kReserved, .expires_until_ms = 8}));
}

TEST(KeyRulesTest, WhatBecomesAvailableIsNobodysAnyMore) {
  KeyRow row = Row("k", KeyState::kUsed);
  row.instance = "i";
  row.token = "t";
  row.owner = "o";
  row = ChangedRow(row, {.match = {}, .to = KeyState::kReleased, .at_ms = 8, .expires_at_ms = 9});
  EXPECT_EQ(row.state, KeyState::kReleased);
  EXPECT_EQ(row.since_ms, 8);
  EXPECT_EQ(row.expires_at_ms, 9);
  EXPECT_EQ(row.instance + row.token + row.owner, "ito");
  EXPECT_EQ(row.generation, 0U);
  row = ChangedRow(row, {.match = {}, .to = KeyState::kAvailable, .at_ms = 10, .generations = 1});
  EXPECT_EQ(row.instance + row.token + row.owner, "");
  EXPECT_EQ(row.generation, 1U);
  EXPECT_EQ(row.expires_at_ms, 0);
}

TEST(KeyRulesTest, AListHasWhatWasAskedFor) {
  KeyRow row = Row("k", KeyState::kUsed);
  row.instance = "i";
  EXPECT_TRUE(IsAsked(row, {}));
  EXPECT_TRUE(IsAsked(row, {.state = KeyState::kUsed, .since_ms = 5, .until_ms = 6}));
  EXPECT_FALSE(IsAsked(row, {.state = KeyState::kAlias}));
  EXPECT_FALSE(IsAsked(row, {.since_ms = 6}));
  EXPECT_FALSE(IsAsked(row, {.until_ms = 5}));
  EXPECT_TRUE(IsAsked(row, {.instance = "i"}));
  EXPECT_FALSE(IsAsked(row, {.instance = "j"}));
}

}  // namespace
}  // namespace keymill::store
