// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Whether the store keeps what it acknowledges, judged by what it says of its server's settings,
// and whether somebody has decided to use one that does not.

#pragma once

#include <string>
#include <vector>

#include "keymill/status.h"
#include "keymill/store.h"

#include "base/mutex.h"

namespace keymill::mint {

// Safe for concurrent use by multiple threads.
class StoreSafety {
 public:
  // `accepted`: why an unsafe store is used all the same; "" when it is not to be.
  explicit StoreSafety(std::string accepted) : accepted_(std::move(accepted)) {}

  // What an inspection found; news of it is logged. OK when the store may be used, otherwise
  // kFailedPrecondition with all that is unsafe and what mends it.
  Status Judge(const std::vector<StoreFinding>& findings);

  // The last judgement; OK before the first.
  Status verdict() const;

  // Whether the last judgement was a refusal only because of what ends by itself.
  bool passes() const;

  // What is unsafe about the store and is accepted: "fsync is off …"; "" when nothing is.
  std::string accepted_risk() const;
  [[nodiscard]] const std::string& accepted_because() const { return accepted_; }

 private:
  const std::string accepted_;
  mutable Mutex mu_;
  std::string unsafe_ KEYMILL_GUARDED_BY(mu_);  // What, in one line; "" when nothing is.
  Status verdict_ KEYMILL_GUARDED_BY(mu_);
  bool passes_ KEYMILL_GUARDED_BY(mu_) = false;
};

}  // namespace keymill::mint
