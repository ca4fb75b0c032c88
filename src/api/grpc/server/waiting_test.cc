// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Calls that wait: nothing is taken for a caller that is gone, and nobody waits for ever.

#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/grpc/server/grpc_test_support.h"

namespace keymill::api::grpc {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

// A Mint in a thread of its own.
class PendingMint {
 public:
  PendingMint(GrpcWorld& world, std::uint32_t count,
              milliseconds deadline = std::chrono::seconds(60))
      : context_(deadline), thread_([this, &world, count] {
          v1::MintRequest request;
          request.set_keyspace("orders");
          request.set_count(count);
          status_ = world.stub->Mint(&context_, request, &response_);
        }) {}
  ~PendingMint() {
    if (thread_.joinable()) thread_.join();
  }
  PendingMint(const PendingMint&) = delete;
  PendingMint& operator=(const PendingMint&) = delete;

  void Cancel() { context_.TryCancel(); }
  ::grpc::Status Await() {
    thread_.join();
    return status_;
  }
  [[nodiscard]] const v1::MintResponse& response() const { return response_; }

 private:
  Context context_;
  v1::MintResponse response_;
  ::grpc::Status status_;
  std::thread thread_;
};

class GrpcWaitingTest : public testing::Test {
 protected:
  // Comes back when a call of `method` has ended on the server like this.
  void AwaitAnswered(const char* method, const char* status) const {
    while (world_.Answered(method, status) < 1) std::this_thread::yield();
  }
  // Comes back when the server, too, has given up a Mint whose deadline its caller has met. It gets
  // to know of that a little later: by its own clock, or by the caller's word. On a machine that
  // was asleep meanwhile the call may never have been sent; hence the end.
  void AwaitGivenUp() const {
    const MonotonicTime end = SystemClock().Monotonic() + std::chrono::seconds(10);
    while (world_.Answered("Mint", "DEADLINE_EXCEEDED") + world_.Answered("Mint", "CANCELLED") <
               1 &&
           SystemClock().Monotonic() < end) {
      std::this_thread::yield();
    }
  }

  FakeClock clock_;
  GrpcWorld world_{clock_};
};

TEST_F(GrpcWaitingTest, ACallGoesOnWhenABlockArrives) {
  PendingMint mint(world_, 2);
  world_.AwaitWaiting("orders", 1);
  world_.mint.Refill();
  ASSERT_TRUE(mint.Await().ok());
  EXPECT_THAT(mint.response().keys(), ElementsAre("1", "2"));
}

TEST_F(GrpcWaitingTest, ADeadlineShorterThanTheWaitTakesNothing) {
  PendingMint mint(world_, 1, milliseconds(50));
  EXPECT_EQ(mint.Await().error_code(), ::grpc::StatusCode::DEADLINE_EXCEEDED);
  AwaitGivenUp();
  world_.mint.Refill();
  PendingMint next(world_, 1);
  ASSERT_TRUE(next.Await().ok());
  EXPECT_THAT(next.response().keys(), ElementsAre("1"));
  EXPECT_EQ(world_.Of("orders").stats().issued, 1U);
}

TEST_F(GrpcWaitingTest, ACancelledCallTakesNothing) {
  PendingMint mint(world_, 1);
  world_.AwaitWaiting("orders", 1);
  mint.Cancel();
  EXPECT_EQ(mint.Await().error_code(), ::grpc::StatusCode::CANCELLED);
  AwaitAnswered("Mint", "CANCELLED");
  world_.mint.Refill();
  EXPECT_EQ(world_.Of("orders").stats().issued, 0U);
  EXPECT_EQ(world_.Of("orders").stats().waiting, 0U);
}

TEST_F(GrpcWaitingTest, ACallEndsAtTheTimeoutOfTheServer) {
  world_.mint.service().backend().SetRequestTimeout(milliseconds(20));
  PendingMint mint(world_, 1);
  world_.AwaitWaiting("orders", 1);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(mint.Await().error_code(), ::grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(world_.Of("orders").stats().issued, 0U);
}

TEST_F(GrpcWaitingTest, BetterFewerKeysThanLostOnes) {
  world_.mint.service().backend().SetRequestTimeout(milliseconds(20));
  world_.mint.engine().WarmUp(world_.Of("orders"));
  world_.mint.Refill();
  const std::uint64_t ahead = world_.Of("orders").stats().ahead;
  ASSERT_GT(ahead, 0U);
  ASSERT_LT(ahead, kMintMax);
  PendingMint mint(world_, kMintMax);
  world_.AwaitWaiting("orders", 1);
  clock_.Advance(std::chrono::seconds(1));
  ASSERT_TRUE(mint.Await().ok());
  EXPECT_EQ(static_cast<std::uint64_t>(mint.response().keys_size()), ahead);
}

TEST_F(GrpcWaitingTest, StopCutsOffWhatTakesTooLong) {
  PendingMint mint(world_, 1);
  world_.AwaitWaiting("orders", 1);
  EXPECT_FALSE(world_.server->Stop(SystemClock().Monotonic() + milliseconds(20)));
  world_.server.reset();
  EXPECT_FALSE(mint.Await().ok());
  world_.mint.Refill();
  EXPECT_EQ(world_.Of("orders").stats().issued, 0U);
}

TEST_F(GrpcWaitingTest, ACancelledStreamStops) {
  v1::MintStreamRequest request;
  request.set_keyspace("orders");
  request.set_count(1'000);
  Context context;
  auto stream = world_.stub->MintStream(&context, request);
  world_.AwaitWaiting("orders", 1);
  context.TryCancel();
  AwaitAnswered("MintStream", "CANCELLED");
  world_.mint.Refill();
  EXPECT_EQ(world_.Of("orders").stats().issued, 0U);
  v1::MintStreamResponse message;
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), ::grpc::StatusCode::CANCELLED);
}

// However long it lasts, as long as it is read.
TEST(GrpcStreamTest, OneWhoseReaderTakesNothingIsCutOff) {
  GrpcWorld world;
  world.host.SetWriteTimeout(std::chrono::seconds(1));
  v1::MintStreamRequest request;
  request.set_count(kStreamMax);
  Context context;
  auto stream = world.stub->MintStream(&context, request);
  v1::MintStreamResponse message;
  const MonotonicTime end = SystemClock().Monotonic() + milliseconds(1'500);
  while (SystemClock().Monotonic() < end) ASSERT_TRUE(stream->Read(&message));
  const MonotonicTime stopped = SystemClock().Monotonic();
  while (world.Answered("MintStream", "CANCELLED") < 1) std::this_thread::yield();
  EXPECT_GE(SystemClock().Monotonic() - stopped, milliseconds(500));
  while (stream->Read(&message)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), ::grpc::StatusCode::CANCELLED);
  EXPECT_LT(world.Of("default").stats().issued, kStreamMax);
}

}  // namespace
}  // namespace keymill::api::grpc
