// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/host_checks.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "app/file_limit.h"
#include "net/listener.h"

namespace keymill::app::doctor {
namespace {

// 2026-01-01: no keymill is older.
constexpr std::int64_t kFirstKeymillMs = 1'767'225'600'000;
// Instances on other machines write their own times into the store.
constexpr std::int64_t kClockSlackMs = 60'000;
constexpr std::uint64_t kMemoryLow = 64 << 20;

std::string TimeText(std::int64_t ms) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(ms / 1000)));
}

}  // namespace

Finding CheckClock(const ClockFacts& clock) {
  constexpr std::string_view kSet =
      "on the host: timedatectl set-ntp true, or apt-get install chrony";
  const std::string now = TimeText(clock.wall_ms);
  if (clock.wall_ms < kFirstKeymillMs) {
    return {"clock", Severity::kWarning,
            fmt::format("{}, which is before the first keymill was built", now), std::string(kSet)};
  }
  if (clock.newest_ms > clock.wall_ms + kClockSlackMs) {
    return {"clock", clock.in_keys ? Severity::kProblem : Severity::kWarning,
            fmt::format("{}, but the store has a record of {}: one of the two clocks is wrong", now,
                        TimeText(clock.newest_ms)),
            std::string(kSet)};
  }
  if (!clock.synchronised) return {"clock", Severity::kOk, now, ""};
  if (*clock.synchronised)
    return {"clock", Severity::kOk, fmt::format("{}, synchronised", now), ""};
  if (clock.in_keys) {
    // No warning: they are unique all the same, and every store has such a keyspace by default.
    return {"clock", Severity::kNote,
            fmt::format("{}, not synchronised; keys of kind snowflake sort by it", now),
            std::string(kSet)};
  }
  return {"clock", Severity::kNote,
          fmt::format("{}, not synchronised; no key depends on it, only dates and forecasts", now),
          std::string(kSet)};
}

Finding CheckFileLimit(const LimitFacts& limits) {
  const std::uint64_t beside = FilesBesideConnections(limits.threads);
  const std::uint64_t need = limits.connections_max + beside;
  const std::string says =
      fmt::format("{} soft, {} hard; serve raises the soft one and wants {} for {} connections",
                  limits.files_soft, limits.files_hard, need, limits.connections_max);
  if (limits.files_hard >= need) return {"file limit", Severity::kOk, says, ""};
  const std::uint64_t fit = std::max(limits.files_hard, beside + 1) - beside;
  // As serve sees it: nearly enough is nothing to be woken for.
  const Severity severity = fit < limits.connections_max / 2 ? Severity::kWarning : Severity::kNote;
  return {"file limit", severity, fmt::format("{}: room for {}", says, fit),
          fmt::format("LimitNOFILE={0} in the unit, or ulimit -Hn {0} as root before the start, or "
                      "connections_max: {1} in keymill.yml",
                      need, fit)};
}

Finding CheckRespListener(const ListenerFacts& listener, bool by_default) {
  const auto found = [](Severity severity, std::string says, std::string fix) {
    return Finding{"resp listener", severity, std::move(says), std::move(fix)};
  };
  const std::string& address = listener.address;
  if (address.empty()) return found(Severity::kOk, "listen.resp is off", "");
  static constexpr std::string_view kAnother =
      "choose another with --listen-resp HOST:PORT, or --listen-resp \"\" for none";
  if (!listener.failure.empty()) {
    return found(Severity::kProblem, fmt::format("{}: {}", address, listener.failure),
                 std::string(kAnother));
  }
  if (listener.bind_error == 0) return found(Severity::kOk, fmt::format("{} is free", address), "");
  const std::string said = std::generic_category().message(listener.bind_error);
  if (listener.bind_error == EADDRINUSE && by_default) {
    return found(Severity::kNote,
                 fmt::format("{}: {}; one that is started now does not speak RESP", address, said),
                 fmt::format("nothing, if a keymill has it; otherwise {}", kAnother));
  }
  return found(Severity::kProblem, fmt::format("{}: {}", address, said), std::string(kAnother));
}

Finding CheckListener(const ListenerFacts& listener) {
  const auto found = [](Severity severity, std::string says, std::string fix) {
    return Finding{"listener", severity, std::move(says), std::move(fix)};
  };
  const std::string& address = listener.address;
  if (address.empty()) {
    return found(Severity::kProblem, "listen.http is off, so there is nothing to serve",
                 "listen: {http: \"127.0.0.1:8080\"} in keymill.yml, or --listen 127.0.0.1:8080");
  }
  if (!listener.failure.empty()) {
    return found(Severity::kProblem, fmt::format("{}: {}", address, listener.failure),
                 "name an address of this machine: --listen 127.0.0.1:8080");
  }
  if (listener.bind_error == 0) return found(Severity::kOk, fmt::format("{} is free", address), "");
  if (listener.bind_error == EADDRINUSE && !listener.answered_by.empty()) {
    return found(Severity::kNote,
                 fmt::format("{} answers at {} already", listener.answered_by, listener.url),
                 "nothing, if it is meant; one more on this machine needs a port of its own: "
                 "--listen 127.0.0.1:0 picks a free one");
  }
  if (listener.bind_error == EADDRINUSE) {
    return found(
        Severity::kProblem, fmt::format("{} is taken by a program that is no keymill", address),
        fmt::format("ss -ltnp 'sport = :{}' says which; end it, or choose another port with "
                    "--listen HOST:PORT",
                    listener.port));
  }
  const std::string said = std::generic_category().message(listener.bind_error);
  if (listener.bind_error == EACCES) {
    return found(Severity::kProblem, fmt::format("{}: {}", address, said),
                 "AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit, or setcap "
                 "cap_net_bind_service=+ep \"$(command -v keymill)\", or a port above 1023");
  }
  return found(Severity::kProblem, fmt::format("{}: {}", address, said),
               "ip -brief address lists the addresses of this machine; name one with --listen "
               "HOST:PORT");
}

Finding CheckBacklog(const MachineFacts& machine) {
  constexpr auto kWanted = static_cast<std::uint64_t>(net::Listener::kBacklog);
  if (!machine.backlog_max) {
    return {"backlog", Severity::kOk, "net.core.somaxconn is not told here", ""};
  }
  const std::string says = fmt::format("net.core.somaxconn is {}", *machine.backlog_max);
  if (*machine.backlog_max >= kWanted) return {"backlog", Severity::kOk, says, ""};
  return {
      "backlog", Severity::kWarning,
      fmt::format("{}, less than the {} that serve asks for: connections that come together are "
                  "dropped and try again a second later",
                  says, kWanted),
      fmt::format("sysctl -w net.core.somaxconn={}", kWanted)};
}

Finding CheckCpus(const MachineFacts& machine) {
  double cores = machine.cpus;
  if (machine.cpu_quota) cores = std::min(cores, *machine.cpu_quota);
  const auto useful = static_cast<std::uint32_t>(std::max(1.0, std::ceil(cores)));
  const std::uint32_t threads = machine.threads != 0 ? machine.threads : machine.cpus;
  const std::string says = fmt::format(
      "{} event loops on {} cores{}", threads, machine.cpus,
      machine.cpu_quota ? fmt::format(", of which {:.1f} may be used", *machine.cpu_quota) : "");
  if (threads <= useful) return {"cpu", Severity::kOk, says, ""};
  return {"cpu", Severity::kNote, fmt::format("{}: they wait for each other", says),
          fmt::format("threads: {0} in keymill.yml, or --threads {0}", useful)};
}

Finding CheckMemory(const MachineFacts& machine) {
  if (!machine.memory_available) return {"memory", Severity::kOk, "not told here", ""};
  const std::string says = fmt::format("{} MiB available", *machine.memory_available >> 20);
  if (*machine.memory_available >= kMemoryLow) return {"memory", Severity::kOk, says, ""};
  return {"memory", Severity::kWarning,
          fmt::format("{}, less than {}: the system may end the server", says, kMemoryLow >> 20),
          "ps aux --sort=-rss | head says who has it"};
}

Finding CheckAes(const MachineFacts& machine) {
  if (machine.hardware_aes) return {"aes", Severity::kOk, "in hardware", ""};
  return {"aes", Severity::kNote, "not in hardware: shuffled keys cost more time, nothing else",
          "pass the processor through to a virtual machine (qemu: -cpu host)"};
}

}  // namespace keymill::app::doctor
