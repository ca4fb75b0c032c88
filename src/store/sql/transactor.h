// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The transactions of the SQL store: each is begun again while another one was in its way, and
// told from one of which nobody knows the end.

#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "keymill/clock.h"
#include "keymill/store.h"

#include "base/fork.h"
#include "store/rules.h"
#include "store/sql/connection.h"
#include "store/sql/connection_pool.h"
#include "store/sql/rows.h"
#include "store/sql/schema.h"

namespace keymill::store::sql {

Status NoSuchId(std::string_view id);
Status NoSchema();

// Safe for concurrent use by multiple threads.
class Transactor {
 public:
  // `clock` outlives it.
  Transactor(std::unique_ptr<Driver> driver, const Clock& clock, std::uint32_t connections_max)
      : clock_(clock), pool_(std::move(driver), connections_max) {}
  Transactor(const Transactor&) = delete;
  Transactor& operator=(const Transactor&) = delete;

  [[nodiscard]] const Clock& clock() const { return clock_; }
  Driver& driver() { return pool_.driver(); }
  const Dialect& dialect() { return driver().dialect(); }
  std::string_view row_lock() { return dialect().row_lock; }

  // Whether this user once had every right that it needs.
  [[nodiscard]] bool admitted() const { return admitted_; }
  void Admit() { admitted_ = true; }

  // Runs `body` in one transaction and commits it unless it returns an error; again, until the
  // deadline, while all that was in the way was another transaction, which `body` must expect.
  template <typename T, typename Body>
  Result<T> Transact(Access access, MonotonicTime deadline, Body body) {
    const ForkHold no_fork_in_mid_transaction;
    for (;;) {
      bool clashed = false;
      Result<T> outcome = TransactOnce<T>(access, deadline, body, clashed);
      if (!clashed || clock_.Monotonic() + kClashNap >= deadline) return outcome;
      std::this_thread::sleep_for(kClashNap);
    }
  }

  // A change that has nothing to tell but whether it was made.
  template <typename Body>
  Status Change(MonotonicTime deadline, Body body) {
    return Transact<std::monostate>(Access::kWrite, deadline,
                                    [&](Connection& db) -> Result<std::monostate> {
                                      if (Status done = body(db); !done.ok()) return done;
                                      return std::monostate();
                                    })
        .status();
  }

  // A change that belongs to this fill, if it is still under way.
  template <typename Body>
  Status ChangeFill(std::string_view fill, MonotonicTime deadline, Body body) {
    return Change(deadline, [&](Connection& db) -> Status {
      Result<std::uint32_t> version = SchemaVersion(db, dialect());
      if (!version.ok()) return version.status();
      if (*version == 0) return FillIsOver();
      Result<StoreRow> row = SelectStore(db, row_lock());
      if (!row.ok()) return row.status();
      if (fill.empty() || row->fill != fill) return FillIsOver();
      return body(db, *std::move(row));
    });
  }

  // A look at what the store holds.
  template <typename T, typename Body>
  Result<T> Read(MonotonicTime deadline, Body body) {
    return Transact<T>(Access::kRead, deadline, [&](Connection& db) -> Result<T> {
      if (Result<StoreRow> row = UsableStore(db, /*lock=*/""); !row.ok()) return row.status();
      return body(db);
    });
  }

  // Runs `body` on the locked keyspace if `check(record)` lets it, or quarantines it when that says
  // that it is behind the request's witness: that is committed although the caller is told of an
  // error.
  template <typename T, typename Request, typename Check, typename Body>
  Result<T> TransactUnlessBehind(const Request& request, Check check, MonotonicTime deadline,
                                 Body body) {
    Status refused;
    Result<T> outcome = Transact<T>(Access::kWrite, deadline, [&](Connection& db) -> Result<T> {
      refused = Status();
      Result<KeyspaceRecord> locked = LockForRequest(db, request.keyspace_id, request.timeline);
      if (!locked.ok()) return locked.status();
      KeyspaceRecord& record = *locked;
      refused = check(record);
      if (refused.ok()) return body(db, record);
      if (refused.code() != Code::kQuarantined) return refused;
      if (Status done = WriteQuarantine(db, std::move(record), refused.message(), request.witness);
          !done.ok()) {
        return done;
      }
      return T{};
    });
    if (outcome.ok() && !refused.ok()) return refused;
    return outcome;
  }

  // The row of a store that can be read.
  static Result<StoreRow> UsableStore(Connection& db, std::string_view lock);

  // The row of a store that can be changed, locked: see moving.h.
  Result<StoreRow> WritableStore(Connection& db);

  static Status WriteQuarantine(Connection& db, KeyspaceRecord record, std::string_view reason,
                                const Witness& seen);

 private:
  // Long enough for whoever was in the way to be gone, short beside any deadline.
  static constexpr std::chrono::milliseconds kClashNap{1};

  template <typename T, typename Body>
  Result<T> TransactOnce(Access access, MonotonicTime deadline, Body& body, bool& clashed) {
    Result<ConnectionPool::Lease> lease = pool_.Acquire(deadline);
    if (!lease.ok()) return lease.status();
    Connection& db = **lease;
    if (Status begun = db.Begin(access, deadline); !begun.ok()) {
      clashed = db.Clashed();
      if (begun.code() != Code::kUnavailable) lease->MarkBroken();
      return begun;
    }
    Result<T> outcome = body(db);
    if (!outcome.ok()) {
      clashed = db.Clashed();
      const bool denied = db.Denied();
      db.Rollback();
      if (denied) return Denied(outcome.status());
      return outcome;
    }
    if (Status committed = db.Commit(); !committed.ok()) {
      clashed = committed.code() == Code::kUnavailable && db.Clashed();
      if (committed.code() != Code::kUnavailable) lease->MarkBroken();
      return committed;
    }
    if (access == Access::kWrite) admitted_ = true;
    return outcome;
  }

  // At the start somebody is there to read what is missing. Later on kFailedPrecondition would say
  // that a keyspace is gone for good; but rights that we had may be given back.
  Status Denied(const Status& failure);

  // The keyspace, locked, if the store may be used and its timeline is this one, or it is "".
  Result<KeyspaceRecord> LockForRequest(Connection& db, const std::string& keyspace_id,
                                        const std::string& timeline);

  const Clock& clock_;
  ConnectionPool pool_;
  std::atomic<bool> admitted_{false};
};

}  // namespace keymill::store::sql
