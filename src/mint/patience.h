// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// For what people or batch jobs ask of the store: one that is slow for a moment is asked again,
// rather than everything that was done so far given up.

#pragma once

#include "keymill/status.h"

namespace keymill::mint {

constexpr int kPatientAttempts = 5;

// Calls `ask`, which returns a Status or a Result, until the store has answered, some times at
// most. REQUIRES: to ask again does no harm where the outcome is unknown.
template <typename Ask>
auto AskPatiently(Ask ask) -> decltype(ask()) {
  auto answer = ask();
  for (int i = 1; i < kPatientAttempts; ++i) {
    if (answer.code() != Code::kUnavailable && answer.code() != Code::kUnknownOutcome) break;
    answer = ask();
  }
  return answer;
}

}  // namespace keymill::mint
