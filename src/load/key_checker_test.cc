// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/key_checker.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace keymill::load {
namespace {

void Send(KeyChecker& checker, std::unique_ptr<KeyBatch>& batch, const std::string& key) {
  if (batch->Append(key)) return;
  checker.Submit(batch);
  ASSERT_TRUE(batch->Append(key));
}

void SendNumbers(KeyChecker& checker, int begin, int end) {
  auto batch = std::make_unique<KeyBatch>();
  for (int i = begin; i < end; ++i) Send(checker, batch, "key" + std::to_string(i));
  checker.Submit(batch);
}

class KeyCheckerTest : public testing::Test {
 protected:
  DuplicateFinderOptions Options(std::size_t memory_max) const {
    return {.temp_dir = dir_.path(), .memory_max = memory_max};
  }
  TempDir dir_;
};

TEST_F(KeyCheckerTest, KeysOfAllThreadsAreCompared) {
  for (const std::size_t memory : {std::size_t{1}, std::size_t{64} << 20}) {
    KeyChecker checker(Options(memory), 2);
    std::thread one([&] { SendNumbers(checker, 0, 100'000); });
    std::thread other([&] { SendNumbers(checker, 99'999, 200'000); });
    one.join();
    other.join();
    const auto finder = checker.Finish();
    ASSERT_TRUE(finder.ok());
    EXPECT_EQ((*finder)->keys(), 200'001U);
    EXPECT_EQ((*finder)->repeats(), 1U);
    EXPECT_EQ((*finder)->spilled(), memory == 1);
    ASSERT_EQ((*finder)->first().size(), 1U);
    EXPECT_EQ((*finder)->first()[0].key, "key99999");
    EXPECT_EQ((*finder)->first()[0].sightings.count, 2U);
  }
}

TEST_F(KeyCheckerTest, WithoutRoomForKeysTheCheckFailsRatherThanPass) {
  DuplicateFinderOptions options = Options(1);
  options.temp_dir = dir_.path() / "nowhere";
  KeyChecker checker(options, 1);
  SendNumbers(checker, 0, 100'000);
  EXPECT_EQ(checker.Finish().code(), Code::kNotFound);
}

TEST(DuplicateFinderTest, RepeatsAreKnownAtOnceWhileAllKeysFit) {
  DuplicateFinder finder({});
  ASSERT_TRUE(finder.Add("a", 1).ok());
  ASSERT_TRUE(finder.Add("b", 2).ok());
  EXPECT_EQ(finder.repeats(), 0U);
  ASSERT_TRUE(finder.Add("a", 3).ok());
  ASSERT_TRUE(finder.Add("a", 4).ok());
  EXPECT_EQ(finder.repeats(), 2U);
  ASSERT_TRUE(finder.Finish().ok());
  EXPECT_EQ(finder.repeats(), 2U);
  EXPECT_EQ(finder.duplicate_keys(), 1U);
}

}  // namespace
}  // namespace keymill::load
