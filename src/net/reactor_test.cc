// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "net/reactor.h"

#include <array>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace keymill::net {
namespace {

using namespace std::chrono_literals;

struct Pair {
  Pair() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds.data()), 0);
    ours = Descriptor(fds[0]);
    theirs = Descriptor(fds[1]);
  }
  void Send() const { EXPECT_EQ(::send(theirs.get(), "x", 1, 0), 1); }
  void Take() const {
    char byte = 0;
    EXPECT_EQ(::recv(ours.get(), &byte, 1, 0), 1);
  }
  Descriptor ours;
  Descriptor theirs;
};

// Calls what it is given, with the events.
class Calls final : public Watcher {
 public:
  explicit Calls(std::function<void(std::uint32_t)> work) : work_(std::move(work)) {}
  void OnEvents(std::uint32_t events) override { work_(events); }

 private:
  const std::function<void(std::uint32_t)> work_;
};

TEST(ReactorTest, TellsOfWhatIsWatchedForAsLongAsItIsSo) {
  Reactor reactor;
  const Pair pair;
  pair.Send();
  pair.Send();
  std::vector<std::uint32_t> seen;
  Calls watcher([&](std::uint32_t events) {
    seen.push_back(events);
    if (seen.size() == 1) return reactor.Change(pair.ours.get(), kReadable | kWritable, watcher);
    pair.Take();
    if (seen.size() == 3) reactor.Stop();
  });
  ASSERT_TRUE(reactor.Add(pair.ours.get(), kReadable, watcher));
  reactor.Run();
  EXPECT_EQ(seen,
            (std::vector<std::uint32_t>{kReadable, kReadable | kWritable, kReadable | kWritable}));
}

TEST(ReactorTest, TellsOfTheOtherSidesEndUnasked) {
  Reactor reactor;
  Pair pair;
  std::uint32_t seen = 0;
  Calls watcher([&](std::uint32_t events) {
    seen = events;
    reactor.Stop();
  });
  ASSERT_TRUE(reactor.Add(pair.ours.get(), 0, watcher));
  pair.theirs.Close();
  reactor.Run();
  EXPECT_EQ(seen, kBroken);
}

TEST(ReactorTest, WhoIsCalledAgainWaitsForTheOthers) {
  Reactor reactor;
  const Pair pair;
  std::string order;
  Calls eager([&](std::uint32_t events) {
    EXPECT_EQ(events, kAgain);
    order += 'a';
    if (order.size() >= 6) return reactor.Stop();
    reactor.Again(eager);
  });
  Calls other([&](std::uint32_t) { order += 'o'; });
  ASSERT_TRUE(reactor.Add(pair.ours.get(), kReadable, other));
  pair.Send();
  reactor.Again(eager);
  reactor.Run();
  EXPECT_EQ(order, "aoaoaoao");
}

TEST(ReactorTest, WhatIsDiscardedOutlivesItsRoundAndIsNotCalledAgain) {
  Reactor reactor;
  std::array<Pair, 2> pairs;
  std::array<std::shared_ptr<Calls>, 2> watchers;
  int calls = 0;
  // Whichever comes first ends both, while the event of the other is under way.
  const auto end_both = [&](std::uint32_t events) {
    ++calls;
    EXPECT_EQ(events, kReadable);
    for (std::size_t i = 0; i < 2; ++i) {
      pairs[i].ours.Close();
      if (watchers[i] == nullptr) continue;
      reactor.Again(*watchers[i]);
      reactor.Discard(std::exchange(watchers[i], nullptr));
    }
  };
  const auto one = std::make_shared<int>();  // Counts the watchers that live.
  for (std::size_t i = 0; i < 2; ++i) {
    watchers[i] = std::make_shared<Calls>([&, one](std::uint32_t events) { end_both(events); });
    ASSERT_TRUE(reactor.Add(pairs[i].ours.get(), kReadable, *watchers[i]));
    pairs[i].Send();
  }
  reactor.Post([&] { EXPECT_EQ(one.use_count(), 3) << "in the same round"; });
  reactor.At(MonotonicTime(), [&] { reactor.Post([&] { reactor.Stop(); }); });
  reactor.Run();
  EXPECT_EQ(calls, 2) << "both events had been seen";
  EXPECT_EQ(one.use_count(), 1);
}

TEST(ReactorTest, TimersAreCalledInTheirOrderUnlessCancelled) {
  Reactor reactor;
  const MonotonicTime now = reactor.now();
  std::string order;
  reactor.At(now + 3ms, [&] { order += '3'; });
  reactor.At(now + 1ms, [&] { order += '1'; });
  const Reactor::Timer cancelled = reactor.At(now + 2ms, [&] { order += '2'; });
  reactor.At(now + 4ms, [&] {
    EXPECT_GE(SystemClock().Monotonic(), now + 4ms);
    reactor.Stop();
  });
  // Two of one moment stay in the order in which they were made.
  reactor.At(now + 3ms, [&] { order += 'x'; });
  reactor.Cancel(cancelled);
  reactor.Cancel(cancelled);
  reactor.Cancel({});
  reactor.Run();
  EXPECT_EQ(order, "13x");
}

TEST(ReactorTest, WorkOfManyThreadsIsDoneOnceAndInOrder) {
  Reactor reactor;
  constexpr int kThreads = 3;
  constexpr int kEach = 2000;
  std::array<std::vector<int>, kThreads> done;
  int left = kThreads * kEach;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        reactor.Post([&, t, i] {
          done[static_cast<std::size_t>(t)].push_back(i);
          if (--left == 0) reactor.Stop();
        });
      }
    });
  }
  reactor.Run();
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<int>& numbers : done) {
    ASSERT_EQ(numbers.size(), std::size_t{kEach});
    for (int i = 0; i < kEach; ++i) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i);
  }
}

TEST(ReactorTest, WorkThatPostsWorkDoesNotKeepOthersWaiting) {
  Reactor reactor;
  int rounds = 0;
  std::function<void()> endless = [&] {
    ++rounds;
    reactor.Post(endless);
  };
  endless();
  reactor.At(reactor.now() + 2ms, [&] { reactor.Stop(); });
  reactor.Run();
  EXPECT_GT(rounds, 1);
}

TEST(ReactorTest, AStopBeforeTheRunHolds) {
  Reactor reactor;
  bool worked = false;
  reactor.Post([&] { worked = true; });
  reactor.Stop();
  reactor.Run();
  EXPECT_FALSE(worked);
}

}  // namespace
}  // namespace keymill::net
