// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The values come from Settings and the names and ranges from the table, so that this text can
// only be wrong about what it explains in words.

#include "app/config/config_template.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "app/config/config.h"
#include "app/config/keyspaces_text.h"
#include "app/config/settings_table.h"
#include "base/check.h"

namespace keymill::app {
namespace {

constexpr std::string_view kHead =
    R"(# Keymill's configuration: every setting, explained, at its default. Keep what you change.
#
# For each value a flag wins over the environment, the environment over this file, and this file
# over the default. `keymill config show --origin` tells which one it was, `keymill config check`
# whether all is well. ${NAME} and ${NAME:-default} stand for a variable, $$ for one $.
#
# SIGHUP makes a server read it again. What is marked "reloads" takes effect then, the rest at the
# next start; the log says which.
)";

struct Explanation {
  std::string_view path;
  std::string_view text;
};

constexpr std::array<Explanation, 27> kExplanations = {{
    {"listen.http",
     "Where HTTP is spoken. Port 0 picks a free one, which --print-ports tells. An address that\n"
     "other machines can reach is refused unless `insecure` is true."},
    {"listen.resp",
     "Where RESP is spoken, the protocol of Redis, so that any of its clients can mint. Left at "
     "its\n"
     "default it is skipped, with a warning, when another program has the port."},
    {"listen.grpc",
     "Where gRPC is spoken, with the same rules; \"\": nowhere, and nothing of it is loaded. Port\n"
     "9090 is usual."},
    {"listen.links",
     "Where short links are followed: GET /KEY is answered with a redirect. Links are made over\n"
     "HTTP (docs/links.md). Other machines may reach it: there is nothing else to be had there."},
    {"data_dir",
     "The directory of the database and the witness, relative to the working directory. Keep it\n"
     "on a disk that survives a restart."},
    {"store",
     "The authority that hands out blocks of numbers: sqlite:PATH, relative to data_dir; the URL\n"
     "of a server that several machines share; or memory: for tests, whose keys repeat after a\n"
     "restart. Servers: postgres://USER@HOST1,HOST2/DATABASE, mariadb://, redis://, etcd://.\n"
     "Where the URL holds a password, better name a file that holds it: KEYMILL_STORE_FILE."},
    {"store_create",
     "auto: a missing database is created, unless the witness knows of one. never: it is refused,\n"
     "which is safer once the service is in use."},
    {"accept_unsafe_store",
     "A store whose settings let it lose blocks that it has acknowledged is refused, because keys\n"
     "could then be handed out twice; `keymill doctor` says what to change. A reason given here\n"
     "makes the server use it all the same, and appears in the log, in /readyz?verbose and as a\n"
     "metric."},
    {"block_size",
     "Numbers in the first block that is reserved from the store. Larger: fewer trips to the\n"
     "store, and more numbers lost by a crash."},
    {"block_growth",
     "auto: blocks grow and shrink with demand. off: every block has block_size numbers, for\n"
     "those who want small jumps in the numbering."},
    {"runway_target",
     "How long keys should last at the present rate when the store is gone. Longer: more numbers\n"
     "held in memory, which a crash loses."},
    {"pool_low",
     "Of keyspaces of kind pool: with fewer available keys than this, new ones are made in the\n"
     "background, up to twice as many. 0: never; then `keymill pool fill` does it."},
    {"worker_id",
     "The worker id in ids of kind snowflake. Left empty, each instance gets its own from the\n"
     "store, by preference the pod's ordinal (POD_INDEX, POD_NAME or the host's name). An "
     "instance\n"
     "with a fixed one waits until nobody else has it."},
    {"accept_clock_ahead",
     "A clock that is more than 10 minutes ahead of the store's makes no snowflake ids, because\n"
     "they would lie ahead of all that come after. true: it does."},
    {"links_keyspace",
     "The keyspace that short links get their keys from; of any kind but pool and derived."},
    {"links_public_url",
     "What short links begin with, as others reach the listener for them: https://sho.rt. Left\n"
     "empty, its own address."},
    {"links_homepage",
     "Where people are sent who follow a link that leads nowhere. Left empty, they get a 404."},
    {"request_timeout", "The longest that a request waits for a block before it is answered 503."},
    {"threads", "Event loops. 0: one per core."},
    {"connections_max", "Connections open at once. One more is answered 503 and closed."},
    {"drain_delay",
     "After SIGTERM, how long /readyz says 503 before the listener closes, so that a load "
     "balancer\n"
     "can notice. A little more than the interval of its probes."},
    {"shutdown_timeout",
     "The longest that a clean stop may take, drain_delay included; up to 5s more if the store is\n"
     "slow to take unused numbers back."},
    {"log_level",
     "How much is logged. Issued keys are never logged above trace: a key may open something."},
    {"log_format", "auto: text on a terminal, JSON otherwise."},
    {"insecure",
     "true: a listener that other machines can reach is allowed although nobody has to show a\n"
     "token. Only behind something that keeps strangers out."},
    {"compat",
     "Peers whose endpoints are served beside our own (docs/migrating.md). forge: /get-key;\n"
     "generate-id: /generate-id and /health; leaf: /api/segment/get/NAME, /api/snowflake/get/NAME\n"
     "and /decodeSnowflakeId; tinyid: /tinyid/id/…"},
    {"keyspaces",
     "Created when absent, and must match when present: a recipe is fixed for ever. Words: kind,\n"
     "alphabet, length, prefix, check and more; `keymill keyspace create --help` explains them,\n"
     "`keymill plan` tells what they come to."},
}};

std::string_view Explain(std::string_view path) {
  const auto* const found =
      std::find_if(kExplanations.begin(), kExplanations.end(),
                   [&](const Explanation& each) { return each.path == path; });
  KEYMILL_CHECK(found != kExplanations.end());
  return found->text;
}

std::string Comment(std::string_view text, std::string_view indent) {
  std::string lines = fmt::format("{}# ", indent);
  for (const char c : text) {
    lines += c;
    if (c == '\n') lines += fmt::format("{}# ", indent);
  }
  return lines + "\n";
}

// "--block-size, KEYMILL_BLOCK_SIZE; a whole number in [1, 16777216]; reloads"
std::string Names(const SettingRow& row) {
  std::string names(row.info.flag);
  if (!names.empty()) names += ", ";
  names += row.info.env;
  if (!row.info.env_file.empty()) names += fmt::format(", {}", row.info.env_file);
  return fmt::format("{}; {}{}", names, row.expected, row.info.reloads ? "; reloads" : "");
}

std::string Value(const SettingRow& row) {
  const Settings defaults;
  if (row.info.path == "keyspaces") {
    std::string lines;
    for (const auto& [name, recipe] : defaults.keyspaces) {
      const std::string text = KeyspacesText({{name, recipe}});
      lines += fmt::format("\n  {}", std::string_view(text).substr(1, text.size() - 2));
    }
    return lines;
  }
  const std::string text = row.print(defaults);
  if (row.info.path == "compat") return fmt::format(" [{}]", text);
  const bool quotes = text.empty() || text.find(':') != std::string::npos;
  return quotes ? fmt::format(" \"{}\"", text) : fmt::format(" {}", text);
}

}  // namespace

std::string ConfigTemplate() {
  std::string text(kHead);
  std::string_view group;
  for (const SettingRow& row : SettingRows()) {
    const std::string_view path = row.info.path;
    const std::size_t dot = path.find('.');
    const std::string_view parent = dot == std::string_view::npos ? "" : path.substr(0, dot);
    text += "\n";
    if (parent != group && !parent.empty()) text += fmt::format("{}:\n", parent);
    group = parent;
    const std::string_view indent = parent.empty() ? "" : "  ";
    text += Comment(Explain(path), indent);
    text += Comment(Names(row), indent);
    text += fmt::format("{}{}:{}\n", indent, parent.empty() ? path : path.substr(parent.size() + 1),
                        Value(row));
  }
  return text;
}

}  // namespace keymill::app
