// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sql/key_table.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/key_rules.h"
#include "store/sql/keys.h"
#include "store/sql/rows.h"

namespace keymill::store::sql {
namespace {

class SqlKeyTable final : public KeyTable {
 public:
  explicit SqlKeyTable(Transactor& transactor) : transactor_(transactor) {}

  Result<Added> AddKeys(const KeyGuard& guard, const std::vector<KeyRow>& rows,
                        MonotonicTime deadline) override {
    if (Status sound = CheckAdd(rows); !sound.ok()) return sound;
    return Guarded<Added>(guard, deadline, [&](Connection& db, const KeyspaceRecord& record) {
      return Add(db, record, rows);
    });
  }

  Result<Taken> TakeKeys(const KeyGuard& guard, const TakeRequest& request,
                         MonotonicTime deadline) override {
    if (Status sound = CheckTake(request); !sound.ok()) return sound;
    return Guarded<Taken>(
        guard, deadline, [&](Connection& db, const KeyspaceRecord& record) -> Result<Taken> {
          Result<std::vector<std::string>> keys = SelectAvailable(db, record.id, request.count);
          if (!keys.ok()) return keys.status();
          if (keys->empty()) return NoKeyAvailable(record.name);
          if (Status done = UpdateTaken(db, record.id, *keys, request); !done.ok()) return done;
          Result<Witness> seen = MoveOn(db, record);
          if (!seen.ok()) return seen.status();
          return Taken{*std::move(keys), *seen};
        });
  }

  Result<Changed> ChangeKeys(const KeyGuard& guard, const KeyChange& change,
                             MonotonicTime deadline) override {
    if (Status sound = CheckChange(change); !sound.ok()) return sound;
    return Guarded<Changed>(
        guard, deadline, [&](Connection& db, const KeyspaceRecord& record) -> Result<Changed> {
          Result<std::vector<KeyRow>> rows =
              SelectMatching(db, record.id, change.match, change.rows_max);
          if (!rows.ok()) return rows.status();
          if (rows->empty()) return Changed{};
          if (Status done = ChangeRows(db, record.id, *rows, change); !done.ok()) return done;
          Result<Witness> seen = MoveOn(db, record);
          if (!seen.ok()) return seen.status();
          Changed changed{{}, *seen};
          changed.rows.reserve(rows->size());
          for (KeyRow& row : *rows) changed.rows.push_back(ChangedRow(std::move(row), change));
          return changed;
        });
  }

  Result<std::optional<KeyRow>> FindKey(std::string_view keyspace_id, std::string_view key,
                                        MonotonicTime deadline) override {
    return FindBy("key_text", keyspace_id, key, deadline);
  }

  Result<std::optional<KeyRow>> FindIdentity(std::string_view keyspace_id,
                                             std::string_view identity,
                                             MonotonicTime deadline) override {
    return FindBy("identity", keyspace_id, identity, deadline);
  }

  Result<Page> ListKeys(std::string_view keyspace_id, const Query& query,
                        MonotonicTime deadline) override {
    if (Status sound = CheckQuery(query); !sound.ok()) return sound;
    return transactor_.Read<Page>(deadline, [&](Connection& db) -> Result<Page> {
      if (Status known = CheckKeyspace(db, keyspace_id); !known.ok()) return known;
      return SelectPage(db, keyspace_id, query);
    });
  }

  Result<Counts> CountKeys(std::string_view keyspace_id, MonotonicTime deadline) override {
    return transactor_.Read<Counts>(deadline, [&](Connection& db) -> Result<Counts> {
      if (Status known = CheckKeyspace(db, keyspace_id); !known.ok()) return known;
      return CountByState(db, keyspace_id);
    });
  }

  Status FillKeys(std::string_view fill, std::string_view keyspace_id,
                  const std::vector<KeyRow>& rows, MonotonicTime deadline) override {
    if (Status sound = CheckFillRows(rows); !sound.ok()) return sound;
    return transactor_.ChangeFill(fill, deadline,
                                  [&](Connection& db, const StoreRow& /*row*/) -> Status {
                                    if (rows.empty()) return {};
                                    if (Status known = CheckKeyspace(db, keyspace_id); !known.ok())
                                      return known;
                                    return InsertAbsent(db, keyspace_id, rows).status();
                                  });
  }

 private:
  template <typename T, typename Body>
  Result<T> Guarded(const KeyGuard& guard, MonotonicTime deadline, Body body) {
    const auto check = [&](const KeyspaceRecord& record) { return CheckGuard(record, guard); };
    return transactor_.TransactUnlessBehind<T>(guard, check, deadline, body);
  }

  static Result<Added> Add(Connection& db, const KeyspaceRecord& record,
                           const std::vector<KeyRow>& rows) {
    Result<AddPlan> plan = InsertAbsent(db, record.id, rows);
    if (!plan.ok()) return plan.status();
    Witness seen{record.rev, record.next};
    if (!plan->added.empty()) {
      Result<Witness> moved = MoveOn(db, record);
      if (!moved.ok()) return moved.status();
      seen = *moved;
    }
    return Added{std::move(plan->present), seen};
  }

  // What DecideAdd says, written down.
  static Result<AddPlan> InsertAbsent(Connection& db, std::string_view keyspace_id,
                                      const std::vector<KeyRow>& rows) {
    Result<std::vector<KeyRow>> there = SelectPresent(db, keyspace_id, rows);
    if (!there.ok()) return there.status();
    AddPlan plan = DecideAdd(rows, *there);
    std::vector<const KeyRow*> absent;
    absent.reserve(plan.added.size());
    for (const std::size_t i : plan.added) absent.push_back(&rows[i]);
    if (Status done = InsertKeys(db, keyspace_id, absent); !done.ok()) return done;
    return plan;
  }

  static Status ChangeRows(Connection& db, std::string_view keyspace_id,
                           const std::vector<KeyRow>& rows, const KeyChange& change) {
    std::vector<std::string> keys;
    keys.reserve(rows.size());
    for (const KeyRow& row : rows) keys.push_back(row.key);
    return change.to ? UpdateChanged(db, keyspace_id, keys, change)
                     : DeleteKeys(db, keyspace_id, keys);
  }

  static Result<Witness> MoveOn(Connection& db, const KeyspaceRecord& record) {
    if (Status done = UpdateKeyspace(db, record); !done.ok()) return done;
    return Witness{record.rev + 1, record.next};
  }

  static Status CheckKeyspace(Connection& db, std::string_view id) {
    Result<std::optional<KeyspaceRecord>> found = SelectKeyspace(db, "id", id, /*lock=*/"");
    if (!found.ok()) return found.status();
    return found->has_value() ? Status() : NoSuchId(id);
  }

  Result<std::optional<KeyRow>> FindBy(std::string_view column, std::string_view keyspace_id,
                                       std::string_view value, MonotonicTime deadline) {
    using Found = std::optional<KeyRow>;
    return transactor_.Read<Found>(deadline, [&](Connection& db) -> Result<Found> {
      Result<Found> row = SelectKey(db, keyspace_id, column, value);
      if (!row.ok() || row->has_value()) return row;
      if (Status known = CheckKeyspace(db, keyspace_id); !known.ok()) return known;
      return row;
    });
  }

  Transactor& transactor_;
};

}  // namespace

std::unique_ptr<KeyTable> MakeSqlKeyTable(Transactor& transactor) {
  return std::make_unique<SqlKeyTable>(transactor);
}

}  // namespace keymill::store::sql
