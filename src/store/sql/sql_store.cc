// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sql/sql_store.h"

#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "store/rules.h"
#include "store/sql/blocks.h"
#include "store/sql/key_table.h"
#include "store/sql/moving.h"
#include "store/sql/rows.h"
#include "store/sql/schema.h"
#include "store/sql/timeline.h"
#include "store/sql/transactor.h"

namespace keymill::store::sql {
namespace {

Status NoSuchName(std::string_view name) {
  return {Code::kNotFound, fmt::format("no keyspace is called {}", name)};
}

class SqlStore final : public Store, private Transactor {
 public:
  SqlStore(std::unique_ptr<Driver> driver, const Clock& clock, SqlStoreOptions options)
      : Transactor(std::move(driver), clock, options.connections_max) {}

  Status Prepare(bool create, MonotonicTime deadline) {
    // A look first: a store that is up to date need not wait for its writers.
    Result<std::uint32_t> version = Transact<std::uint32_t>(
        Access::kRead, deadline, [&](Connection& db) -> Result<std::uint32_t> {
          Result<std::uint32_t> found = SchemaVersion(db, dialect());
          if (!found.ok() || *found != dialect().migrations.size() || create) return found;
          if (Result<StoreRow> row = UsableStore(db, /*lock=*/""); !row.ok()) return row.status();
          return found;
        });
    if (!version.ok()) return version.status();
    if (*version == 0) return create ? Status() : NoSchema();
    if (*version == dialect().migrations.size()) return {};
    return Change(deadline, [&](Connection& db) { return Migrate(db, dialect()); });
  }

  Result<StoreIdentity> Identity(MonotonicTime deadline) override {
    Result<StoreIdentity> identity = Transact<StoreIdentity>(
        Access::kRead, deadline, [&](Connection& db) -> Result<StoreIdentity> {
          Result<std::uint32_t> version = SchemaVersion(db, dialect());
          if (!version.ok()) return version.status();
          if (*version == 0) return NoSchema();
          Result<StoreRow> row = UsableStore(db, /*lock=*/"");
          if (!row.ok()) return row.status();
          Result<Present> present = ReadPresent(db, driver());
          if (!present.ok()) return present.status();
          return IdentityOf(*row, *present);
        });
    if (!identity.ok() || !identity->timeline.empty()) return identity;
    return Transact<StoreIdentity>(Access::kWrite, deadline,
                                   [&](Connection& db) -> Result<StoreIdentity> {
                                     Result<StoreRow> row = UsableStore(db, row_lock());
                                     if (!row.ok()) return row.status();
                                     Result<Present> present = BegunTimeline(db, driver());
                                     if (!present.ok()) return present.status();
                                     return IdentityOf(*row, *present);
                                   });
  }

  Result<Established> Establish(const EstablishRequest& request, MonotonicTime deadline) override {
    return Transact<Established>(
        Access::kWrite, deadline, [&](Connection& db) -> Result<Established> {
          if (Status done = Migrate(db, dialect()); !done.ok()) return done;
          Result<StoreRow> row = SelectStore(db, row_lock());
          if (!row.ok()) return row.status();
          if (!row->fill.empty()) return BeingFilled();
          if (!row->moved_to.empty()) return Sealed(row->moved_to);
          Result<Present> present = BegunTimeline(db, driver());
          if (!present.ok()) return present.status();
          if (row->store_id.empty()) {
            row->store_id = RandomHex(16);
            row->created_at_ms = clock().WallMs();
            row->agreed_timeline = present->timeline;
            if (Status done = UpdateStore(db, *row); !done.ok()) return done;
          }
          Established established{IdentityOf(*row, *present), {}};
          for (const EstablishRequest::Part& part : request.keyspaces) {
            Result<Established::Part> made = EstablishPart(db, part, request.instance);
            if (!made.ok()) return made.status();
            established.keyspaces.push_back(*std::move(made));
          }
          return established;
        });
  }

  Result<std::vector<StoreFinding>> Inspect(MonotonicTime deadline) override {
    bool may = admitted();
    Result<std::vector<StoreFinding>> findings = Transact<std::vector<StoreFinding>>(
        Access::kRead, deadline, [&](Connection& db) -> Result<std::vector<StoreFinding>> {
          if (!may) {
            Result<bool> rights = driver().CheckRights(db);
            if (!rights.ok()) return rights.status();
            may = *rights;
          }
          return driver().Inspect(db);
        });
    if (findings.ok() && may) Admit();
    return findings;
  }

  Result<KeyspaceRecord> CreateKeyspace(const NewKeyspace& keyspace,
                                        MonotonicTime deadline) override {
    return Transact<KeyspaceRecord>(
        Access::kWrite, deadline, [&](Connection& db) -> Result<KeyspaceRecord> {
          if (Result<StoreRow> row = WritableStore(db); !row.ok()) return row.status();
          Result<Established::Part> made = EstablishPart(db, {keyspace, 0, {}}, {});
          if (!made.ok()) return made.status();
          return std::move(made->record);
        });
  }

  Result<KeyspaceRecord> FindKeyspace(std::string_view name, MonotonicTime deadline) override {
    return Read<KeyspaceRecord>(
        deadline, [&](Connection& db) { return SelectByName(db, name, /*lock=*/""); });
  }

  Result<std::vector<KeyspaceRecord>> ListKeyspaces(MonotonicTime deadline) override {
    return Read<std::vector<KeyspaceRecord>>(
        deadline, [&](Connection& db) { return SelectAllKeyspaces(db); });
  }

  Result<KeyspaceRecord> RetireKeyspace(std::string_view name, MonotonicTime deadline) override {
    return Transact<KeyspaceRecord>(
        Access::kWrite, deadline, [&](Connection& db) -> Result<KeyspaceRecord> {
          if (Result<StoreRow> row = WritableStore(db); !row.ok()) return row.status();
          Result<KeyspaceRecord> record = SelectByName(db, name, row_lock());
          if (!record.ok() || record->state == KeyspaceState::kRetired) return record;
          record->state = KeyspaceState::kRetired;
          if (Status done = UpdateKeyspace(db, *record); !done.ok()) return done;
          return SelectByName(db, name, row_lock());
        });
  }

  Result<Block> Reserve(const ReserveRequest& request, MonotonicTime deadline) override {
    const auto check = [&](const KeyspaceRecord& record) {
      return CheckReservable(record, request.recipe_hash, request.witness);
    };
    return TransactUnlessBehind<Block>(request, check, deadline,
                                       [&](Connection& db, const KeyspaceRecord& record) {
                                         return ReserveBlock(db, record, request, clock().WallMs());
                                       });
  }

  Result<Witness> GiveBack(const GiveBackRequest& request, MonotonicTime deadline) override {
    const auto check = [&](const KeyspaceRecord& record) {
      return CheckReservable(record, record.recipe_hash, request.witness);
    };
    return TransactUnlessBehind<Witness>(request, check, deadline,
                                         [&](Connection& db, const KeyspaceRecord& record) {
                                           return ReturnBlock(db, record, request);
                                         });
  }

  Result<std::optional<LedgerRow>> FindBlock(std::string_view keyspace_id, std::uint64_t number,
                                             MonotonicTime deadline) override {
    using Found = std::optional<LedgerRow>;
    return Read<Found>(deadline, [&](Connection& db) -> Result<Found> {
      Result<KeyspaceRecord> record = SelectById(db, keyspace_id, /*lock=*/"");
      if (!record.ok()) return record.status();
      Result<Found> row = SelectRowAtOrBelow(db, keyspace_id, number);
      if (row.ok() && row->has_value() && number >= (*row)->first + (*row)->count) row->reset();
      return row;
    });
  }

  Result<std::vector<LedgerRow>> ListLedger(std::string_view keyspace_id, std::uint64_t from,
                                            std::uint32_t rows_max,
                                            MonotonicTime deadline) override {
    using Rows = std::vector<LedgerRow>;
    return Read<Rows>(deadline, [&](Connection& db) -> Result<Rows> {
      Result<KeyspaceRecord> record = SelectById(db, keyspace_id, /*lock=*/"");
      if (!record.ok()) return record.status();
      return SelectRows(db, keyspace_id, from, rows_max);
    });
  }

  Status Quarantine(std::string_view keyspace_id, std::string_view reason, const Witness& seen,
                    MonotonicTime deadline) override {
    return Change(deadline, [&](Connection& db) -> Status {
      if (Result<StoreRow> row = WritableStore(db); !row.ok()) return row.status();
      Result<KeyspaceRecord> record = SelectById(db, keyspace_id, row_lock());
      if (!record.ok()) return record.status();
      return WriteQuarantine(db, *std::move(record), reason, seen);
    });
  }

  Result<RecoverReport> Recover(std::string_view keyspace_id, const Witness& floor,
                                MonotonicTime deadline) override {
    return Transact<RecoverReport>(
        Access::kWrite, deadline, [&](Connection& db) -> Result<RecoverReport> {
          if (Result<StoreRow> row = WritableStore(db); !row.ok()) return row.status();
          Result<KeyspaceRecord> record = SelectById(db, keyspace_id, row_lock());
          if (!record.ok()) return record.status();
          if (record->state != KeyspaceState::kQuarantined) {
            return Status(Code::kFailedPrecondition,
                          fmt::format("recover {}: it is not quarantined", record->name));
          }
          Result<std::uint64_t> burned = BurnLoose(db, keyspace_id);
          if (!burned.ok()) return burned.status();
          const Witness recovered = RecoveredWitness(*record, floor);
          if (const auto lost = LostRow(*record, recovered, clock().WallMs())) {
            if (Status done = InsertRow(db, keyspace_id, *lost); !done.ok()) return done;
          }
          const RecoverReport report{record->next, recovered.next, *burned, recovered};
          const std::uint64_t rev_before = record->rev;
          record->next = recovered.next;
          record->state = KeyspaceState::kOpen;
          record->reason.clear();
          record->testified = {};
          if (Status done = UpdateKeyspace(db, *record, rev_before, recovered.rev); !done.ok()) {
            return done;
          }
          return report;
        });
  }

  Status AgreeOnTimeline(std::string_view timeline, MonotonicTime deadline) override {
    if (dialect().timeline.empty()) return {};
    return Change(deadline, [&](Connection& db) -> Status {
      Result<StoreRow> row = WritableStore(db);
      if (!row.ok()) return row.status();
      Result<std::string> present = ReadTimeline(db, driver());
      if (!present.ok()) return present.status();
      if (*present != timeline || row->agreed_timeline == timeline) return {};
      row->agreed_timeline = timeline;
      return UpdateStore(db, *row);
    });
  }

  Status Seal(std::string_view moved_to, bool instead, MonotonicTime deadline) override {
    return Change(deadline, [&](Connection& db) -> Status {
      Result<StoreRow> row = UsableStore(db, row_lock());
      if (!row.ok()) return row.status();
      return SealStore(db, *std::move(row), moved_to, instead, row_lock());
    });
  }

  Status BeginFill(std::string_view store_id, std::string_view fill,
                   MonotonicTime deadline) override {
    Status begun = Change(deadline, [&](Connection& db) -> Status {
      if (Status done = Migrate(db, dialect()); !done.ok()) return done;
      Result<StoreRow> row = SelectStore(db, row_lock());
      if (!row.ok()) return row.status();
      return StartFill(db, *std::move(row), store_id, fill, clock().WallMs());
    });
    // What an earlier fill has left can be much. Once the new name is there nobody adds to it.
    bool empty = false;
    while (begun.ok() && !empty) {
      begun = ChangeFill(fill, deadline, [&](Connection& db, const StoreRow& /*row*/) -> Status {
        Result<bool> wiped = WipeSome(db);
        if (!wiped.ok()) return wiped.status();
        empty = *wiped;
        return {};
      });
    }
    return begun;
  }

  Status FillKeyspace(std::string_view fill, const KeyspaceRecord& record,
                      MonotonicTime deadline) override {
    return ChangeFill(fill, deadline, [&](Connection& db, const StoreRow& /*row*/) {
      return InsertKeyspace(db, Refilled(record));
    });
  }

  Status FillLedger(std::string_view fill, std::string_view keyspace_id,
                    const std::vector<LedgerRow>& rows, MonotonicTime deadline) override {
    return ChangeFill(fill, deadline, [&](Connection& db, const StoreRow& /*row*/) {
      return rows.empty() ? Status() : InsertRows(db, keyspace_id, rows);
    });
  }

  Status EndFill(std::string_view fill, std::uint64_t keyspaces, std::uint64_t rows,
                 std::uint64_t keys, MonotonicTime deadline) override {
    return ChangeFill(fill, deadline, [&](Connection& db, StoreRow row) -> Status {
      if (Status right = CheckFilled(db, keyspaces, rows, keys); !right.ok()) return right;
      Result<Present> present = BegunTimeline(db, driver());
      if (!present.ok()) return present.status();
      row.agreed_timeline = std::move(present->timeline);
      row.fill.clear();
      return UpdateStore(db, row);
    });
  }

  KeyTable* key_table() override { return key_table_.get(); }

 private:
  StoreIdentity IdentityOf(const StoreRow& row, const Present& present) {
    const std::string& agreed = dialect().timeline.empty() ? present.timeline : row.agreed_timeline;
    return {row.store_id, present.timeline, agreed, row.schema_version, present.now_ms};
  }

  // The keyspace of this name as the transaction leaves it; created, with a first block where
  // one is asked for, unless it was there.
  Result<Established::Part> EstablishPart(Connection& db, const EstablishRequest::Part& wanted,
                                          const std::string& instance) {
    const std::string& name = wanted.keyspace.name;
    Result<KeyspaceRecord> record = SelectByName(db, name, row_lock());
    if (record.ok()) return Established::Part{*std::move(record), {}};
    if (record.code() != Code::kNotFound) return record.status();
    record = FirstRecord(wanted.keyspace, clock().WallMs());
    if (!record.ok()) return record.status();
    if (Status done = InsertKeyspace(db, *record); !done.ok()) return done;
    std::optional<Block> block;
    if (wanted.count > 0) {
      Result<Block> reserved =
          ReserveBlock(db, *record, FirstReserve(wanted, instance), clock().WallMs());
      if (!reserved.ok()) return reserved.status();
      block = *std::move(reserved);
    }
    record = SelectByName(db, name, row_lock());
    if (!record.ok()) return record.status();
    return Established::Part{*std::move(record), std::move(block)};
  }

  Result<KeyspaceRecord> SelectByName(Connection& db, std::string_view name,
                                      std::string_view lock) {
    Result<std::optional<KeyspaceRecord>> found = SelectKeyspace(db, "name", name, lock);
    if (!found.ok()) return found.status();
    if (!found->has_value()) return NoSuchName(name);
    return **std::move(found);
  }

  Result<KeyspaceRecord> SelectById(Connection& db, std::string_view id, std::string_view lock) {
    Result<std::optional<KeyspaceRecord>> found = SelectKeyspace(db, "id", id, lock);
    if (!found.ok()) return found.status();
    if (!found->has_value()) return NoSuchId(id);
    return **std::move(found);
  }

  const std::unique_ptr<KeyTable> key_table_ = MakeSqlKeyTable(*this);
};

}  // namespace

Result<std::unique_ptr<Store>> OpenSqlStore(std::unique_ptr<Driver> driver, const Clock& clock,
                                            MonotonicTime deadline, SqlStoreOptions options) {
  auto opened = std::make_unique<SqlStore>(std::move(driver), clock, options);
  if (Status ready = opened->Prepare(options.create, deadline); !ready.ok()) return ready;
  return std::unique_ptr<Store>(std::move(opened));
}

}  // namespace keymill::store::sql
