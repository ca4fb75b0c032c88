// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The key table of the SQL store. Every change locks the keyspace's row, as a reservation does:
// so its revision moves on with the keys, and nobody else changes them meanwhile.

#pragma once

#include <memory>

#include "keymill/key_table.h"

#include "store/sql/transactor.h"

namespace keymill::store::sql {

// `transactor` outlives the table.
std::unique_ptr<KeyTable> MakeSqlKeyTable(Transactor& transactor);

}  // namespace keymill::store::sql
