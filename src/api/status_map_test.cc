// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/status_map.h"

#include <gtest/gtest.h>

namespace keymill::api {
namespace {

TEST(StatusMapTest, EveryCodeHasItsRow) {
  for (int i = 0; i < kCodeCount; ++i) {
    const auto code = static_cast<Code>(i);
    const StatusMapping& row = MapStatus(code);
    EXPECT_EQ(row.code, code) << CodeName(code);
    EXPECT_FALSE(row.title.empty()) << CodeName(code);
    EXPECT_FALSE(row.resp.empty()) << CodeName(code);
    if (code == Code::kOk) continue;
    EXPECT_GE(row.http, 400) << CodeName(code);
    EXPECT_NE(row.grpc, 0) << CodeName(code);
    EXPECT_FALSE(row.slug.empty()) << CodeName(code);
  }
}

TEST(StatusMapTest, WhateverIsTemporarySaysWhenToComeBack) {
  for (int i = 0; i < kCodeCount; ++i) {
    const StatusMapping& row = MapStatus(static_cast<Code>(i));
    EXPECT_EQ(row.http == 503, row.retry_after_seconds > 0) << row.slug;
  }
}

}  // namespace
}  // namespace keymill::api
