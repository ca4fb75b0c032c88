// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/timeline_watch.h"

#include <algorithm>

namespace keymill::mint {

bool TimelineWatch::See(const StoreIdentity& identity, MonotonicTime now) {
  const std::string& before = timeline_.empty() ? identity.agreed_timeline : timeline_;
  const bool changed = identity.timeline != before;
  timeline_ = identity.timeline;
  disagrees_ = identity.agreed_timeline != timeline_;
  if (changed) settled_at_ = now + grace_;
  // Where the others have agreed already, they have had their time.
  if (!disagrees_) settled_at_ = std::min(settled_at_, now);
  return changed;
}

}  // namespace keymill::mint
