// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/orders.h"

#include "base/random.h"
#include "store/redis/layout.h"
#include "store/rules.h"

namespace keymill::store::redis {
namespace {

// Tells a change from every other, also from one that a server which lost time has made since.
constexpr std::size_t kChangeBytes = 8;

}  // namespace

std::string NewChange() { return RandomHex(kChangeBytes); }

void Orders::Create(const KeyspaceRecord& record) {
  const std::vector<std::string> fields = RecordFields(record, NewChange());
  for (std::size_t i = 0; i < fields.size(); i += 2) Add({"set", fields[i], fields[i + 1]});
}

void Orders::Update(const KeyspaceRecord& record) {
  Add({"set", "next", std::to_string(record.next)});
  Add({"set", "rev", std::to_string(record.rev)});
  Add({"set", "state", KeyspaceStateName(record.state)});
  Add({"set", "reason", record.reason});
  Add({"set", "testified_rev", std::to_string(record.testified.rev)});
  Add({"set", "testified_next", std::to_string(record.testified.next)});
  Add({"set", "change", NewChange()});
}

void Orders::Quarantine(KeyspaceRecord record, std::string_view reason, const Witness& seen) {
  if (!ApplyQuarantine(record, reason, seen)) return;
  ++record.rev;
  Update(record);
  Add({"mark", NewChange()});
}

void Orders::Put(const LedgerRow& row) {
  const std::string first = Padded(row.first);
  Add({"put", first, RowText(row)});
  const bool lent = row.state == BlockState::kLent;
  Add({row.state == BlockState::kReturned ? "return" : lent ? "lend" : "keep", first});
  // A returned row has the id of the block that it was part of, which nobody holds any more.
  if (CanGiveBack(row.state)) {
    Add({"hold", row.block_id, first});
  } else {
    Add({"settle", row.block_id});
  }
}

void Orders::Drop(const LedgerRow& row) {
  Add({"drop", Padded(row.first)});
  if (CanGiveBack(row.state)) Add({"settle", row.block_id});
}

}  // namespace keymill::store::redis
