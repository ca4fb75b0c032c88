// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// When what is behind the store may have been replaced, nobody reserves for a while: an instance
// that has seen less than another would take an old copy for the newest, and hand out numbers that
// the other has handed out already. In that grace period every live instance compares its witness.

#pragma once

#include <chrono>
#include <string>

#include "keymill/clock.h"
#include "keymill/store.h"

namespace keymill::mint {

// Used by one thread at a time.
class TimelineWatch {
 public:
  explicit TimelineWatch(std::chrono::milliseconds grace) : grace_(grace) {}

  // What the store says of itself now. Returns whether its timeline is another than before; the
  // first one that is seen is compared with the agreed one instead.
  bool See(const StoreIdentity& identity, MonotonicTime now);

  // Somebody has objected, and may have more to say: everybody waits once more.
  void WaitOn(MonotonicTime now) { settled_at_ = now + grace_; }

  // The store did not answer. Nobody could compare anything meanwhile, so the period begins anew:
  // otherwise whoever finds the store first when it is back would be ahead of who has to object.
  void Miss(MonotonicTime now) {
    if (disagrees_) WaitOn(now);
  }

  // The one to reserve in; "" before the first look.
  [[nodiscard]] const std::string& timeline() const { return timeline_; }

  // From when on it may be reserved from.
  [[nodiscard]] MonotonicTime settled_at() const { return settled_at_; }
  [[nodiscard]] bool Settled(MonotonicTime now) const { return now >= settled_at_; }

  // Whether the store has yet to be told that the period is over (Store::AgreeOnTimeline).
  [[nodiscard]] bool MustAgree(MonotonicTime now) const { return disagrees_ && Settled(now); }

 private:
  const std::chrono::milliseconds grace_;
  std::string timeline_;
  MonotonicTime settled_at_;
  bool disagrees_ = false;
};

}  // namespace keymill::mint
