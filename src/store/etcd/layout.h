// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What lies where in etcd. Keys and the fields of values are promises: add, never change.
//
//   PREFIX/store                       StoreEntry
//   PREFIX/names/NAME                  the keyspace's id; written once
//   PREFIX/keyspaces/ID                the keyspace and a copy of its highest ledger row
//   PREFIX/ledger/ID/FIRST             a ledger row; FIRST has 16 hexadecimal digits
//   PREFIX/held/ID/BLOCK               FIRST of the row with this block id that is held or lent
//   PREFIX/lent/ID/FIRST               a copy of each lent row
//   PREFIX/returned/ID/FIRST           a copy of each returned row
//
// Every change of a keyspace's rows also writes PREFIX/keyspaces/ID, so that one comparison of its
// mod_revision covers all that was read for the change. Every change compares PREFIX/store as well,
// because whoever closes a store writes there and nowhere else: keyspaces that are open in a store
// that was sealed count as sealed. Every quarantine writes it, so that a seal does not overlook
// one.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "keymill/status.h"
#include "keymill/store.h"

#include "store/etcd/txn.h"

namespace keymill::store::etcd {

inline constexpr std::uint32_t kSchemaVersion = 1;

// 16 hexadecimal digits, so that keys are in the order of the numbers.
std::string NumberKey(std::uint64_t number);

class Layout {
 public:
  explicit Layout(std::string prefix) : prefix_(std::move(prefix)) {}

  [[nodiscard]] std::string Store() const;
  [[nodiscard]] std::string Name(std::string_view name) const;
  [[nodiscard]] std::string Keyspace(std::string_view id) const;
  [[nodiscard]] std::string Row(std::string_view id, std::uint64_t first) const;
  [[nodiscard]] std::string Held(std::string_view id, std::string_view block_id) const;
  [[nodiscard]] std::string Returned(std::string_view id, std::uint64_t first) const;
  [[nodiscard]] std::string Lent(std::string_view id, std::uint64_t first) const;

  [[nodiscard]] Range AllNames() const;
  [[nodiscard]] Range AllKeyspaces() const;
  [[nodiscard]] Range AllRows() const;
  // Whatever there is but Store().
  [[nodiscard]] Range Everything() const;
  // Rows with `from` <= first, and <= `to` where it is given.
  [[nodiscard]] Range Rows(std::string_view id, std::uint64_t from,
                           std::optional<std::uint64_t> to = {}) const;
  [[nodiscard]] Range ReturnedFrom(std::string_view id, std::uint64_t from) const;
  [[nodiscard]] Range AllLent(std::string_view id) const;

 private:
  std::string prefix_;
};

// What is said of the store as a whole.
struct StoreEntry {
  std::string id;
  std::string agreed = {};                // The timeline that was agreed on; see Timeline.
  std::optional<std::int64_t> lead = {};  // How far the log led then, if that was told.
  std::string moved_to = {};              // Why it is sealed; "" when it is not.
  std::string fill = {};                  // The fill that is under way; "" when there is none.
  bool clearing = false;                  // That what an earlier fill has left is there yet.
  std::int64_t mod_revision = 0;          // 0: not there yet.
};

// A keyspace with what a change of it needs to know.
struct Entry {
  KeyspaceRecord record;
  std::optional<LedgerRow> tail;  // The highest ledger row.
  std::int64_t mod_revision = 0;  // 0: not there yet.
};

std::string EntryText(const Entry& entry);
std::string RowText(const LedgerRow& row);
std::string StoreText(const StoreEntry& store);

// Errors of these: kInternal, the data is damaged or was written by a newer version.
Result<Entry> ReadEntry(const KeyValue& found);
Result<LedgerRow> ReadRow(const KeyValue& found);
Result<std::uint64_t> ReadFirst(const KeyValue& found);
// Errors: also kFailedPrecondition, a newer schema.
Result<StoreEntry> ReadStore(const KeyValue& found);

// What one transaction does to a keyspace and its ledger.
class Change {
 public:
  // REQUIRES: both were read at one moment.
  Change(const Layout& layout, const StoreEntry& store, Entry entry);

  KeyspaceRecord& record() { return entry_.record; }
  [[nodiscard]] const std::optional<LedgerRow>& tail() const { return entry_.tail; }

  // The row as it was read, with the mod_revision of the key that it was read from, if known.
  void Remove(const LedgerRow& row);
  // A row that was not there, or was removed here.
  void Put(const LedgerRow& row);
  // The transaction fails if this key has changed since it was read.
  void Expect(const KeyValue& found) { transaction_.unchanged[found.key] = found.mod_revision; }

  // Adds the keyspace itself, with its revision moved on by one unless `rev` says to what.
  Transaction Finish(std::optional<std::uint64_t> rev = {});

 private:
  const Layout& layout_;
  Entry entry_;
  Transaction transaction_;
};

}  // namespace keymill::store::etcd
