// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/worker.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace keymill {
namespace {

TEST(WorkerTest, RunsTasksInTheirOrder) {
  std::vector<int> ran;
  std::promise<void> done;
  Worker worker(10);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(worker.Post([&ran, i] { ran.push_back(i); }));
  EXPECT_TRUE(worker.Post([&] { done.set_value(); }));
  done.get_future().wait();
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(WorkerTest, AFullQueueRefusesAndDropsTheTask) {
  std::promise<void> started;
  std::promise<void> finish;
  Worker worker(2);
  ASSERT_TRUE(worker.Post([&] {
    started.set_value();
    finish.get_future().wait();
  }));
  started.get_future().wait();
  EXPECT_TRUE(worker.Post([] {}));
  EXPECT_TRUE(worker.Post([] {}));
  auto owned = std::make_shared<int>(1);
  EXPECT_FALSE(worker.Post([owned] { FAIL(); }));
  EXPECT_EQ(owned.use_count(), 1) << "nothing of it is kept";
  finish.set_value();
}

TEST(WorkerTest, FinishesThePresentTaskWhenItEnds) {
  std::promise<void> started;
  bool finished = false;
  {
    Worker worker(10);
    ASSERT_TRUE(worker.Post([&] {
      started.set_value();
      finished = true;
    }));
    started.get_future().wait();
  }
  EXPECT_TRUE(finished);
}

// The first task posts until the queue is full, so that the end finds tasks waiting whenever
// it comes. They are destroyed, whether they ran or not.
TEST(WorkerTest, DropsWhatWaitsWhenItEnds) {
  auto owned = std::make_shared<int>(1);
  std::promise<void> filled;
  {
    Worker worker(50);
    ASSERT_TRUE(worker.Post([&, owned] {
      while (worker.Post([owned] {})) {
      }
      filled.set_value();
    }));
    filled.get_future().wait();
  }
  EXPECT_EQ(owned.use_count(), 1);
}

// Each waits for all others: with fewer threads than tasks nobody would ever end.
TEST(WorkerTest, RunsAsManyTasksAtOnceAsItHasThreads) {
  constexpr int kThreads = 3;
  std::atomic<int> begun{0};
  std::promise<void> all;
  const std::shared_future<void> together = all.get_future().share();
  std::promise<void> done;
  std::atomic<int> ended{0};
  Worker worker(10, kThreads);
  for (int i = 0; i < kThreads; ++i) {
    ASSERT_TRUE(worker.Post([&, together] {
      if (++begun == kThreads) all.set_value();
      together.wait();
      if (++ended == kThreads) done.set_value();
    }));
  }
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST(WorkerTest, AnIdleWorkerEnds) { const Worker worker(1); }

}  // namespace
}  // namespace keymill
