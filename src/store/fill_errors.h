// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What goes wrong when a store is filled that nobody but a mistaken caller can cause. All are
// kInternal.

#pragma once

#include <cstdint>
#include <string_view>

#include "keymill/status.h"

namespace keymill::store {

// `keyspace`: its name or id.
Status FilledTwice(std::string_view keyspace);
Status RowsBeforeKeyspace(std::string_view keyspace);

struct FillCounts {
  std::uint64_t keyspaces = 0;
  std::uint64_t rows = 0;
  std::uint64_t keys = 0;
  friend bool operator==(const FillCounts&, const FillCounts&) = default;
};
Status FillMiscounted(const FillCounts& found, const FillCounts& expected);

}  // namespace keymill::store
