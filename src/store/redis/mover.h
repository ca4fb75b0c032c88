// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Closing a store in favour of another, and filling an empty one: see Store::Seal and what follows
// it there.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/store.h"

#include "store/redis/client.h"
#include "store/redis/keyspace_client.h"
#include "store/redis/scripts.h"

namespace keymill::store::redis {

// Safe for concurrent use by multiple threads.
// REQUIRES: `keyspaces` outlives it.
class Mover {
 public:
  explicit Mover(KeyspaceClient& keyspaces) : keyspaces_(keyspaces), client_(keyspaces.client()) {}

  Status Seal(std::string_view moved_to, bool instead, MonotonicTime deadline);
  Status BeginFill(std::string_view store_id, std::string_view fill, std::int64_t wall_ms,
                   MonotonicTime deadline);
  Status FillKeyspace(std::string_view fill, const KeyspaceRecord& record, MonotonicTime deadline);
  Status FillLedger(std::string_view fill, std::string_view keyspace_id,
                    const std::vector<LedgerRow>& rows, MonotonicTime deadline);
  Status EndFill(std::string_view fill, std::uint64_t keyspaces, std::uint64_t rows,
                 std::uint64_t keys, MonotonicTime deadline);

 private:
  // Name and id of each keyspace in turn.
  Result<std::vector<std::string>> Names(MonotonicTime deadline);
  Status Clear(std::string_view fill, MonotonicTime deadline);
  [[nodiscard]] const std::string& prefix() const { return client_.settings().prefix; }

  KeyspaceClient& keyspaces_;
  Client& client_;
};

}  // namespace keymill::store::redis
