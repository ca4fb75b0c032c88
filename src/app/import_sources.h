// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What other services have given out so far, as their databases tell it. They must not give out
// anything more once they were read.

#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"

#include "embed/foreign.h"

namespace keymill::app {

// A keyspace that goes on where another service has stopped.
struct Successor {
  std::string name;
  Recipe recipe;
  std::string told;  // What it was concluded from, for people: "max_id is 5001".
};

// The errors of all: ForeignDatabase::Read's; kInvalidArgument when what was read makes no sense.

// Leaf's table leaf_alloc: a sequence for each tag. Everything below max_id may be given out.
Result<std::vector<Successor>> ReadLeaf(embed::ForeignDatabase& database, MonotonicTime deadline);

// tinyid's table tiny_id_info: a sequence for each type, or a ticket where delta is not 1.
// Everything up to max_id may be given out.
Result<std::vector<Successor>> ReadTinyid(embed::ForeignDatabase& database, MonotonicTime deadline);

// A sequence of PostgreSQL or MariaDB, those numbers included that sessions hold in a cache. One
// that counts down, or begins anew at its end, is refused.
Result<Successor> ReadSequence(embed::ForeignDatabase& database, std::string_view sequence,
                               MonotonicTime deadline);

// The largest value of a column, which has to be of a type of whole numbers.
Result<Successor> ReadColumn(embed::ForeignDatabase& database, std::string_view table,
                             std::string_view column, MonotonicTime deadline);

// The key that the older Go service makes of a counter.
std::string ForgeKey(std::uint64_t counter);

// All keys that it may have given out, by its table range_counters: sorted, each once.
// Errors: kInvalidArgument also when there are more than memory is meant for.
Result<std::vector<std::string>> ReadForge(embed::ForeignDatabase& database,
                                           MonotonicTime deadline);

// One code in a line: sorted, each once. Empty lines, and spaces around a code, are passed over.
// Errors: kInvalidArgument names the first line that holds no code.
Result<std::vector<std::string>> ReadCodes(std::istream& lines);

}  // namespace keymill::app
