// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/inspect.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "store/redis/layout.h"
#include "store/redis/scripts.h"

namespace keymill::store::redis {
namespace {

using Findings = std::vector<StoreFinding>;
using wire::RespType;
using wire::RespValue;

// How long a rewrite of the append-only file is waited for, and how often it is looked at.
constexpr std::chrono::milliseconds kRewriteWait{500};
constexpr std::chrono::milliseconds kRewriteNap{25};

struct Setting {
  std::string_view name;
  std::string_view wanted;
  bool unsafe;
  std::string_view otherwise;
};

constexpr std::array<Setting, 5> kSettings = {{
    {"appendonly", "yes", true, "a restart of the server loses acknowledged blocks"},
    {"appendfsync", "always", true, "a crash of the server's host loses acknowledged blocks"},
    {"no-appendfsync-on-rewrite", "no", true,
     "a crash while the append-only file is rewritten loses acknowledged blocks"},
    {"maxmemory-policy", "noeviction", true, "a server short of memory drops keyspaces"},
    {"aof-load-truncated", "no", false,
     "a cut append-only file is loaded without a word about what is missing"},
}};

std::string UserOf(const RedisSettings& settings) {
  return settings.user.empty() ? "default" : settings.user;
}

std::string SetCommand(const RedisSettings& settings, std::string_view name,
                       std::string_view value) {
  return fmt::format("{0} CONFIG SET {1} {2} && {0} CONFIG REWRITE", CliCommand(settings), name,
                     value);
}

// How to see that the append-only file is in force.
std::string UntilRewritten(const RedisSettings& settings) {
  return fmt::format(
      "wait until {} INFO persistence has aof_rewrite_in_progress:0, aof_rewrite_scheduled:0 and "
      "aof_last_bgrewrite_status:ok",
      CliCommand(settings));
}

// Only the first rewrite that ends well puts the file in force.
std::string SwitchOnCommand(const RedisSettings& settings) {
  return fmt::format("{}  # then {}", SetCommand(settings, "appendonly", "yes"),
                     UntilRewritten(settings));
}

// "redis-cli -h 10.0.0.2 -p 6379 REPLICAOF NO ONE" for each, from lines like
// "slave0:ip=10.0.0.2,port=6379,state=online,offset=1,lag=0".
std::string ReleaseCommands(std::string_view info) {
  std::string commands;
  for (int i = 0;; ++i) {
    const std::string line = InfoField(info, fmt::format("slave{}", i));
    const std::size_t port = line.find(",port=");
    if (!line.starts_with("ip=") || port == std::string::npos) break;
    const std::string digits = line.substr(port + 6, line.find(',', port + 6) - port - 6);
    fmt::format_to(std::back_inserter(commands), "redis-cli -h {} -p {} REPLICAOF NO ONE; ",
                   line.substr(3, port - 3), digits);
  }
  return commands.empty() ? "redis-cli -h REPLICA REPLICAOF NO ONE; " : commands;
}

std::optional<std::string> ConfigValue(const RespValue& reply, std::string_view name) {
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2) {
    if (reply.items[i].text == name) return reply.items[i + 1].text;
  }
  return {};
}

void CheckSettings(const RedisSettings& server, std::span<const RespValue> replies,
                   Findings& findings) {
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    const Setting& setting = kSettings[i];
    const auto value = ConfigValue(replies[i], setting.name);
    if (value == setting.wanted) continue;
    if (!value) {
      findings.push_back(
          {std::string(setting.name), setting.unsafe,
           fmt::format("{} cannot be proven to be {}: the server does not tell{}", setting.name,
                       setting.wanted, replies[i].is_error() ? " (CONFIG is denied)" : ""),
           fmt::format("allow the user CONFIG GET: {} ACL SETUSER {} '+config|get'",
                       CliCommand(server), UserOf(server))});
      continue;
    }
    findings.push_back({std::string(setting.name), setting.unsafe,
                        fmt::format("{} is {}, not {}: {}", setting.name, *value, setting.wanted,
                                    setting.otherwise),
                        setting.name == "appendonly"
                            ? SwitchOnCommand(server)
                            : SetCommand(server, setting.name, setting.wanted)});
  }
}

void CheckReplication(std::string_view info, Findings& findings) {
  if (const std::string role = InfoField(info, "role"); role != "master") {
    findings.push_back({"role", true,
                        fmt::format("the server's role is {}, not master: it accepts no blocks",
                                    role.empty() ? "unknown" : role),
                        "name the master in the store's URL"});
  }
  if (const std::string count = InfoField(info, "connected_slaves"); count != "0") {
    findings.push_back(
        {"replicas", true,
         fmt::format("{} replicas are connected: at a failover acknowledged blocks are lost, for "
                     "Redis acknowledges before it replicates",
                     count.empty() ? "an unknown number of" : count),
         ReleaseCommands(info) + "use PostgreSQL or etcd where a failover is needed"});
  }
}

void CheckServer(std::string_view info, Findings& findings) {
  const std::string mode = InfoField(info, "redis_mode");
  if (mode == "standalone") return;
  findings.push_back({"mode", true,
                      fmt::format("the server runs as {}: a failover loses acknowledged blocks",
                                  mode.empty() ? "nobody knows what" : mode),
                      "use a server of its own, without Sentinel and Cluster"});
}

void CheckPersistence(const RedisSettings& server, std::string_view info, Findings& findings) {
  const auto expect = [&](std::string_view field, std::string_view wanted, std::string_view means,
                          std::string_view fix) {
    const std::string value = InfoField(info, field);
    if (value == wanted) return;
    findings.push_back({std::string(field), true,
                        fmt::format("{} is {}, not {}: {}", field,
                                    value.empty() ? "unknown" : value, wanted, means),
                        std::string(fix)});
  };
  expect("loading", "0", "the server is still reading its data", "wait until it has");
  expect("aof_enabled", "1", "nothing is written to disk at once", SwitchOnCommand(server));
  expect("aof_last_write_status", "ok", "the append-only file cannot be written",
         "see the server's log; df -h");
}

// Another one whenever the append-only file may have been switched off and on again meanwhile: by
// CONFIG SET, which version 7 and later count, or because the server has followed another one.
std::string HistoryOf(std::string_view info) {
  std::string history;
  for (const char* const field : {"run_id", "master_replid", "second_repl_offset",
                                  "cmdstat_config|set", "cmdstat_config|resetstat"}) {
    history += InfoField(info, field) + ' ';
  }
  return history;
}

// Whether nobody has done so since the server was started. Where commands are counted by their
// second word, our own CONFIG GET is among them.
bool IsUntouched(std::string_view info) {
  return !InfoField(info, "cmdstat_config|get").empty() &&
         InfoField(info, "cmdstat_config|set").empty() &&
         InfoField(info, "cmdstat_config|resetstat").empty() &&
         InfoField(info, "second_repl_offset") == "-1";
}

bool IsPending(std::string_view info) {
  return InfoField(info, "aof_rewrite_in_progress") == "1" ||
         InfoField(info, "aof_rewrite_scheduled") == "1";
}

bool HasFailed(std::string_view info) {
  return InfoField(info, "aof_last_bgrewrite_status") != "ok";
}

// Keys that expire take the counters with them.
Status CheckExpiry(Client& client, MonotonicTime deadline, Findings& findings) {
  const std::string& prefix = client.settings().prefix;
  std::vector<std::string> keys = {StoreKey(prefix), NamesKey(prefix)};
  const Command ids = {"HVALS", keys[1]};
  Result<std::vector<RespValue>> known = client.Ask({&ids, 1}, deadline);
  if (!known.ok()) return known.status();
  for (const RespValue& id : known->front().items) {
    for (std::string& key : KeysOf(prefix, id.text)) keys.push_back(std::move(key));
    for (std::string& key : TableKeysOf(prefix, id.text)) keys.push_back(std::move(key));
  }
  std::vector<Command> commands;
  commands.reserve(keys.size());
  for (const std::string& key : keys) commands.push_back({"TTL", key});
  Result<std::vector<RespValue>> replies = client.Ask(commands, deadline);
  if (!replies.ok()) return replies.status();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    // -1: it stays; -2: it is not there.
    const RespValue& reply = (*replies)[i];
    if (reply.type == RespType::kInteger && reply.integer < 0) continue;
    if (reply.is_error()) {
      findings.push_back({"expiry", true, "that no key expires cannot be proven: TTL is denied",
                          fmt::format("allow the user TTL: {} ACL SETUSER {} +ttl",
                                      CliCommand(client.settings()), UserOf(client.settings()))});
      break;
    }
    findings.push_back({"expiry", true, fmt::format("the key {} expires", keys[i]),
                        fmt::format("{} -n {} PERSIST '{}'", CliCommand(client.settings()),
                                    client.settings().database, keys[i])});
  }
  return {};
}

// Until it is known that this user has every right that is needed.
Status CheckRights(Client& client, MonotonicTime deadline) {
  if (client.admitted()) return {};
  const std::string store = StoreKey(client.settings().prefix);
  const std::array<std::string, 2> keys = {store, store + ":rights"};
  const Result<RespValue> probed = client.Run(RightsScript(), keys, {}, deadline);
  if (probed.code() == Code::kFailedPrecondition) return probed.status();
  // Other failures say nothing of rights, and are told by whoever meets them next.
  if (!probed.ok() || probed->text == "done") client.Admit();
  return {};
}

}  // namespace

std::string InfoField(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    std::string_view line = info.substr(0, info.find('\n'));
    info.remove_prefix(std::min(line.size() + 1, info.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    // Version 3 begins such a text with its format.
    if (line.starts_with("txt:")) line.remove_prefix(4);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
      return std::string(line.substr(name.size() + 1));
    }
  }
  return {};
}

// After CONFIG SET appendonly yes Redis says aof_enabled:1, and yet what it acknowledges is lost by
// a crash until the first rewrite has ended well. In every other rewrite the old file stays in
// force. Nothing in INFO tells one from the other, but the former comes after a change.
void Inspector::CheckRewrite(std::string_view info, Findings& findings) {
  const bool enabled = InfoField(info, "aof_enabled") == "1";
  const bool failed = HasFailed(info);
  const MutexLock lock(mu_);
  if (!enabled) {
    in_force_.clear();
    return;  // Found already.
  }
  if (!IsPending(info) && !failed) {
    in_force_ = HistoryOf(info);
    return;
  }
  const bool in_force = IsInForce(info);
  if (in_force && !failed) return;
  const std::string look =
      fmt::format("see the server's log; df -h; {} BGREWRITEAOF; ", CliCommand(client_.settings()));
  if (in_force) {
    findings.push_back({"aof_rewrite", false,
                        "the last rewrite of the append-only file failed: the file keeps what is "
                        "acknowledged, but grows until a rewrite ends well",
                        look + UntilRewritten(client_.settings())});
    return;
  }
  findings.push_back(
      {"aof_rewrite", true,
       fmt::format("{}, and may be the first since appendonly was set: until one has ended well, a "
                   "crash of the server loses acknowledged blocks",
                   failed ? "the last rewrite of the append-only file failed"
                          : "the append-only file is being rewritten"),
       (failed ? look : "") + UntilRewritten(client_.settings()) + "; then ask again",
       /*passes=*/!failed});
}

bool Inspector::IsInForce(std::string_view info) {
  return IsUntouched(info) || in_force_ == HistoryOf(info);
}

// The first rewrite of a small file ends in a moment, and whoever has just set appendonly, as we
// advise, should not be refused because of that.
Result<std::vector<RespValue>> Inspector::AskSettled(std::span<const Command> commands,
                                                     MonotonicTime deadline) {
  const MonotonicTime begun = clock_.Monotonic();
  const MonotonicTime patience =
      begun + std::min<MonotonicTime::duration>(kRewriteWait, (deadline - begun) / 2);
  for (;;) {
    Result<std::vector<RespValue>> replies = client_.Ask(commands, deadline);
    if (!replies.ok() || clock_.Monotonic() >= patience) return replies;
    const std::string_view info = replies->back().text;
    if (!IsPending(info) || HasFailed(info)) return replies;
    {
      const MutexLock lock(mu_);
      if (IsInForce(info)) return replies;
    }
    std::this_thread::sleep_for(kRewriteNap);
  }
}

Result<Findings> Inspector::Inspect(MonotonicTime deadline) {
  if (Status allowed = CheckRights(client_, deadline); !allowed.ok()) return allowed;
  std::vector<Command> commands;
  commands.reserve(kSettings.size() + 1);
  for (const Setting& setting : kSettings) commands.push_back({"CONFIG", "GET", setting.name});
  commands.push_back({"INFO", "all"});  // As of one moment, with the counts of commands.
  Result<std::vector<RespValue>> replies = AskSettled(commands, deadline);
  if (!replies.ok()) return replies.status();
  Findings findings;
  CheckSettings(client_.settings(), std::span(*replies).first(kSettings.size()), findings);
  // An INFO that is denied is an error, in which no field is found.
  const std::string_view info = replies->back().text;
  CheckReplication(info, findings);
  CheckServer(info, findings);
  CheckPersistence(client_.settings(), info, findings);
  CheckRewrite(info, findings);
  if (Status checked = CheckExpiry(client_, deadline, findings); !checked.ok()) return checked;
  return findings;
}

}  // namespace keymill::store::redis
