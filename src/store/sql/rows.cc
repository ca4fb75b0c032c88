// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sql/rows.h"

#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "store/rules.h"
#include "store/sql/row_reader.h"

namespace keymill::store::sql {
namespace {

constexpr std::string_view kKeyspaceColumns =
    "name, id, recipe, recipe_hash, secret, state, reason, first_number, end_number, next_number, "
    "rev, created_at_ms";
constexpr std::string_view kTestifiedColumns = "testified_rev, testified_next";
constexpr std::string_view kLedgerColumns =
    "block_id, first_number, number_count, instance, reservation, reserved_at_ms, state";

std::int64_t Signed(std::uint64_t number) { return static_cast<std::int64_t>(number); }
std::string Text(std::string_view text) { return std::string(text); }

// The columns of a keyspace that a reader is at.
KeyspaceRecord TakeKeyspace(RowReader& reader, std::string& state) {
  KeyspaceRecord record;
  record.name = reader.TakeText();
  record.id = reader.TakeText();
  record.recipe = reader.TakeText();
  record.recipe_hash = reader.TakeText();
  record.secret = reader.TakeBytes();
  state = reader.TakeText();
  record.reason = reader.TakeText();
  record.first = reader.TakeNumber();
  record.end = reader.TakeNumber();
  record.next = reader.TakeNumber();
  record.rev = reader.TakeNumber();
  record.created_at_ms = reader.TakeSigned();
  record.testified.rev = reader.TakeNumber();
  record.testified.next = reader.TakeNumber();
  return record;
}

// `record` if it is one. REQUIRES: the reader has taken every column.
Result<KeyspaceRecord> Checked(const RowReader& reader, KeyspaceRecord record,
                               const std::string& state) {
  if (!reader.sound()) {
    return Status(Code::kInternal, fmt::format("read keyspace {}: damaged row", record.name));
  }
  Result<KeyspaceState> parsed = ParseKeyspaceState(state);
  if (!parsed.ok()) return parsed.status();
  record.state = *parsed;
  if (Status sound = CheckRecord(record); !sound.ok()) return sound;
  return record;
}

Result<KeyspaceRecord> ReadKeyspace(Row& row) {
  RowReader reader(row);
  std::string state;
  KeyspaceRecord record = TakeKeyspace(reader, state);
  return Checked(reader, std::move(record), state);
}

Result<LedgerRow> ReadLedger(Row& row) {
  RowReader reader(row);
  LedgerRow ledger;
  ledger.block_id = reader.TakeText();
  ledger.first = reader.TakeNumber();
  ledger.count = reader.TakeNumber();
  ledger.instance = reader.TakeText();
  ledger.reservation = reader.TakeText();
  ledger.reserved_at_ms = reader.TakeSigned();
  const std::string state = reader.TakeText();
  if (!reader.sound() || ledger.count == 0) {
    return Status(Code::kInternal, fmt::format("read block {}: damaged row", ledger.block_id));
  }
  Result<BlockState> parsed = ParseBlockState(state);
  if (!parsed.ok()) return parsed.status();
  ledger.state = *parsed;
  return ledger;
}

Result<std::vector<LedgerRow>> QueryLedger(Connection& db, std::string_view where_and_order,
                                           std::span<const Value> values) {
  Result<std::vector<Row>> rows = db.Query(
      fmt::format("SELECT {} FROM keymill_ledger WHERE {}", kLedgerColumns, where_and_order),
      values);
  if (!rows.ok()) return rows.status();
  std::vector<LedgerRow> ledger;
  for (Row& row : *rows) {
    Result<LedgerRow> read = ReadLedger(row);
    if (!read.ok()) return read.status();
    ledger.push_back(*std::move(read));
  }
  return ledger;
}

Result<std::optional<LedgerRow>> QueryOneRow(Connection& db, std::string_view where_and_order,
                                             std::span<const Value> values) {
  Result<std::vector<LedgerRow>> rows = QueryLedger(db, where_and_order, values);
  if (!rows.ok()) return rows.status();
  if (rows->empty()) return std::optional<LedgerRow>();
  return std::optional<LedgerRow>(std::move(rows->front()));
}

}  // namespace

Status ExecuteOne(Connection& db, std::string_view sql, std::span<const Value> values) {
  Result<std::int64_t> changed = db.Execute(sql, values);
  if (!changed.ok()) return changed.status();
  if (*changed != 1) {
    return {Code::kInternal, fmt::format("{}: changed {} rows instead of 1", sql, *changed)};
  }
  return {};
}

Result<std::optional<KeyspaceRecord>> SelectKeyspace(Connection& db, std::string_view column,
                                                     std::string_view value,
                                                     std::string_view lock) {
  const std::array<Value, 1> values = {Text(value)};
  Result<std::vector<Row>> rows =
      db.Query(fmt::format("SELECT {}, {} FROM keymill_keyspaces WHERE {} = ?{}", kKeyspaceColumns,
                           kTestifiedColumns, column, lock),
               values);
  if (!rows.ok()) return rows.status();
  if (rows->empty()) return std::optional<KeyspaceRecord>();
  Result<KeyspaceRecord> record = ReadKeyspace(rows->front());
  if (!record.ok()) return record.status();
  return std::optional<KeyspaceRecord>(*std::move(record));
}

Result<std::optional<LockedKeyspace>> LockKeyspace(Connection& db, std::string_view id,
                                                   const Dialect& dialect) {
  const std::array<Value, 1> values = {Text(id)};
  Result<std::vector<Row>> rows =
      db.Query(fmt::format("SELECT {}, {}, {}, (SELECT fill_name FROM keymill_store) FROM "
                           "keymill_keyspaces WHERE id = ?{}",
                           kKeyspaceColumns, kTestifiedColumns,
                           dialect.timeline.empty() ? std::string_view("''") : dialect.timeline,
                           dialect.row_lock),
               values);
  if (!rows.ok()) return rows.status();
  if (rows->empty()) return std::optional<LockedKeyspace>();
  RowReader reader(rows->front());
  std::string state;
  KeyspaceRecord taken = TakeKeyspace(reader, state);
  std::string timeline = reader.TakeText();
  const bool being_filled = !reader.TakeText().empty();
  Result<KeyspaceRecord> record = Checked(reader, std::move(taken), state);
  if (!record.ok()) return record.status();
  return std::optional<LockedKeyspace>({*std::move(record), std::move(timeline), being_filled});
}

Result<std::vector<KeyspaceRecord>> SelectAllKeyspaces(Connection& db, std::string_view lock,
                                                       bool testified) {
  Result<std::vector<Row>> rows =
      db.Query(fmt::format("SELECT {}, {} FROM keymill_keyspaces ORDER BY name{}", kKeyspaceColumns,
                           testified ? kTestifiedColumns : std::string_view("0, 0"), lock),
               {});
  if (!rows.ok()) return rows.status();
  std::vector<KeyspaceRecord> records;
  for (Row& row : *rows) {
    Result<KeyspaceRecord> record = ReadKeyspace(row);
    if (!record.ok()) return record.status();
    records.push_back(*std::move(record));
  }
  return records;
}

Status InsertKeyspace(Connection& db, const KeyspaceRecord& record) {
  const std::array<Value, 14> values = {record.name,
                                        record.id,
                                        record.recipe,
                                        record.recipe_hash,
                                        Bytes{record.secret},
                                        Text(KeyspaceStateName(record.state)),
                                        record.reason,
                                        Signed(record.first),
                                        Signed(record.end),
                                        Signed(record.next),
                                        Signed(record.rev),
                                        record.created_at_ms,
                                        Signed(record.testified.rev),
                                        Signed(record.testified.next)};
  return ExecuteOne(db,
                    fmt::format("INSERT INTO keymill_keyspaces ({}, {}) VALUES "
                                "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                kKeyspaceColumns, kTestifiedColumns),
                    values);
}

Status UpdateKeyspace(Connection& db, const KeyspaceRecord& record, std::uint64_t rev_before,
                      std::uint64_t rev_after) {
  const std::array<Value, 8> values = {Text(KeyspaceStateName(record.state)),
                                       record.reason,
                                       Signed(record.next),
                                       Signed(rev_after),
                                       Signed(record.testified.rev),
                                       Signed(record.testified.next),
                                       record.id,
                                       Signed(rev_before)};
  return ExecuteOne(db,
                    "UPDATE keymill_keyspaces SET state = ?, reason = ?, next_number = ?, rev = ?, "
                    "testified_rev = ?, testified_next = ? WHERE id = ? AND rev = ?",
                    values);
}

Result<std::optional<LedgerRow>> SelectRowAtOrBelow(Connection& db, std::string_view keyspace_id,
                                                    std::uint64_t number) {
  const std::array<Value, 2> values = {Text(keyspace_id), Signed(number)};
  return QueryOneRow(db, "keyspace_id = ? AND first_number <= ? ORDER BY first_number DESC LIMIT 1",
                     values);
}

Result<std::optional<LedgerRow>> SelectReturned(Connection& db, std::string_view keyspace_id,
                                                std::uint64_t above) {
  const std::array<Value, 2> values = {Text(keyspace_id), Signed(above)};
  return QueryOneRow(db,
                     "keyspace_id = ? AND state = 'returned' AND first_number >= ? "
                     "ORDER BY first_number LIMIT 1",
                     values);
}

Result<std::optional<LedgerRow>> SelectRow(Connection& db, std::string_view keyspace_id,
                                           BlockState state, std::string_view block_id) {
  const std::array<Value, 3> values = {Text(keyspace_id), Text(BlockStateName(state)),
                                       Text(block_id)};
  return QueryOneRow(db, "keyspace_id = ? AND state = ? AND block_id = ?", values);
}

Result<std::vector<LedgerRow>> SelectRows(Connection& db, std::string_view keyspace_id,
                                          std::uint64_t from, std::uint32_t rows_max) {
  const std::array<Value, 3> values = {Text(keyspace_id), Signed(from),
                                       static_cast<std::int64_t>(rows_max)};
  return QueryLedger(db, "keyspace_id = ? AND first_number >= ? ORDER BY first_number LIMIT ?",
                     values);
}

Status InsertRow(Connection& db, std::string_view keyspace_id, const LedgerRow& row) {
  return InsertRows(db, keyspace_id, {&row, 1});
}

Status InsertRows(Connection& db, std::string_view keyspace_id, std::span<const LedgerRow> rows) {
  std::string sql =
      fmt::format("INSERT INTO keymill_ledger (keyspace_id, {}) VALUES ", kLedgerColumns);
  std::vector<Value> values;
  for (const LedgerRow& row : rows) {
    sql += values.empty() ? "(?, ?, ?, ?, ?, ?, ?, ?)" : ", (?, ?, ?, ?, ?, ?, ?, ?)";
    for (Value value : std::initializer_list<Value>{
             Text(keyspace_id), row.block_id, Signed(row.first), Signed(row.count), row.instance,
             row.reservation, row.reserved_at_ms, Text(BlockStateName(row.state))}) {
      values.push_back(std::move(value));
    }
  }
  Result<std::int64_t> inserted = db.Execute(sql, values);
  if (!inserted.ok()) return inserted.status();
  if (std::cmp_equal(*inserted, rows.size())) return {};
  return {Code::kInternal,
          fmt::format("insert {} rows of the ledger: {} were", rows.size(), *inserted)};
}

Status DeleteRow(Connection& db, std::string_view keyspace_id, const LedgerRow& row) {
  const std::array<Value, 2> values = {Text(keyspace_id), Signed(row.first)};
  return ExecuteOne(db, "DELETE FROM keymill_ledger WHERE keyspace_id = ? AND first_number = ?",
                    values);
}

Status ExtendRow(Connection& db, std::string_view keyspace_id, const LedgerRow& row) {
  const std::array<Value, 4> values = {Signed(row.count), row.reservation, Text(keyspace_id),
                                       Signed(row.first)};
  return ExecuteOne(db,
                    "UPDATE keymill_ledger SET number_count = ?, reservation = ? "
                    "WHERE keyspace_id = ? AND first_number = ?",
                    values);
}

Status MarkSpent(Connection& db, std::string_view keyspace_id, std::string_view block_id) {
  const std::array<Value, 2> values = {Text(keyspace_id), Text(block_id)};
  return db
      .Execute(
          "UPDATE keymill_ledger SET state = 'spent' "
          "WHERE keyspace_id = ? AND block_id = ? AND state = 'held'",
          values)
      .status();
}

Result<std::uint64_t> BurnLoose(Connection& db, std::string_view keyspace_id) {
  const std::array<Value, 1> values = {Text(keyspace_id)};
  Result<std::vector<LedgerRow>> returned =
      QueryLedger(db, "keyspace_id = ? AND state = 'returned'", values);
  if (!returned.ok()) return returned.status();
  std::uint64_t burned = 0;
  for (const LedgerRow& row : *returned) burned += row.count;
  Result<std::int64_t> changed = db.Execute(
      "UPDATE keymill_ledger SET state = 'burned' WHERE keyspace_id = ? AND state IN "
      "('returned', 'lent')",
      values);
  if (!changed.ok()) return changed.status();
  return burned;
}

}  // namespace keymill::store::sql
