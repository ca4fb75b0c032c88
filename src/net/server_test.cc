// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "net/server.h"

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "net/server_test_support.h"

namespace keymill::net {
namespace {

TEST(ServerTest, AnswersInOrder) {
  Shared shared;
  const auto server = StartServer(shared);
  Client client(server->port());
  ASSERT_TRUE(client.Send("echo a\necho b\nec"));
  EXPECT_EQ(client.Read(4), "a\nb\n");
  ASSERT_TRUE(client.Send("ho c\n"));
  EXPECT_EQ(client.ReadLine(), "c\n");
  ASSERT_TRUE(client.Send("quit\necho never\n"));
  EXPECT_EQ(client.ReadToEnd(), "bye\n");
}

TEST(ServerTest, ServesManyConnectionsOnSeveralLoops) {
  Shared shared;
  const auto server = StartServer(shared, {}, {.threads = 3});
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(std::make_unique<Client>(server->port()));
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      ASSERT_TRUE(clients[i]->Send("echo " + std::to_string(i) + "\n"));
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
      ASSERT_EQ(clients[i]->ReadLine(), std::to_string(i) + "\n");
    }
  }
  EXPECT_EQ(server->connections(), 300U);
  for (const auto& client : clients) client->Send("quit\n");
  for (const auto& client : clients) EXPECT_EQ(client->ReadToEnd(), "bye\n");
}

TEST(ServerTest, ARequestLongerThanAnyBufferArrivesWhole) {
  Shared shared;
  const auto server = StartServer(shared);
  Client client(server->port());
  const std::string text(300'000, 'y');
  std::thread sender([&] { EXPECT_TRUE(client.Send("echo " + text + "\n")); });
  EXPECT_TRUE(client.Read(text.size() + 1) == text + "\n");
  sender.join();
}

// 64 MiB to a client that reads late: the server asks the session for one piece at a time.
TEST(ServerTest, ASlowReaderHoldsBackTheSession) {
  Shared shared;
  const auto server = StartServer(shared);
  Client slow(server->port(), 4096);
  constexpr std::size_t kSize = std::size_t{64} << 20;
  ASSERT_TRUE(slow.Send("big " + std::to_string(kSize) + "\necho end\n"));
  Client other(server->port());  // Is served meanwhile.
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(other.Send("echo a\n"));
    ASSERT_EQ(other.ReadLine(), "a\n");
  }
  std::size_t got = 0;
  while (got < kSize) {
    const std::size_t piece = slow.Read(std::min<std::size_t>(kSize - got, 1 << 20)).size();
    ASSERT_GT(piece, 0U);
    got += piece;
  }
  EXPECT_EQ(slow.ReadLine(), "end\n");
  EXPECT_LE(shared.output_max, 128U * 1024);
}

TEST(ServerTest, AnIdleConnectionIsClosed) {
  Shared shared;
  const auto server = StartServer(shared, {.idle_timeout = 50ms});
  Client silent(server->port());
  Client used(server->port());
  ASSERT_TRUE(used.Send("echo a\n"));
  EXPECT_EQ(used.ReadToEnd(), "a\n");
  EXPECT_EQ(silent.ReadToEnd(), "");
}

// H18
TEST(ServerTest, ARequestThatDoesNotArriveIsTimedOutHoweverItDrips) {
  Shared shared;
  const auto server = StartServer(shared, {.request_timeout = 600ms});
  Client client(server->port());
  ASSERT_TRUE(client.Send("echo first\necho "));
  EXPECT_EQ(client.ReadLine(), "first\n");
  int drips = 0;
  for (; drips < 200 && !client.Readable(20ms); ++drips) client.Send("x");
  EXPECT_LT(drips, 200);
  EXPECT_EQ(client.ReadToEnd(), "too slow\n");
}

TEST(ServerTest, ASessionThatTakesWhatDripsGetsNoMoreTime) {
  Shared shared;
  const auto server = StartServer(shared, {.request_timeout = 600ms});
  Client client(server->port());
  ASSERT_TRUE(client.Send("eat\necho "));
  int drips = 0;
  for (; drips < 200 && !client.Readable(20ms); ++drips) client.Send("x");
  EXPECT_LT(drips, 200);
  EXPECT_EQ(client.ReadToEnd(), "too slow\n");
}

TEST(ServerTest, WhoKeepsSomethingIsIdleForAShorterTime) {
  Shared shared;
  const auto server = StartServer(shared, {.holding_timeout = 50ms});
  Client idle(server->port());
  Client holding(server->port());
  ASSERT_TRUE(holding.Send("hold\necho held\n"));
  EXPECT_EQ(holding.ReadToEnd(), "held\n");
  ASSERT_TRUE(idle.Send("echo there\n"));
  EXPECT_EQ(idle.ReadLine(), "there\n");
}

// The loop stood still, and all deadlines have passed: who has sent its request is answered.
TEST(ServerTest, AStandstillOfTheLoopTimesNobodyOut) {
  Shared shared;
  Endpoint endpoint;
  endpoint.idle_timeout = endpoint.request_timeout = 300ms;
  const auto server = StartServer(shared, endpoint);
  Client blocker(server->port());
  Client idle(server->port());
  Client begun(server->port());
  ASSERT_TRUE(begun.Send("echo beg"));
  ASSERT_TRUE(blocker.Send("block\n"));
  ASSERT_TRUE(shared.entered.Await());
  ASSERT_TRUE(begun.Send("un\n"));
  ASSERT_TRUE(idle.Send("echo idle\n"));
  EXPECT_FALSE(idle.Readable(900ms)) << "the loop stands still";
  shared.release.Raise();
  EXPECT_EQ(idle.ReadLine(), "idle\n");
  EXPECT_EQ(begun.ReadLine(), "begun\n");
}

TEST(ServerTest, AReaderThatTakesNothingIsClosed) {
  Shared shared;
  const auto server = StartServer(shared, {.write_timeout = 50ms});
  Client client(server->port(), 4096);
  ASSERT_TRUE(client.Send("echo a\n"));
  ASSERT_EQ(client.ReadLine(), "a\n");
  ASSERT_TRUE(client.Send("big 100000000\n"));
  const MonotonicTime deadline = SystemClock().Monotonic() + 20s;
  while (server->connections() > 0 && SystemClock().Monotonic() < deadline) {
    ::poll(nullptr, 0, 10);
  }
  EXPECT_EQ(server->connections(), 0U);
  EXPECT_LT(client.ReadToEnd().size(), 100'000'000U);
}

TEST(ServerTest, TurnsAwayWhoIsOneTooMany) {
  Shared shared;
  const auto server =
      StartServer(shared, {.busy_answer = "503 come back later\n"}, {.connections_max = 2});
  Client first(server->port());
  Client second(server->port());
  for (Client* const client : {&first, &second}) {
    ASSERT_TRUE(client->Send("echo a\n"));
    ASSERT_EQ(client->ReadLine(), "a\n");
  }
  Client third(server->port());
  EXPECT_EQ(third.ReadToEnd(), "503 come back later\n");
  EXPECT_EQ(server->connections(), 2U);
  ASSERT_TRUE(first.Send("quit\n"));
  EXPECT_EQ(first.ReadToEnd(), "bye\n");
  first.FinishSending();
  const MonotonicTime deadline = SystemClock().Monotonic() + 20s;
  while (server->connections() > 1 && SystemClock().Monotonic() < deadline) {
    ::poll(nullptr, 0, 5);
  }
  Client fourth(server->port());  // There is room again.
  ASSERT_TRUE(fourth.Send("echo a\n"));
  EXPECT_EQ(fourth.ReadLine(), "a\n");
}

// Each endpoint has its own protocol and its own deadlines; the loops and the limit are shared.
TEST(ServerTest, SeveralEndpointsShareTheLoops) {
  Shared patient;
  Shared hasty;
  Server server({.threads = 2, .connections_max = 2});
  const auto slow = server.Listen({.busy_answer = "no room here\n"}, LineSessions(patient));
  const auto fast = server.Listen({.idle_timeout = 50ms}, LineSessions(hasty));
  ASSERT_TRUE(slow.ok() && fast.ok());
  ASSERT_NE(*slow, *fast);
  server.Run();
  Client stays(*slow);
  ASSERT_TRUE(stays.Send("echo a\n"));
  ASSERT_EQ(stays.ReadLine(), "a\n");
  {
    Client goes(*fast);
    Client third(*slow);
    EXPECT_EQ(third.ReadToEnd(), "no room here\n");
    EXPECT_EQ(goes.ReadToEnd(), "");  // Idle for too long.
  }
  ASSERT_TRUE(stays.Send("echo b\n"));
  EXPECT_EQ(stays.ReadLine(), "b\n");
  EXPECT_EQ(server.counts(*slow).accepted, 2U);
  EXPECT_EQ(server.counts(*slow).turned_away, 1U);
  EXPECT_EQ(server.counts(*slow).open, 1U);
  EXPECT_EQ(server.counts(*fast).accepted, 1U);
  EXPECT_EQ(server.counts(1).accepted, 0U) << "nobody listens there";
  EXPECT_TRUE(server.Drain(20s));
  for (const auto& port : {*slow, *fast}) {
    Client late;
    EXPECT_FALSE(late.Connect(port)) << "both listeners are closed";
  }
}

TEST(ServerTest, APortInUseIsNamed) {
  Shared shared;
  const auto server = StartServer(shared);
  Server other({});
  const auto second = other.Listen({.port = server->port()}, LineSessions(shared));
  ASSERT_EQ(second.code(), Code::kAlreadyExists);
  EXPECT_NE(second.status().message().find(std::to_string(server->port())), std::string::npos);
  const auto nowhere = other.Listen({.address = "nonsense"}, LineSessions(shared));
  EXPECT_EQ(nowhere.code(), Code::kInvalidArgument);
  const auto elsewhere = other.Listen({.address = "192.0.2.1"}, LineSessions(shared));
  EXPECT_EQ(elsewhere.code(), Code::kInvalidArgument);
}

#if !defined(__SANITIZE_ADDRESS__)  // Its vptr check opens pipes, which there is no room for.
TEST(ServerTest, RunningOutOfFilesIsToldOnceASecond) {
  Shared shared;
  const auto server = StartServer(shared);
  const int next = ::dup(0);  // The lowest that is free.
  ::close(next);
  Client waiting;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = static_cast<rlim_t>(next) + 1, .rlim_max = before.rlim_max};
  testing::internal::CaptureStderr();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_TRUE(waiting.Connect(server->port()));
  EXPECT_FALSE(waiting.Readable(700ms));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(waiting.Send("echo a\n"));
  EXPECT_EQ(waiting.ReadLine(), "a\n");  // And it recovers.
  const std::string log = testing::internal::GetCapturedStderr();
  const std::size_t first = log.find("accept on port");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(log.find("accept on port", first + 1), std::string::npos) << log;
}
#endif

TEST(ServerTest, AHalfClosedClientGetsItsReplies) {
  Shared shared;
  const auto server = StartServer(shared);
  Client client(server->port());
  ASSERT_TRUE(client.Send("echo a\nbig 5000000\nnap 10\necho b\n"));
  client.FinishSending();
  const std::string all = client.ReadToEnd();
  EXPECT_EQ(all.size(), 2 + 5'000'000U + std::string_view("woken\nb\n").size());
  EXPECT_TRUE(all.ends_with("xwoken\nb\n"));
}

TEST(ServerTest, AnyThreadMayWakeASession) {
  Shared shared;
  const auto server = StartServer(shared, {}, {.threads = 2});
  Client client(server->port());
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(client.Send("echo before\npark\necho after\n"));
    EXPECT_EQ(client.ReadLine(), "before\n");
    Waker waker;
    while (!waker) {
      shared.parked.Await();
      waker = shared.waker();
    }
    std::thread([&] {
      waker();
      waker();  // Once too often.
    }).join();
    ASSERT_EQ(client.ReadLine(), "woken\n");
    ASSERT_EQ(client.ReadLine(), "after\n");
    const MutexLock lock(shared.mu);
    shared.wakers.clear();
  }
}

TEST(ServerTest, WhatIsWrittenBeforeAParkedRequestLeavesMeanwhile) {
  Shared shared;
  const auto server = StartServer(shared);
  Client client(server->port(), 4096);
  const std::string text(4'000'000, 'z');  // More than the sockets hold.
  std::thread sender([&] { client.Send("echo " + text + "\npark\n"); });
  EXPECT_EQ(client.Read(text.size() + 1).size(), text.size() + 1);
  sender.join();
  ASSERT_TRUE(shared.parked.Await());
  shared.waker()();
  EXPECT_EQ(client.ReadLine(), "woken\n");
}

TEST(ServerTest, AParkedSessionEndsWithItsPeer) {
  Shared shared;
  const auto server = StartServer(shared);
  {
    Client client(server->port());
    ASSERT_TRUE(client.Send("park\necho x\n"));
    ASSERT_TRUE(shared.parked.Await());
    client.Reset();
  }
  const MonotonicTime deadline = SystemClock().Monotonic() + 20s;
  while (server->connections() > 0 && SystemClock().Monotonic() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(server->connections(), 0U);
}

TEST(ServerTest, AWakeUpAfterTheEndIsHarmless) {
  Shared shared;
  auto server = StartServer(shared);
  {
    Client client(server->port());
    ASSERT_TRUE(client.Send("park\n"));
    ASSERT_TRUE(shared.parked.Await());
  }
  const Waker waker = shared.waker();
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) waker();
  });
  server.reset();
  stop = true;
  other.join();
  waker();
  EXPECT_EQ(shared.sessions, 0);
}

// Whoever is still sending when it is refused must be able to read why.
TEST(ServerTest, LastWordsSurviveInputThatNobodyReads) {
  Shared shared;
  const auto server = StartServer(shared);
  for (int i = 0; i < 20; ++i) {
    Client client(server->port());
    ASSERT_TRUE(client.Send("quit\n"));
    const std::string junk(1'000'000, 'j');
    client.Send(junk);
    client.Send(junk);
    EXPECT_EQ(client.ReadToEnd(), "bye\n");
  }
}

TEST(ServerTest, ADyingServerCutsOffWhatIsOpen) {
  Shared shared;
  auto server = StartServer(shared, {}, {.threads = 2});
  std::vector<std::unique_ptr<Client>> clients;
  for (const std::string line : {"echo a\n", "park\n", "big 100000000\n", "nap 60000\n", "echo"}) {
    clients.push_back(std::make_unique<Client>(server->port()));
    ASSERT_TRUE(clients.back()->Send(line));
  }
  EXPECT_EQ(clients.front()->ReadLine(), "a\n");
  ASSERT_TRUE(shared.parked.Await());
  server.reset();
  EXPECT_EQ(shared.sessions, 0);
}

}  // namespace
}  // namespace keymill::net
