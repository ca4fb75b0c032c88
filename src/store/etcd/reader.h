// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "store/etcd/etcd_client.h"
#include "store/etcd/layout.h"
#include "store/etcd/timeline.h"

namespace keymill::store::etcd {

struct LoadedStore {
  Header header;
  StoreEntry store;
};

// A keyspace, the store and other ranges as of one moment.
struct Loaded {
  Header header;
  StoreEntry store;
  Entry entry;
  std::vector<std::vector<KeyValue>> also;
};

// What is read for an answer, or to compute a change from. Errors of all: EtcdClient::Read's, and
// kInternal when the data is damaged; of those that look at the store, also kFailedPrecondition
// when it is newer than this program or being filled. REQUIRES: all outlive it.
class Reader {
 public:
  Reader(const Layout& layout, EtcdClient& client, Timeline& timeline)
      : layout_(layout), client_(client), timeline_(timeline) {}

  // Nothing when there is none. Also while it is being filled.
  Result<std::optional<LoadedStore>> FindStore(MonotonicTime deadline);
  // Errors: also kNotFound.
  Result<LoadedStore> LoadStore(MonotonicTime deadline);

  // Errors: also kNotFound; kUnavailable when `timeline` is neither "" nor the present one that was
  // agreed on. In a store that was sealed, open ones are told as sealed.
  Result<Loaded> Load(std::string_view id, std::vector<Range> also, MonotonicTime deadline,
                      std::string_view timeline = {});
  Result<Loaded> LoadByName(std::string_view name, MonotonicTime deadline);

  // The held rows that begin with these numbers, as they were when `entry` was; nothing when the
  // keyspace has changed meanwhile, or this answer is older.
  Result<std::optional<std::vector<KeyValue>>> LoadHeldRows(
      const Entry& entry, const std::vector<std::uint64_t>& firsts, MonotonicTime deadline);

  // By id.
  Result<std::vector<KeyspaceRecord>> LoadAll(MonotonicTime deadline);

  // Up to `keys_max` keys of the range, page by page, all as of one moment.
  Result<std::vector<KeyValue>> ReadAll(Range range, std::size_t keys_max, MonotonicTime deadline);

  // The ledger row that holds `number`.
  // REQUIRES: first <= number < next of the keyspace.
  Result<std::optional<LedgerRow>> FindRow(std::string_view id, std::uint64_t number,
                                           MonotonicTime deadline);

 private:
  const Layout& layout_;
  EtcdClient& client_;
  Timeline& timeline_;
};

}  // namespace keymill::store::etcd
