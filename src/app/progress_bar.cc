// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/progress_bar.h"

#include <chrono>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace keymill::app {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};

}  // namespace

ProgressBar::ProgressBar() : shown_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void ProgressBar::Draw(std::string_view name, double share) {
  const MonotonicTime now = SystemClock().Monotonic();
  if (!shown_ || now < next_) return;
  next_ = now + kRedraw;
  drawn_ = true;
  constexpr int kWidth = 30;
  const int done = static_cast<int>(share * kWidth);
  fmt::print(stderr, "\r\033[K[{:=<{}}{: <{}}] {:3.0f} %  {}", "", done, "", kWidth - done,
             share * 100, name);
  std::fflush(stderr);
}

}  // namespace keymill::app
