// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keymill/status.h"

#include <array>

namespace keymill {

std::string_view CodeName(Code code) {
  static constexpr std::array<std::string_view, kCodeCount> kNames = {"kOk",
                                                                      "kInvalidArgument",
                                                                      "kNotFound",
                                                                      "kAlreadyExists",
                                                                      "kFailedPrecondition",
                                                                      "kExhausted",
                                                                      "kQuarantined",
                                                                      "kOverloaded",
                                                                      "kDeadlineExceeded",
                                                                      "kUnavailable",
                                                                      "kUnknownOutcome",
                                                                      "kClockRegressed",
                                                                      "kUnauthenticated",
                                                                      "kPermissionDenied",
                                                                      "kInternal"};
  return kNames.at(static_cast<std::size_t>(code));
}

}  // namespace keymill
