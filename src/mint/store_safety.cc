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
      "\n  To use it all the same, say why: --accept-unsafe-store REASON (accept_unsafe_store in "
      "keymill.yml)";
  return {Code::kFailedPrecondition, std::move(text)};
}

}  // namespace

Status StoreSafety::Judge(const std::vector<StoreFinding>& findings) {
  std::string unsafe;
  for (const StoreFinding& finding : findings) {
    if (finding.unsafe) unsafe += (unsafe.empty() ? "" : "; ") + finding.says;
  }
  const MutexLock lock(mu_);
  const bool news = unsafe != unsafe_;
  unsafe_ = std::move(unsafe);
  verdict_ = unsafe_.empty() || !accepted_.empty() ? Status() : Refusal(findings);
  if (!news) return verdict_;
  if (unsafe_.empty()) {
    Log(LogLevel::kInfo, "mint", "the store is safe again");
  } else if (!accepted_.empty()) {
    Log(LogLevel::kWarn, "mint", "{}: {}. Accepted because: {}", kRisk, unsafe_, accepted_);
  }
  return verdict_;
}

Status StoreSafety::verdict() const {
  const MutexLock lock(mu_);
  return verdict_;
}

std::string StoreSafety::accepted_risk() const {
  const MutexLock lock(mu_);
  return accepted_.empty() ? "" : unsafe_;
}

}  // namespace keymill::mint
