// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/verify.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/temp_dir.h"

namespace keymill::load {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

// The smallest table, so that a few thousand keys already go to disk.
constexpr std::size_t kTiny = 1;

class VerifyTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& content) const {
    const std::string path = (dir_.path() / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  VerifyOptions Options(std::vector<std::string> files, std::size_t memory_max = kTiny) const {
    return {.files = std::move(files), .temp_dir = dir_.path(), .memory_max = memory_max};
  }
  std::set<std::string> Listing() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  TempDir dir_;
};

// Lines "<prefix><begin>" up to, not including, "<prefix><end>".
std::string Numbered(const std::string& prefix, int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) text += prefix + std::to_string(i) + "\n";
  return text;
}

auto IsDuplicate(const std::string& key, std::uint64_t count, const std::string& first_file,
                 std::uint64_t first_line, const std::string& second_file,
                 std::uint64_t second_line) {
  return AllOf(Field("key", &Duplicate::key, key), Field("count", &Duplicate::count, count),
               Field("first_file", &Duplicate::first_file, first_file),
               Field("first_line", &Duplicate::first_line, first_line),
               Field("second_file", &Duplicate::second_file, second_file),
               Field("second_line", &Duplicate::second_line, second_line));
}

TEST_F(VerifyTest, FindsNothingAmongDistinctKeys) {
  const auto report = Verify(Options({Write("a", Numbered("k", 0, 100'000))}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->keys, 100'000U);
  EXPECT_EQ(report->distinct, 100'000U);
  EXPECT_EQ(report->duplicate_keys, 0U);
  EXPECT_THAT(report->first, IsEmpty());
}

TEST_F(VerifyTest, FindsADuplicateWithinAFile) {
  const auto file = Write("a", "one\ntwo\nthree\ntwo\ntwo\n");
  const auto report = Verify(Options({file}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->keys, 5U);
  EXPECT_EQ(report->distinct, 3U);
  EXPECT_EQ(report->duplicate_keys, 1U);
  EXPECT_THAT(report->first, ElementsAre(IsDuplicate("two", 3, file, 2, file, 4)));
}

TEST_F(VerifyTest, FindsADuplicateAcrossFiles) {
  const auto a = Write("a", "one\ntwo\n");
  const auto empty = Write("empty", "");
  const auto b = Write("b", "three\none");
  const auto report = Verify(Options({a, empty, b}));
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->first, ElementsAre(IsDuplicate("one", 2, a, 1, b, 2)));
}

// Enough keys that each of the 256 parts must be parted again.
TEST_F(VerifyTest, FindsPlantedDuplicatesWhenPartsArePartedAgain) {
  const auto a = Write("a", Numbered("key-", 0, 1'200'000));
  const auto b = Write("b", "x1\nkey-1199999\nx2\nkey-0\nkey-600000\nkey-0\n");
  const auto report = Verify(Options({a, b}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->keys, 1'200'006U);
  EXPECT_EQ(report->distinct, 1'200'002U);
  EXPECT_EQ(report->duplicate_keys, 3U);
  EXPECT_THAT(report->first, ElementsAre(IsDuplicate("key-1199999", 2, a, 1'200'000, b, 2),
                                         IsDuplicate("key-0", 3, a, 1, b, 4),
                                         IsDuplicate("key-600000", 2, a, 600'001, b, 5)));
}

// The second sight may come before the table overflows, after it, or both.
TEST_F(VerifyTest, CountsOnWhenKeysMoveToDisk) {
  const auto file = Write("a", "again\nagain\n" + Numbered("k", 0, 50'000) + "again\nk7\n");
  const auto report = Verify(Options({file}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->distinct, 50'001U);
  EXPECT_THAT(report->first, ElementsAre(IsDuplicate("again", 3, file, 1, file, 2),
                                         IsDuplicate("k7", 2, file, 10, file, 50'004)));
}

TEST_F(VerifyTest, AgreesInMemoryAndOnDisk) {
  const auto a = Write("a", Numbered("k", 0, 30'000));
  const auto b = Write("b", Numbered("k", 20'000, 60'000));
  const auto in_memory = Verify(Options({a, b}, std::size_t{64} << 20));
  const auto on_disk = Verify(Options({a, b}));
  ASSERT_TRUE(in_memory.ok() && on_disk.ok());
  for (const auto& report : {*in_memory, *on_disk}) {
    EXPECT_EQ(report.keys, 70'000U);
    EXPECT_EQ(report.distinct, 60'000U);
    EXPECT_EQ(report.duplicate_keys, 10'000U);
    ASSERT_EQ(report.first.size(), 20U);
    for (std::uint64_t i = 0; i < 20; ++i) {
      EXPECT_THAT(report.first[i],
                  IsDuplicate("k" + std::to_string(20'000 + i), 2, a, 20'001 + i, b, 1 + i));
    }
  }
}

TEST_F(VerifyTest, ReportsInTheOrderOfTheSecondSight) {
  const auto file = Write("a", "a\nb\nc\nc\nb\nb\na\n");
  auto options = Options({file});
  options.report_max = 2;
  const auto report = Verify(options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->duplicate_keys, 3U);
  EXPECT_THAT(report->first, ElementsAre(IsDuplicate("c", 2, file, 3, file, 4),
                                         IsDuplicate("b", 3, file, 2, file, 5)));
}

TEST_F(VerifyTest, CountsWithoutReportingWhenAskedFor) {
  auto options = Options({Write("a", "a\na\n")});
  options.report_max = 0;
  const auto report = Verify(options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->duplicate_keys, 1U);
  EXPECT_THAT(report->first, IsEmpty());
}

TEST_F(VerifyTest, KeysThatAreAllEqualTakeTheRoomOfOne) {
  std::string text;
  for (int i = 0; i < 500'000; ++i) text += "same\n";
  // What goes to disk first: the equal keys then arrive as a part of their own.
  const auto a = Write("a", Numbered("k", 0, 20'000));
  const auto b = Write("b", text);
  const auto report = Verify(Options({a, b}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->keys, 520'000U);
  EXPECT_EQ(report->distinct, 20'001U);
  EXPECT_THAT(report->first, ElementsAre(IsDuplicate("same", 500'000, b, 1, b, 2)));
}

TEST_F(VerifyTest, AcceptsCrlfBlankLinesAndALastLineWithoutEnd) {
  const auto a = Write("a", "one\r\n\r\n\ntwo\r\n");
  const auto b = Write("b", "\n\ntwo");
  const auto report = Verify(Options({a, b}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->keys, 3U);
  EXPECT_THAT(report->first, ElementsAre(IsDuplicate("two", 2, a, 4, b, 3)));
}

TEST_F(VerifyTest, ComparesBytes) {
  const std::string text("a\nA\n a\na \n\0\n\0\0\n\xff\n\r\r\n", 20);
  const auto report = Verify(Options({Write("a", text)}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->keys, 8U);
  EXPECT_EQ(report->distinct, 8U);
}

TEST_F(VerifyTest, AcceptsAnEmptyFileAndNoFileAtAll) {
  for (const auto& files : {std::vector<std::string>{Write("a", "")}, {}}) {
    const auto report = Verify(Options(files));
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->keys, 0U);
    EXPECT_EQ(report->distinct, 0U);
  }
}

TEST_F(VerifyTest, TheLongestKeyPassesAndOneByteMoreIsRefusedWithItsPlace) {
  const std::string longest(kVerifyKeySizeMax, 'x');
  const auto good = Write("good", longest + "\r\n" + longest + "\n" + longest);
  const auto report = Verify(Options({good}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_THAT(report->first, ElementsAre(IsDuplicate(longest, 3, good, 1, good, 2)));

  for (const std::string end : {"", "\n", "\r\n", "yyyy\n"}) {
    const auto bad = Write("bad", "a\n\n" + longest + "x" + end);
    const auto refused = Verify(Options({good, bad}));
    EXPECT_EQ(refused.code(), Code::kInvalidArgument);
    EXPECT_THAT(refused.status().message(), HasSubstr(bad + ":3: "));
  }
}

TEST_F(VerifyTest, LongKeysGoToDiskToo) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::string(4000, 'x') + std::to_string(i) + "\n";
  const auto file = Write("a", text + std::string(4000, 'x') + "1000\n");
  const auto report = Verify(Options({file}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->distinct, 2000U);
  ASSERT_EQ(report->first.size(), 1U);
  EXPECT_EQ(report->first[0].first_line, 1001U);
  EXPECT_EQ(report->first[0].second_line, 2001U);
}

TEST_F(VerifyTest, ReadsStandardInput) {
  const auto file = Write("a", "one\ntwo\n");
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const int saved = ::dup(STDIN_FILENO);
  ASSERT_EQ(::write(ends[1], "zero\ntwo", 8), 8);
  ::close(ends[1]);
  ::dup2(ends[0], STDIN_FILENO);
  const auto report = Verify(Options({file, "-"}));
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  ::close(ends[0]);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->first, ElementsAre(IsDuplicate("two", 2, file, 2, "-", 2)));
}

TEST_F(VerifyTest, AMissingFileIsAnErrorThatNamesIt) {
  const auto missing = (dir_.path() / "missing").string();
  const auto report = Verify(Options({Write("a", "one\n"), missing}));
  EXPECT_EQ(report.code(), Code::kNotFound);
  EXPECT_THAT(report.status().message(), HasSubstr(missing + ": "));
}

TEST_F(VerifyTest, ADirectoryIsAnErrorThatNamesIt) {
  const auto report = Verify(Options({dir_.path().string()}));
  EXPECT_EQ(report.code(), Code::kInvalidArgument);
  EXPECT_THAT(report.status().message(), HasSubstr(dir_.path().string() + ": "));
}

TEST_F(VerifyTest, AMissingTemporaryDirectoryMattersOnlyWhenNeeded) {
  auto options = Options({Write("small", "one\n")});
  options.temp_dir = dir_.path() / "missing";
  EXPECT_TRUE(Verify(options).ok());
  options.files = {Write("large", Numbered("k", 0, 20'000))};
  const auto report = Verify(options);
  EXPECT_EQ(report.code(), Code::kNotFound);
  EXPECT_THAT(report.status().message(), HasSubstr(options.temp_dir.string() + ": "));
}

// A limit on the size of files stands in for a full disk.
TEST_F(VerifyTest, AFullDiskIsAnErrorThatNamesTheDirectory) {
  const auto options = Options({Write("a", Numbered("k", 0, 500'000))});
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit low = limit;
  low.rlim_cur = 100'000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const auto report = Verify(options);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(report.code(), Code::kUnavailable);
  EXPECT_THAT(report.status().message(), HasSubstr(dir_.path().string() + ": "));
}

TEST_F(VerifyTest, LeavesNothingBehind) {
  auto options = Options({Write("a", Numbered("k", 0, 50'000))});
  ASSERT_TRUE(Verify(options).ok());
  options.files.push_back((dir_.path() / "missing").string());
  ASSERT_FALSE(Verify(options).ok());
  EXPECT_THAT(Listing(), ElementsAre("a"));
}

// Few different keys, so that most occur again, against a map that does the same.
TEST_F(VerifyTest, AgreesWithAMap) {
  const bool passed = rc::check([this](std::vector<std::uint16_t> numbers, bool padded) {
    const std::string padding(padded ? 3000 : 0, 'p');
    std::map<std::string, std::vector<std::uint64_t>> lines;
    std::string text;
    std::uint64_t line = 0;
    for (const auto number : numbers) {
      const std::string key = padding + std::to_string(number % 64);
      lines[key].push_back(++line);
      text += key + "\n";
    }
    const auto file = Write("a", text);
    auto options = Options({file});
    options.report_max = 1000;
    const auto report = Verify(options);
    RC_ASSERT(report.ok());
    RC_ASSERT(report->keys == numbers.size());
    RC_ASSERT(report->distinct == lines.size());
    std::uint64_t last = 0;
    for (const Duplicate& duplicate : report->first) {
      const auto& places = lines.at(duplicate.key);
      RC_ASSERT(duplicate.count == places.size());
      RC_ASSERT(duplicate.first_line == places[0]);
      RC_ASSERT(duplicate.second_line == places.at(1));
      RC_ASSERT(duplicate.second_line > last);
      last = duplicate.second_line;
    }
    const auto repeated = std::count_if(lines.begin(), lines.end(),
                                        [](const auto& entry) { return entry.second.size() > 1; });
    RC_ASSERT(report->duplicate_keys == static_cast<std::uint64_t>(repeated));
    RC_ASSERT(report->first.size() == report->duplicate_keys);
  });
  EXPECT_TRUE(passed);
}

}  // namespace
}  // namespace keymill::load
