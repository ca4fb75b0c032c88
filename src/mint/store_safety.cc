// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/store_safety.h"

#include <string_view>

#include <fmt/format.h>

#include "base/log.h"

namespace keymill::mint {
namespace {

constexpr std::string_view kRisk =
    "the store can lose what it has acknowledged, and the same keys would be handed out twice";

Status Refusal(const std::vector<StoreFinding>& findings) {
  std::string text = fmt::format("{}.", kRisk);
  for (const StoreFinding& finding : findings) {
    if (finding.unsafe) text += fmt::format("\n  {}\n    fix: {}", finding.says, finding.fix);
  }
  text +=
      "\n  To use it all the same, say why: --accept-unsafe-store REASON, or accept_unsafe_store "
      "in keymill.yml or in a program's options";
  return {Code::kFailedPrecondition, std::move(text)};
}

}  // namespace

Status StoreSafety::Judge(const std::vector<StoreFinding>& findings) {
  std::string unsafe;
  bool stays = false;
  for (const StoreFinding& finding : findings) {
    if (!finding.unsafe) continue;
    unsafe += (unsafe.empty() ? "" : "; ") + finding.says;
    stays = stays || !finding.passes;
  }
  Status verdict;
  bool news = false;
  {
    const MutexLock lock(mu_);
    news = unsafe != unsafe_;
    unsafe_ = unsafe;
    verdict_ = unsafe.empty() || !accepted_.empty() ? Status() : Refusal(findings);
    passes_ = !verdict_.ok() && !stays;
    verdict = verdict_;
  }
  // Behind the lock: whoever logs holds off fork(), and whoever judges at a start does already.
  if (news && unsafe.empty()) {
    Log(LogLevel::kInfo, "mint", "the store is safe again");
  } else if (news && !accepted_.empty()) {
    Log(LogLevel::kWarn, "mint", "{}: {}. Accepted because: {}", kRisk, unsafe, accepted_);
  }
  return verdict;
}

Status StoreSafety::verdict() const {
  const MutexLock lock(mu_);
  return verdict_;
}

bool StoreSafety::passes() const {
  const MutexLock lock(mu_);
  return passes_;
}

std::string StoreSafety::accepted_risk() const {
  const MutexLock lock(mu_);
  return accepted_.empty() ? "" : unsafe_;
}

}  // namespace keymill::mint
