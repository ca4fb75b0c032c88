// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Closing a store in favour of another, and filling an empty one: see Store::Seal and what follows
// it there.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/store.h"

#include "store/etcd/etcd_client.h"
#include "store/etcd/layout.h"
#include "store/etcd/reader.h"
#include "store/etcd/timeline.h"
#include "store/etcd/writer.h"
#include "store/fill_errors.h"

namespace keymill::store::etcd {

// Safe for concurrent use by multiple threads.
// REQUIRES: all outlive it.
class Mover {
 public:
  Mover(const Layout& layout, EtcdClient& client, Reader& reader, Writer& writer,
        Timeline& timeline)
      : layout_(layout), client_(client), reader_(reader), writer_(writer), timeline_(timeline) {}

  Status Seal(std::string_view moved_to, bool instead, MonotonicTime deadline);
  Status BeginFill(std::string_view store_id, std::string_view fill, MonotonicTime deadline);
  Status FillKeyspace(std::string_view fill, const KeyspaceRecord& record, MonotonicTime deadline);
  Status FillLedger(std::string_view fill, std::string_view keyspace_id,
                    const std::vector<LedgerRow>& rows, MonotonicTime deadline);
  Status EndFill(std::string_view fill, std::uint64_t keyspaces, std::uint64_t rows,
                 std::uint64_t keys, MonotonicTime deadline);

 private:
  Attempt<bool> TrySeal(std::string_view moved_to, bool instead, MonotonicTime deadline);
  Attempt<bool> TryBegin(std::string_view store_id, std::string_view fill, MonotonicTime deadline);
  Status Clear(StoreEntry store, MonotonicTime deadline);
  Attempt<bool> TryKeyspace(std::string_view fill, const KeyspaceRecord& record,
                            MonotonicTime deadline);
  Attempt<std::size_t> TryRows(std::string_view fill, std::string_view keyspace_id,
                               std::span<const LedgerRow> rows, Transaction& tried,
                               MonotonicTime deadline);
  Attempt<bool> TryEnd(std::string_view fill, const FillCounts& expected, MonotonicTime deadline);
  // What the store says, and the ranges; only while this fill is under way.
  Result<StoreEntry> LoadFill(std::string_view fill, std::vector<Range> ranges, Reply& reply,
                              MonotonicTime deadline);

  const Layout& layout_;
  EtcdClient& client_;
  Reader& reader_;
  Writer& writer_;
  Timeline& timeline_;
};

}  // namespace keymill::store::etcd
