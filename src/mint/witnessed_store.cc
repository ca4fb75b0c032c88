// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/witnessed_store.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/random.h"

namespace keymill::mint {
namespace {

// The first two for people, the last so that no two are ever the same.
std::string MakeInstanceName() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"unknown"};
  return fmt::format("{}/{}/{}", host.data(), ::getpid(), RandomHex(8));
}

std::int64_t MonotonicMs(const Clock& clock) {
  const auto since = clock.Monotonic().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

}  // namespace

WitnessedStore::WitnessedStore(std::unique_ptr<Store> store, std::unique_ptr<WitnessFile> witness,
                               std::string location, std::chrono::milliseconds timeout,
                               const Clock& clock)
    : store_(std::make_unique<store::MeteredStore>(std::move(store), clock)),
      witness_(std::move(witness)),
      location_(std::move(location)),
      timeout_(timeout),
      clock_(clock),
      instance_(MakeInstanceName()) {}

void WitnessedStore::SeeClock(const StoreIdentity& identity) {
  store_zero_ms_ = identity.now_ms == 0 ? kNoClock : identity.now_ms - MonotonicMs(clock_);
}

std::optional<std::int64_t> WitnessedStore::StoreWallMs() const {
  const std::int64_t zero_ms = store_zero_ms_;
  if (zero_ms == kNoClock) return {};
  return zero_ms + MonotonicMs(clock_);
}

Witness WitnessedStore::Remembered(const std::string& keyspace_id) {
  const MutexLock lock(mu_);
  return seen_[keyspace_id];
}

Result<Witness> WitnessedStore::Witnessed(const std::string& keyspace_id) {
  const Witness seen = Remembered(keyspace_id);
  if (!witness_) return seen;
  Result<Witness> kept = witness_->Read(identity_.store_id, keyspace_id);
  if (!kept.ok()) return kept.status();
  return Witness{std::max(seen.rev, kept->rev), std::max(seen.next, kept->next)};
}

void WitnessedStore::Remember(const std::string& keyspace_id, const Witness& now) {
  const MutexLock lock(mu_);
  Witness& seen = seen_[keyspace_id];
  seen = {std::max(seen.rev, now.rev), std::max(seen.next, now.next)};
}

Result<std::vector<WitnessFile::Sighting>> WitnessedStore::Recall() {
  if (!witness_) return std::vector<WitnessFile::Sighting>();
  Result<std::vector<WitnessFile::Sighting>> kept = witness_->SightingsIn(identity_.store_id);
  if (!kept.ok()) return kept;
  for (const WitnessFile::Sighting& each : *kept) Remember(each.keyspace_id, each.seen);
  return kept;
}

Status WitnessedStore::Record(const std::string& keyspace_id, std::string_view name,
                              const Witness& seen) {
  Remember(keyspace_id, seen);
  if (!witness_) return {};
  return witness_->Record(identity_.store_id, keyspace_id, name, seen).status();
}

Status WitnessedStore::Bind(const std::vector<WitnessFile::Sighting>& sightings) {
  for (const WitnessFile::Sighting& each : sightings) Remember(each.keyspace_id, each.seen);
  if (!witness_) return {};
  return witness_->Bind(identity_.store_id, location_, sightings);
}

Result<std::vector<std::string>> WitnessedStore::IdsOf(std::string_view name) {
  if (!witness_) return std::vector<std::string>();
  return witness_->IdsOf(identity_.store_id, name);
}

}  // namespace keymill::mint
