// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/process_metrics.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "keymill/clock.h"

#include "base/descriptor.h"

namespace keymill {
namespace {

double Now(const char* name) {
  MetricFamilies families;
  ProcessMetrics().Collect(families);
  return families.Value(name);
}

TEST(ProcessMetricsTest, TellsWhatTheSystemKnows) {
  EXPECT_GE(Now("process_cpu_seconds_total"), 0);
  EXPECT_GT(Now("process_resident_memory_bytes"), 100'000);
  EXPECT_GT(Now("process_virtual_memory_bytes"), Now("process_resident_memory_bytes"));
  EXPECT_GE(Now("process_threads"), 1);
  EXPECT_GT(Now("process_max_fds"), Now("process_open_fds"));
  const double now_seconds = static_cast<double>(SystemClock().WallMs()) / 1000;
  EXPECT_NEAR(Now("process_start_time_seconds"), now_seconds, 3600);
}

TEST(ProcessMetricsTest, CountsOpenFiles) {
  const double before = Now("process_open_fds");
  Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file.open());
  EXPECT_EQ(Now("process_open_fds"), before + 1);
  file.Close();
  EXPECT_EQ(Now("process_open_fds"), before);
}

}  // namespace
}  // namespace keymill
