// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keymill/status.h"

#include <memory>
#include <set>

#include <gtest/gtest.h>

namespace keymill {
namespace {

TEST(StatusTest, IsOkUnlessToldOtherwise) {
  EXPECT_TRUE(Status().ok());
  EXPECT_TRUE(Status::Ok().ok());
  EXPECT_EQ(Status().code(), Code::kOk);
  EXPECT_EQ(Status().message(), "");
}

TEST(StatusTest, KeepsCodeAndMessage) {
  const Status status(Code::kUnavailable, "reserve orders: connection refused");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "reserve orders: connection refused");
}

TEST(StatusTest, EveryCodeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int code = 0; code < kCodeCount; ++code) {
    const std::string_view name = CodeName(static_cast<Code>(code));
    EXPECT_EQ(name.front(), 'k');
    names.insert(name);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kCodeCount));
  EXPECT_EQ(CodeName(Code::kOk), "kOk");
  EXPECT_EQ(CodeName(Code::kUnknownOutcome), "kUnknownOutcome");
  EXPECT_EQ(CodeName(Code::kInternal), "kInternal");
}

TEST(ResultTest, HoldsAValueThatOnlyMoves) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.status().ok());
  EXPECT_EQ(result.code(), Code::kOk);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 7);
}

TEST(ResultTest, HoldsTheReasonWhyThereIsNone) {
  const Result<std::string> result(Code::kNotFound, "keyspace links");
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.code(), Code::kNotFound);
  EXPECT_EQ(result.status().message(), "keyspace links");
}

TEST(ResultTest, ThrowsWhenAMissingValueIsRead) {
  const Result<int> result(Code::kNotFound, "nothing");
  EXPECT_THROW(static_cast<void>(result.value()), std::bad_variant_access);
}

TEST(ResultTest, ReachesIntoItsValue) {
  Result<std::string> result(std::string("abc"));
  EXPECT_EQ(result->size(), 3U);
  result->push_back('d');
  EXPECT_EQ(*result, "abcd");
}

}  // namespace
}  // namespace keymill
