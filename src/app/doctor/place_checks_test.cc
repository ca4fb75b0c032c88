// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/magic.h>

#include "app/doctor/host_checks.h"

namespace keymill::app::doctor {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMiB = 1 << 20;

PlaceFacts Sound() {
  PlaceFacts place;
  place.name = "data_dir";
  place.path = place.nearest = "/srv/data";
  place.exists = true;
  place.owner = place.user = 990;
  place.mode = 0700;
  place.file_system = {.type = EXT4_SUPER_MAGIC,
                       .bytes_free = 1024 * kMiB,
                       .bytes_total = 4096 * kMiB,
                       .files_free = 1000,
                       .files_total = 2000};
  place.sync = {.writes = 16, .median_ms = 0.8, .worst_ms = 2};
  return place;
}

void ExpectFound(const Finding& finding, Severity severity, const std::string& says,
                 const std::string& fix) {
  EXPECT_EQ(SeverityName(finding.severity), SeverityName(severity)) << finding.says;
  EXPECT_THAT(finding.says, HasSubstr(says));
  EXPECT_THAT(finding.fix, HasSubstr(fix));
  EXPECT_EQ(finding.fix.empty(), severity == Severity::kOk) << finding.fix;
}

TEST(DirectoryCheckTest, ADirectoryOfOursIsFine) {
  ExpectFound(CheckDirectory(Sound()), Severity::kOk, "/srv/data, writable, mode 700", "");
  PlaceFacts readable = Sound();
  readable.mode = 0755;
  ExpectFound(CheckDirectory(readable), Severity::kOk, "mode 755", "");
}

TEST(DirectoryCheckTest, AMissingOneIsFineWhereItCanBeMade) {
  PlaceFacts place = Sound();
  place.exists = false;
  place.nearest = "/srv";
  ExpectFound(CheckDirectory(place), Severity::kOk, "not there yet", "");
  place.access_error = EACCES;
  ExpectFound(CheckDirectory(place), Severity::kProblem, "cannot be made in /srv",
              "install -d -o 990 -m 700 /srv/data");
}

TEST(DirectoryCheckTest, WhatIsInTheWayIsFound) {
  PlaceFacts place = Sound();
  place.access_error = EACCES;
  place.owner = 0;
  place.mode = 0755;
  ExpectFound(CheckDirectory(place), Severity::kProblem, "user 990 cannot write",
              "chown -R 990 /srv/data");
  place = Sound();
  place.is_directory = false;
  ExpectFound(CheckDirectory(place), Severity::kProblem, "not a directory",
              "mv /srv/data /srv/data.old");
}

TEST(DirectoryCheckTest, OneThatOthersCanWriteToIsFound) {
  for (const std::uint32_t mode : {0770U, 0702U, 01777U}) {
    PlaceFacts place = Sound();
    place.mode = mode;
    ExpectFound(CheckDirectory(place), Severity::kWarning, "others can replace",
                "chmod 700 /srv/data");
  }
}

// Root may write everywhere; whether the server's user may is for that user to ask.
TEST(DirectoryCheckTest, OneOfAnotherUserIsNoted) {
  PlaceFacts place = Sound();
  place.user = 0;
  ExpectFound(CheckDirectory(place), Severity::kNote, "belongs to user 990", "setpriv --reuid 990");
}

TEST(DirectoryCheckTest, AReadOnlyMountIsToldOfOnce) {
  PlaceFacts place = Sound();
  place.access_error = EROFS;
  place.file_system.read_only = true;
  ExpectFound(CheckDirectory(place), Severity::kOk, "", "");
  ExpectFound(CheckFileSystem(place), Severity::kProblem, "read-only", "mount -o remount,rw");
}

TEST(FileSystemCheckTest, LocalOnesAreFineAndSoIsOneThatNobodyKnows) {
  for (const std::uint64_t type : {0xef53ULL, 0x58465342ULL, 0x9123683eULL, 0x2fc12fc1ULL}) {
    PlaceFacts place = Sound();
    place.file_system.type = type;
    ExpectFound(CheckFileSystem(place), Severity::kOk, "/srv/data", "");
  }
  PlaceFacts place = Sound();
  place.file_system.type = 0x1234;
  ExpectFound(CheckFileSystem(place), Severity::kOk, "file system 0x1234", "");
}

TEST(FileSystemCheckTest, LocksOverANetworkAreAProblem) {
  for (const auto& [type, name] : {std::pair{0x6969ULL, "nfs"}, std::pair{0xff534d42ULL, "cifs"},
                                   std::pair{0xfe534d42ULL, "smb2"}, std::pair{0x01021997ULL, "9p"},
                                   std::pair{0x65735546ULL, "fuse"}}) {
    PlaceFacts place = Sound();
    place.file_system.type = type;
    ExpectFound(CheckFileSystem(place), Severity::kProblem, name, "--data-dir");
    EXPECT_THAT(CheckFileSystem(place).says, HasSubstr("locks"));
  }
}

TEST(FileSystemCheckTest, MemoryAndContainerLayersDoNotLast) {
  PlaceFacts place = Sound();
  for (const auto& [type, name] :
       {std::pair{0x01021994ULL, "tmpfs"}, std::pair{0x858458f6ULL, "ramfs"}}) {
    place.file_system.type = type;
    ExpectFound(CheckFileSystem(place), Severity::kProblem, name, "--data-dir");
  }
  place.file_system.type = 0x794c7630;
  ExpectFound(CheckFileSystem(place), Severity::kWarning, "container's own layer",
              "docker run -v keymill:/srv/data");
  place.file_system.error = EIO;
  ExpectFound(CheckFileSystem(place), Severity::kProblem, "Input/output error", "--data-dir");
}

TEST(SpaceCheckTest, BytesAndFilesHaveTwoThresholdsEach) {
  PlaceFacts place = Sound();
  ExpectFound(CheckSpace(place), Severity::kOk, "1.0 GiB of 4.0 GiB, 1000 files", "");
  place.file_system.bytes_free = 64 * kMiB - 1;
  ExpectFound(CheckSpace(place), Severity::kWarning, "MiB", "du -xh");
  place.file_system.bytes_free = 8 * kMiB - 1;
  ExpectFound(CheckSpace(place), Severity::kProblem, "MiB", "du -xh");
  place.file_system.bytes_free = 0;
  ExpectFound(CheckSpace(place), Severity::kProblem, "room for 0 KiB", "du -xh");
  place = Sound();
  place.file_system.files_free = 255;
  ExpectFound(CheckSpace(place), Severity::kWarning, "255 files", "du -x --inodes");
  place.file_system.files_free = 15;
  ExpectFound(CheckSpace(place), Severity::kProblem, "15 files", "du -x --inodes");
}

TEST(SpaceCheckTest, AFileSystemThatDoesNotCountFilesHasEnough) {
  PlaceFacts place = Sound();
  place.file_system.files_free = place.file_system.files_total = 0;
  const Finding finding = CheckSpace(place);
  ExpectFound(finding, Severity::kOk, "1.0 GiB", "");
  EXPECT_THAT(finding.says, Not(HasSubstr("files")));
}

TEST(SyncCheckTest, SlowDisksAreFoundAndLyingOnesNoted) {
  PlaceFacts place = Sound();
  ExpectFound(CheckSync(place), Severity::kOk, "0.80 ms (median of 16", "");
  place.sync.median_ms = 50.1;
  ExpectFound(CheckSync(place), Severity::kWarning, "slow", "--block-size");
  place.sync.median_ms = 0.019;
  ExpectFound(CheckSync(place), Severity::kNote, "does not seem to reach a disk", "cache=none");
  place.file_system.type = TMPFS_MAGIC;
  ExpectFound(CheckSync(place), Severity::kOk, "0.02 ms", "");
}

TEST(SyncCheckTest, AFailureOfTheDiskIsAProblemAndAnyOtherIsToldElsewhere) {
  PlaceFacts place = Sound();
  place.sync = {.error = EIO};
  ExpectFound(CheckSync(place), Severity::kProblem, "Input/output error", "dmesg");
  for (const int error : {ENOSPC, EACCES, EROFS}) {
    place.sync = {.error = error};
    ExpectFound(CheckSync(place), Severity::kNote, "not measured", "");
  }
}

}  // namespace
}  // namespace keymill::app::doctor
