// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "embed/worker_ordinal.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace keymill::embed {
namespace {

TEST(WorkerOrdinalTest, IsTheNumberBehindTheLastDash) {
  EXPECT_EQ(OrdinalOf("keymill-0"), 0U);
  EXPECT_EQ(OrdinalOf("my-keymill-17"), 17U);
  for (const char* const name : {"", "keymill", "keymill-", "keymill-x1", "keymill-1x", "3",
                                 "keymill-99999999999", "keymill--", "a-+1"}) {
    EXPECT_FALSE(OrdinalOf(name)) << name;
  }
}

TEST(WorkerOrdinalTest, TheIndexComesBeforeTheName) {
  setenv("POD_NAME", "keymill-4", 1);
  EXPECT_EQ(PreferredWorker(), 4U);
  setenv("POD_INDEX", "5", 1);
  EXPECT_EQ(PreferredWorker(), 5U);
  setenv("POD_INDEX", "", 1);
  EXPECT_EQ(PreferredWorker(), 4U);
  unsetenv("POD_INDEX");
  unsetenv("POD_NAME");
}

}  // namespace
}  // namespace keymill::embed
