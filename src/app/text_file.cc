// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/text_file.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/descriptor.h"

namespace keymill::app {

Status WriteTextFile(const std::string& path, std::string_view text, bool over) {
  const auto failed = [&](int error) {
    return Status(Code::kUnavailable,
                  fmt::format("write {}: {}", path, std::generic_category().message(error)));
  };
  const int how = over ? O_TRUNC : O_EXCL;
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0644));
  if (!file.open() && errno == EEXIST) {
    return {Code::kAlreadyExists, fmt::format("{} exists", path)};
  }
  if (!file.open()) return failed(errno);
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace keymill::app
