// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/sync_probe.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.h"

namespace keymill::app::doctor {
namespace {

constexpr int kWrites = 16;
constexpr std::chrono::seconds kTimeMax{2};

Descriptor OpenNameless(const std::filesystem::path& directory, bool may_name) {
  Descriptor file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.open() || !may_name) return file;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return file;
  std::string pattern = (directory / ".keymill-doctor-XXXXXX").string();
  Descriptor named(::mkostemp(pattern.data(), O_CLOEXEC));
  if (named.open()) ::unlink(pattern.c_str());
  return named;
}

}  // namespace

SyncFacts ProbeSync(const std::filesystem::path& directory, bool may_name, const Clock& clock) {
  SyncFacts facts;
  const Descriptor file = OpenNameless(directory, may_name);
  if (!file.open()) {
    facts.error = errno;
    return facts;
  }
  std::array<char, 4096> page{};
  page.fill('k');
  std::vector<double> took_ms;
  const MonotonicTime end = clock.Monotonic() + kTimeMax;
  for (int i = 0; i < kWrites; ++i) {
    const MonotonicTime began = clock.Monotonic();
    if (began >= end) break;
    const auto at = static_cast<off_t>(i) * static_cast<off_t>(page.size());
    const ssize_t written = ::pwrite(file.get(), page.data(), page.size(), at);
    if (written != static_cast<ssize_t>(page.size()) || ::fdatasync(file.get()) != 0) {
      facts.error = written >= 0 && written < static_cast<ssize_t>(page.size()) ? ENOSPC : errno;
      break;
    }
    took_ms.push_back(std::chrono::duration<double, std::milli>(clock.Monotonic() - began).count());
  }
  if (took_ms.empty()) return facts;
  std::sort(took_ms.begin(), took_ms.end());
  facts.writes = static_cast<std::uint32_t>(took_ms.size());
  facts.median_ms = took_ms[took_ms.size() / 2];
  facts.worst_ms = took_ms.back();
  return facts;
}

}  // namespace keymill::app::doctor
