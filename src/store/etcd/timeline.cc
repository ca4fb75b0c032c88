// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/timeline.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/random.h"
#include "store/etcd/inspect.h"

namespace keymill::store::etcd {
namespace {

// Members tell their index and their revision a moment apart, in which others write.
constexpr std::int64_t kLeadTolerance = 200;
constexpr int kLooksMax = 3;

std::string EraOf(const Header& header) {
  return fmt::format("{}-{}-", header.cluster_id, header.term);
}

}  // namespace

std::string Timeline::NewName(const Header& header) { return EraOf(header) + RandomHex(8); }

bool Timeline::Holds(const StoreEntry& store, const Header& header) {
  const MutexLock lock(mu_);
  if (header.falls > falls_) {
    falls_ = header.falls;
    distrusted_ = store.agreed;
    suggested_.clear();
  }
  return header.falls == falls_ && store.agreed != distrusted_ &&
         store.agreed.starts_with(EraOf(header));
}

std::string Timeline::Name(const StoreEntry& store, const Header& header) {
  if (Holds(store, header)) return store.agreed;
  const MutexLock lock(mu_);
  if (instead_of_ != store.agreed || !suggested_.starts_with(EraOf(header))) {
    suggested_ = NewName(header);
    instead_of_ = store.agreed;
  }
  return suggested_;
}

std::optional<std::int64_t> Timeline::Lead(MonotonicTime deadline) {
  std::optional<std::int64_t> lead;
  const std::size_t members = client_.options().members.size();
  const std::size_t preferred = client_.preferred();
  for (std::size_t i = 0; i < members && !lead; ++i) {
    MemberFacts facts;
    Result<HttpAnswer> status = client_.AskMember(
        (preferred + i) % members, "/v3/maintenance/status", "{}", client_.ShareOf(deadline, i));
    if (!status.ok()) continue;
    ReadStatus(status->body, facts);
    if (!facts.has_leader || facts.applied_index == 0) continue;
    lead = static_cast<std::int64_t>(facts.applied_index) - facts.revision;
  }
  return lead;
}

void Timeline::CompareLead(const StoreEntry& store, const Header& header, MonotonicTime deadline) {
  if (!store.lead || !Holds(store, header)) return;
  for (int look = 0; look < kLooksMax; ++look) {
    const std::optional<std::int64_t> lead = Lead(deadline);
    if (!lead || *lead >= *store.lead - kLeadTolerance) return;
  }
  const MutexLock lock(mu_);
  if (distrusted_ == store.agreed) return;
  distrusted_ = store.agreed;
  suggested_.clear();
}

}  // namespace keymill::store::etcd
