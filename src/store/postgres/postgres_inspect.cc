// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/postgres/postgres_inspect.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "store/postgres/postgres_connection.h"

namespace keymill::store {
namespace {

using sql::Row;

std::string Text(const Row& row, std::size_t column) {
  const auto* const text = std::get_if<std::string>(&row.at(column));
  return text == nullptr ? "" : *text;
}

std::int64_t Number(const Row& row, std::size_t column) {
  const auto* const number = std::get_if<std::int64_t>(&row.at(column));
  return number == nullptr ? 0 : *number;
}

// As one word of a shell.
std::string ShellQuote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$' || c == '`') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// ALTER SYSTEM writes postgresql.auto.conf, which wins over postgresql.conf. It cannot be in one
// -c with another statement: psql makes a transaction of those.
std::string SetOnServer(std::string_view name, std::string_view value) {
  return fmt::format("psql -c {} -c \"SELECT pg_reload_conf()\"",
                     ShellQuote(fmt::format("ALTER SYSTEM SET {} = {}", name, value)));
}

// The number in "FIRST 2 (a, b)", "ANY 2 (a, b)" or "2 (a, b)"; 1 in "a, b".
std::int64_t StandbysAwaited(std::string_view names) {
  const std::string_view head = names.substr(0, names.find('('));
  if (head.size() == names.size()) return 1;
  const std::size_t digit = head.find_first_of("0123456789");
  std::int64_t count = 0;
  if (digit != std::string_view::npos) {
    std::from_chars(head.data() + digit, head.data() + head.size(), count);
  }
  return std::max<std::int64_t>(count, 1);
}

// Those named in it, as they are written there: a, "b c". None where it names all by *.
std::vector<std::string_view> StandbysNamed(std::string_view text) {
  if (const std::size_t open = text.find('('); open != text.npos) {
    text = text.substr(open + 1, text.rfind(')') - open - 1);
  }
  std::vector<std::string_view> names;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '"') quoted = !quoted;
    if (i < text.size() && (quoted || text[i] != ',')) continue;
    std::string_view name = text.substr(begin, i - begin);
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    if (name == "*" || name == "\"*\"") return {};
    if (!name.empty()) names.push_back(name);
    begin = i + 1;
  }
  return names;
}

constexpr std::string_view kPromoteFurthest =
    "promote only the one that is furthest ahead (SELECT pg_last_wal_receive_lsn(); Patroni and "
    "repmgr do that)";

// Collects findings; stops at the first query that fails.
class Inspection {
 public:
  Inspection(sql::Connection& db, const std::string& schema) : db_(db), schema_(schema) {}

  Result<std::vector<StoreFinding>> Run() {
    for (const auto step :
         {&Inspection::ReadSettings, &Inspection::ReadStandbys, &Inspection::CheckServer,
          &Inspection::CheckDurability, &Inspection::CheckCommit, &Inspection::CheckOverrides,
          &Inspection::CheckStandbys, &Inspection::CheckTables, &Inspection::CheckLink}) {
      if (Status done = (this->*step)(); !done.ok()) return done;
    }
    return std::move(findings_);
  }

 private:
  struct Setting {
    std::string value;
    std::string source;
  };

  void Add(std::string_view check, bool unsafe, std::string says, std::string fix) {
    findings_.push_back({std::string(check), unsafe, std::move(says), std::move(fix)});
  }
  void Unsafe(std::string_view check, std::string says, std::string fix) {
    Add(check, true, std::move(says), std::move(fix));
  }
  void Warn(std::string_view check, std::string says, std::string fix) {
    Add(check, false, std::move(says), std::move(fix));
  }

  // Null when it cannot be seen, and then a finding says so.
  const Setting* Find(std::string_view name) {
    const auto found = settings_.find(name);
    if (found != settings_.end()) return &found->second;
    Warn(name, fmt::format("{} cannot be seen, so nobody knows whether it is right", name),
         fmt::format("SHOW {};", name));
    return nullptr;
  }

  Status ReadSettings() {
    auto rows = db_.Query(
        "SELECT name, coalesce(setting, ''), coalesce(source, '') FROM pg_catalog.pg_settings "
        "WHERE name IN ('fsync', 'full_page_writes', 'data_sync_retry', 'synchronous_commit', "
        "'synchronous_standby_names', 'default_transaction_read_only')",
        {});
    if (!rows.ok()) return rows.status();
    for (const Row& row : *rows) settings_[Text(row, 0)] = {Text(row, 1), Text(row, 2)};
    return {};
  }

  Status CheckServer() {
    auto rows = db_.Query(
        "SELECT pg_catalog.pg_is_in_recovery(), "
        "pg_catalog.current_setting('server_version_num')::bigint",
        {});
    if (!rows.ok()) return rows.status();
    if (Number(rows->at(0), 0) != 0) {
      Unsafe("primary", "the server is a standby: it can be behind, and takes no blocks",
             "name the primary in the URL, or all servers: postgres://db1,db2/…");
    }
    if (const Setting* const read_only = Find("default_transaction_read_only");
        read_only != nullptr && read_only->value == "on") {
      Warn("read_only", "default_transaction_read_only is on: somebody wants no changes here",
           SetOnServer("default_transaction_read_only", "off"));
    }
    constexpr std::int64_t kOldestMaintained = 130'000;
    if (const std::int64_t version = Number(rows->at(0), 1); version < kOldestMaintained) {
      Warn("version",
           fmt::format("PostgreSQL {}.{} is no longer maintained", version / 10'000,
                       version % 10'000),
           "upgrade to PostgreSQL 13 or later");
    }
    return {};
  }

  Status CheckDurability() {
    struct Rule {
      std::string_view name;
      std::string_view want;
      std::string_view why;
    };
    constexpr std::array<Rule, 3> kRules = {{
        {"fsync", "on", "a crash of the machine loses acknowledged blocks"},
        {"full_page_writes", "on", "a crash can leave half a page, and with it an old counter"},
        {"data_sync_retry", "off", "a failed write is tried again, and then counts as written"},
    }};
    for (const Rule& rule : kRules) {
      const Setting* const setting = Find(rule.name);
      if (setting == nullptr || setting->value == rule.want) continue;
      std::string fix = SetOnServer(rule.name, rule.want);
      if (rule.name == "data_sync_retry") fix += "  # and restart the server";
      Unsafe(rule.name, fmt::format("{} is {}: {}", rule.name, setting->value, rule.why),
             std::move(fix));
    }
    return {};
  }

  // Keymill's own transactions set it; but a server of which somebody has said that commits need
  // not last is no place for a store.
  void JudgeCommit(const std::string& value, std::string_view whose, std::string fix) {
    if (value == "on" || value == "remote_apply") return;
    const std::string says = fmt::format("synchronous_commit is {}{}", value, whose);
    if (value == "off") {
      Unsafe("synchronous_commit",
             says + ": a crash of the server loses commits that it has acknowledged",
             std::move(fix));
    } else {
      // A standby that is named, or that follows: it may take over without what was acknowledged.
      Add("synchronous_commit", /*unsafe=*/AwaitsStandbys() || standbys_ > 0,
          says + ": it does not wait until standbys have written too", std::move(fix));
    }
  }

  // Whether somebody has said that commits wait for standbys.
  bool AwaitsStandbys() {
    const Setting* const names = Find("synchronous_standby_names");
    return names != nullptr && !names->value.empty();
  }

  Status ReadStandbys() {
    // Logical subscribers, backups under way and archives of the log (pg_receivewal) are no
    // standbys; the latter two replay nothing.
    auto rows = db_.Query(
        "SELECT pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE'), session_user::text, "
        "count(*), count(DISTINCT application_name), "
        "coalesce(string_agg(DISTINCT quote_ident(application_name), ', '), ''), "
        "(SELECT count(*) FROM pg_catalog.pg_stat_replication WHERE sync_state IN ('sync', "
        "'quorum') AND state = 'streaming'), "
        "coalesce(string_agg(DISTINCT quote_ident(application_name), ', ') FILTER (WHERE "
        "sync_state = 'async'), ''), "
        "count(*) FILTER (WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum', "
        "'potential')), "
        "coalesce(string_agg(DISTINCT quote_ident(application_name), ', ') FILTER (WHERE state = "
        "'streaming' AND sync_state IN ('sync', 'quorum', 'potential')), '') "
        "FROM pg_catalog.pg_stat_replication WHERE replay_lsn IS NOT NULL AND pid NOT IN (SELECT "
        "active_pid FROM pg_catalog.pg_replication_slots WHERE slot_type = 'logical' AND "
        "active_pid IS NOT NULL)",
        {});
    if (!rows.ok()) return rows.status();
    const Row& row = rows->at(0);
    sees_standbys_ = Number(row, 0) != 0;
    role_ = Text(row, 1);
    standbys_ = sees_standbys_ ? Number(row, 2) : 0;
    synchronous_ = Number(row, 5);
    late_standbys_ = Text(row, 6);
    heirs_ = Number(row, 7);
    heir_names_ = Text(row, 8);
    standby_names_ = Number(row, 3) == 1 ? Text(row, 4) : fmt::format("ANY 1 ({})", Text(row, 4));
    return {};
  }

  Status CheckCommit() {
    const Setting* const commit = Find("synchronous_commit");
    if (commit == nullptr) return {};
    const std::string& source = commit->source;
    // Those are looked for by CheckOverrides, which knows whose they are.
    if (source == "database" || source == "user" || source == "database user") return {};
    if (source == "client" || source == "session") {
      JudgeCommit(commit->value, " in this session", "take it out of options= in the URL");
    } else {
      JudgeCommit(commit->value, "", SetOnServer("synchronous_commit", "on"));
    }
    return {};
  }

  Status CheckOverrides() {
    auto rows = db_.Query(
        "SELECT coalesce(d.datname::text, ''), coalesce(r.rolname::text, ''), "
        "split_part(c, '=', 2) FROM pg_catalog.pg_db_role_setting s "
        "CROSS JOIN LATERAL unnest(s.setconfig) AS c "
        "LEFT JOIN pg_catalog.pg_database d ON d.oid = s.setdatabase "
        "LEFT JOIN pg_catalog.pg_roles r ON r.oid = s.setrole "
        "WHERE c LIKE 'synchronous\\_commit=%' "
        "AND (s.setdatabase = 0 OR d.datname = current_database()) "
        "AND (s.setrole = 0 OR r.rolname = session_user)",
        {});
    if (!rows.ok()) return rows.status();
    for (const Row& row : *rows) {
      const std::string database = Text(row, 0);
      const std::string role = Text(row, 1);
      std::string whose;
      std::string alter;
      if (role.empty()) {
        whose = fmt::format(" for the database {}", database);
        alter = fmt::format("ALTER DATABASE {}", QuoteName(database));
      } else {
        whose = fmt::format(" for the role {}", role);
        alter = fmt::format("ALTER ROLE {}", QuoteName(role));
        if (!database.empty()) alter += fmt::format(" IN DATABASE {}", QuoteName(database));
      }
      JudgeCommit(Text(row, 2), whose, alter + " RESET synchronous_commit;");
    }
    return {};
  }

  // Nothing is lost then, but nothing is reserved either.
  void CheckAwaited(const std::string& names) {
    const std::int64_t wanted = StandbysAwaited(names);
    if (!sees_standbys_) {
      Warn("standbys",
           "this role cannot see whether the standbys are there for which every commit waits",
           fmt::format("GRANT pg_monitor TO {};", QuoteName(role_)));
    } else if (synchronous_ < wanted) {
      Warn("standbys",
           fmt::format("every commit waits for {} of the standbys in synchronous_standby_names "
                       "({}), and {} {} there: none will end before",
                       wanted, names, synchronous_, synchronous_ == 1 ? "is" : "are"),
           "start the missing standby; to go on without any, which a failover then does not "
           "survive: " +
               SetOnServer("synchronous_standby_names", "''"));
    } else {
      CheckHeirs(names, wanted);
      CheckLateStandbys();
    }
  }

  // Any of them may be the one that is promoted, and only so many are known to have a block.
  void CheckHeirs(const std::string& names, std::int64_t wanted) {
    // One that is away now may be the one that takes over.
    const std::vector<std::string_view> named = StandbysNamed(names);
    const auto listed = static_cast<std::int64_t>(named.size());
    const std::int64_t heirs = std::max(heirs_, listed);
    if (heirs <= wanted) return;
    const std::string all =
        listed > heirs_ ? fmt::format("{}", fmt::join(named, ", ")) : heir_names_;
    Warn("standbys",
         fmt::format("every commit waits for {} of {} standbys in synchronous_standby_names ({}); "
                     "one of them that takes over without the latest blocks hands them out again",
                     wanted, heirs, names),
         fmt::format("{}; or have every commit wait for all, and then a lost one stops writes: {}",
                     kPromoteFurthest,
                     SetOnServer("synchronous_standby_names",
                                 QuoteText(fmt::format("ANY {} ({})", heirs, all)))));
  }

  void CheckLateStandbys() {
    if (late_standbys_.empty()) return;
    // They may be there to be read from: whoever fails over decides whether they ever take over.
    Warn("standbys",
         fmt::format("no commit waits for these standbys: {}; one of them that takes over without "
                     "the latest blocks hands them out again",
                     late_standbys_),
         "let none of them take over (Patroni: synchronous_mode, or the tag nofailover), or add "
         "them to synchronous_standby_names");
  }

  Status CheckStandbys() {
    if (AwaitsStandbys()) {
      CheckAwaited(Find("synchronous_standby_names")->value);
    } else if (!sees_standbys_) {
      Warn("standbys",
           "this role cannot see whether there are standbys; one that takes over without the "
           "latest blocks hands them out again",
           fmt::format("GRANT pg_monitor TO {};", QuoteName(role_)));
    } else if (standbys_ > 0) {
      Unsafe("standbys",
             fmt::format("{}, and no commit waits for {}: one that takes over without the latest "
                         "blocks hands them out again",
                         standbys_ == 1 ? "1 standby" : fmt::format("{} standbys", standbys_),
                         standbys_ == 1 ? "it" : "any of them"),
             SetOnServer("synchronous_standby_names", QuoteText(standby_names_)) +
                 (standbys_ == 1
                      ? "  # every commit of this server then waits for it"
                      : fmt::format("  # every commit of this server then waits for one of them; "
                                    "{}; or ANY {}, and then a lost one stops writes",
                                    kPromoteFurthest, standbys_)));
    }
    return {};
  }

  Status CheckTables() {
    const std::array<sql::Value, 1> values = {schema_};
    auto rows = db_.Query(
        "SELECT c.relname::text, c.relkind::text, c.relpersistence::text, c.relrowsecurity, "
        "coalesce((SELECT min(t.tgname::text) FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid "
        "AND NOT t.tgisinternal), ''), "
        "coalesce((SELECT min(w.rulename::text) FROM pg_catalog.pg_rewrite w WHERE w.ev_class = "
        "c.oid), ''), "
        "EXISTS (SELECT 1 FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary "
        "AND i.indisvalid) "
        "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = ? AND c.relname IN ('keymill_store', 'keymill_keyspaces', "
        "'keymill_ledger', 'keymill_key') ORDER BY 1",
        values);
    if (!rows.ok()) return rows.status();
    for (const Row& row : *rows) CheckTable(row);
    return {};
  }

  void CheckTable(const Row& row) {
    const std::string name = Text(row, 0);
    const std::string table = fmt::format("{}.{}", QuoteName(schema_), name);
    if (Text(row, 1) != "r") {
      Unsafe("table", fmt::format("{} is no ordinary table", name),
             "restore the store from a backup");
      return;
    }
    if (Text(row, 2) != "p") {
      Unsafe("unlogged", fmt::format("{} is unlogged: a crash of the server empties it", name),
             fmt::format("ALTER TABLE {} SET LOGGED;", table));
    }
    if (Number(row, 3) != 0) {
      Unsafe("row_security", fmt::format("{} has row security, which can hide rows", name),
             fmt::format("ALTER TABLE {} DISABLE ROW LEVEL SECURITY;", table));
    }
    if (const std::string trigger = Text(row, 4); !trigger.empty()) {
      Unsafe("triggers", fmt::format("{} has the trigger {}, which can change rows", name, trigger),
             fmt::format("DROP TRIGGER {} ON {};", QuoteName(trigger), table));
    }
    if (const std::string rule = Text(row, 5); !rule.empty()) {
      Unsafe("rules", fmt::format("{} has the rule {}, which can change rows", name, rule),
             fmt::format("DROP RULE {} ON {};", QuoteName(rule), table));
    }
    if (Number(row, 6) == 0) {
      Unsafe("primary_key", fmt::format("{} has no primary key: rows can be there twice", name),
             "restore the store from a backup");
    }
  }

  // Our end of the link, and the server's: with a pooler in between they are not the same.
  Status CheckLink() {
    if (db_.Exposed()) {
      Warn("tls", "the connection from here is not encrypted, and the keyspaces' secrets cross it",
           "add sslmode=verify-full and sslrootcert=… to the URL");
      return {};
    }
    auto rows = db_.Query(
        "SELECT NOT coalesce(inet_client_addr() <<= '127.0.0.0/8' OR inet_client_addr() = '::1', "
        "true) AND NOT coalesce((SELECT ssl FROM pg_catalog.pg_stat_ssl WHERE pid = "
        "pg_backend_pid()), false), coalesce(host(inet_client_addr()), '')",
        {});
    if (!rows.ok()) return rows.status();
    if (Number(rows->at(0), 0) != 0) {
      Warn("tls",
           fmt::format("the connection that reaches the server, from {}, is not encrypted (it is a "
                       "pooler's, or another's in between), and the keyspaces' secrets cross it",
                       Text(rows->at(0), 1)),
           "let the pooler encrypt its connections, too: server_tls_sslmode = verify-full and "
           "server_tls_ca_file in pgbouncer.ini");
    }
    return {};
  }

  sql::Connection& db_;
  const std::string& schema_;
  std::map<std::string, Setting, std::less<>> settings_;
  std::vector<StoreFinding> findings_;
  std::string role_;
  bool sees_standbys_ = false;
  std::int64_t standbys_ = 0;
  std::int64_t synchronous_ = 0;  // Those that a commit waits for, or may.
  std::string late_standbys_;     // Those that no commit ever waits for.
  std::int64_t heirs_ = 0;        // Those that are named and follow; a commit waits for some.
  std::string heir_names_;        // Of these, separated by commas.
  std::string standby_names_;     // As synchronous_standby_names wants them.
};

// Each row is a right that this role does not have.
constexpr std::string_view kMissingOnTables =
    "SELECT DISTINCT r.rights || ' on ' || r.name FROM (VALUES "
    "('keymill_store', 'SELECT'), ('keymill_store', 'UPDATE'), "
    "('keymill_keyspaces', 'SELECT'), ('keymill_keyspaces', 'INSERT'), "
    "('keymill_keyspaces', 'UPDATE'), "
    "('keymill_ledger', 'SELECT'), ('keymill_ledger', 'INSERT'), ('keymill_ledger', 'UPDATE'), "
    "('keymill_ledger', 'DELETE'), "
    "('keymill_key', 'SELECT'), ('keymill_key', 'INSERT'), ('keymill_key', 'UPDATE'), "
    "('keymill_key', 'DELETE')) AS r (name, rights) "
    "WHERE NOT coalesce(pg_catalog.has_table_privilege(pg_catalog.to_regclass(? || '.' || r.name), "
    "r.rights), false) ORDER BY 1";

// The right to make what is not there, as seen by whoever may look into the schema, if there is
// one.
constexpr std::string_view kMayCreate =
    "SELECT CASE WHEN n.oid IS NULL THEN "
    "pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE') "
    "ELSE pg_catalog.has_schema_privilege(n.oid, 'CREATE') END, "
    "CASE WHEN n.oid IS NULL THEN 'database ' || quote_ident(pg_catalog.current_database()) "
    "ELSE 'schema ' || quote_ident(n.nspname) END "
    "FROM (SELECT ?::text AS name) wanted LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = "
    "wanted.name";

}  // namespace

Result<PostgresRights> ReadPostgresRights(sql::Connection& connection, const std::string& schema) {
  PostgresRights rights;
  const std::string quoted = QuoteName(schema);
  const std::array<sql::Value, 1> table = {quoted + ".keymill_store"};
  auto rows = connection.Query("SELECT pg_catalog.to_regclass(?) IS NOT NULL", table);
  if (!rows.ok()) return rows.status();
  rights.tables = Number(rows->at(0), 0) != 0;
  if (!rights.tables) {
    const std::array<sql::Value, 1> name = {schema};
    rows = connection.Query(kMayCreate, name);
    if (!rows.ok()) return rows.status();
    if (Number(rows->at(0), 0) == 0) {
      rights.missing = fmt::format(
          "there are no tables, and this role may make none: CREATE on the {} is missing",
          Text(rows->at(0), 1));
    }
    return rights;
  }
  const std::array<sql::Value, 1> prefix = {quoted};
  rows = connection.Query(kMissingOnTables, prefix);
  if (!rows.ok()) return rows.status();
  for (const Row& row : *rows) {
    rights.missing += (rights.missing.empty() ? "" : ", ") + Text(row, 0);
  }
  if (!rights.missing.empty()) {
    rights.missing = fmt::format("this role lacks rights: {}", rights.missing);
  }
  return rights;
}

Result<std::vector<StoreFinding>> InspectPostgres(sql::Connection& connection,
                                                  const std::string& schema) {
  return Inspection(connection, schema).Run();
}

}  // namespace keymill::store
