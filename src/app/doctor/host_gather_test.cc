// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/host_gather.h"

#include <cerrno>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/doctor/sync_probe.h"
#include "net/listener.h"
#include "support/fake_clock.h"
#include "support/temp_dir.h"

namespace keymill::app::doctor {
namespace {

namespace fs = std::filesystem;

TEST(HostGatherTest, APlaceIsMeasuredAndNothingStaysThere) {
  const TempDir dir;
  const PlaceFacts place = GatherPlace("data_dir", dir.path(), SystemClock());
  EXPECT_TRUE(place.exists);
  EXPECT_TRUE(place.is_directory);
  EXPECT_EQ(place.nearest, dir.path().string());
  EXPECT_EQ(place.owner, ::geteuid());
  EXPECT_EQ(place.mode, 0700U);
  EXPECT_EQ(place.access_error, 0);
  EXPECT_NE(place.file_system.type, 0U);
  EXPECT_GT(place.file_system.bytes_total, 0U);
  EXPECT_GT(place.sync.writes, 0U);
  EXPECT_GE(place.sync.worst_ms, place.sync.median_ms);
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(HostGatherTest, AMissingPlaceIsMeasuredAboveAndNotMade) {
  const TempDir dir;
  const PlaceFacts place = GatherPlace("data_dir", dir.path() / "a/b", SystemClock());
  EXPECT_FALSE(place.exists);
  EXPECT_TRUE(place.is_directory);
  EXPECT_EQ(place.nearest, dir.path().string());
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(HostGatherTest, AFileInTheWayIsSeen) {
  const TempDir dir;
  std::ofstream(dir.path() / "file") << "x";
  for (const char* const path : {"file", "file/data"}) {
    const PlaceFacts place = GatherPlace("data_dir", dir.path() / path, SystemClock());
    EXPECT_FALSE(place.is_directory) << path;
    EXPECT_EQ(place.nearest, (dir.path() / "file").string());
    EXPECT_EQ(place.sync.writes, 0U);
  }
}

// Each look moves it on by 300 ms, so that two seconds are over in the middle.
class HurryingClock final : public Clock {
 public:
  std::int64_t WallMs() const override { return 0; }
  MonotonicTime Monotonic() const override {
    return MonotonicTime(std::chrono::milliseconds(300 * ++looks_));
  }

 private:
  mutable std::int64_t looks_ = 0;
};

TEST(SyncProbeTest, ASlowDiskIsNotMeasuredForever) {
  const TempDir dir;
  const SyncFacts facts = ProbeSync(dir.path(), true, HurryingClock());
  EXPECT_GT(facts.writes, 0U);
  EXPECT_LT(facts.writes, 16U);
  EXPECT_DOUBLE_EQ(facts.median_ms, 300);
  EXPECT_EQ(ProbeSync(dir.path() / "missing", true, HurryingClock()).error, ENOENT);
}

TEST(HostGatherTest, AFreeAddressAndATakenOne) {
  const auto nobody = [](const std::string&) { return std::string(); };
  EXPECT_EQ(GatherListener("127.0.0.1:0", nobody).bind_error, 0);
  Result<net::Listener> taken = net::Listener::Open("127.0.0.1", 0);
  ASSERT_TRUE(taken.ok());
  const std::string address = "127.0.0.1:" + std::to_string(taken->port());
  std::string asked;
  const ListenerFacts facts = GatherListener(address, [&](const std::string& url) {
    asked = url;
    return std::string("keymill 1");
  });
  EXPECT_EQ(facts.bind_error, EADDRINUSE);
  EXPECT_EQ(facts.answered_by, "keymill 1");
  EXPECT_EQ(asked, "http://" + address);
  EXPECT_EQ(facts.port, taken->port());
  taken->Close();
  EXPECT_EQ(GatherListener(address, nobody).bind_error, 0);
}

TEST(HostGatherTest, AnAddressOfAnotherMachineCannotBeBound) {
  const auto nobody = [](const std::string&) { return std::string(); };
  EXPECT_EQ(GatherListener("192.0.2.1:80", nobody).bind_error, EADDRNOTAVAIL);
  EXPECT_NE(GatherListener("nonsense", nobody).failure, "");
}

TEST(HostGatherTest, LimitsAndMachineAreThisOnes) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  Settings settings;
  settings.connections_max = 7;
  settings.threads = 3;
  const LimitFacts limits = GatherLimits(settings);
  EXPECT_EQ(limits.files_soft, limit.rlim_cur);
  EXPECT_EQ(limits.files_hard, limit.rlim_max);
  EXPECT_EQ(limits.connections_max, 7U);
  EXPECT_EQ(limits.threads, 3U);
  const MachineFacts machine = GatherMachine(settings);
  EXPECT_EQ(machine.threads, 3U);
  EXPECT_GE(machine.cpus, 1U);
  ASSERT_TRUE(machine.memory_available.has_value());
  EXPECT_GT(*machine.memory_available, 1U << 20);
}

TEST(HostGatherTest, TheTimeIsTheClocks) {
  const FakeClock clock(12'345);
  EXPECT_EQ(GatherClock(clock).wall_ms, 12'345);
}

}  // namespace
}  // namespace keymill::app::doctor
