// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/small_file.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace keymill::app {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

Status FileError(int error, const char* what) {
  const bool absent = error == ENOENT || error == ENOTDIR;
  return {absent ? Code::kNotFound : Code::kFailedPrecondition,
          fmt::format("{}: {}", what, std::generic_category().message(error))};
}

Status CheckRegular(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return FileError(errno, "cannot be examined");
  if (S_ISDIR(info.st_mode)) return {Code::kFailedPrecondition, "is a directory, not a file"};
  if (!S_ISREG(info.st_mode)) return {Code::kFailedPrecondition, "is not a regular file"};
  return {};
}

std::string SizeText(std::size_t size) {
  constexpr std::size_t kKib = 1024;
  return size % (kKib * kKib) == 0 ? fmt::format("{} MiB", size / (kKib * kKib))
                                   : fmt::format("{} KiB", size / kKib);
}

}  // namespace

Result<std::string> ReadSmallFile(const std::string& path, std::size_t size_max) {
  // O_NONBLOCK: opening a FIFO without a writer would wait for ever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.fd() < 0) return FileError(errno, "cannot be opened");
  if (Status status = CheckRegular(file.fd()); !status.ok()) return status;

  // The size that fstat tells is not asked: it is 0 in /proc, and the file may grow.
  std::string bytes(size_max + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count = ::read(file.fd(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, "cannot be read");
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > size_max) {
    return Status(Code::kFailedPrecondition, fmt::format("is larger than {}", SizeText(size_max)));
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace keymill::app
