// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/small_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/temp_dir.h"

namespace keymill::app {
namespace {

class SmallFileTest : public testing::Test {
 protected:
  std::string Path(const char* name) const { return (directory_.path() / name).string(); }
  std::string Message(const std::string& path) const {
    return ReadSmallFile(path, 1024).status().message();
  }

  const TempDir directory_;
};

TEST_F(SmallFileTest, ReadsUpToTheLimit) {
  std::ofstream(Path("full")) << std::string(1024, 'x');
  std::ofstream(Path("over")) << std::string(1025, 'x');
  const Result<std::string> full = ReadSmallFile(Path("full"), 1024);
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(*full, std::string(1024, 'x'));
  EXPECT_EQ(Message(Path("over")), "is larger than 1 KiB");
}

TEST_F(SmallFileTest, FollowsASymbolicLinkToARegularFileOnly) {
  std::ofstream(Path("file")) << "text";
  std::filesystem::create_symlink(Path("file"), Path("link"));
  std::filesystem::create_symlink("/dev/zero", Path("zero"));
  const Result<std::string> text = ReadSmallFile(Path("link"), 1024);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "text");
  EXPECT_EQ(Message(Path("zero")), "is not a regular file");
}

TEST_F(SmallFileTest, RefusesWhatIsNoRegularFile) {
  EXPECT_EQ(Message(directory_.path().string()), "is a directory, not a file");
  EXPECT_EQ(Message("/dev/zero"), "is not a regular file");
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(Message(Path("fifo")), "is not a regular file");
}

TEST_F(SmallFileTest, SaysThatNothingIsThere) {
  const Result<std::string> absent = ReadSmallFile(Path("absent"), 1024);
  EXPECT_EQ(absent.code(), Code::kNotFound);
  EXPECT_EQ(absent.status().message(), "cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace keymill::app
