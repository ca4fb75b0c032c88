// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sqlite/sqlite_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/magic.h>

#include "support/temp_dir.h"

namespace keymill::store {
namespace {

using testing::HasSubstr;

SqlitePlace Place(std::uint64_t type = EXT4_SUPER_MAGIC) {
  return {.path = "/srv/keymill.db",
          .file_system_type = type,
          .mount_options = "rw,relatime",
          .without_sync = false};
}

TEST(SqlitePlace, ALocalDiskIsFine) { EXPECT_TRUE(CheckPlace(Place()).empty()); }

TEST(SqlitePlace, WhatCannotKeepCommitsIsUnsafe) {
  for (const auto type : std::initializer_list<std::uint64_t>{NFS_SUPER_MAGIC, TMPFS_MAGIC,
                                                              RAMFS_MAGIC, V9FS_MAGIC}) {
    const auto findings = CheckPlace(Place(type));
    ASSERT_EQ(findings.size(), 1U) << type;
    EXPECT_TRUE(findings[0].unsafe);
    EXPECT_EQ(findings[0].check, "filesystem");
    EXPECT_THAT(findings[0].fix, HasSubstr("--data-dir"));
  }
}

TEST(SqlitePlace, AContainersLayerIsForDoctorToWarnOf) {
  EXPECT_TRUE(CheckPlace(Place(OVERLAYFS_SUPER_MAGIC)).empty());
}

TEST(SqlitePlace, AMountWithoutBarriersIsUnsafe) {
  for (const char* const option : {"nobarrier", "barrier=0"}) {
    SqlitePlace place = Place();
    place.mount_options += std::string(",") + option;
    const auto findings = CheckPlace(place);
    ASSERT_EQ(findings.size(), 1U) << option;
    EXPECT_TRUE(findings[0].unsafe);
    EXPECT_THAT(findings[0].says, HasSubstr(option));
  }
  SqlitePlace place = Place();
  place.mount_options = "rw,nobarriers,barrier=01";
  EXPECT_TRUE(CheckPlace(place).empty()) << "whole words only";
}

TEST(SqlitePlace, ALibraryThatTurnsSyncOffIsUnsafe) {
  SqlitePlace place = Place();
  place.without_sync = true;
  ASSERT_EQ(CheckPlace(place).size(), 1U);
  EXPECT_EQ(CheckPlace(place)[0].check, "fsync");
}

TEST(SqlitePlace, MountOptionsAreThoseOfTheDevice) {
  const std::string text =
      "21 27 0:19 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
      "27 1 8:1 / / rw,relatime shared:1 master:2 - ext4 /dev/sda1 rw,nobarrier\n"
      "28 1 8:2 / /srv ro - xfs /dev/sda2\n";
  EXPECT_EQ(MountOptions(text, "8:1"), "rw,relatime,rw,nobarrier");
  EXPECT_EQ(MountOptions(text, "8:2"), "ro");
  EXPECT_EQ(MountOptions(text, "8:3"), "");
}

TEST(SqlitePlace, TheMachineIsAsked) {
  const TempDir dir;
  const SqlitePlace place = GatherPlace(dir.path() / "keymill.db");
  EXPECT_NE(place.file_system_type, 0U);
  EXPECT_FALSE(place.without_sync);
}

}  // namespace
}  // namespace keymill::store
