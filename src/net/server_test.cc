// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Real sockets on the loopback, and a protocol of lines that makes every corner reachable.

#include "net/server.h"

#include <atomic>
#include <charconv>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mutex.h"

namespace keymill::net {
namespace {

using namespace std::chrono_literals;

// A flag that one thread raises and another waits for.
class Signal {
 public:
  void Raise() {
    const MutexLock lock(mu_);
    raised_ = true;
    changed_.NotifyAll();
  }
  bool Await() {
    const MonotonicTime deadline = SystemClock().Monotonic() + 20s;
    const MutexLock lock(mu_);
    while (!raised_) {
      if (!changed_.WaitUntil(mu_, deadline) && !raised_) return false;
    }
    return true;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  bool raised_ KEYMILL_GUARDED_BY(mu_) = false;
};

// What the sessions of one server share with the test.
struct Shared {
  Signal entered;  // A session has reached "block".
  Signal release;  // Lets it go on.
  Mutex mu;
  std::vector<Waker> wakers KEYMILL_GUARDED_BY(mu);  // Of sessions that said "park".
  Signal parked;
  std::atomic<std::size_t> output_max{0};
  std::atomic<int> sessions{0};

  Waker waker() {
    const MutexLock lock(mu);
    return wakers.empty() ? Waker() : wakers.back();
  }
};

// Answers every line: "echo X" with X, "big N" with N bytes in pieces, "park" once it is
// woken, "nap N" after N ms, "block" once the test lets it (the loop stands still until
// then), "quit" with "bye" and the end of the connection.
class LineSession final : public Session {
 public:
  LineSession(Shared& shared, Waker waker) : shared_(shared), waker_(std::move(waker)) {
    ++shared_.sessions;
  }
  ~LineSession() override { --shared_.sessions; }

  Step Advance(std::string_view input, std::string& output) override {
    Step step = Work(input, output);
    if (output.size() > shared_.output_max) shared_.output_max = output.size();
    return step;
  }
  void OnTimeout(std::string& output) override { output += "too slow\n"; }
  void OnDrain() override { draining_ = true; }

 private:
  Step Work(std::string_view input, std::string& output) {
    if (std::exchange(parked_, false)) output += "woken\n";
    std::size_t consumed = 0;
    for (;;) {
      if (left_ > 0) {
        const std::size_t piece = std::min<std::size_t>(left_, 64 * 1024);
        output.append(piece, 'x');
        left_ -= piece;
        if (left_ > 0) return {.consumed = consumed, .want = Want::kFlush};
      }
      const std::size_t end = input.find('\n', consumed);
      if (end == std::string_view::npos) break;
      const std::string_view line = input.substr(consumed, end - consumed);
      consumed = end + 1;
      if (line == "quit") {
        output += "bye\n";
        return {.consumed = input.size(), .want = Want::kClose};
      }
      if (line == "park" || line.starts_with("nap ")) return Park(line, consumed);
      Answer(line, output);
    }
    const bool rest = consumed < input.size();
    if (draining_ && !rest && consumed > 0) return {.consumed = consumed, .want = Want::kClose};
    return {.consumed = consumed, .want = Want::kInput, .in_request = rest};
  }

  void Answer(std::string_view line, std::string& output) {
    if (line.starts_with("big ")) left_ = Number(line.substr(4));
    if (line.starts_with("echo ")) output.append(line.substr(5)).append("\n");
    if (line == "block") {
      shared_.entered.Raise();
      shared_.release.Await();
      output += "released\n";
    }
  }

  Step Park(std::string_view line, std::size_t consumed) {
    parked_ = true;
    Step step{.consumed = consumed, .want = Want::kWake};
    if (line == "park") {
      const MutexLock lock(shared_.mu);
      shared_.wakers.push_back(waker_);
      shared_.parked.Raise();
    } else {
      step.wake_at = SystemClock().Monotonic() + std::chrono::milliseconds(Number(line.substr(4)));
    }
    return step;
  }

  static std::size_t Number(std::string_view text) {
    std::size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  Shared& shared_;
  const Waker waker_;
  std::size_t left_ = 0;
  bool parked_ = false;
  bool draining_ = false;
};

std::unique_ptr<Server> StartServer(Shared& shared, const ServerOptions& options = {}) {
  Result<std::unique_ptr<Server>> server =
      Server::Start(options, [&shared](Waker waker) -> std::unique_ptr<Session> {
        return std::make_unique<LineSession>(shared, std::move(waker));
      });
  EXPECT_TRUE(server.ok()) << server.status().message();
  return server.ok() ? *std::move(server) : nullptr;
}

// A blocking client. Whatever does not happen within seconds fails its test.
class Client {
 public:
  Client() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {}
  explicit Client(std::uint16_t port, int receive_buffer = 0) : Client() {
    if (receive_buffer > 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    Connect(port);
  }
  bool Connect(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    return connected_;
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }

  // False when the other side has gone.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void FinishSending() { ::shutdown(socket_, SHUT_WR); }
  // Its end will be a reset.
  void Reset() {
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

  // Reads until `size` bytes are here or the other side has closed.
  std::string Read(std::size_t size) {
    std::string bytes;
    std::vector<char> buffer(64 * 1024);
    while (bytes.size() < size) {
      pollfd ready{socket_, POLLIN, 0};
      if (::poll(&ready, 1, 20'000) != 1) {
        ADD_FAILURE() << "nothing arrives behind " << bytes.size() << " bytes";
        break;
      }
      const ssize_t got =
          ::recv(socket_, buffer.data(), std::min(buffer.size(), size - bytes.size()), 0);
      if (got < 0) bytes += "<reset>";
      if (got <= 0) break;
      bytes.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return bytes;
  }
  std::string ReadLine() {
    std::string line;
    while (!line.ends_with('\n')) {
      const std::string byte = Read(1);
      if (byte.size() != 1) return line + byte;
      line += byte;
    }
    return line;
  }
  std::string ReadToEnd() { return Read(1 << 30); }
  // Whether something, or the end, is there to be read within `timeout`.
  bool Readable(std::chrono::milliseconds timeout) {
    pollfd ready{socket_, POLLIN, 0};
    return ::poll(&ready, 1, static_cast<int>(timeout.count())) == 1;
  }

 private:
  const int socket_;
  bool connected_ = false;
};

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
  const auto server = StartServer(shared, {.threads = 3});
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
  for (int i = 0; i < 200 && !client.Readable(20ms); ++i) client.Send("x");
  EXPECT_EQ(client.ReadToEnd(), "too slow\n");
}

// The loop stood still, and all deadlines have passed: who has sent its request is answered.
TEST(ServerTest, AStandstillOfTheLoopTimesNobodyOut) {
  Shared shared;
  ServerOptions options;
  options.idle_timeout = options.request_timeout = 300ms;
  const auto server = StartServer(shared, options);
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
      StartServer(shared, {.connections_max = 2, .busy_answer = "503 come back later\n"});
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

TEST(ServerTest, APortInUseIsNamed) {
  Shared shared;
  const auto server = StartServer(shared);
  const auto second =
      Server::Start({.port = server->port()}, [](Waker) { return std::unique_ptr<Session>(); });
  ASSERT_EQ(second.code(), Code::kAlreadyExists);
  EXPECT_NE(second.status().message().find(std::to_string(server->port())), std::string::npos);
  const auto nowhere =
      Server::Start({.address = "nonsense"}, [](Waker) { return std::unique_ptr<Session>(); });
  EXPECT_EQ(nowhere.code(), Code::kInvalidArgument);
  const auto elsewhere =
      Server::Start({.address = "192.0.2.1"}, [](Waker) { return std::unique_ptr<Session>(); });
  EXPECT_EQ(elsewhere.code(), Code::kInvalidArgument);
}

// Connections in the accept queue and requests in sockets were sent in good faith: they are
// answered although the server has decided to stop before it saw them.
TEST(ServerTest, ADrainAnswersWhatHasReachedTheMachine) {
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

TEST(ServerTest, ADrainAnswersWhatLiesBehindAParkedRequest) {
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
TEST(ServerTest, ADrainAnswersNewConnectionsWhileOldOnesAreServed) {
  Shared shared;
  const auto server = StartServer(shared, {.threads = 2});
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
TEST(ServerTest, ADrainLeavesANewConnectionTimeToAsk) {
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

TEST(ServerTest, ADrainWithNothingInFlightIsImmediate) {
  Shared shared;
  const auto server = StartServer(shared, {.threads = 2});
  const MonotonicTime began = SystemClock().Monotonic();
  EXPECT_TRUE(server->Drain(20s));
  EXPECT_LT(SystemClock().Monotonic() - began, 400ms);
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

TEST(ServerTest, ADrainEndsAtItsDeadline) {
  Shared shared;
  const auto server = StartServer(shared);
  Client client(server->port());
  ASSERT_TRUE(client.Send("park\n"));
  ASSERT_TRUE(shared.parked.Await());
  EXPECT_FALSE(server->Drain(20ms));
  EXPECT_EQ(server->connections(), 1U);
}

TEST(ServerTest, ADrainOfAStuckLoopEndsAtItsDeadline) {
  Shared shared;
  const auto server = StartServer(shared);
  Client client(server->port());
  ASSERT_TRUE(client.Send("block\n"));
  ASSERT_TRUE(shared.entered.Await());
  EXPECT_FALSE(server->Drain(20ms));
  shared.release.Raise();
}

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
  const auto server = StartServer(shared, {.threads = 2});
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
  auto server = StartServer(shared, {.threads = 2});
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
