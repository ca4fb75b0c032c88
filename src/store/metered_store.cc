// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/metered_store.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "keymill/key_table.h"

namespace keymill::store {
namespace {

constexpr std::array<std::string_view, 21> kOperationNames = {
    "identity",      "establish", "inspect",   "create",     "find",        "list",
    "retire",        "reserve",   "give_back", "find_block", "list_ledger", "quarantine",
    "recover",       "agree",     "add_keys",  "take_keys",  "change_keys", "find_key",
    "find_identity", "list_keys", "count_keys"};

constexpr std::array<std::string_view, 5> kOutcomeNames = {"ok", "refused", "unavailable",
                                                           "unknown", "failed"};

// An index into kOutcomeNames: few, so that there are few time series.
std::size_t OutcomeOf(Code code) {
  switch (code) {
    case Code::kOk:
      return 0;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
    case Code::kExhausted:
    case Code::kQuarantined:
      return 1;
    case Code::kOverloaded:
    case Code::kDeadlineExceeded:
    case Code::kUnavailable:
      return 2;
    case Code::kUnknownOutcome:
      return 3;
    case Code::kClockRegressed:
    case Code::kUnauthenticated:
    case Code::kPermissionDenied:
    case Code::kInternal:
      break;
  }
  return 4;
}

}  // namespace

template <typename Call>
auto MeteredStore::Measure(Operation operation, Call call) -> decltype(call()) {
  const MonotonicTime began = clock_.Monotonic();
  auto outcome = call();
  const auto took =
      std::chrono::duration_cast<std::chrono::nanoseconds>(clock_.Monotonic() - began).count();
  times_[operation][OutcomeOf(outcome.code())].Record(
      static_cast<std::uint64_t>(std::max<std::int64_t>(took, 0)));
  return outcome;
}

class MeteredStore::Keys final : public KeyTable {
 public:
  explicit Keys(MeteredStore& store) : store_(store) {}

  Result<Added> AddKeys(const KeyGuard& guard, const std::vector<KeyRow>& rows,
                        MonotonicTime deadline) override {
    return store_.Measure(kAddKeys, [&] { return keys().AddKeys(guard, rows, deadline); });
  }
  Result<Taken> TakeKeys(const KeyGuard& guard, const TakeRequest& request,
                         MonotonicTime deadline) override {
    return store_.Measure(kTakeKeys, [&] { return keys().TakeKeys(guard, request, deadline); });
  }
  Result<Changed> ChangeKeys(const KeyGuard& guard, const KeyChange& change,
                             MonotonicTime deadline) override {
    return store_.Measure(kChangeKeys, [&] { return keys().ChangeKeys(guard, change, deadline); });
  }
  Result<std::optional<KeyRow>> FindKey(std::string_view keyspace_id, std::string_view key,
                                        MonotonicTime deadline) override {
    return store_.Measure(kFindKey, [&] { return keys().FindKey(keyspace_id, key, deadline); });
  }
  Result<std::optional<KeyRow>> FindIdentity(std::string_view keyspace_id,
                                             std::string_view identity,
                                             MonotonicTime deadline) override {
    return store_.Measure(kFindIdentity,
                          [&] { return keys().FindIdentity(keyspace_id, identity, deadline); });
  }
  Result<Page> ListKeys(std::string_view keyspace_id, const Query& query,
                        MonotonicTime deadline) override {
    return store_.Measure(kListKeys, [&] { return keys().ListKeys(keyspace_id, query, deadline); });
  }
  Result<Counts> CountKeys(std::string_view keyspace_id, MonotonicTime deadline) override {
    return store_.Measure(kCountKeys, [&] { return keys().CountKeys(keyspace_id, deadline); });
  }
  // A store that serves is not filled.
  Status FillKeys(std::string_view fill, std::string_view keyspace_id,
                  const std::vector<KeyRow>& rows, MonotonicTime deadline) override {
    return keys().FillKeys(fill, keyspace_id, rows, deadline);
  }

 private:
  KeyTable& keys() { return *store_.store_->key_table(); }

  MeteredStore& store_;
};

MeteredStore::MeteredStore(std::unique_ptr<Store> store, const Clock& clock)
    : store_(std::move(store)),
      clock_(clock),
      keys_(store_->key_table() == nullptr ? nullptr : std::make_unique<Keys>(*this)) {
  static_assert(kOperationNames.size() == kOperations && kOutcomeNames.size() == kOutcomes);
}

MeteredStore::~MeteredStore() = default;

KeyTable* MeteredStore::key_table() { return keys_.get(); }

Result<StoreIdentity> MeteredStore::Identity(MonotonicTime deadline) {
  return Measure(kIdentity, [&] { return store_->Identity(deadline); });
}

Result<Established> MeteredStore::Establish(const EstablishRequest& request,
                                            MonotonicTime deadline) {
  return Measure(kEstablish, [&] { return store_->Establish(request, deadline); });
}

Result<std::vector<StoreFinding>> MeteredStore::Inspect(MonotonicTime deadline) {
  return Measure(kInspect, [&] { return store_->Inspect(deadline); });
}

Result<KeyspaceRecord> MeteredStore::CreateKeyspace(const NewKeyspace& keyspace,
                                                    MonotonicTime deadline) {
  return Measure(kCreate, [&] { return store_->CreateKeyspace(keyspace, deadline); });
}

Result<KeyspaceRecord> MeteredStore::FindKeyspace(std::string_view name, MonotonicTime deadline) {
  return Measure(kFind, [&] { return store_->FindKeyspace(name, deadline); });
}

Result<std::vector<KeyspaceRecord>> MeteredStore::ListKeyspaces(MonotonicTime deadline) {
  return Measure(kList, [&] { return store_->ListKeyspaces(deadline); });
}

Result<KeyspaceRecord> MeteredStore::RetireKeyspace(std::string_view name, MonotonicTime deadline) {
  return Measure(kRetire, [&] { return store_->RetireKeyspace(name, deadline); });
}

Result<Block> MeteredStore::Reserve(const ReserveRequest& request, MonotonicTime deadline) {
  return Measure(kReserve, [&] { return store_->Reserve(request, deadline); });
}

Result<Witness> MeteredStore::GiveBack(const GiveBackRequest& request, MonotonicTime deadline) {
  return Measure(kGiveBack, [&] { return store_->GiveBack(request, deadline); });
}

Result<std::optional<LedgerRow>> MeteredStore::FindBlock(std::string_view keyspace_id,
                                                         std::uint64_t number,
                                                         MonotonicTime deadline) {
  return Measure(kFindBlock, [&] { return store_->FindBlock(keyspace_id, number, deadline); });
}

Result<std::vector<LedgerRow>> MeteredStore::ListLedger(std::string_view keyspace_id,
                                                        std::uint64_t from, std::uint32_t rows_max,
                                                        MonotonicTime deadline) {
  return Measure(kListLedger,
                 [&] { return store_->ListLedger(keyspace_id, from, rows_max, deadline); });
}

Status MeteredStore::Quarantine(std::string_view keyspace_id, std::string_view reason,
                                const Witness& seen, MonotonicTime deadline) {
  return Measure(kQuarantine,
                 [&] { return store_->Quarantine(keyspace_id, reason, seen, deadline); });
}

Result<RecoverReport> MeteredStore::Recover(std::string_view keyspace_id, const Witness& floor,
                                            MonotonicTime deadline) {
  return Measure(kRecover, [&] { return store_->Recover(keyspace_id, floor, deadline); });
}

Status MeteredStore::AgreeOnTimeline(std::string_view timeline, MonotonicTime deadline) {
  return Measure(kAgree, [&] { return store_->AgreeOnTimeline(timeline, deadline); });
}

void MeteredStore::Collect(MetricFamilies& families) const {
  MetricFamily& times =
      families.Times("keymill_store_operation_duration_seconds",
                     "Time that calls to the store took, by operation and outcome. Combinations "
                     "that never occurred are left out.");
  for (std::size_t operation = 0; operation < kOperations; ++operation) {
    for (std::size_t outcome = 0; outcome < kOutcomes; ++outcome) {
      TimeCounts counts;
      times_[operation][outcome].AddTo(counts);
      if (counts.count() == 0) continue;
      times.Add(counts, {{"operation", std::string(kOperationNames[operation])},
                         {"outcome", std::string(kOutcomeNames[outcome])}});
    }
  }
}

}  // namespace keymill::store
