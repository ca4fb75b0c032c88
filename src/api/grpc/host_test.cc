// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The program's side of gRPC, without gRPC: calls that go on when they are woken, give up in time,
// and do nothing once they are given up.

#include "api/grpc/host.h"

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/grpc/module_loader.h"
#include "api/http/http_test_support.h"
#include "support/fake_clock.h"
#include "support/temp_dir.h"

namespace keymill::api::grpc {
namespace {

using testing::HasSubstr;

// A call, and what wakes it.
template <typename CallType>
struct Woken {
  std::shared_ptr<Signal> signal = std::make_shared<Signal>();
  std::unique_ptr<CallType> call = {};

  Wake wake() {
    return [raised = signal] { raised->Raise(); };
  }
  // Continues until it is done or has failed.
  Step Finish() {
    Step step = call->Continue();
    while (step == Step::kLater) {
      EXPECT_TRUE(signal->Await());
      signal->Lower();
      step = call->Continue();
    }
    return step;
  }
};

TEST(GrpcHostTest, MintsLinesAndFindsKeyspacesInTheStore) {
  http::TestServer mint;
  BackendHost host(mint.service().backend());
  Woken<MintCall> orders;
  orders.call = host.Mint("orders", false, orders.wake());
  orders.call->wanted = 3;
  ASSERT_EQ(orders.Finish(), Step::kDone);
  EXPECT_EQ(orders.call->lines, "1\n2\n3\n");
  EXPECT_EQ(orders.call->taken, 3U);
  Woken<MintCall> unknown;
  unknown.call = host.Mint("unknown", false, unknown.wake());
  ASSERT_EQ(unknown.Finish(), Step::kFailed);
  EXPECT_EQ(unknown.call->problem().slug, "keyspace-not-found");
  EXPECT_EQ(unknown.call->problem().code, 5);
}

TEST(GrpcHostTest, ManyCallsAtOnceShareOutTheNumbers) {
  http::TestServer mint;
  BackendHost host(mint.service().backend());
  constexpr int kThreads = 4;
  std::vector<std::string> lines(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&host, &mine = lines[static_cast<std::size_t>(i)]] {
      for (int round = 0; round < 50; ++round) {
        Woken<MintCall> minted;
        minted.call = host.Mint("orders", true, minted.wake());
        minted.call->wanted = 20;
        EXPECT_EQ(minted.Finish(), Step::kDone);
        mine += minted.call->lines;
        host.Answered(Method::kMint, 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> all;
  for (const std::string& mine : lines) {
    for (std::string& key : http::Lines(mine)) all.push_back(std::move(key));
  }
  EXPECT_TRUE(http::AllDistinct(all));
  EXPECT_EQ(all.size(), mint.issued());
}

TEST(GrpcHostTest, WaitsForABlockAndTakesNothingBeforeIt) {
  const FakeClock clock;
  http::TestServer mint(clock);
  BackendHost host(mint.service().backend());
  Woken<MintCall> waiting;
  waiting.call = host.Mint("orders", false, waiting.wake());
  ASSERT_EQ(waiting.call->Continue(), Step::kLater);
  EXPECT_EQ(waiting.call->patience(), std::chrono::milliseconds(2'000));
  Woken<MintCall> given_up;
  given_up.call = host.Mint("orders", false, given_up.wake());
  ASSERT_EQ(given_up.call->Continue(), Step::kLater);
  given_up.call.reset();
  mint.Refill();
  ASSERT_EQ(waiting.Finish(), Step::kDone);
  EXPECT_EQ(waiting.call->lines, "1\n");
  EXPECT_EQ(mint.issued(), 1U);
}

TEST(GrpcHostTest, GivesUpAtTheDeadline) {
  FakeClock clock;
  http::TestServer mint(clock);
  BackendHost host(mint.service().backend());
  Woken<MintCall> waiting;
  waiting.call = host.Mint("orders", false, waiting.wake());
  ASSERT_EQ(waiting.call->Continue(), Step::kLater);
  clock.Advance(std::chrono::milliseconds(2'000));
  EXPECT_EQ(waiting.call->patience(), std::chrono::milliseconds(0));
  ASSERT_EQ(waiting.call->Continue(), Step::kFailed);
  EXPECT_EQ(waiting.call->problem().code, 4);
  EXPECT_EQ(waiting.call->problem().slug, "deadline");
}

// What waits in the queue behind a store that hangs is dropped with its caller.
TEST(GrpcHostTest, AClaimThatIsGivenUpInTheQueueIsNotMade) {
  http::TestServer mint;
  BackendHost host(mint.service().backend());
  mint.store().stuck = true;
  constexpr int kMoreThanThreads = 16;
  std::vector<Woken<AnswerCall<Explained>>> stuck(kMoreThanThreads);
  for (auto& each : stuck) {
    each.call = host.Explain("orders", "1", each.wake());
    ASSERT_EQ(each.call->Continue(), Step::kLater);
  }
  ASSERT_TRUE(mint.store().entered.Await());
  Woken<AnswerCall<Claimed>> claim;
  claim.call = host.Claim("default", "my-alias", "me", claim.wake());
  ASSERT_EQ(claim.call->Continue(), Step::kLater);
  claim.call.reset();
  mint.store().stuck = false;
  mint.store().released.Raise();
  for (auto& each : stuck) each.Finish();
  Woken<AnswerCall<Claimed>> other;
  other.call = host.Claim("default", "my-alias", "you", other.wake());
  ASSERT_EQ(other.Finish(), Step::kDone);
  EXPECT_FALSE(other.call->answer.existing);
}

TEST(GrpcHostTest, AStoreThatRemembersNoKeysSaysSo) {
  http::TestServer mint{http::Keyless()};
  BackendHost host(mint.service().backend());
  Woken<AnswerCall<Claimed>> claim;
  claim.call = host.Claim("", "my-alias", "me", claim.wake());
  ASSERT_EQ(claim.Finish(), Step::kFailed);
  EXPECT_EQ(claim.call->problem().slug, "not-supported-by-store");
  EXPECT_EQ(claim.call->problem().code, 12);
}

TEST(GrpcHostTest, IsReadyWhenTheMintIsAndNotWhileItDrains) {
  http::TestServer mint;
  BackendHost host(mint.service().backend());
  EXPECT_TRUE(host.Ready());
  mint.service().backend().SetDraining();
  EXPECT_FALSE(host.Ready());
}

TEST(GrpcHostTest, CountsByMethodAndCode) {
  http::TestServer mint;
  BackendHost host(mint.service().backend());
  host.Answered(Method::kDerive, 14);
  host.Answered(Method::kDerive, 14);
  MetricFamilies families;
  mint.service().metrics().Collect(families);
  host.metrics().Collect(families);
  const auto count = [&](const char* method, const char* status) {
    return families.Value("keymill_requests_total",
                          {{"frontend", "grpc"}, {"method", method}, {"status", status}});
  };
  EXPECT_EQ(count("Derive", "UNAVAILABLE"), 2);
  EXPECT_EQ(count("Mint", "OK"), 0);
  EXPECT_EQ(count("Mint", "INTERNAL"), -1);  // Not shown before it happens.
}

TEST(GrpcModuleTest, SaysWhereItLookedAndWhatItFound) {
  const TempDir directory;
  const std::string missing = (directory.path() / "missing.so").string();
  const std::string broken = (directory.path() / "broken.so").string();
  std::ofstream(broken) << "no library";
  const Result<Module> none = Module::Load({missing});
  EXPECT_EQ(none.code(), Code::kFailedPrecondition);
  EXPECT_THAT(none.status().message(), HasSubstr(missing));
  EXPECT_THAT(Module::Load({missing, broken}).status().message(), HasSubstr("load " + broken));
  ASSERT_EQ(ModulePaths().size(), 2U);
  EXPECT_THAT(ModulePaths()[0], HasSubstr(kModuleFile));
}

}  // namespace
}  // namespace keymill::api::grpc
