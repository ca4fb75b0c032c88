// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/memory/memory_store.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/mutex.h"
#include "base/random.h"
#include "store/fill_errors.h"
#include "store/key_rules.h"
#include "store/memory/memory_keys.h"
#include "store/rules.h"

namespace keymill::store {
namespace {

struct Entry {
  KeyspaceRecord record;
  std::map<std::uint64_t, LedgerRow> ledger;  // By first number.
  MemoryKeys keys = {};
};

// Everything but the timeline, which is outside of what a store holds.
struct Data {
  std::string store_id = RandomHex(16);
  std::string agreed_timeline;
  bool made = false;                     // Somebody has used it, or filled it.
  std::string moved_to;                  // Of one that was sealed.
  std::string fill;                      // The fill that is under way.
  std::map<std::string, Entry> entries;  // By keyspace id.
};

}  // namespace

class MemoryCopy {
 public:
  explicit MemoryCopy(Data data) : data_(std::move(data)) {}
  [[nodiscard]] const Data& data() const { return data_; }

 private:
  const Data data_;
};

namespace {

class MemoryStore final : public Store, private MemoryKeyspaces {
 public:
  explicit MemoryStore(const Clock& clock) : clock_(clock) { data_.agreed_timeline = timeline_; }

  Result<StoreIdentity> Identity(MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (!data_.fill.empty()) return BeingFilled();
    return IdentityNow();
  }

  Result<Established> Establish(const EstablishRequest& request,
                                MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (Status writable = CheckWritable(); !writable.ok()) return writable;
    // All or nothing: what cannot be is found before anything is changed.
    for (const EstablishRequest::Part& part : request.keyspaces) {
      if (FindByName(part.keyspace.name) != nullptr) continue;
      Result<KeyspaceRecord> record = FirstRecord(part.keyspace, clock_.WallMs());
      if (!record.ok()) return record.status();
    }
    data_.made = true;
    Established established{IdentityNow(), {}};
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
    if (Status writable = CheckWritable(); !writable.ok()) return writable;
    Result<Established::Part> made = EstablishPart({keyspace, 0, {}}, {});
    if (!made.ok()) return made.status();
    data_.made = true;
    return std::move(made->record);
  }

  Result<KeyspaceRecord> FindKeyspace(std::string_view name, MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (!data_.fill.empty()) return BeingFilled();
    const Entry* const entry = FindByName(name);
    if (entry == nullptr) return NoSuchName(name);
    return entry->record;
  }

  Result<std::vector<KeyspaceRecord>> ListKeyspaces(MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (!data_.fill.empty()) return BeingFilled();
    std::map<std::string, KeyspaceRecord> by_name;
    for (const auto& [id, entry] : data_.entries) by_name.emplace(entry.record.name, entry.record);
    std::vector<KeyspaceRecord> records;
    records.reserve(by_name.size());
    for (auto& [name, record] : by_name) records.push_back(std::move(record));
    return records;
  }

  Result<KeyspaceRecord> RetireKeyspace(std::string_view name,
                                        MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (Status writable = CheckWritable(); !writable.ok()) return writable;
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
    if (!data_.fill.empty()) return BeingFilled();
    Entry* const entry = FindById(request.keyspace_id);
    if (entry == nullptr) return NoSuchId(request.keyspace_id);
    if (Status usable = CheckRequest(entry->record, request.recipe_hash, request); !usable.ok()) {
      return usable;
    }
    return ReserveFrom(*entry, request);
  }

  Result<Witness> GiveBack(const GiveBackRequest& request, MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (!data_.fill.empty()) return BeingFilled();
    Entry* const entry = FindById(request.keyspace_id);
    if (entry == nullptr) return NoSuchId(request.keyspace_id);
    KeyspaceRecord& record = entry->record;
    if (Status usable = CheckRequest(record, record.recipe_hash, request); !usable.ok()) {
      return usable;
    }
    for (auto& [first, row] : entry->ledger) {
      if (row.block_id != request.block_id || !CanGiveBack(row.state)) continue;
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
    if (!data_.fill.empty()) return BeingFilled();
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
    if (!data_.fill.empty()) return BeingFilled();
    Entry* const entry = FindById(keyspace_id);
    if (entry == nullptr) return NoSuchId(keyspace_id);
    std::vector<LedgerRow> rows;
    for (auto at = entry->ledger.lower_bound(from);
         at != entry->ledger.end() && rows.size() < rows_max; ++at) {
      rows.push_back(at->second);
    }
    return rows;
  }

  Status Quarantine(std::string_view keyspace_id, std::string_view reason, const Witness& seen,
                    MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (Status writable = CheckWritable(); !writable.ok()) return writable;
    Entry* const entry = FindById(keyspace_id);
    if (entry == nullptr) return NoSuchId(keyspace_id);
    if (ApplyQuarantine(entry->record, reason, seen)) ++entry->record.rev;
    return {};
  }

  Result<RecoverReport> Recover(std::string_view keyspace_id, const Witness& floor,
                                MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (Status writable = CheckWritable(); !writable.ok()) return writable;
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
    std::uint64_t burned = 0;
    for (auto& [first, row] : entry->ledger) {
      if (row.state != BlockState::kReturned && row.state != BlockState::kLent) continue;
      if (row.state == BlockState::kReturned) burned += row.count;
      row.state = BlockState::kBurned;
    }
    report.returned_burned = burned;
    if (const auto lost = LostRow(record, report.seen, clock_.WallMs())) {
      entry->ledger[lost->first] = *lost;
    }
    record.next = report.next_after = report.seen.next;
    record.rev = report.seen.rev;
    record.state = KeyspaceState::kOpen;
    record.reason.clear();
    record.testified = {};
    return report;
  }

  Status AgreeOnTimeline(std::string_view timeline, MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (Status writable = CheckWritable(); !writable.ok()) return writable;
    if (timeline == timeline_) data_.agreed_timeline = timeline;
    return {};
  }

  Status Seal(std::string_view moved_to, bool instead, MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (!data_.fill.empty()) return BeingFilled();
    if (Status can = CheckSealTarget(data_.moved_to, moved_to, instead); !can.ok()) return can;
    if (data_.moved_to == moved_to) return {};
    for (const auto& [id, entry] : data_.entries) {
      if (Status movable = CheckSealable(entry.record); !movable.ok()) return movable;
    }
    for (auto& [id, entry] : data_.entries) {
      if (ApplySeal(entry.record, moved_to)) ++entry.record.rev;
    }
    data_.moved_to = moved_to;
    return {};
  }

  Status BeginFill(std::string_view store_id, std::string_view fill,
                   MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    const std::string there = data_.made ? data_.store_id : "";
    if (Status can = CheckFillable(there, data_.fill, store_id); !can.ok()) return can;
    data_ = Data{.store_id = std::string(store_id),
                 .agreed_timeline = {},
                 .made = true,
                 .moved_to = {},
                 .fill = std::string(fill),
                 .entries = {}};
    return {};
  }

  Status FillKeyspace(std::string_view fill, const KeyspaceRecord& record,
                      MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (fill.empty() || fill != data_.fill) return FillIsOver();
    data_.entries[record.id] = Entry{Refilled(record), {}, {}};
    return {};
  }

  Status FillLedger(std::string_view fill, std::string_view keyspace_id,
                    const std::vector<LedgerRow>& rows, MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (fill.empty() || fill != data_.fill) return FillIsOver();
    Entry* const entry = FindById(keyspace_id);
    if (entry == nullptr) return NoSuchId(keyspace_id);
    for (const LedgerRow& row : rows) entry->ledger[row.first] = row;
    return {};
  }

  Status EndFill(std::string_view fill, std::uint64_t keyspaces, std::uint64_t rows,
                 std::uint64_t keys, MonotonicTime /*deadline*/) override {
    const MutexLock lock(mu_);
    if (fill.empty() || fill != data_.fill) return FillIsOver();
    FillCounts found{.keyspaces = data_.entries.size()};
    for (const auto& [id, entry] : data_.entries) {
      found.rows += entry.ledger.size();
      found.keys += entry.keys.rows().size();
    }
    const FillCounts expected{keyspaces, rows, keys};
    if (found != expected) return FillMiscounted(found, expected);
    data_.fill.clear();
    data_.agreed_timeline = timeline_;
    return {};
  }

  KeyTable* key_table() override { return key_table_.get(); }

  void ChangeTimeline() {
    const MutexLock lock(mu_);
    timeline_ = RandomHex(16);
  }
  Data Copy() {
    const MutexLock lock(mu_);
    return data_;
  }
  void PutBack(const Data& data) {
    const MutexLock lock(mu_);
    data_ = data;
  }

 private:
  Status ChangeKeyspace(const KeyGuard& guard, const Change& body) override {
    const MutexLock lock(mu_);
    if (!data_.fill.empty()) return BeingFilled();
    Entry* const entry = FindById(guard.keyspace_id);
    if (entry == nullptr) return NoSuchId(guard.keyspace_id);
    Status usable = Judge(entry->record, guard, CheckGuard(entry->record, guard));
    return usable.ok() ? body(entry->record, entry->keys) : usable;
  }

  Status ReadKeyspace(std::string_view id, const Look& body) override {
    const MutexLock lock(mu_);
    if (!data_.fill.empty()) return BeingFilled();
    Entry* const entry = FindById(id);
    return entry == nullptr ? NoSuchId(id) : body(entry->keys);
  }

  Status FillKeyspaceKeys(std::string_view fill, std::string_view id, const Change& body) override {
    const MutexLock lock(mu_);
    if (fill.empty() || fill != data_.fill) return FillIsOver();
    Entry* const entry = FindById(id);
    return entry == nullptr ? NoSuchId(id) : body(entry->record, entry->keys);
  }

  static Status NoSuchName(std::string_view name) {
    return {Code::kNotFound, fmt::format("no keyspace is called {}", name)};
  }
  static Status NoSuchId(std::string_view id) {
    return {Code::kNotFound, fmt::format("no keyspace has the id {}", id)};
  }

  Entry* FindById(std::string_view id) KEYMILL_REQUIRES(mu_) {
    const auto found = data_.entries.find(std::string(id));
    return found == data_.entries.end() ? nullptr : &found->second;
  }

  Entry* FindByName(std::string_view name) KEYMILL_REQUIRES(mu_) {
    for (auto& [id, entry] : data_.entries) {
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
    Entry& entry = data_.entries.emplace(record->id, Entry{*record, {}, {}}).first->second;
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
    record.next = NextAfter(record, *grant);
    ++record.rev;
    return Block{block_id, grant->first, grant->count, {record.rev, record.next}};
  }

  StoreIdentity IdentityNow() KEYMILL_REQUIRES(mu_) {
    return {data_.store_id, timeline_, data_.agreed_timeline, 1};
  }

  [[nodiscard]] Status CheckWritable() const KEYMILL_REQUIRES(mu_) {
    if (!data_.fill.empty()) return BeingFilled();
    return data_.moved_to.empty() ? Status() : Sealed(data_.moved_to);
  }

  // Whether a reservation or what is given back may change `record`; quarantines it if it is
  // behind the request's witness.
  template <typename Request>
  Status CheckRequest(KeyspaceRecord& record, std::string_view recipe_hash, const Request& request)
      KEYMILL_REQUIRES(mu_) {
    return Judge(record, request, CheckReservable(record, recipe_hash, request.witness));
  }

  // The same when it is known whether `record` is `usable` in this timeline.
  template <typename Request>
  Status Judge(KeyspaceRecord& record, const Request& request, Status usable)
      KEYMILL_REQUIRES(mu_) {
    if (!request.timeline.empty() && request.timeline != timeline_) return TimelineChanged();
    if (usable.code() == Code::kQuarantined &&
        ApplyQuarantine(record, usable.message(), request.witness)) {
      ++record.rev;
    }
    return usable;
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
    if (returned) {
      entry.ledger.erase(returned->first);
      for (const LedgerRow& row : LeftOver(*returned, grant)) entry.ledger[row.first] = row;
    }
    std::optional<LedgerRow> last;
    if (!entry.ledger.empty()) last = entry.ledger.rbegin()->second;
    if (ExtendsRow(last, grant, request)) {
      LedgerRow& row = entry.ledger.rbegin()->second;
      row.count += grant.count;
      row.reservation = request.reservation;
      return row.block_id;
    }
    entry.ledger[grant.first] = GrantedRow(grant, request, clock_.WallMs());
    return request.reservation;
  }

  const Clock& clock_;
  Mutex mu_;
  std::string timeline_ KEYMILL_GUARDED_BY(mu_) = RandomHex(16);
  Data data_ KEYMILL_GUARDED_BY(mu_);
  const std::unique_ptr<KeyTable> key_table_ = MakeMemoryKeyTable(*this);
};

}  // namespace

std::unique_ptr<Store> OpenMemoryStore(const Clock& clock) {
  return std::make_unique<MemoryStore>(clock);
}

void ChangeTimelineForTest(Store& store) { dynamic_cast<MemoryStore&>(store).ChangeTimeline(); }

std::shared_ptr<const MemoryCopy> CopyForTest(Store& store) {
  return std::make_shared<const MemoryCopy>(dynamic_cast<MemoryStore&>(store).Copy());
}

void PutBackForTest(Store& store, const MemoryCopy& copy) {
  dynamic_cast<MemoryStore&>(store).PutBack(copy.data());
}

}  // namespace keymill::store
