// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/random.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace keymill {
namespace {

TEST(RandomTest, FillsTheWholeBuffer) {
  // A byte that is zero in 64 independent draws was never written (chance 2^-512).
  std::array<std::uint8_t, 33> seen{};
  for (int draw = 0; draw < 64; ++draw) {
    std::array<std::uint8_t, 33> bytes{};
    RandomBytes(bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) seen[i] |= bytes[i];
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](std::uint8_t byte) { return byte != 0; }));
}

TEST(RandomTest, FillsBuffersLargerThanOneSystemCallGives) {
  std::vector<std::uint8_t> bytes(1 << 20);
  RandomBytes(bytes);
  // A tail of 64 zero bytes has the chance 2^-512.
  EXPECT_TRUE(std::any_of(bytes.end() - 64, bytes.end(), [](std::uint8_t b) { return b != 0; }));
}

TEST(RandomTest, WhatIsDrawnAheadIsUsedOnce) {
  std::set<std::array<std::uint8_t, 16>> seen;
  std::vector<std::thread> threads;
  std::mutex mu;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        std::array<std::uint8_t, 16> bytes{};
        RandomBytesAhead(bytes);
        const std::lock_guard lock(mu);
        ASSERT_TRUE(seen.insert(bytes).second);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::uint8_t> large(1 << 20);
  RandomBytesAhead(large);
  EXPECT_TRUE(std::any_of(large.end() - 64, large.end(), [](std::uint8_t b) { return b != 0; }));
}

// F1: parent and child must not draw the same.
TEST(RandomTest, AForkedChildDropsWhatWasDrawnAhead) {
  std::array<std::uint8_t, 16> bytes{};
  RandomBytesAhead(bytes);  // More than these lie ready now.
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    RandomBytesAhead(bytes);
    _exit(write(ends[1], bytes.data(), bytes.size()) == ssize_t{16} ? 0 : 1);
  }
  std::array<std::uint8_t, 16> of_child{};
  ASSERT_EQ(read(ends[0], of_child.data(), of_child.size()), 16);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(ends[0]);
  close(ends[1]);
  RandomBytesAhead(bytes);
  EXPECT_NE(bytes, of_child);
}

TEST(RandomTest, LeavesAnEmptyBufferAlone) { RandomBytes({}); }

TEST(RandomTest, HexHasTwoDigitsAByteAndDiffersEachTime) {
  const std::string first = RandomHex(16);
  EXPECT_EQ(first.size(), 32U);
  EXPECT_EQ(first.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(first, RandomHex(16));
  EXPECT_EQ(RandomHex(0), "");
}

}  // namespace
}  // namespace keymill
