// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A file descriptor that is closed with its owner.

#pragma once

#include <utility>

#include <poll.h>
#include <unistd.h>

namespace keymill {

// Whether a write of a few kilobytes would not wait: not so for a pipe that nobody empties.
inline bool WritableNow(int fd) {
  pollfd waiting{fd, POLLOUT, 0};
  return ::poll(&waiting, 1, 0) != 0;  // An error is for the write to find out.
}

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  // Negative when there is none; errno says why, right after the call that should have made it.
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }

  void Close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace keymill
