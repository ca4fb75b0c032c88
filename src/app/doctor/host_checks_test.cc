// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/host_checks.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::app::doctor {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kNowMs = 1'790'000'000'000;  // September 2026.

void ExpectFound(const Finding& finding, Severity severity, const std::string& says,
                 const std::string& fix) {
  EXPECT_EQ(SeverityName(finding.severity), SeverityName(severity)) << finding.says;
  EXPECT_THAT(finding.says, HasSubstr(says));
  EXPECT_THAT(finding.fix, HasSubstr(fix));
  EXPECT_EQ(finding.fix.empty(), severity == Severity::kOk) << finding.fix;
}

TEST(ClockCheckTest, AClockThatIsCorrectedOrDoesNotTellIsFine) {
  ExpectFound(CheckClock({.synchronised = true, .wall_ms = kNowMs}), Severity::kOk, "synchronised",
              "");
  ExpectFound(CheckClock({.synchronised = {}, .wall_ms = kNowMs}), Severity::kOk, "2026-09-21", "");
}

// No key is unique by the clock, so that a container without time service is healthy.
TEST(ClockCheckTest, AClockThatNobodyCorrectsIsRemarkedOn) {
  ExpectFound(CheckClock({.synchronised = false, .wall_ms = kNowMs}), Severity::kNote,
              "no key depends on it", "timedatectl set-ntp true");
  ExpectFound(CheckClock({.synchronised = false, .wall_ms = kNowMs, .in_keys = true}),
              Severity::kNote, "keys of kind snowflake sort by it", "apt-get install chrony");
}

TEST(ClockCheckTest, AClockThatIsPlainlyWrongIsFound) {
  ExpectFound(CheckClock({.synchronised = true, .wall_ms = 1000}), Severity::kWarning, "1970-01-01",
              "timedatectl");
  ClockFacts behind{.synchronised = true, .wall_ms = kNowMs, .newest_ms = kNowMs + 60'001};
  ExpectFound(CheckClock(behind), Severity::kWarning, "the store has a record of", "timedatectl");
  behind.in_keys = true;
  ExpectFound(CheckClock(behind), Severity::kProblem, "the store has a record of", "timedatectl");
  behind.newest_ms = kNowMs + 60'000;
  ExpectFound(CheckClock(behind), Severity::kOk, "", "");
}

TEST(FileLimitCheckTest, TheHardLimitCountsBecauseServeRaisesTheSoftOne) {
  LimitFacts limits{
      .files_soft = 1024, .files_hard = 20'036, .connections_max = 20'000, .threads = 2};
  ExpectFound(CheckFileLimit(limits), Severity::kOk, "1024 soft, 20036 hard", "");
  limits.files_hard = 20'035;
  ExpectFound(CheckFileLimit(limits), Severity::kNote, "room for 19999", "LimitNOFILE=20036");
  limits.files_hard = 4096;
  ExpectFound(CheckFileLimit(limits), Severity::kWarning, "room for 4060", "ulimit -Hn 20036");
  limits.files_hard = 10;
  ExpectFound(CheckFileLimit(limits), Severity::kWarning, "room for 1", "connections_max: 1");
}

TEST(ListenerCheckTest, AFreeAddressIsFine) {
  ExpectFound(CheckListener({.address = "127.0.0.1:8080", .port = 8080}), Severity::kOk, "is free",
              "");
}

TEST(ListenerCheckTest, AKeymillThatAnswersIsNoFinding) {
  ExpectFound(CheckListener({.address = "127.0.0.1:8080",
                             .port = 8080,
                             .bind_error = EADDRINUSE,
                             .url = "http://127.0.0.1:8080",
                             .answered_by = "keymill 0.1.0"}),
              Severity::kNote, "keymill 0.1.0 answers at http://127.0.0.1:8080", "--listen");
}

TEST(ListenerCheckTest, AnAddressThatCannotBeHadIsAProblem) {
  ListenerFacts listener{.address = "127.0.0.1:8080", .port = 8080, .bind_error = EADDRINUSE};
  ExpectFound(CheckListener(listener), Severity::kProblem, "no keymill",
              "ss -ltnp 'sport = :8080'");
  listener.bind_error = EACCES;
  ExpectFound(CheckListener(listener), Severity::kProblem, "Permission denied",
              "CAP_NET_BIND_SERVICE");
  listener.bind_error = EADDRNOTAVAIL;
  ExpectFound(CheckListener(listener), Severity::kProblem, "Cannot assign", "ip -brief address");
  listener.failure = "the name \"x\" does not resolve";
  ExpectFound(CheckListener(listener), Severity::kProblem, "does not resolve", "--listen");
  ExpectFound(CheckListener({}), Severity::kProblem, "listen.http is off", "--listen");
}

TEST(BacklogCheckTest, ASystemThatAllowsLessThanServeAsksForIsFound) {
  MachineFacts machine;
  ExpectFound(CheckBacklog(machine), Severity::kOk, "not told", "");
  machine.backlog_max = 4096;
  ExpectFound(CheckBacklog(machine), Severity::kOk, "4096", "");
  machine.backlog_max = 128;
  ExpectFound(CheckBacklog(machine), Severity::kWarning, "128",
              "sysctl -w net.core.somaxconn=4096");
}

TEST(CpuCheckTest, MoreLoopsThanCoresAreNoted) {
  ExpectFound(CheckCpus({.cpus = 4}), Severity::kOk, "4 event loops on 4 cores", "");
  ExpectFound(CheckCpus({.cpus = 4, .threads = 2}), Severity::kOk, "2 event loops", "");
  ExpectFound(CheckCpus({.cpus = 2, .threads = 8}), Severity::kNote, "8 event loops on 2 cores",
              "--threads 2");
  ExpectFound(CheckCpus({.cpus = 8, .cpu_quota = 1.5}), Severity::kNote, "1.5 may be used",
              "--threads 2");
  ExpectFound(CheckCpus({.cpus = 8, .cpu_quota = 0.1, .threads = 1}), Severity::kOk, "", "");
}

TEST(MemoryCheckTest, LittleMemoryIsFound) {
  MachineFacts machine;
  ExpectFound(CheckMemory(machine), Severity::kOk, "not told", "");
  machine.memory_available = 64 << 20;
  ExpectFound(CheckMemory(machine), Severity::kOk, "64 MiB", "");
  machine.memory_available = (64 << 20) - 1;
  ExpectFound(CheckMemory(machine), Severity::kWarning, "63 MiB", "ps aux");
}

TEST(AesCheckTest, SlowAesIsOnlyNoted) {
  ExpectFound(CheckAes({.hardware_aes = true}), Severity::kOk, "in hardware", "");
  ExpectFound(CheckAes({.hardware_aes = false}), Severity::kNote, "cost more time", "-cpu host");
}

}  // namespace
}  // namespace keymill::app::doctor
