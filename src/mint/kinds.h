// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What differs by kind when a keyspace is made: here is where a kind gets its class.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "keymill/clock.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "mint/keyspace.h"
#include "mint/pool_options.h"
#include "mint/snowflake_keyspace.h"

namespace keymill::mint {

// A keyspace as this process would make it, if nobody has yet.
// Errors: kInvalidArgument when the name or the recipe cannot be.
Result<NewKeyspace> DraftKeyspace(std::string_view name, const Recipe& recipe);

// Whether keys would come of it. A look that costs a little more, for those that are really made.
// Errors: kInvalidArgument when the blocklist leaves none.
Status CheckFruitful(const NewKeyspace& draft, const Recipe& recipe);

// Whether keyspaces of this kind take blocks of numbers from the store.
bool TakesBlocks(Kind kind);

// Whether its keys are made of random bits, so that nobody counts them and none is ever the last.
bool IsEndless(Kind kind);

// Whether its keys are kept in the store one by one, so that it needs one that can.
bool IsStoredByKey(Kind kind);

// What every keyspace needs of its engine.
struct KeyspaceContext {
  std::uint32_t waiters_max = 0;
  LowSignal low_signal;
  const Clock& clock;
  SnowflakeOptions snowflake = {};
  PoolOptions pool = {};
};

// The keyspace that the store holds, as this instance serves it.
// Errors: kInvalidArgument for a recipe that this version cannot read; kFailedPrecondition when
// recipe and secret do not belong together.
Result<std::unique_ptr<Keyspace>> MakeKeyspace(const KeyspaceRecord& record,
                                               const KeyspaceContext& context);

}  // namespace keymill::mint
