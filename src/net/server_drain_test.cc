// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A server that stops: who is answered, who is closed, and when it ends.

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "net/server.h"
#include "net/server_test_support.h"

namespace keymill::net {
namespace {

// Connections in the accept queue and requests in sockets were sent in good faith: they are
// answered although the server has decided to stop before it saw them.
TEST(ServerDrainTest, ADrainAnswersWhatHasReachedTheMachine) {
  Shared shared;
  auto server = StartServer(shared);
  const std::uint16_t port = server->port();
  Client early(port);
  ASSERT_TRUE(early.Send("echo early\n"));
  ASSERT_EQ(early.ReadLine(), "early\n");
  Client blocker(port);
  ASSERT_TRUE(blocker.Send("block\n"));
  ASSERT_TRUE(shared.entered.Await());  // From here on the only loop stands still.
  std::vector<std::unique_ptr<Client>> queued;
  for (int i = 0; i < 50; ++i) {
    queued.push_back(std::make_unique<Client>(port));
    ASSERT_TRUE(queued.back()->connected());
    ASSERT_TRUE(queued.back()->Send("echo 1\necho 2\n"));
  }
  ASSERT_TRUE(early.Send("echo late\n"));
  bool drained = false;
  std::thread drainer([&] { drained = server->Drain(20s); });
  shared.release.Raise();
  EXPECT_EQ(blocker.ReadLine(), "released\n");
  EXPECT_EQ(early.ReadLine(), "late\n");
  for (const auto& client : queued) {
    EXPECT_EQ(client->ReadToEnd(), "1\n2\n");
    client->FinishSending();
  }
  EXPECT_EQ(early.ReadToEnd(), "");
  early.FinishSending();
  EXPECT_EQ(blocker.ReadToEnd(), "");
  blocker.FinishSending();
  drainer.join();
  EXPECT_TRUE(drained);
  EXPECT_FALSE(Client(port).connected());
  server.reset();
  EXPECT_EQ(shared.sessions, 0);

  const auto next = StartServer(shared, {.port = port});  // The port is free again.
  ASSERT_NE(next, nullptr);
  Client client(port);
  ASSERT_TRUE(client.Send("echo again\n"));
  EXPECT_EQ(client.ReadLine(), "again\n");
}

TEST(ServerDrainTest, ADrainAnswersWhatLiesBehindAParkedRequest) {
  Shared shared;
  const auto server = StartServer(shared);
  Client client(server->port());
  ASSERT_TRUE(client.Send("park\n"));
  ASSERT_TRUE(shared.parked.Await());
  ASSERT_TRUE(client.Send("echo 1\necho 2\n"));
  bool drained = false;
  std::thread drainer([&] { drained = server->Drain(20s); });
  for (bool draining = false; !draining;) {  // A new connection is closed behind its answer.
    Client probe(server->port());
    ASSERT_TRUE(probe.Send("echo x\n"));
    ASSERT_EQ(probe.ReadLine(), "x\n");
    draining = probe.Readable(1s);
  }
  shared.waker()();
  EXPECT_EQ(client.ReadToEnd(), "woken\n1\n2\n");
  client.FinishSending();
  drainer.join();
  EXPECT_TRUE(drained);
}

// A probe comes on a connection of its own. It must be answered as long as work is in flight,
// and it must not be what keeps the server.
TEST(ServerDrainTest, ADrainAnswersNewConnectionsWhileOldOnesAreServed) {
  Shared shared;
  const auto server = StartServer(shared, {}, {.threads = 2});
  const std::uint16_t port = server->port();
  Client busy(port);
  ASSERT_TRUE(busy.Send("park\n"));
  ASSERT_TRUE(shared.parked.Await());
  const Waker old = shared.waker();
  Client idle(port);
  ASSERT_TRUE(idle.Send("echo a\n"));
  ASSERT_EQ(idle.ReadLine(), "a\n");
  bool drained = false;
  std::thread drainer([&] { drained = server->Drain(20s); });
  EXPECT_EQ(idle.ReadToEnd(), "");  // Closed, after a while: the drain has begun.
  idle.FinishSending();
  for (int i = 0; i < 5; ++i) {
    Client probe(port);
    ASSERT_TRUE(probe.connected());
    ASSERT_TRUE(probe.Send("echo ready?\n"));
    EXPECT_EQ(probe.ReadToEnd(), "ready?\n");
  }
  Client late(port);  // In flight itself, but not from before.
  ASSERT_TRUE(late.Send("nap 3000\n"));
  old();
  EXPECT_EQ(busy.ReadToEnd(), "woken\n");
  const MonotonicTime deadline = SystemClock().Monotonic() + 2s;
  while (Client(port).connected() && SystemClock().Monotonic() < deadline) {
    ::poll(nullptr, 0, 10);
  }
  EXPECT_FALSE(Client(port).connected());
  EXPECT_EQ(late.ReadLine(), "woken\n");
  late.FinishSending();
  drainer.join();
  EXPECT_TRUE(drained);
}

// A probe that has connected but not yet asked is not idle for long: it may still ask.
TEST(ServerDrainTest, ADrainLeavesANewConnectionTimeToAsk) {
  Shared shared;
  const auto server = StartServer(shared);
  Client busy(server->port());
  ASSERT_TRUE(busy.Send("park\n"));
  ASSERT_TRUE(shared.parked.Await());
  Client idle(server->port());
  std::thread drainer([&] { EXPECT_TRUE(server->Drain(20s)); });
  EXPECT_EQ(idle.ReadToEnd(), "");
  for (int i = 0; i < 12; ++i) {
    Client probe(server->port());
    EXPECT_FALSE(probe.Readable(100ms)) << "closed before it could ask";
    ASSERT_TRUE(probe.Send("echo ready?\n"));
    EXPECT_EQ(probe.ReadToEnd(), "ready?\n");
  }
  shared.waker()();
  drainer.join();
}

// A pool of idle connections notices the end of each in its own time. Those that it would hand
// out last go first, and only a part of them at a time.
TEST(ServerDrainTest, ADrainClosesIdleConnectionsLittleByLittleTheLongestIdleFirst) {
  constexpr std::size_t kCount = 100;
  Shared shared;
  const auto server = StartServer(shared);
  std::vector<std::unique_ptr<Client>> pool;
  for (std::size_t i = 0; i < kCount; ++i) {
    pool.push_back(std::make_unique<Client>(server->port()));
    ASSERT_TRUE(pool.back()->Send("echo x\n"));
    ASSERT_EQ(pool.back()->ReadLine(), "x\n");
  }
  std::thread drainer([&] { EXPECT_TRUE(server->Drain(20s)); });
  std::size_t closed = 0;
  std::size_t most_at_once = 0;
  while (closed < kCount) {
    ASSERT_TRUE(pool[closed]->Readable(20s));
    // From the youngest on: whoever is closed when it is looked at, all older ones are as well.
    std::size_t now_closed = kCount;
    while (now_closed > 0 && !pool[now_closed - 1]->Readable(0ms)) --now_closed;
    for (std::size_t i = closed; i < now_closed; ++i) {
      ASSERT_TRUE(pool[i]->Readable(0ms)) << i << " of " << now_closed;
    }
    most_at_once = std::max(most_at_once, now_closed - closed);
    closed = now_closed;
  }
  drainer.join();
  EXPECT_LT(most_at_once, kCount);
}

// As long as requests come on some connections of a pool, they use up the others one by one.
TEST(ServerDrainTest, ADrainLeavesIdleConnectionsOpenWhileOthersOfThemAreUsed) {
  Shared shared;
  const auto server = StartServer(shared);
  std::vector<std::unique_ptr<Client>> pool;
  for (int i = 0; i < 24; ++i) pool.push_back(std::make_unique<Client>(server->port()));
  ASSERT_TRUE(pool.front()->Send("echo x\n"));  // By its answer all of them are accepted.
  ASSERT_EQ(pool.front()->ReadLine(), "x\n");
  std::thread drainer([&] { EXPECT_TRUE(server->Drain(20s)); });
  MonotonicTime used = SystemClock().Monotonic();
  for (int i = 0; i < 12; ++i) {
    const bool closed = pool.front()->Readable(100ms);
    // Unless this thread stood still for so long that nobody seemed to ask any more.
    if (SystemClock().Monotonic() - used < 400ms) {
      EXPECT_FALSE(closed) << i;
      ASSERT_TRUE(pool.back()->Send("echo x\n"));
      EXPECT_EQ(pool.back()->ReadToEnd(), "x\n");
    }
    pool.pop_back();
    used = SystemClock().Monotonic();
  }
  for (const auto& idle : pool) EXPECT_EQ(idle->ReadToEnd(), "");
  drainer.join();
}

TEST(ServerDrainTest, ADrainWithNothingInFlightIsImmediate) {
  Shared shared;
  const auto server = StartServer(shared, {}, {.threads = 2});
  const MonotonicTime began = SystemClock().Monotonic();
  EXPECT_TRUE(server->Drain(20s));
  EXPECT_LT(SystemClock().Monotonic() - began, 400ms);
}

TEST(ServerDrainTest, ADrainEndsAtItsDeadline) {
  Shared shared;
  const auto server = StartServer(shared);
  Client client(server->port());
  ASSERT_TRUE(client.Send("park\n"));
  ASSERT_TRUE(shared.parked.Await());
  EXPECT_FALSE(server->Drain(20ms));
  EXPECT_EQ(server->connections(), 1U);
}

TEST(ServerDrainTest, ADrainOfAStuckLoopEndsAtItsDeadline) {
  Shared shared;
  const auto server = StartServer(shared);
  Client client(server->port());
  ASSERT_TRUE(client.Send("block\n"));
  ASSERT_TRUE(shared.entered.Await());
  EXPECT_FALSE(server->Drain(20ms));
  shared.release.Raise();
}

}  // namespace
}  // namespace keymill::net
