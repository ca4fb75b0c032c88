// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/store_safety.h"

#include <gtest/gtest.h>

namespace keymill::mint {
namespace {

const StoreFinding kFsyncOff{"fsync", true, "fsync is off", "ALTER SYSTEM SET fsync = on"};
const StoreFinding kNoReplica{"replica", true, "a replica lags", "CONFIG SET x y"};
const StoreFinding kOldServer{"version", false, "the server is old", "apt-get install it"};

TEST(StoreSafety, WhatIsNotUnsafeIsNobodysConcern) {
  StoreSafety safety("");
  EXPECT_TRUE(safety.Judge({kOldServer}).ok());
  EXPECT_TRUE(safety.verdict().ok());
  EXPECT_EQ(safety.accepted_risk(), "");
}

TEST(StoreSafety, ARefusalNamesEachFixAndTheWayAround) {
  StoreSafety safety("");
  const Status refused = safety.Judge({kFsyncOff, kOldServer, kNoReplica});
  ASSERT_EQ(refused.code(), Code::kFailedPrecondition);
  for (const char* const part : {"fsync is off", "ALTER SYSTEM SET fsync = on", "a replica lags",
                                 "CONFIG SET x y", "--accept-unsafe-store"}) {
    EXPECT_NE(refused.message().find(part), std::string::npos) << part;
  }
  EXPECT_EQ(refused.message().find("apt-get"), std::string::npos);
  EXPECT_EQ(safety.verdict().message(), refused.message());
}

TEST(StoreSafety, AnAcceptedRiskStaysKnown) {
  StoreSafety safety("a test bed");
  EXPECT_TRUE(safety.Judge({kFsyncOff}).ok());
  EXPECT_EQ(safety.accepted_risk(), "fsync is off");
  EXPECT_EQ(safety.accepted_because(), "a test bed");
  // Mended: there is nothing left to accept.
  EXPECT_TRUE(safety.Judge({}).ok());
  EXPECT_EQ(safety.accepted_risk(), "");
}

TEST(StoreSafety, WhatIsMendedIsForgiven) {
  StoreSafety safety("");
  EXPECT_FALSE(safety.Judge({kFsyncOff}).ok());
  EXPECT_TRUE(safety.Judge({kOldServer}).ok());
  EXPECT_TRUE(safety.verdict().ok());
}

TEST(StoreSafety, WhatEndsByItselfIsWorthWaitingForWhereNothingElseIsUnsafe) {
  StoreFinding rewrite{"rewrite", true, "a rewrite is on", "wait"};
  rewrite.passes = true;
  StoreSafety safety("");
  EXPECT_EQ(safety.Judge({rewrite, kOldServer}).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(safety.passes());
  EXPECT_FALSE(safety.Judge({rewrite, kFsyncOff}).ok());
  EXPECT_FALSE(safety.passes());
  EXPECT_TRUE(safety.Judge({}).ok());
  EXPECT_FALSE(safety.passes());
}

}  // namespace
}  // namespace keymill::mint
