// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Any store, with a record of how long its calls took and how they ended.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/store.h"

#include "base/metrics.h"

namespace keymill::store {

// Passes every call on. Takes no lock of its own.
class MeteredStore final : public Store, public MetricSource {
 public:
  // `clock` outlives the store.
  MeteredStore(std::unique_ptr<Store> store, const Clock& clock);
  ~MeteredStore() override;

  Result<StoreIdentity> Identity(MonotonicTime deadline) override;
  Result<Established> Establish(const EstablishRequest& request, MonotonicTime deadline) override;
  Result<std::vector<StoreFinding>> Inspect(MonotonicTime deadline) override;
  Result<KeyspaceRecord> CreateKeyspace(const NewKeyspace& keyspace,
                                        MonotonicTime deadline) override;
  Result<KeyspaceRecord> FindKeyspace(std::string_view name, MonotonicTime deadline) override;
  Result<std::vector<KeyspaceRecord>> ListKeyspaces(MonotonicTime deadline) override;
  Result<KeyspaceRecord> RetireKeyspace(std::string_view name, MonotonicTime deadline) override;
  Result<Block> Reserve(const ReserveRequest& request, MonotonicTime deadline) override;
  Result<Witness> GiveBack(const GiveBackRequest& request, MonotonicTime deadline) override;
  Result<std::optional<LedgerRow>> FindBlock(std::string_view keyspace_id, std::uint64_t number,
                                             MonotonicTime deadline) override;
  Result<std::vector<LedgerRow>> ListLedger(std::string_view keyspace_id, std::uint64_t from,
                                            std::uint32_t rows_max,
                                            MonotonicTime deadline) override;
  Status Quarantine(std::string_view keyspace_id, std::string_view reason, const Witness& seen,
                    MonotonicTime deadline) override;
  Result<RecoverReport> Recover(std::string_view keyspace_id, const Witness& floor,
                                MonotonicTime deadline) override;
  Status AgreeOnTimeline(std::string_view timeline, MonotonicTime deadline) override;
  KeyTable* key_table() override;

  // Does not call the store.
  void Collect(MetricFamilies& families) const override;

 private:
  enum Operation : std::uint8_t {
    kIdentity,
    kEstablish,
    kInspect,
    kCreate,
    kFind,
    kList,
    kRetire,
    kReserve,
    kGiveBack,
    kFindBlock,
    kListLedger,
    kQuarantine,
    kRecover,
    kAgree,
    kAddKeys,
    kTakeKeys,
    kChangeKeys,
    kFindKey,
    kFindIdentity,
    kListKeys,
    kCountKeys,
    kOperations
  };
  static constexpr std::size_t kOutcomes = 5;
  class Keys;

  template <typename Call>
  auto Measure(Operation operation, Call call) -> decltype(call());

  const std::unique_ptr<Store> store_;
  const Clock& clock_;
  std::array<std::array<SharedTimes, kOutcomes>, kOperations> times_;
  const std::unique_ptr<Keys> keys_;  // None where the store has none.
};

}  // namespace keymill::store
