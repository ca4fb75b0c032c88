// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/mariadb/mariadb_inspect.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace keymill::store {
namespace {

using Settings = std::map<std::string, std::string>;

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::optional<std::string> Find(const Settings& settings, const std::string& name) {
  const auto at = settings.find(name);
  if (at == settings.end()) return std::nullopt;
  return Lower(at->second);
}

bool IsOn(const Settings& settings, const std::string& name) {
  const auto value = Find(settings, name);
  return value == "on" || value == "1" || value == "true";
}

// Takes a number off the front of `text`.
unsigned TakeNumber(std::string_view& text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with('.')) text.remove_prefix(1);
  return error == std::errc() ? number : 0;
}

class Judge {
 public:
  explicit Judge(const MariadbFacts& facts) : facts_(facts) {}

  std::vector<StoreFinding> Findings() {
    Version();
    Commits();
    Binlog();
    Engine();
    Galera();
    Replicas();
    return std::move(findings_);
  }

 private:
  void Unsafe(std::string check, std::string says, std::string fix) {
    findings_.push_back({std::move(check), true, std::move(says), std::move(fix)});
  }
  void Warn(std::string check, std::string says, std::string fix) {
    findings_.push_back({std::move(check), false, std::move(says), std::move(fix)});
  }
  void CannotSee(const std::string& name, std::string_view wanted) {
    Warn(name, fmt::format("the server does not tell {}: make sure that it is {}", name, wanted),
         fmt::format("SHOW GLOBAL VARIABLES LIKE '{}', as an administrator", name));
  }

  void Version() {
    std::string_view text = facts_.version;
    const std::array<unsigned, 3> found = {TakeNumber(text), TakeNumber(text), TakeNumber(text)};
    const bool mariadb = Lower(facts_.version).find("mariadb") != std::string::npos;
    const auto least = mariadb ? std::array<unsigned, 3>{10, 2, 4} : std::array<unsigned, 3>{8, 0};
    if (found >= least) return;
    Unsafe("version",
           fmt::format("the server is {}: too old to keep its counters and checks over a crash",
                       facts_.version),
           mariadb ? "upgrade to MariaDB 10.2.4 or newer" : "upgrade to MySQL 8.0 or newer");
  }

  void Commits() {
    static constexpr auto kName = "innodb_flush_log_at_trx_commit";
    if (const auto value = Find(facts_.variables, kName); !value) {
      CannotSee(kName, "1");
    } else if (*value != "1" && *value != "3") {
      Unsafe(kName,
             fmt::format("{} is {}: a crash loses up to a second of acknowledged blocks", kName,
                         *value),
             fmt::format("SET GLOBAL {} = 1; and in my.cnf: [mariadbd] {} = 1", kName, kName));
    }
    if (const auto value = Find(facts_.variables, "innodb_doublewrite"); !value) {
      CannotSee("innodb_doublewrite", "ON");
    } else if (*value == "off" || *value == "0" || *value == "detect_only") {
      Unsafe(
          "innodb_doublewrite",
          fmt::format("innodb_doublewrite is {}: a page torn by a crash cannot be mended", *value),
          "in my.cnf: [mariadbd] innodb_doublewrite = ON, then restart the server");
    }
    if (const auto value = Find(facts_.variables, "innodb_force_recovery"); !value) {
      CannotSee("innodb_force_recovery", "0");
    } else if (*value != "0") {
      Unsafe("innodb_force_recovery",
             fmt::format("innodb_force_recovery is {}: the server runs on data that it could not "
                         "recover",
                         *value),
             "dump and restore the data, remove innodb_force_recovery from my.cnf, restart");
    }
    // Only where the server knows it. The others of its values sync the log.
    const std::string method = Find(facts_.variables, "innodb_flush_method").value_or("");
    if (method == "nosync" || method == "littlesync") {
      Unsafe("innodb_flush_method",
             fmt::format("innodb_flush_method is {}: nothing waits for the disk, and a power cut "
                         "loses acknowledged blocks",
                         method),
             "in my.cnf: [mariadbd] innodb_flush_method = fsync, then restart the server");
    }
    if (Find(facts_.status, "innodb_redo_log_enabled") == "off") {
      Unsafe("innodb_redo_log", "the redo log is switched off: a crash loses acknowledged blocks",
             "ALTER INSTANCE ENABLE INNODB REDO_LOG");
    }
    // Newer servers know several ways of being read-only.
    const std::string read_only = Find(facts_.variables, "read_only").value_or("off");
    if ((read_only != "off" && read_only != "0") || IsOn(facts_.variables, "super_read_only")) {
      Unsafe("read_only", "the server is read-only: it is a replica, or was fenced off",
             "connect to the primary, or, if this is it: SET GLOBAL read_only = OFF");
    }
  }

  void Binlog() {
    if (!Find(facts_.variables, "log_bin")) CannotSee("log_bin", "OFF, or sync_binlog 1");
    if (!IsOn(facts_.variables, "log_bin")) return;
    if (const auto value = Find(facts_.variables, "sync_binlog"); !value) {
      CannotSee("sync_binlog", "1");
    } else if (*value != "1") {
      Unsafe("sync_binlog",
             fmt::format("log_bin is ON and sync_binlog is {}: after a crash the server may undo "
                         "acknowledged blocks that its binary log has lost",
                         *value),
             "SET GLOBAL sync_binlog = 1; and in my.cnf: [mariadbd] sync_binlog = 1");
    }
    if (Find(facts_.variables, "binlog_format") == "statement") {
      Unsafe("binlog_format",
             "binlog_format is STATEMENT: the server refuses what Keymill writes, for it reads "
             "what others have committed",
             "SET GLOBAL binlog_format = ROW; and in my.cnf: [mariadbd] binlog_format = ROW");
    }
  }

  void Engine() {
    for (const auto& [table, engine] : facts_.engines) {
      if (table == "keymill_start") {
        if (Lower(engine) == "memory") continue;
        Warn(
            "engine",
            fmt::format("the table {} has the engine {}, as after a replica took over: of a server "
                        "that was started anew only the second of its start tells",
                        table, engine.empty() ? "?" : engine),
            fmt::format("SET SESSION sql_log_bin = 0; ALTER TABLE {} ENGINE = MEMORY", table));
        continue;
      }
      if (Lower(engine) == "innodb") continue;
      Unsafe("engine",
             fmt::format("the table {} has the engine {}, which has no transactions", table,
                         engine.empty() ? "?" : engine),
             fmt::format("stop every instance, then: ALTER TABLE {} ENGINE = InnoDB", table));
    }
  }

  void Galera() {
    if (!IsOn(facts_.variables, "wsrep_on")) return;
    Unsafe("wsrep_on",
           "the server is a member of a Galera cluster: it acknowledges what its own disk may not "
           "have, and two members can lock the same row",
           "use a server of its own, or one with replicas; to turn it off: [mariadbd] wsrep_on = "
           "OFF");
  }

  // MySQL 8.0.26 and later have other names: "source" and "replica".
  void SemiSync(const std::string& side) {
    const std::string prefix = "rpl_semi_sync_" + side + "_";
    const std::string lonely = side == "source" ? "wait_no_replica" : "wait_no_slave";
    constexpr std::uint64_t kForEver = 4'294'967'295;  // MariaDB's longest; MySQL takes more.
    const std::string wait = Find(facts_.variables, prefix + "timeout").value_or("some");
    std::uint64_t wait_ms = 0;
    const auto [end, error] = std::from_chars(wait.data(), wait.data() + wait.size(), wait_ms);
    const bool endless = error == std::errc() && wait_ms >= kForEver;
    const bool leaves = Find(facts_.variables, prefix + lonely).value_or("on") == "off";
    const std::string point = Find(facts_.variables, prefix + "wait_point").value_or("?");
    if (endless && !leaves && point == "after_sync") return SemiSyncInForce(side);
    std::string says;
    if (!endless) {
      says = fmt::format("goes on without its replica after {} ms", wait);
    } else if (leaves) {
      says = fmt::format("goes on without its replica: {}{} is OFF", prefix, lonely);
    } else {
      says = fmt::format("shows blocks to others before its replica has them: {}wait_point is {}",
                         prefix, point);
    }
    Warn("replicas",
         fmt::format("semi-synchronous replication {}: one that takes over then may have lost "
                     "acknowledged blocks; keep data_dir, whose witness notices",
                     says),
         fmt::format("SET GLOBAL {0}timeout = {1}; SET GLOBAL {0}wait_point = AFTER_SYNC; SET "
                     "GLOBAL {0}{2} = ON; and all of them in my.cnf",
                     prefix, kForEver, lonely));
  }

  // Once it has gone on alone, or while nobody acknowledges, no wait makes a difference.
  void SemiSyncInForce(const std::string& side) {
    const std::string prefix = "rpl_semi_sync_" + side + "_";
    const auto in_force = Find(facts_.status, prefix + "status");
    const auto clients = Find(facts_.status, prefix + "clients");
    const auto connected = Find(facts_.status, "slaves_connected");
    if (in_force && *in_force == "off") {
      Warn("replicas",
           fmt::format("semi-synchronous replication is set, and {}status is OFF: commits wait for "
                       "no replica, and one that takes over then may have lost acknowledged "
                       "blocks; keep data_dir, whose witness notices",
                       prefix),
           OnEachReplica(side));
    } else if (clients && connected && NumberIn(*clients) < NumberIn(*connected)) {
      Warn("replicas",
           fmt::format("{} of {} replicas follow semi-synchronously: one of the others that takes "
                       "over may have lost acknowledged blocks; keep data_dir, whose witness "
                       "notices",
                       *clients, *connected),
           OnEachReplica(side));
    }
  }

  static unsigned NumberIn(std::string_view text) { return TakeNumber(text); }

  // The other half of the setting. MySQL 8.0.26 and later have other names.
  static std::string OnEachReplica(const std::string& side) {
    const bool renamed = side == "source";
    return fmt::format(
        "on each replica: SET GLOBAL {0} = ON; STOP {1}; START {1}; and in my.cnf: [mariadbd] {0} "
        "= ON",
        renamed ? "rpl_semi_sync_replica_enabled" : "rpl_semi_sync_slave_enabled",
        renamed ? "REPLICA IO_THREAD" : "SLAVE IO_THREAD");
  }

  void Replicas() {
    for (const char* const side : {"source", "master"}) {
      if (!IsOn(facts_.variables, fmt::format("rpl_semi_sync_{}_enabled", side))) continue;
      SemiSync(side);
      return;
    }
    const auto connected = Find(facts_.status, "slaves_connected");
    if (connected && *connected != "0") {
      const bool renamed = Find(facts_.variables, "rpl_semi_sync_source_enabled").has_value();
      const std::string side = renamed ? "source" : "master";
      const std::string enabled = "rpl_semi_sync_" + side + "_enabled";
      Warn("replicas",
           fmt::format("{} replicas follow asynchronously: one that takes over may have lost "
                       "acknowledged blocks; keep data_dir, whose witness notices",
                       *connected),
           fmt::format("SET GLOBAL {0} = ON; and in my.cnf: [mariadbd] {0} = ON; then {1}", enabled,
                       OnEachReplica(side)));
    }
    if (!connected && IsOn(facts_.variables, "log_bin")) {
      Warn("replicas",
           "the server does not tell whether replicas follow it: one that takes over may have lost "
           "acknowledged blocks",
           "SHOW REPLICAS, as an administrator");
    }
  }

  const MariadbFacts& facts_;
  std::vector<StoreFinding> findings_;
};

std::string TextOf(const sql::Value& value) {
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* const bytes = std::get_if<sql::Bytes>(&value)) return bytes->data;
  return std::get<std::string>(value);
}

// The first two columns of each row.
Result<std::vector<std::pair<std::string, std::string>>> Pairs(sql::Connection& connection,
                                                               std::string_view query) {
  Result<std::vector<sql::Row>> rows = connection.Query(query, {});
  if (!rows.ok()) return rows.status();
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const sql::Row& row : *rows) {
    if (row.size() >= 2) pairs.emplace_back(TextOf(row[0]), TextOf(row[1]));
  }
  return pairs;
}

Result<Settings> ReadSettings(sql::Connection& connection, std::string_view query) {
  auto pairs = Pairs(connection, query);
  if (!pairs.ok()) return pairs.status();
  Settings settings;
  for (auto& [name, value] : *pairs) settings[Lower(std::move(name))] = std::move(value);
  return settings;
}

}  // namespace

std::vector<StoreFinding> JudgeMariadb(const MariadbFacts& facts) {
  return Judge(facts).Findings();
}

Result<bool> CheckMariadbRights(sql::Connection& connection, std::string_view schema_probe) {
  Result<std::vector<sql::Row>> tables = connection.Query(schema_probe, {});
  if (!tables.ok()) return tables.status();
  if (tables->empty()) return false;
  // Its row comes last: somebody else may still be making the tables.
  Result<std::vector<sql::Row>> made =
      connection.Query("SELECT schema_version FROM keymill_store", {});
  if (!made.ok()) return made.status();
  if (made->empty()) return false;
  for (const std::string_view statement :
       {"UPDATE keymill_store SET schema_version = schema_version WHERE 1 = 0",
        "INSERT INTO keymill_start SELECT * FROM keymill_start WHERE 1 = 0",
        "INSERT INTO keymill_keyspaces SELECT * FROM keymill_keyspaces WHERE 1 = 0",
        "UPDATE keymill_keyspaces SET rev = rev WHERE 1 = 0",
        "INSERT INTO keymill_ledger SELECT * FROM keymill_ledger WHERE 1 = 0",
        "UPDATE keymill_ledger SET state = state WHERE 1 = 0",
        "DELETE FROM keymill_ledger WHERE 1 = 0",
        "INSERT INTO keymill_key SELECT * FROM keymill_key WHERE 1 = 0",
        "UPDATE keymill_key SET state = state WHERE 1 = 0",
        "DELETE FROM keymill_key WHERE 1 = 0"}) {
    // Other failures say nothing of rights, and will be told by whoever does it.
    const auto plan = connection.Query(fmt::format("EXPLAIN {}", statement), {});
    if (!plan.ok() && connection.Denied()) return plan.status();
  }
  return true;
}

Result<std::vector<StoreFinding>> InspectMariadb(sql::Connection& connection) {
  MariadbFacts facts;
  Result<Settings> variables = ReadSettings(
      connection,
      "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'innodb_flush_log_at_trx_commit', "
      "'innodb_doublewrite', 'innodb_force_recovery', 'read_only', 'super_read_only', 'log_bin', "
      "'sync_binlog', 'binlog_format', 'innodb_flush_method', 'wsrep_on', "
      "'rpl_semi_sync_master_enabled', "
      "'rpl_semi_sync_source_enabled', 'rpl_semi_sync_master_timeout', "
      "'rpl_semi_sync_source_timeout', 'rpl_semi_sync_master_wait_point', "
      "'rpl_semi_sync_source_wait_point', 'rpl_semi_sync_master_wait_no_slave', "
      "'rpl_semi_sync_source_wait_no_replica')");
  if (!variables.ok()) return variables.status();
  facts.variables = *std::move(variables);
  facts.version = facts.variables["version"];
  Result<Settings> status =
      ReadSettings(connection,
                   "SHOW GLOBAL STATUS WHERE Variable_name IN ('Slaves_connected', "
                   "'Innodb_redo_log_enabled', "
                   "'Rpl_semi_sync_master_status', 'Rpl_semi_sync_source_status', "
                   "'Rpl_semi_sync_master_clients', 'Rpl_semi_sync_source_clients')");
  if (!status.ok()) return status.status();
  facts.status = *std::move(status);
  auto engines = Pairs(connection,
                       "SELECT table_name, engine FROM information_schema.tables "
                       "WHERE table_schema = DATABASE() AND table_name LIKE 'keymill\\_%'");
  if (!engines.ok()) return engines.status();
  facts.engines = *std::move(engines);
  return JudgeMariadb(facts);
}

}  // namespace keymill::store
