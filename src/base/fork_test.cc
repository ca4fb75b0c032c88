// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/fork.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace keymill {
namespace {

// What `body` returns in a forked child; -1 when it hangs or dies.
template <typename Body>
int InChild(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // A hanging child is a failure, not a hanging test.
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkTest, TheGenerationGrowsInTheChildAndNotInTheParent) {
  const std::uint64_t before = ForkGeneration();
  EXPECT_EQ(InChild([before] { return static_cast<int>(ForkGeneration() - before); }), 1);
  EXPECT_EQ(ForkGeneration(), before);
}

TEST(ForkTest, AGrandchildIsAnotherGeneration) {
  const std::uint64_t before = ForkGeneration();
  EXPECT_EQ(InChild([before] {
              return InChild([before] { return static_cast<int>(ForkGeneration() - before); });
            }),
            2);
}

TEST(ForkTest, AChildCanHoldOffForksOfItsOwn) {
  EXPECT_EQ(InChild([] {
              { const ForkHold hold; }
              return InChild([] {
                const ForkHold hold;
                return 7;
              });
            }),
            7);
}

TEST(ForkTest, AHoldMayBeTakenTwiceByOneThread) {
  std::atomic<bool> released{false};
  std::atomic<bool> waited{false};
  std::thread forker;
  {
    const ForkHold outer;
    forker = std::thread([&] {
      EXPECT_EQ(InChild([] { return 3; }), 3);
      waited = released.load();
    });
    { const ForkHold inner; }
    released = true;  // The inner one did not let the fork through.
  }
  forker.join();
  EXPECT_TRUE(waited);
}

TEST(ForkTest, ForksAndHoldsOfManyThreadsGetByEachOther) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> holders;
  for (int i = 0; i < 3; ++i) {
    holders.emplace_back([&] {
      while (!stop) {
        { const ForkHold hold; }
        std::this_thread::yield();
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(InChild([] {
                const ForkHold hold;
                return 5;
              }),
              5);
  }
  stop = true;
  for (std::thread& holder : holders) holder.join();
}

}  // namespace
}  // namespace keymill
