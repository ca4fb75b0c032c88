// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/resolve.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace keymill::store {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

MonotonicTime In(std::chrono::seconds time) { return SystemClock().Monotonic() + time; }

Result<std::vector<HostAddress>> Find(const std::string& host, std::chrono::seconds time) {
  return ResolveHost(host, 6379, SystemClock(), In(time));
}

auto Address(const std::string& text) { return Field(&HostAddress::text, text); }

TEST(ResolveTest, AnAddressIsItself) {
  constexpr std::chrono::seconds kNoTime{-1};
  EXPECT_THAT(*Find("192.0.2.7", kNoTime), ElementsAre(Address("192.0.2.7")));
  EXPECT_THAT(*Find("::1", kNoTime), ElementsAre(Address("::1")));
}

TEST(ResolveTest, ANameHasItsAddressesOnceEach) {
  const auto found = Find("localhost", std::chrono::seconds(30));
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_THAT(*found, Contains(Address("127.0.0.1")).Times(1));
}

TEST(ResolveTest, AddressesHaveThePort) {
  const auto four = Find("192.0.2.7", std::chrono::seconds(30));
  ASSERT_EQ(four->front().size, sizeof(sockaddr_in));
  EXPECT_EQ(reinterpret_cast<const sockaddr_in*>(four->front().socket_address())->sin_port,
            htons(6379));
  const auto six = Find("::1", std::chrono::seconds(30));
  ASSERT_EQ(six->front().size, sizeof(sockaddr_in6));
  EXPECT_EQ(reinterpret_cast<const sockaddr_in6*>(six->front().socket_address())->sin6_port,
            htons(6379));
}

TEST(ResolveTest, ANameThatCannotBeIsUnavailable) {
  const auto found = Find("no such host", std::chrono::seconds(30));
  EXPECT_EQ(found.code(), Code::kUnavailable);
  EXPECT_THAT(found.status().message(), HasSubstr("look up no such host: "));
}

TEST(ResolveTest, NobodyWaitsBeyondTheDeadline) {
  const auto found = Find("localhost", std::chrono::seconds(-1));
  if (found.ok()) return;  // It was quicker than we could look at the clock.
  EXPECT_EQ(found.code(), Code::kUnavailable);
  EXPECT_THAT(found.status().message(), HasSubstr("no answer by the deadline"));
}

}  // namespace
}  // namespace keymill::store
