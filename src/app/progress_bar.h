// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <string_view>

#include "keymill/clock.h"

namespace keymill::app {

// One line on standard error that is drawn over and over, on a terminal only, and goes in the end.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // REQUIRES: 0 <= share <= 1
  void Draw(std::string_view name, double share);

 private:
  const bool shown_;
  bool drawn_ = false;
  MonotonicTime next_;
};

}  // namespace keymill::app
