// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/output.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace keymill::app {
namespace {

int first_error = 0;  // Of standard output; the errno of what came first.

void Remember(bool written) {
  if (!written && first_error == 0) first_error = errno != 0 ? errno : EIO;
}

}  // namespace

void OccupyStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is this one. For reading only: a write must fail, not vanish.
    if (::open("/dev/null", O_RDONLY) == -1) (void)::open("/", O_RDONLY | O_DIRECTORY);
  }
}

void WriteData(std::string_view text) {
  if (first_error != 0) return;
  errno = 0;
  Remember(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

bool DataIsWritten() { return first_error == 0; }

Status FinishData() {
  errno = 0;
  Remember(std::fflush(stdout) == 0);
  if (first_error == 0) return {};
  return {Code::kUnavailable, fmt::format("write to standard output: {}",
                                          std::generic_category().message(first_error))};
}

void WriteMessage(std::string_view text) {
  // Nothing can be told to anybody when this fails.
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace keymill::app
