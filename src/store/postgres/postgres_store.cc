// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/postgres/postgres_store.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/postgres/postgres_connection.h"
#include "store/postgres/postgres_inspect.h"
#include "store/postgres/postgres_url.h"
#include "store/postgres/pq_link.h"
#include "store/resolve.h"
#include "store/sql/sql_store.h"

namespace keymill::store {

// Schema texts are promises: append versions, never edit one. The collation makes texts compare
// as bytes; the fillfactor leaves room to update a row in its page.
const sql::Migrations& PostgresMigrations() {
  static const auto* const migrations = new sql::Migrations{
      {
          "CREATE TABLE keymill_store ("
          "store_id TEXT COLLATE \"C\" NOT NULL PRIMARY KEY, schema_version BIGINT NOT NULL, "
          "created_at_ms BIGINT NOT NULL, agreed_timeline TEXT COLLATE \"C\" NOT NULL, "
          "moved_to TEXT NOT NULL, fill_name TEXT COLLATE \"C\" NOT NULL)",
          "CREATE TABLE keymill_keyspaces ("
          "name TEXT COLLATE \"C\" NOT NULL PRIMARY KEY, id TEXT COLLATE \"C\" NOT NULL UNIQUE, "
          "recipe TEXT COLLATE \"C\" NOT NULL, recipe_hash TEXT COLLATE \"C\" NOT NULL, "
          "secret BYTEA NOT NULL, state TEXT COLLATE \"C\" NOT NULL, reason TEXT NOT NULL, "
          "first_number BIGINT NOT NULL, end_number BIGINT NOT NULL, next_number BIGINT NOT NULL, "
          "rev BIGINT NOT NULL, created_at_ms BIGINT NOT NULL, testified_rev BIGINT NOT NULL, "
          "testified_next BIGINT NOT NULL, "
          "CHECK (first_number <= next_number AND next_number <= end_number)) WITH (fillfactor = "
          "50)",
          "CREATE TABLE keymill_ledger ("
          "keyspace_id TEXT COLLATE \"C\" NOT NULL, first_number BIGINT NOT NULL, "
          "number_count BIGINT NOT NULL CHECK (number_count > 0), "
          "block_id TEXT COLLATE \"C\" NOT NULL, instance TEXT NOT NULL, reservation TEXT NOT "
          "NULL, "
          "reserved_at_ms BIGINT NOT NULL, state TEXT COLLATE \"C\" NOT NULL, "
          "PRIMARY KEY (keyspace_id, first_number))",
          "CREATE INDEX keymill_ledger_state ON keymill_ledger (keyspace_id, state, first_number)",
      },
      {
          // The keyspace comes last in its indexes: a planner that knows nothing of the table yet
          // would take it for the one thing to look for, and read all keys of it.
          "CREATE TABLE keymill_key ("
          "keyspace_id TEXT COLLATE \"C\" NOT NULL, key_text TEXT COLLATE \"C\" NOT NULL, "
          "state TEXT COLLATE \"C\" NOT NULL, since_ms BIGINT NOT NULL, instance TEXT NOT NULL, "
          "token TEXT COLLATE \"C\" NOT NULL, owner TEXT NOT NULL, identity TEXT COLLATE \"C\", "
          "expires_at_ms BIGINT NOT NULL, generation BIGINT NOT NULL, note BYTEA NOT NULL, "
          "PRIMARY KEY (key_text, keyspace_id))",
          // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one statement in two lines.
          "CREATE UNIQUE INDEX keymill_key_identity ON keymill_key (identity, keyspace_id) "
          "WHERE identity IS NOT NULL",
          "CREATE INDEX keymill_key_state ON keymill_key (state, keyspace_id, since_ms, key_text)",
          "CREATE INDEX keymill_key_expiry ON keymill_key (state, keyspace_id, expires_at_ms) "
          "WHERE expires_at_ms > 0",
          // For people.
          "CREATE VIEW available_keys AS SELECT s.name AS keyspace, k.key_text AS key, "
          "CASE k.state WHEN 'reserved' THEN k.instance END AS reserved_by, "
          "CASE k.state WHEN 'reserved' THEN to_timestamp(k.since_ms / 1000.0) END AS reserved_at "
          "FROM keymill_key k JOIN keymill_keyspaces s ON s.id = k.keyspace_id "
          "WHERE k.state IN ('available', 'reserved')",
          "CREATE VIEW used_keys AS SELECT s.name AS keyspace, k.key_text AS key, "
          "to_timestamp(k.since_ms / 1000.0) AS used_at, k.instance AS used_by, "
          "CASE WHEN k.expires_at_ms > 0 THEN to_timestamp(k.expires_at_ms / 1000.0) END "
          "AS expires_at FROM keymill_key k JOIN keymill_keyspaces s ON s.id = k.keyspace_id "
          "WHERE k.state = 'used'",
      }};
  return *migrations;
}

namespace {

// The name of a WAL segment begins with the timeline; what the control file says is as old as the
// last checkpoint, which a promotion does not wait for. A server that was started anew may have
// been started on older data. Tables that a dump has made anew have other object ids, and those
// that were emptied and filled from one other files (so do those that were vacuumed in full, which
// costs a pause). A database that was made from another one (TEMPLATE) shares all of that with it,
// so that two that change names are told apart by their own object id. Nothing of this changes
// under a transaction, and everybody may ask it.
constexpr std::string_view kTimeline =
    "(SELECT system_identifier FROM pg_catalog.pg_control_system()) || ':' || "
    "left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8) || ':' || "
    "(extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000)::bigint || ':' || "
    "(SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) "
    "|| ':' || 'keymill_store'::regclass::oid || ':' || "
    "pg_catalog.pg_relation_filenode('keymill_store') || ':' || "
    "pg_catalog.pg_relation_filenode('keymill_keyspaces')";

class PostgresDriver final : public sql::Driver {
 public:
  PostgresDriver(PostgresPlace place, const Clock& clock)
      : place_(std::move(place)),
        clock_(clock),
        // Fails where we may not look into the schema; what is in it would seem to be missing.
        probe_(fmt::format("SELECT 1 WHERE pg_catalog.to_regclass({}) IS NOT NULL",
                           QuoteText(QuoteName(place_.schema) + ".keymill_store"))),
        emptied_advice_(fmt::format(
            "Restore the schema {0} from a backup; to start anew, which hands out old keys again: "
            "DROP SCHEMA {0} CASCADE;",
            QuoteName(place_.schema))),
        dialect_{.row_lock = " FOR UPDATE",
                 .schema_probe = probe_,
                 .migrations = PostgresMigrations(),
                 .timeline = kTimeline,
                 .now_ms = "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint",
                 .emptied_advice = emptied_advice_} {}

  // Tries each host in turn, the last good one first, and gives each a fair share of the time.
  Result<std::unique_ptr<sql::Connection>> Connect(MonotonicTime deadline) override {
    const std::size_t count = place_.hosts.size();
    const std::size_t begin = good_host_;
    Status failed;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = (begin + i) % count;
      const MonotonicTime now = clock_.Monotonic();
      MonotonicTime until = now + (deadline - now) / static_cast<std::int64_t>(count - i);
      if (place_.host_timeout.count() > 0) until = std::min(until, now + place_.host_timeout);
      auto connection = ConnectTo(place_.hosts[at], until);
      if (connection.ok()) {
        good_host_ = at;
        connected_ = true;
        return connection;
      }
      // Of several reasons, one that may pass by itself counts.
      const bool passing = connection.code() == Code::kUnavailable;
      if (failed.ok() || passing) failed = connection.status();
    }
    // What was once right may be right again; nothing above has to give up for good.
    if (connected_) return Status(Code::kUnavailable, failed.message());
    return failed;
  }

  const sql::Dialect& dialect() const override { return dialect_; }

  std::string RightsAdvice() const override {
    const auto user = place_.parameters.find("user");
    const std::string role = user == place_.parameters.end() ? "ROLE" : QuoteName(user->second);
    const std::string schema = QuoteName(place_.schema);
    return fmt::format(
        "Where there are no tables yet, or those of an older version, apply "
        "deploy/schema/postgres.sql, or what it has for newer versions, as their owner; then: "
        "GRANT USAGE ON SCHEMA {0} TO {1}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN "
        "SCHEMA {0} TO {1};",
        schema, role);
  }

  Result<bool> CheckRights(sql::Connection& connection) override {
    Result<PostgresRights> rights = ReadPostgresRights(connection, place_.schema);
    if (!rights.ok()) return rights.status();
    if (rights->missing.empty()) return rights->tables;
    return Status(Code::kFailedPrecondition,
                  fmt::format("use the schema {}: {}. {}", QuoteName(place_.schema),
                              rights->missing, RightsAdvice()));
  }

  Result<std::vector<StoreFinding>> Inspect(sql::Connection& connection) override {
    return InspectPostgres(connection, place_.schema);
  }

 private:
  Result<std::unique_ptr<sql::Connection>> ConnectTo(const PostgresPlace::Host& host,
                                                     MonotonicTime deadline) {
    std::map<std::string, std::string> parameters = place_.parameters;
    const std::string name = host.name.empty() ? "the local server" : host.name;
    const std::string where = host.port.empty() ? name : fmt::format("{}:{}", name, host.port);
    if (!host.port.empty()) parameters["port"] = host.port;
    std::vector<HostAddress> addresses(1);
    if (!host.name.empty()) parameters["host"] = host.name;
    if (!host.name.empty() && !host.name.starts_with('/')) {
      // libpq would look the name up itself, and wait for as long as that takes.
      auto found = ResolveHost(host.name, /*port=*/0, clock_, deadline);
      if (!found.ok()) return found.status();
      addresses = *std::move(found);
    }
    PqAnswer failure;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (!addresses[i].text.empty()) parameters["hostaddr"] = addresses[i].text;
      const MonotonicTime now = clock_.Monotonic();
      const auto share = (deadline - now) / static_cast<std::int64_t>(addresses.size() - i);
      auto link = PqLink::Open(parameters, clock_, now + share, failure);
      if (link) return MakePostgresConnection(std::move(link), place_.schema, where, clock_);
    }
    return ConnectError(failure, where);
  }

  const PostgresPlace place_;
  const Clock& clock_;
  const std::string probe_;
  const std::string emptied_advice_;
  const sql::Dialect dialect_;
  std::atomic<std::size_t> good_host_{0};
  std::atomic<bool> connected_{false};
};

}  // namespace

Status CheckPostgresUrl(const StoreUrl& url) { return ReadPostgresUrl(url).status(); }

Result<std::unique_ptr<sql::Connection>> OpenPostgresConnection(const StoreUrl& url,
                                                                const Clock& clock,
                                                                MonotonicTime deadline) {
  Result<PostgresPlace> place = ReadPostgresUrl(url);
  if (!place.ok()) return place.status();
  return PostgresDriver(*std::move(place), clock).Connect(deadline);
}

Result<std::unique_ptr<Store>> OpenPostgresStore(const StoreUrl& url, bool create,
                                                 const Clock& clock, MonotonicTime deadline) {
  Result<PostgresPlace> place = ReadPostgresUrl(url);
  if (!place.ok()) return place.status();
  return sql::OpenSqlStore(std::make_unique<PostgresDriver>(*std::move(place), clock), clock,
                           deadline, {.create = create});
}

}  // namespace keymill::store
