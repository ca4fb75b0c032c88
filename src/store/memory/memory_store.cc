// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/memory/memory_store.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/mutex.h"
#include "base/random.h"
#include "store/rules.h"

namespace keymill::store {
namespace {

struct Entry {
  KeyspaceRecord record;
  std::map<std::uint64_t, LedgerRow> ledger;  // By first number.
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(const Clock& clock) : clock_(clock) {}

  Result<StoreIdentity> Identity(MonotonicTime /*deadline*/) override {
    return StoreIdentity{store_id_, store_id_, 1};
  }

  Result<Established> Establish(const EstablishRequest& request,
                                MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    // All or nothing: what cannot be is found before anything is changed.
    for (const EstablishRequest::Part& part : request.keyspaces) {
      if (FindByName(part.keyspace.name) != nullptr) continue;
      Result<KeyspaceRecord> record = FirstRecord(part.keyspace, clock_.WallMs());
      if (!record.ok()) return record.status();
    }
    Established established{{store_id_, store_id_, 1}, {}};
    for (const EstablishRequest::Part& part : request.keyspaces) {
      Result<Established::Part> made = EstablishPart(part, request.instance);
      if (!made.ok()) return made.status();
      established.keyspaces.push_back(*std::move(made));
    }
    return established;
  }

  Result<KeyspaceRecord> CreateKeyspace(const NewKeyspace& keyspace,
                                        MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    Result<Established::Part> made = EstablishPart({keyspace, 0, {}}, {});
    if (!made.ok()) return made.status();
    return std::move(made->record);
  }

  Result<KeyspaceRecord> FindKeyspace(std::string_view name, MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    const Entry* const entry = FindByName(name);
    if (entry == nullptr) return NoSuchName(name);
    return entry->record;
  }

  Result<std::vector<KeyspaceRecord>> ListKeyspaces(MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    std::map<std::string, KeyspaceRecord> by_name;
    for (const auto& [id, entry] : entries_) by_name.emplace(entry.record.name, entry.record);
    std::vector<KeyspaceRecord> records;
    records.reserve(by_name.size());
    for (auto& [name, record] : by_name) records.push_back(std::move(record));
    return records;
  }

  Result<KeyspaceRecord> RetireKeyspace(std::string_view name,
                                        MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    Entry* const entry = FindByName(name);
    if (entry == nullptr) return NoSuchName(name);
    if (entry->record.state != KeyspaceState::kRetired) {
      entry->record.state = KeyspaceState::kRetired;
      ++entry->record.rev;
    }
    return entry->record;
  }

  Result<Block> Reserve(const ReserveRequest& request, MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    Entry* const entry = FindById(request.keyspace_id);
    if (entry == nullptr) return NoSuchId(request.keyspace_id);
    KeyspaceRecord& record = entry->record;
    if (Status usable = CheckReservable(record, request.recipe_hash, request.witness);
        !usable.ok()) {
      if (usable.code() == Code::kQuarantined) SetQuarantine(record, usable.message());
      return usable;
    }
    return ReserveFrom(*entry, request);
  }

  Result<Witness> GiveBack(const GiveBackRequest& request, MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    Entry* const entry = FindById(request.keyspace_id);
    if (entry == nullptr) return NoSuchId(request.keyspace_id);
    KeyspaceRecord& record = entry->record;
    if (Status usable = CheckReservable(record, record.recipe_hash, request.witness);
        !usable.ok()) {
      if (usable.code() == Code::kQuarantined) SetQuarantine(record, usable.message());
      return usable;
    }
    for (auto& [first, row] : entry->ledger) {
      if (row.block_id != request.block_id || row.state != BlockState::kHeld) continue;
      Result<std::vector<LedgerRow>> settled = SettleRow(row, request.first_unused);
      if (!settled.ok()) return settled.status();
      entry->ledger.erase(first);
      for (LedgerRow& part : *settled) entry->ledger[part.first] = std::move(part);
      ++record.rev;
      return Witness{record.rev, record.next};
    }
    return NotHeld(request.block_id);
  }

  Result<std::optional<LedgerRow>> FindBlock(std::string_view keyspace_id, std::uint64_t number,
                                             MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    Entry* const entry = FindById(keyspace_id);
    if (entry == nullptr) return NoSuchId(keyspace_id);
    auto after = entry->ledger.upper_bound(number);
    if (after == entry->ledger.begin()) return std::optional<LedgerRow>();
    const LedgerRow& row = std::prev(after)->second;
    if (number >= row.first + row.count) return std::optional<LedgerRow>();
    return std::optional<LedgerRow>(row);
  }

  Result<std::vector<LedgerRow>> ListLedger(std::string_view keyspace_id, std::uint64_t from,
                                            std::uint32_t rows_max,
                                            MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    Entry* const entry = FindById(keyspace_id);
    if (entry == nullptr) return NoSuchId(keyspace_id);
    std::vector<LedgerRow> rows;
    for (auto at = entry->ledger.lower_bound(from);
         at != entry->ledger.end() && rows.size() < rows_max; ++at) {
      rows.push_back(at->second);
    }
    return rows;
  }

  Status Quarantine(std::string_view keyspace_id, std::string_view reason,
                    MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    Entry* const entry = FindById(keyspace_id);
    if (entry == nullptr) return NoSuchId(keyspace_id);
    SetQuarantine(entry->record, reason);
    return {};
  }

  Result<RecoverReport> Recover(std::string_view keyspace_id, const Witness& floor,
                                MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    Entry* const entry = FindById(keyspace_id);
    if (entry == nullptr) return NoSuchId(keyspace_id);
    KeyspaceRecord& record = entry->record;
    if (record.state != KeyspaceState::kQuarantined) {
      return Status(Code::kFailedPrecondition,
                    fmt::format("recover {}: it is not quarantined", record.name));
    }
    RecoverReport report{.next_before = record.next,
                         .next_after = 0,
                         .returned_burned = 0,
                         .seen = RecoveredWitness(record, floor)};
    for (auto& [first, row] : entry->ledger) {
      if (row.state != BlockState::kReturned) continue;
      row.state = BlockState::kBurned;
      report.returned_burned += row.count;
    }
    if (const auto lost = LostRow(record, report.seen, clock_.WallMs())) {
      entry->ledger[lost->first] = *lost;
    }
    record.next = report.next_after = report.seen.next;
    record.rev = report.seen.rev;
    record.state = KeyspaceState::kOpen;
    record.reason.clear();
    return report;
  }

 private:
  static Status NoSuchName(std::string_view name) {
    return {Code::kNotFound, fmt::format("no keyspace is called {}", name)};
  }
  static Status NoSuchId(std::string_view id) {
    return {Code::kNotFound, fmt::format("no keyspace has the id {}", id)};
  }

  Entry* FindById(std::string_view id) KEYMILL_REQUIRES(mu_) {
    const auto found = entries_.find(std::string(id));
    return found == entries_.end() ? nullptr : &found->second;
  }

  Entry* FindByName(std::string_view name) KEYMILL_REQUIRES(mu_) {
    for (auto& [id, entry] : entries_) {
      if (entry.record.name == name) return &entry;
    }
    return nullptr;
  }

  // The keyspace of this name; created, with a first block where one is asked for, unless it
  // was there.
  Result<Established::Part> EstablishPart(const EstablishRequest::Part& wanted,
                                          std::string_view instance) KEYMILL_REQUIRES(mu_) {
    if (Entry* const existing = FindByName(wanted.keyspace.name)) {
      return Established::Part{existing->record, {}};
    }
    Result<KeyspaceRecord> record = FirstRecord(wanted.keyspace, clock_.WallMs());
    if (!record.ok()) return record.status();
    Entry& entry = entries_.emplace(record->id, Entry{*record, {}}).first->second;
    std::optional<Block> block;
    if (wanted.count > 0) {
      Result<Block> reserved = ReserveFrom(entry, FirstReserve(wanted, instance));
      if (!reserved.ok()) return reserved.status();
      block = *std::move(reserved);
    }
    return Established::Part{entry.record, std::move(block)};
  }

  // REQUIRES: CheckReservable.
  Result<Block> ReserveFrom(Entry& entry, const ReserveRequest& request) KEYMILL_REQUIRES(mu_) {
    KeyspaceRecord& record = entry.record;
    const auto returned = LowestReturned(entry, request.above);
    Result<Grant> grant = DecideGrant(record, returned, request);
    if (!grant.ok()) return grant.status();
    for (auto& [first, row] : entry.ledger) {
      const bool spent = std::find(request.spent.begin(), request.spent.end(), row.block_id) !=
                         request.spent.end();
      if (spent && row.state == BlockState::kHeld) row.state = BlockState::kSpent;
    }
    const std::string block_id = WriteGrant(entry, *grant, returned, request);
    if (!grant->from_returned) record.next += grant->count;
    ++record.rev;
    return Block{block_id, grant->first, grant->count, {record.rev, record.next}};
  }

  static void SetQuarantine(KeyspaceRecord& record, std::string_view reason) {
    // A retired one stays retired: a recovery would open it again.
    if (record.state != KeyspaceState::kOpen) return;
    record.state = KeyspaceState::kQuarantined;
    record.reason = reason;
    ++record.rev;
  }

  static std::optional<LedgerRow> LowestReturned(const Entry& entry, std::uint64_t above) {
    for (auto at = entry.ledger.lower_bound(above); at != entry.ledger.end(); ++at) {
      if (at->second.state == BlockState::kReturned) return at->second;
    }
    return {};
  }

  // Writes the ledger row of a grant and returns its block id.
  std::string WriteGrant(Entry& entry, const Grant& grant, const std::optional<LedgerRow>& returned,
                         const ReserveRequest& request) {
    std::optional<LedgerRow> last;
    if (!entry.ledger.empty()) last = entry.ledger.rbegin()->second;
    if (ExtendsRow(last, grant, request)) {
      LedgerRow& row = entry.ledger.rbegin()->second;
      row.count += grant.count;
      row.reservation = request.reservation;
      return row.block_id;
    }
    if (returned) {
      entry.ledger.erase(returned->first);
      if (grant.count < returned->count) {
        LedgerRow rest = *returned;
        rest.first += grant.count;
        rest.count -= grant.count;
        entry.ledger[rest.first] = rest;
      }
    }
    entry.ledger[grant.first] =
        LedgerRow{request.reservation, grant.first,     grant.count,      request.instance,
                  request.reservation, clock_.WallMs(), BlockState::kHeld};
    return request.reservation;
  }

  const Clock& clock_;
  const std::string store_id_ = RandomHex(16);
  Mutex mu_;
  std::map<std::string, Entry> entries_ KEYMILL_GUARDED_BY(mu_);  // By keyspace id.
};

}  // namespace

std::unique_ptr<Store> OpenMemoryStore(const Clock& clock) {
  return std::make_unique<MemoryStore>(clock);
}

}  // namespace keymill::store
