// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/fill_errors.h"

#include <fmt/format.h>

namespace keymill::store {

Status FilledTwice(std::string_view keyspace) {
  return {Code::kInternal,
          fmt::format("fill the store: keyspace {}, or rows of it, were written twice", keyspace)};
}

Status RowsBeforeKeyspace(std::string_view keyspace) {
  return {Code::kInternal,
          fmt::format("fill the store: rows of keyspace {} came before itself", keyspace)};
}

Status FillMiscounted(const FillCounts& found, const FillCounts& expected) {
  return {Code::kInternal,
          fmt::format("fill the store: it has {} keyspaces, {} rows and {} keys instead of {}, {} "
                      "and {}",
                      found.keyspaces, found.rows, found.keys, expected.keyspaces, expected.rows,
                      expected.keys)};
}

}  // namespace keymill::store
