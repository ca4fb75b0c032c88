// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Which ticket keyspaces would give the same keys. Tickets are for stores that never talk to each
// other; where they do share a store, a mistake in stride or offset can be told at once.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

namespace keymill::mint {

struct Ticket {
  std::string name;
  Recipe recipe;
};

// Whether the two have one format and numbers in common. One format is: the same counter, alphabet,
// length, prefix and check symbol, in whatever spelling, and a length of 0 is every length; then a
// key of one can look like a key of the other. They have numbers in common when their offsets are
// congruent modulo the greatest common divisor of their strides.
bool TicketsMeet(const Recipe& a, const Recipe& b);

// The tickets among `records` that are not retired.
std::vector<Ticket> TicketsIn(std::span<const KeyspaceRecord> records);

// kFailedPrecondition when a ticket of this name would meet one of `others` with another name; the
// message names it, and the offsets that are free.
Status CheckTickets(std::string_view name, const Recipe& recipe, std::span<const Ticket> others);

}  // namespace keymill::mint
