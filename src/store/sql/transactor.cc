// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sql/transactor.h"

#include <optional>

#include <fmt/format.h>

namespace keymill::store::sql {

Status NoSuchId(std::string_view id) {
  return {Code::kNotFound, fmt::format("no keyspace has the id {}", id)};
}

Status NoSchema() {
  return {Code::kNotFound, "open the store: the database holds no Keymill store"};
}

Status Transactor::Denied(const Status& failure) {
  if (admitted_) return {Code::kUnavailable, failure.message()};
  return {Code::kFailedPrecondition,
          fmt::format("{}. {}", failure.message(), pool_.driver().RightsAdvice())};
}

Result<KeyspaceRecord> Transactor::LockForRequest(Connection& db, const std::string& keyspace_id,
                                                  const std::string& timeline) {
  Result<std::optional<LockedKeyspace>> locked = LockKeyspace(db, keyspace_id, dialect());
  if (!locked.ok()) return locked.status();
  if (!locked->has_value()) {
    Result<StoreRow> row = UsableStore(db, /*lock=*/"");
    return row.ok() ? NoSuchId(keyspace_id) : row.status();
  }
  if ((*locked)->being_filled) return BeingFilled();
  if (!timeline.empty()) {
    Result<std::string> present = dialect().timeline.empty()
                                      ? pool_.driver().Timeline()
                                      : Result<std::string>(std::move((*locked)->timeline));
    if (!present.ok()) return present.status();
    if (*present != timeline) return TimelineChanged();
  }
  return std::move((*locked)->record);
}

Result<StoreRow> Transactor::UsableStore(Connection& db, std::string_view lock) {
  Result<StoreRow> row = SelectStore(db, lock);
  if (!row.ok()) return row;
  if (row->store_id.empty()) return NoSchema();
  if (!row->fill.empty()) return BeingFilled();
  return row;
}

Result<StoreRow> Transactor::WritableStore(Connection& db) {
  Result<StoreRow> row = UsableStore(db, row_lock());
  if (row.ok() && !row->moved_to.empty()) return Sealed(row->moved_to);
  return row;
}

Status Transactor::WriteQuarantine(Connection& db, KeyspaceRecord record, std::string_view reason,
                                   const Witness& seen) {
  if (!ApplyQuarantine(record, reason, seen)) return {};
  return UpdateKeyspace(db, record);
}

}  // namespace keymill::store::sql
