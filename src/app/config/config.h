// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The configuration: flags over environment over file over defaults, value by value, and
// for each value where it came from.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keymill/keyspace.h"
#include "keymill/status.h"

namespace keymill::app {

// What `keymill` runs with. The defaults stand here and nowhere else.
struct Settings {
  // Where HTTP is spoken: HOST:PORT; port 0 picks a free one; "" is off.
  std::string listen_http = "127.0.0.1:8080";

  // Where RESP, the protocol of Redis, is spoken, in the same form. Left at its default it is
  // skipped with a warning when somebody else has the port.
  std::string listen_resp = "127.0.0.1:6380";

  // Where gRPC is spoken, likewise; "" is off, and then nothing of it is loaded.
  std::string listen_grpc;

  // Where short links are followed, likewise; "" is off. Everybody may reach it.
  std::string listen_links;

  // The directory of the database and the witness. Relative to the working directory.
  std::string data_dir = "data";

  // Which store is the authority: sqlite:PATH (relative to data_dir), the URL of a server, which
  // may hold a password, or memory: (tests).
  std::string store = "sqlite:keymill.db";

  // auto: a missing database is created where no witness speaks of one. never: it is refused.
  std::string store_create = "auto";

  // Why a store is used although it can lose what it has acknowledged; "": it is refused.
  std::string accept_unsafe_store;

  // Numbers in the first block that is reserved from the store. Range: [1, 2^24].
  std::uint32_t block_size = 1000;

  // auto: blocks grow and shrink with demand. off: every block has block_size numbers.
  std::string block_growth = "auto";

  // How long minting should go on at the present rate with the store gone. Range: [1s, 1h].
  std::chrono::milliseconds runway_target{60'000};

  // Fewer available keys than this in a pool, and new ones are made in the background, up to twice
  // as many. 0: never, somebody runs `keymill pool fill`. Range: [0, 10^9].
  std::uint32_t pool_low = 10'000;

  // The worker id of keyspaces of kind snowflake; "": any, and by preference the pod's ordinal.
  std::string worker_id;

  // Whether snowflake ids are made although this clock is far ahead of the store's.
  bool accept_clock_ahead = false;

  // The keyspace that short links get their keys from, what they begin with for those who are told
  // of them ("": the address of the listener), and where keys that lead nowhere lead to ("": 404).
  std::string links_keyspace = "default";
  std::string links_public_url;
  std::string links_homepage;

  // The longest wait for a block before a request is answered 503. Range: [10ms, 60s].
  std::chrono::milliseconds request_timeout{2'000};

  // Event loops. 0: one per core. Range: [0, 256].
  std::uint32_t threads = 0;

  // Connections open at once; one more is answered 503 and closed. Range: [1, 1000000].
  std::uint32_t connections_max = 20'000;

  // How long /readyz says 503 before the listener closes on SIGTERM, so that a load
  // balancer can notice. Range: [0s, 10m].
  std::chrono::milliseconds drain_delay{0};

  // The longest that a clean stop may take, drain_delay included. Range: [1s, 1h].
  std::chrono::milliseconds shutdown_timeout{30'000};

  std::string log_level = "info";   // trace | debug | info | warn | error
  std::string log_format = "auto";  // auto (text on a terminal, JSON otherwise) | text | json

  // Allows a listener on other than loopback although nobody has to show a token.
  bool insecure = false;

  // Which peers' endpoints are served beside our own: forge (GET /get-key), generate-id, leaf and
  // tinyid.
  std::vector<std::string> compat = {"forge", "generate-id"};

  // Created when absent, and must match when present.
  std::map<std::string, Recipe> keyspaces = {{"default", DefaultRecipe(Kind::kShuffled)},
                                             {"ids", DefaultRecipe(Kind::kSnowflake)}};
};

// Where a value came from.
struct Origin {
  enum class Layer : std::uint8_t { kDefault, kFile, kEnvironment, kFlag };
  Layer layer = Layer::kDefault;
  std::string detail;   // "keymill.yml:3", "KEYMILL_BLOCK_SIZE", "PORT (.env)", "--block-size"
  bool legacy = false;  // Said under the legacy name.
};

struct Config {
  Settings settings;
  // Keyed by setting path ("listen.http", "block_size", "keyspaces"); every setting is here.
  std::map<std::string, Origin> origins;
  // The file that was read, as it was named, relative to the working directory; or "".
  std::string file;
  // What should be told, though it is no mistake.
  std::vector<std::string> warnings;
};

// The outside world, handed in so that tests need none.
struct ConfigInputs {
  // --flag values by setting path, e.g. {"listen.http", "127.0.0.1:0"}. Already split from
  // the command line; checked here.
  std::vector<std::pair<std::string, std::string>> flags;
  // --config FILE. Without it: KEYMILL_CONFIG, CONFIG_PATH (a file, or a directory with a
  // config.yml), then ./keymill.yml if present.
  std::optional<std::string> config_file;
  std::function<std::optional<std::string>(std::string_view)> getenv;
  // All names in the environment, so that a misspelt KEYMILL_… is noticed.
  std::vector<std::string> environment_names;
  std::string working_directory = ".";
  // Whether a name in a listener's address means anything: OK, or what the resolver said.
  // Asked only about listeners that are refused anyway; null: not asked.
  std::function<Status(const std::string& host)> check_host;
  // `serve` reads .env from the working directory. What it says of a setting counts only
  // where the real environment says nothing of it, by our own name or the legacy one.
  bool read_dot_env = false;
};

// All layers are checked, also those whose values another one replaces. Within a layer a
// legacy name is not looked at when our own name for the setting is there.
// Errors:
//   kInvalidArgument     a flag's value is wrong (usage, exit 2).
//   kFailedPrecondition  the environment or a file is, the file that --config names
//                        included, or the whole is unsafe (refused, exit 78). The message
//                        has file, line and column, what was expected, and a suggestion.
Result<Config> LoadConfig(const ConfigInputs& inputs);

// The names in the .env of `directory` that `serve` would read from it, in order; none when
// there is no such file, or none that can be read.
std::vector<std::string> DotEnvNames(const std::string& directory);

// One row of the table that drives parsing, flags, environment names and documentation.
struct SettingInfo {
  std::string_view path{};        // "listen.http"
  std::string_view flag{};        // "--listen"; "" when there is none (keyspaces)
  std::string_view flag_alias{};  // "--listen-http", or ""
  std::string_view env{};         // "KEYMILL_LISTEN_HTTP"
  std::string_view legacy{};      // "PORT", or ""
  std::string_view summary{};     // One line, for --help.
  std::string_view value{};       // What its flag takes, for --help: "DURATION", "N".
  bool reloads = false;           // Whether a running server takes a new value (SIGHUP).
  // Its name for a file that holds the value, "KEYMILL_STORE_FILE", where the value may hold a
  // secret; "" otherwise.
  std::string_view env_file{};
};
const std::vector<SettingInfo>& SettingTable();

// The value of a setting as text, in the form that its flag and its environment variable
// accept. In a file, a $ in it must be doubled.
// REQUIRES: `path` is in SettingTable().
std::string SettingValue(const Settings& settings, std::string_view path);

// The same for people and for the log: without a password.
// REQUIRES: `path` is in SettingTable().
std::string ShownSetting(const Settings& settings, std::string_view path);

}  // namespace keymill::app
