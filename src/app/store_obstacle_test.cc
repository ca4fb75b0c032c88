// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/store_obstacle.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/temp_dir.h"

namespace keymill::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::string_view kUrl = "sqlite:keymill.db";

class StoreObstacleTest : public testing::Test {
 protected:
  fs::path Path(std::string_view name) const { return directory_.path() / name; }
  void Write(std::string_view name, std::string_view text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }

  static std::string Said(const fs::path& data_dir, std::string_view url = kUrl) {
    const Status status = FindObstacle(data_dir, url);
    if (status.ok()) return "";
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    return status.message();
  }

  TempDir directory_;
};

TEST_F(StoreObstacleTest, NothingIsInTheWayOfAStoreThatIsOrCouldBe) {
  EXPECT_EQ(Said(directory_.path()), "");
  EXPECT_EQ(Said(Path("new/and/deep/")), "");
  Write("keymill.db", "");
  EXPECT_EQ(Said(directory_.path()), "");
  Write("keymill.db", std::string("SQLite format 3\0 and pages", 26));
  EXPECT_EQ(Said(directory_.path()), "");
  EXPECT_EQ(Said("/proc/nowhere", "memory:"), "");
}

TEST_F(StoreObstacleTest, WhatIsNoDirectoryIsNamed) {
  Write("file", "x");
  EXPECT_THAT(Said(Path("file")), HasSubstr("file: this is not a directory; choose another"));
  EXPECT_THAT(Said(Path("file/data")), HasSubstr("Not a directory"));
}

TEST_F(StoreObstacleTest, ADirectoryThatCannotBeMadeIsNamed) {
  // Not even root may: only who is refused, the parent or the child, depends on the user.
  EXPECT_THAT(Said("/proc/nowhere"), HasSubstr("use /proc"));
  EXPECT_THAT(Said("/proc/nowhere"), HasSubstr("--data-dir"));
}

TEST_F(StoreObstacleTest, WhatIsNoDatabaseIsNamed) {
  Write("keymill.db", "dear diary, today I was taken for a database");
  EXPECT_THAT(Said(directory_.path()), HasSubstr("keymill.db: this file is not a SQLite database"));
  Write("other.db", "short");
  EXPECT_THAT(Said(directory_.path(), "sqlite:other.db"), HasSubstr("other.db: this file is not"));
  fs::create_directory(Path("folder.db"));
  EXPECT_THAT(Said(directory_.path(), "sqlite:folder.db"), HasSubstr("this is a directory"));
}

// Root may do everything, so for a while the test is nobody, and the files are nobody's.
class AsNobody {
 public:
  explicit AsNobody(const fs::path& directory) : root_(::geteuid() == 0) {
    if (!root_) return;
    EXPECT_EQ(::chown(directory.c_str(), kNobody, kNobody), 0);
    for (const auto& entry : fs::directory_iterator(directory)) {
      EXPECT_EQ(::chown(entry.path().c_str(), kNobody, kNobody), 0);
    }
    EXPECT_EQ(::setresuid(kNobody, kNobody, 0), 0);
  }
  ~AsNobody() {
    if (!root_) return;
    EXPECT_EQ(::setresuid(0, 0, 0), 0);
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  const bool root_;
};

TEST_F(StoreObstacleTest, AFileThatMayNotBeWrittenIsNamed) {
  Write("witness.lock", "");
  fs::permissions(Path("witness.lock"), fs::perms::owner_read);
  const AsNobody nobody(directory_.path());
  EXPECT_THAT(Said(directory_.path()), HasSubstr("witness.lock: Permission denied; give user"));
}

TEST_F(StoreObstacleTest, ADirectoryThatMayNotBeWrittenIsNamed) {
  fs::permissions(directory_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  {
    const AsNobody nobody(directory_.path());
    EXPECT_THAT(Said(directory_.path()), HasSubstr("Permission denied; give user"));
  }
  fs::permissions(directory_.path(), fs::perms::owner_all);  // For whoever cleans up.
}

TEST_F(StoreObstacleTest, AWitnessNeedOnlyBeReadable) {
  Write("witness", "");
  fs::permissions(Path("witness"), fs::perms::owner_read);
  const AsNobody nobody(directory_.path());
  EXPECT_EQ(Said(directory_.path()), "");
}

}  // namespace
}  // namespace keymill::app
