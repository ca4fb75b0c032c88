// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/host_gather.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "app/config/listen_address.h"
#include "app/doctor/sync_probe.h"
#include "base/descriptor.h"
#include "keys/aes.h"

namespace keymill::app::doctor {
namespace {

namespace fs = std::filesystem;

std::uint32_t ThreadsOf(const Settings& settings) {
  return settings.threads != 0 ? settings.threads
                               : std::max(1U, std::thread::hardware_concurrency());
}

FileSystemFacts GatherFileSystem(const std::string& path) {
  FileSystemFacts facts;
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) {
    facts.error = errno;
    return facts;
  }
  // Magic numbers are 32 bits, and a signed type would fill the rest with ones.
  facts.type = static_cast<std::uint32_t>(info.f_type);
  constexpr auto kReadOnly = 1;  // ST_RDONLY, which belongs to statvfs(3).
  facts.read_only = (info.f_flags & kReadOnly) != 0;
  const auto block = static_cast<std::uint64_t>(info.f_frsize != 0 ? info.f_frsize : info.f_bsize);
  facts.bytes_free = info.f_bavail * block;
  facts.bytes_total = info.f_blocks * block;
  facts.files_free = info.f_ffree;
  facts.files_total = info.f_files;
  return facts;
}

template <typename T>
std::optional<T> ReadFirst(const char* path) {
  std::ifstream file(path);
  T value{};
  if (file >> value) return value;
  return {};
}

std::optional<std::uint64_t> MemoryAvailable() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::uint64_t kib = 0;
  std::string unit;
  while (file >> word >> kib) {
    if (word == "MemAvailable:") return kib * 1024;
    std::getline(file, unit);
  }
  return {};
}

// "200000 100000" or "max 100000".
std::optional<double> CpuQuota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  if (file >> quota >> period && period > 0) return quota / period;
  return {};
}

// errno, or 0.
int TryBind(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return EADDRNOTAVAIL;
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  const Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  const int on = 1;
  const bool bound = socket.open() &&
                     ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                     ::bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0;
  return bound ? 0 : errno;
}

}  // namespace

PlaceFacts GatherPlace(std::string name, const fs::path& directory, const Clock& clock) {
  PlaceFacts facts;
  facts.name = std::move(name);
  facts.path = directory.string();
  facts.user = ::geteuid();
  fs::path at = directory;
  struct stat info {};
  bool seen = ::stat(at.c_str(), &info) == 0;
  while (!seen && (errno == ENOENT || errno == ENOTDIR) && at.has_relative_path()) {
    at = at.parent_path();
    seen = ::stat(at.c_str(), &info) == 0;
  }
  facts.nearest = at.string();
  facts.exists = at == directory;
  facts.is_directory = !seen || S_ISDIR(info.st_mode);
  facts.owner = info.st_uid;
  facts.mode = info.st_mode & 07777;
  // As the one who would write, not as the one who logged in.
  if (::faccessat(AT_FDCWD, at.c_str(), W_OK | X_OK, AT_EACCESS) != 0) facts.access_error = errno;
  facts.file_system = GatherFileSystem(facts.nearest);
  if (!facts.is_directory) facts.access_error = ENOTDIR;
  facts.sync.error = facts.access_error;
  if (facts.access_error == 0) facts.sync = ProbeSync(at, facts.exists, clock);
  return facts;
}

ClockFacts GatherClock(const Clock& clock) {
  ClockFacts facts;
  facts.wall_ms = clock.WallMs();
  timex status{};  // modes == 0: a question only.
  if (::adjtimex(&status) != -1) facts.synchronised = (status.status & STA_UNSYNC) == 0;
  return facts;
}

LimitFacts GatherLimits(const Settings& settings) {
  LimitFacts facts;
  facts.connections_max = settings.connections_max;
  facts.threads = ThreadsOf(settings);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) limit = {RLIM_INFINITY, RLIM_INFINITY};
  facts.files_soft = limit.rlim_cur;
  facts.files_hard = limit.rlim_max;
  return facts;
}

ListenerFacts GatherListener(const std::string& address, const WhoAnswers& who_answers) {
  ListenerFacts facts;
  facts.address = address;
  if (address.empty()) return facts;
  Result<ListenAddress> parsed = ParseListenAddress(address);
  if (!parsed.ok()) {
    facts.failure = parsed.status().message();
    return facts;
  }
  facts.port = parsed->port;
  const Result<std::string> host = ResolveHost(parsed->host);
  if (!host.ok()) {
    facts.failure = host.status().message();
    return facts;
  }
  facts.bind_error = TryBind(*host, parsed->port);
  if (facts.bind_error != EADDRINUSE) return facts;
  facts.url = UrlOf({.host = *host, .port = parsed->port});
  facts.answered_by = who_answers(facts.url);
  return facts;
}

MachineFacts GatherMachine(const Settings& settings) {
  MachineFacts facts;
  facts.backlog_max = ReadFirst<std::uint64_t>("/proc/sys/net/core/somaxconn");
  facts.cpus = std::max(1U, std::thread::hardware_concurrency());
  facts.cpu_quota = CpuQuota();
  facts.threads = settings.threads;
  facts.memory_available = MemoryAvailable();
  facts.hardware_aes = keys::HaveHardwareAes();
  return facts;
}

}  // namespace keymill::app::doctor
