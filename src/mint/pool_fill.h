// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// New random keys for a pool: the batch job, and what tops a pool up in the background.

#pragma once

#include <cstdint>
#include <functional>

#include "keymill/status.h"

#include "keys/key_shape.h"
#include "mint/key_register.h"

namespace keymill::mint {

class Keyspace;

struct PoolFill {
  std::uint64_t added = 0;
  std::uint64_t met = 0;  // Drawn, and there already, in whatever state.
};

// Draws digits from the kernel's generator until `count` keys were added that the pool never had,
// in batches that others cannot see half of. `progress`, if any, hears how many there are after
// each batch. Errors: kExhausted when most of what is drawn is there already, after what could be
// added was: a pool that is too full would never be done. KeyRegister::Add's; a `patient` one asks
// a store that is slow for a moment again.
Result<PoolFill> FillPool(KeyRegister& keys, const Keyspace& keyspace, const keys::KeyShape& shape,
                          std::uint64_t count, const std::function<void(std::uint64_t)>& progress,
                          bool patient);

}  // namespace keymill::mint
