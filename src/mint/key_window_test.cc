// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/key_window.h"

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace keymill::mint {
namespace {

constexpr std::uint64_t kBatch = KeyWindow::kBatch;

std::string KeyOf(std::uint64_t ticket, std::size_t size) {
  return fmt::format("{:0{}}", ticket, size);
}

std::string KeysOf(std::uint64_t batch, std::size_t size) {
  std::string keys;
  for (std::uint64_t i = 0; i < kBatch; ++i) keys += KeyOf(batch * kBatch + i, size);
  return keys;
}

TEST(KeyWindowTest, GivesBackWhatWasPublished) {
  for (const std::size_t size : {std::size_t{7}, std::size_t{8}, std::size_t{9}, std::size_t{16}}) {
    KeyWindow window(size);
    std::string key(size + 1, '~');
    EXPECT_FALSE(window.Read(0, key.data())) << "nothing is here yet";
    ASSERT_TRUE(window.Claim(0));
    EXPECT_FALSE(window.Read(0, key.data())) << "nor while it is being written";
    window.Publish(0, KeysOf(0, size).data());
    for (std::uint64_t ticket = 0; ticket < kBatch; ++ticket) {
      ASSERT_TRUE(window.Read(ticket, key.data()));
      ASSERT_EQ(key, KeyOf(ticket, size) + "~");
    }
    EXPECT_FALSE(window.Read(kBatch, key.data()));
  }
}

TEST(KeyWindowTest, ABatchIsMadeOnceAndNeverReplacedByAnOlderOne) {
  KeyWindow window(7);
  ASSERT_TRUE(window.Claim(5));
  EXPECT_FALSE(window.Claim(5)) << "somebody is at it";
  EXPECT_FALSE(window.Claim(9)) << "in the same place";
  window.Publish(5, KeysOf(5, 7).data());
  EXPECT_FALSE(window.Claim(5)) << "it is here";
  EXPECT_FALSE(window.Claim(1)) << "the past is not wanted";
  ASSERT_TRUE(window.Claim(9));
  EXPECT_FALSE(window.Claim(5)) << "nor while its place is being written";
  window.Publish(9, KeysOf(9, 7).data());
  EXPECT_FALSE(window.Claim(5)) << "nor ever again";
}

TEST(KeyWindowTest, AReaderThatIsOvertakenGetsNothingRatherThanAnotherKey) {
  constexpr std::uint64_t kBatches = 3000;
  KeyWindow window(16);
  std::atomic<std::uint64_t> made{0};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      std::array<char, 16> key{};
      for (std::uint64_t batch = 0; batch < kBatches; batch = made.load()) {
        for (std::uint64_t ticket = batch * kBatch; ticket < (batch + 1) * kBatch; ++ticket) {
          if (!window.Read(ticket, key.data())) continue;
          if (std::string_view(key.data(), 16) != KeyOf(ticket, 16)) ++wrong;
        }
      }
    });
  }
  for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
    if (window.Claim(batch)) window.Publish(batch, KeysOf(batch, 16).data());
    made = batch + 1;
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace keymill::mint
