// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sql/sql_store.h"

#include <utility>

#include <fmt/format.h>

#include "base/fork.h"
#include "store/rules.h"
#include "store/sql/connection_pool.h"
#include "store/sql/rows.h"
#include "store/sql/schema.h"

namespace keymill::store::sql {
namespace {

Status NoSuchName(std::string_view name) {
  return {Code::kNotFound, fmt::format("no keyspace is called {}", name)};
}

Status NoSuchId(std::string_view id) {
  return {Code::kNotFound, fmt::format("no keyspace has the id {}", id)};
}

Status NoSchema() {
  return {Code::kNotFound, "open the store: the database holds no Keymill store"};
}

class SqlStore final : public Store {
 public:
  SqlStore(std::unique_ptr<Driver> driver, const Clock& clock, SqlStoreOptions options)
      : clock_(clock), pool_(std::move(driver), options.connections_max) {}

  Status Prepare(bool create, MonotonicTime deadline) {
    // A look first: a store that is up to date need not wait for its writers.
    Result<std::uint32_t> version = Transact<std::uint32_t>(
        Access::kRead, deadline, [&](Connection& db) { return SchemaVersion(db, dialect()); });
    if (!version.ok()) return version.status();
    if (*version == 0) return create ? Status() : NoSchema();
    if (*version == dialect().migrations.size()) return {};
    return Transact<std::monostate>(Access::kWrite, deadline,
                                    [&](Connection& db) -> Result<std::monostate> {
                                      if (Status done = Migrate(db, dialect(), clock_.WallMs());
                                          !done.ok())
                                        return done;
                                      return std::monostate();
                                    })
        .status();
  }

  Result<StoreIdentity> Identity(MonotonicTime deadline) override {
    return Transact<StoreIdentity>(Access::kRead, deadline,
                                   [&](Connection& db) -> Result<StoreIdentity> {
                                     Result<std::uint32_t> version = SchemaVersion(db, dialect());
                                     if (!version.ok()) return version.status();
                                     if (*version == 0) return NoSchema();
                                     return SelectIdentity(db);
                                   });
  }

  Result<Established> Establish(const EstablishRequest& request, MonotonicTime deadline) override {
    return Transact<Established>(
        Access::kWrite, deadline, [&](Connection& db) -> Result<Established> {
          if (Status done = Migrate(db, dialect(), clock_.WallMs()); !done.ok()) return done;
          Result<StoreIdentity> identity = SelectIdentity(db);
          if (!identity.ok()) return identity.status();
          Established established{*std::move(identity), {}};
          for (const EstablishRequest::Part& part : request.keyspaces) {
            Result<Established::Part> made = EstablishPart(db, part, request.instance);
            if (!made.ok()) return made.status();
            established.keyspaces.push_back(*std::move(made));
          }
          return established;
        });
  }

  Result<KeyspaceRecord> CreateKeyspace(const NewKeyspace& keyspace,
                                        MonotonicTime deadline) override {
    return Transact<KeyspaceRecord>(
        Access::kWrite, deadline, [&](Connection& db) -> Result<KeyspaceRecord> {
          Result<Established::Part> made = EstablishPart(db, {keyspace, 0, {}}, {});
          if (!made.ok()) return made.status();
          return std::move(made->record);
        });
  }

  Result<KeyspaceRecord> FindKeyspace(std::string_view name, MonotonicTime deadline) override {
    return Transact<KeyspaceRecord>(Access::kRead, deadline, [&](Connection& db) {
      return SelectByName(db, name, /*lock=*/"");
    });
  }

  Result<std::vector<KeyspaceRecord>> ListKeyspaces(MonotonicTime deadline) override {
    return Transact<std::vector<KeyspaceRecord>>(
        Access::kRead, deadline, [&](Connection& db) { return SelectAllKeyspaces(db); });
  }

  Result<KeyspaceRecord> RetireKeyspace(std::string_view name, MonotonicTime deadline) override {
    return Transact<KeyspaceRecord>(
        Access::kWrite, deadline, [&](Connection& db) -> Result<KeyspaceRecord> {
          Result<KeyspaceRecord> record = SelectByName(db, name, row_lock());
          if (!record.ok() || record->state == KeyspaceState::kRetired) return record;
          record->state = KeyspaceState::kRetired;
          if (Status done = UpdateKeyspace(db, *record); !done.ok()) return done;
          return SelectByName(db, name, row_lock());
        });
  }

  Result<Block> Reserve(const ReserveRequest& request, MonotonicTime deadline) override {
    return TransactUnlessBehind<Block>(request.keyspace_id, &request.recipe_hash, request.witness,
                                       deadline, [&](Connection& db, const KeyspaceRecord& record) {
                                         return ReserveLocked(db, record, request);
                                       });
  }

  Result<Witness> GiveBack(const GiveBackRequest& request, MonotonicTime deadline) override {
    return TransactUnlessBehind<Witness>(request.keyspace_id, nullptr, request.witness, deadline,
                                         [&](Connection& db, const KeyspaceRecord& record) {
                                           return GiveBackLocked(db, record, request);
                                         });
  }

  Result<std::optional<LedgerRow>> FindBlock(std::string_view keyspace_id, std::uint64_t number,
                                             MonotonicTime deadline) override {
    using Found = std::optional<LedgerRow>;
    return Transact<Found>(Access::kRead, deadline, [&](Connection& db) -> Result<Found> {
      Result<KeyspaceRecord> record = SelectById(db, keyspace_id, /*lock=*/"");
      if (!record.ok()) return record.status();
      Result<Found> row = SelectRowAtOrBelow(db, keyspace_id, number);
      if (row.ok() && row->has_value() && number >= (*row)->first + (*row)->count) return Found();
      return row;
    });
  }

  Result<std::vector<LedgerRow>> ListLedger(std::string_view keyspace_id, std::uint64_t from,
                                            std::uint32_t rows_max,
                                            MonotonicTime deadline) override {
    using Rows = std::vector<LedgerRow>;
    return Transact<Rows>(Access::kRead, deadline, [&](Connection& db) -> Result<Rows> {
      Result<KeyspaceRecord> record = SelectById(db, keyspace_id, /*lock=*/"");
      if (!record.ok()) return record.status();
      return SelectRows(db, keyspace_id, from, rows_max);
    });
  }

  Status Quarantine(std::string_view keyspace_id, std::string_view reason,
                    MonotonicTime deadline) override {
    return Transact<std::monostate>(
               Access::kWrite, deadline,
               [&](Connection& db) -> Result<std::monostate> {
                 Result<KeyspaceRecord> record = SelectById(db, keyspace_id, row_lock());
                 if (!record.ok()) return record.status();
                 if (Status done = WriteQuarantine(db, *record, reason); !done.ok()) return done;
                 return std::monostate();
               })
        .status();
  }

  Result<RecoverReport> Recover(std::string_view keyspace_id, const Witness& floor,
                                MonotonicTime deadline) override {
    return Transact<RecoverReport>(
        Access::kWrite, deadline, [&](Connection& db) -> Result<RecoverReport> {
          Result<KeyspaceRecord> record = SelectById(db, keyspace_id, row_lock());
          if (!record.ok()) return record.status();
          if (record->state != KeyspaceState::kQuarantined) {
            return Status(Code::kFailedPrecondition,
                          fmt::format("recover {}: it is not quarantined", record->name));
          }
          Result<std::uint64_t> burned = BurnReturned(db, keyspace_id);
          if (!burned.ok()) return burned.status();
          const Witness recovered = RecoveredWitness(*record, floor);
          if (const auto lost = LostRow(*record, recovered, clock_.WallMs())) {
            if (Status done = InsertRow(db, keyspace_id, *lost); !done.ok()) return done;
          }
          const RecoverReport report{record->next, recovered.next, *burned, recovered};
          const std::uint64_t rev_before = record->rev;
          record->next = recovered.next;
          record->state = KeyspaceState::kOpen;
          record->reason.clear();
          if (Status done = UpdateKeyspace(db, *record, rev_before, recovered.rev); !done.ok()) {
            return done;
          }
          return report;
        });
  }

 private:
  const Dialect& dialect() { return pool_.driver().dialect(); }
  std::string_view row_lock() { return dialect().row_lock; }

  // Runs `body` in one transaction and commits it unless it returns an error.
  template <typename T, typename Body>
  Result<T> Transact(Access access, MonotonicTime deadline, Body body) {
    const ForkHold no_fork_in_mid_transaction;
    Result<ConnectionPool::Lease> lease = pool_.Acquire(deadline);
    if (!lease.ok()) return lease.status();
    Connection& db = **lease;
    if (Status begun = db.Begin(access, deadline); !begun.ok()) {
      if (begun.code() != Code::kUnavailable) lease->MarkBroken();
      return begun;
    }
    Result<T> outcome = body(db);
    if (!outcome.ok()) {
      db.Rollback();
      return outcome;
    }
    if (Status committed = db.Commit(); !committed.ok()) {
      if (committed.code() != Code::kUnavailable) lease->MarkBroken();
      return committed;
    }
    return outcome;
  }

  // Runs `body` on the locked keyspace, or quarantines it when it is behind `witness`: that
  // is committed although the caller is told of an error. No recipe_hash: any will do.
  template <typename T, typename Body>
  Result<T> TransactUnlessBehind(std::string_view keyspace_id, const std::string* recipe_hash,
                                 const Witness& witness, MonotonicTime deadline, Body body) {
    Status refused;
    Result<T> outcome = Transact<T>(Access::kWrite, deadline, [&](Connection& db) -> Result<T> {
      refused = Status();
      Result<KeyspaceRecord> record = SelectById(db, keyspace_id, row_lock());
      if (!record.ok()) return record.status();
      refused = CheckReservable(*record, recipe_hash ? *recipe_hash : record->recipe_hash, witness);
      if (refused.ok()) return body(db, *record);
      if (refused.code() != Code::kQuarantined) return refused;
      if (Status done = WriteQuarantine(db, *record, refused.message()); !done.ok()) return done;
      return T{};
    });
    if (outcome.ok() && !refused.ok()) return refused;
    return outcome;
  }

  Result<StoreIdentity> SelectIdentity(Connection& db) {
    Result<StoreIdentity> identity = ReadIdentity(db);
    if (!identity.ok()) return identity;
    Result<std::string> timeline = pool_.driver().Timeline(db);
    if (!timeline.ok()) return timeline.status();
    identity->timeline = *std::move(timeline);
    return identity;
  }

  // The keyspace of this name as the transaction leaves it; created, with a first block where
  // one is asked for, unless it was there.
  Result<Established::Part> EstablishPart(Connection& db, const EstablishRequest::Part& wanted,
                                          const std::string& instance) {
    const std::string& name = wanted.keyspace.name;
    Result<KeyspaceRecord> record = SelectByName(db, name, row_lock());
    if (record.ok()) return Established::Part{*std::move(record), {}};
    if (record.code() != Code::kNotFound) return record.status();
    record = FirstRecord(wanted.keyspace, clock_.WallMs());
    if (!record.ok()) return record.status();
    if (Status done = InsertKeyspace(db, *record); !done.ok()) return done;
    std::optional<Block> block;
    if (wanted.count > 0) {
      Result<Block> reserved = ReserveLocked(db, *record, FirstReserve(wanted, instance));
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

  Status WriteQuarantine(Connection& db, KeyspaceRecord record, std::string_view reason) {
    // A retired one stays retired: a recovery would open it again.
    if (record.state != KeyspaceState::kOpen) return {};
    record.state = KeyspaceState::kQuarantined;
    record.reason = reason;
    return UpdateKeyspace(db, record);
  }

  // REQUIRES: `record` is locked and CheckReservable.
  Result<Witness> GiveBackLocked(Connection& db, const KeyspaceRecord& record,
                                 const GiveBackRequest& request) {
    const std::string& keyspace_id = request.keyspace_id;
    Result<std::optional<LedgerRow>> row = SelectHeldRow(db, keyspace_id, request.block_id);
    if (!row.ok()) return row.status();
    if (!row->has_value()) return NotHeld(request.block_id);
    Result<std::vector<LedgerRow>> settled = SettleRow(**row, request.first_unused);
    if (!settled.ok()) return settled.status();
    if (Status done = DeleteRow(db, keyspace_id, **row); !done.ok()) return done;
    for (const LedgerRow& part : *settled) {
      if (Status done = InsertRow(db, keyspace_id, part); !done.ok()) return done;
    }
    if (Status done = UpdateKeyspace(db, record); !done.ok()) return done;
    return Witness{record.rev + 1, record.next};
  }

  // REQUIRES: `record` is locked and CheckReservable.
  Result<Block> ReserveLocked(Connection& db, KeyspaceRecord record,
                              const ReserveRequest& request) {
    Result<std::optional<LedgerRow>> returned =
        SelectReturned(db, request.keyspace_id, request.above);
    if (!returned.ok()) return returned.status();
    Result<Grant> grant = DecideGrant(record, *returned, request);
    if (!grant.ok()) return grant.status();
    for (const std::string& spent : request.spent) {
      if (Status done = MarkSpent(db, request.keyspace_id, spent); !done.ok()) return done;
    }
    Result<std::string> block_id = WriteGrant(db, *grant, *returned, request);
    if (!block_id.ok()) return block_id.status();
    if (!grant->from_returned) record.next += grant->count;
    if (Status done = UpdateKeyspace(db, record); !done.ok()) return done;
    return Block{*block_id, grant->first, grant->count, {record.rev + 1, record.next}};
  }

  // Writes the ledger row of a grant and returns its block id.
  Result<std::string> WriteGrant(Connection& db, const Grant& grant,
                                 const std::optional<LedgerRow>& returned,
                                 const ReserveRequest& request) {
    Result<std::optional<LedgerRow>> last = SelectRowAtOrBelow(db, request.keyspace_id, kNumberEnd);
    if (!last.ok()) return last.status();
    if (ExtendsRow(*last, grant, request)) {
      LedgerRow& row = **last;
      row.count += grant.count;
      row.reservation = request.reservation;
      if (Status done = ExtendRow(db, request.keyspace_id, row); !done.ok()) return done;
      return row.block_id;
    }
    if (returned) {
      if (Status done = DeleteRow(db, request.keyspace_id, *returned); !done.ok()) return done;
      if (grant.count < returned->count) {
        LedgerRow rest = *returned;
        rest.first += grant.count;
        rest.count -= grant.count;
        if (Status done = InsertRow(db, request.keyspace_id, rest); !done.ok()) return done;
      }
    }
    const LedgerRow row{request.reservation, grant.first,     grant.count,      request.instance,
                        request.reservation, clock_.WallMs(), BlockState::kHeld};
    if (Status done = InsertRow(db, request.keyspace_id, row); !done.ok()) return done;
    return row.block_id;
  }

  const Clock& clock_;
  ConnectionPool pool_;
};

}  // namespace

Result<std::unique_ptr<Store>> OpenSqlStore(std::unique_ptr<Driver> driver, const Clock& clock,
                                            MonotonicTime deadline, SqlStoreOptions options) {
  auto opened = std::make_unique<SqlStore>(std::move(driver), clock, options);
  if (Status ready = opened->Prepare(options.create, deadline); !ready.ok()) return ready;
  return std::unique_ptr<Store>(std::move(opened));
}

}  // namespace keymill::store::sql
