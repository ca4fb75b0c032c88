// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Which layer wins, and what is said of where a value came from.

#include "app/config/config.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "app/config/config_test_support.h"

namespace keymill::app {
namespace {

using Layer = Origin::Layer;

// One setting with a value for each layer.
struct LayerCase {
  std::string path;
  std::string flag;
  std::string env;
  std::string yaml;  // The whole file.
  std::string file_value;
  std::string env_value;
  std::string flag_value;
};

class LayersTest : public testing::TestWithParam<LayerCase> {};

TEST_P(LayersTest, TheHighestLayerThatSpeaksWins) {
  const LayerCase& c = GetParam();
  for (unsigned bits = 0; bits < 8; ++bits) {
    SCOPED_TRACE(bits);
    ConfigWorld world;
    std::string value = SettingValue(Settings(), c.path);
    Origin origin;
    if ((bits & 1U) != 0) {
      world.Write("keymill.yml", c.yaml);
      value = c.file_value;
      origin = {Layer::kFile, "keymill.yml:2"};
    }
    if ((bits & 2U) != 0) {
      world.environment[c.env] = c.env_value;
      value = c.env_value;
      origin = {Layer::kEnvironment, c.env};
    }
    if ((bits & 4U) != 0) {
      world.flags.emplace_back(c.path, c.flag_value);
      value = c.flag_value;
      origin = {Layer::kFlag, c.flag};
    }
    const Result<Config> config = world.Load();
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_EQ(SettingValue(config->settings, c.path), value);
    EXPECT_EQ(config->origins.at(c.path).layer, origin.layer);
    EXPECT_EQ(config->origins.at(c.path).detail, origin.detail);
    EXPECT_EQ(config->file, (bits & 1U) != 0 ? "keymill.yml" : "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, LayersTest,
    testing::Values(LayerCase{"block_size", "--block-size", "KEYMILL_BLOCK_SIZE",
                              "\nblock_size: 2000\n", "2000", "3000", "4000"},
                    LayerCase{"listen.http", "--listen", "KEYMILL_LISTEN_HTTP",
                              "\nlisten: {http: \"127.0.0.1:1\"}\n", "127.0.0.1:1", "127.0.0.1:2",
                              "127.0.0.1:3"},
                    LayerCase{"listen.grpc", "--listen-grpc", "KEYMILL_LISTEN_GRPC",
                              "\nlisten: {grpc: \"127.0.0.1:1\"}\n", "127.0.0.1:1", "127.0.0.1:2",
                              "127.0.0.1:3"},
                    LayerCase{"request_timeout", "--request-timeout", "KEYMILL_REQUEST_TIMEOUT",
                              "\nrequest_timeout: 3s\n", "3s", "4s", "5s"},
                    LayerCase{"log_level", "--log-level", "KEYMILL_LOG_LEVEL",
                              "\nlog_level: warn\n", "warn", "error", "trace"},
                    LayerCase{"store", "--store", "KEYMILL_STORE", "\nstore: sqlite:f.db\n",
                              "sqlite:f.db", "sqlite:e.db", "memory:"},
                    LayerCase{"data_dir", "--data-dir", "KEYMILL_DATA_DIR", "\ndata_dir: f\n", "f",
                              "e", "g"}));

class ConfigTest : public testing::Test {
 protected:
  Config Load() const {
    Result<Config> config = world_.Load();
    EXPECT_TRUE(config.ok()) << config.status().message();
    return config.ok() ? *std::move(config) : Config();
  }
  // "value from origin"
  std::string Told(const std::string& path) const {
    const Config config = Load();
    const auto origin = config.origins.find(path);
    if (origin == config.origins.end()) return "(no origin)";
    return SettingValue(config.settings, path) + " from " + origin->second.detail;
  }

  ConfigWorld world_;
};

TEST_F(ConfigTest, AloneItIsTheDefaultsAndSaysSo) {
  const Config config = Load();
  EXPECT_EQ(config.file, "");
  EXPECT_EQ(config.origins.size(), SettingTable().size());
  for (const SettingInfo& info : SettingTable()) {
    EXPECT_EQ(SettingValue(config.settings, info.path), SettingValue(Settings(), info.path));
    EXPECT_EQ(config.origins.at(std::string(info.path)).layer, Layer::kDefault);
  }
}

TEST_F(ConfigTest, NeedsNoWayToAskTheEnvironment) {
  ConfigInputs inputs;
  inputs.working_directory = world_.directory.path().string();
  EXPECT_TRUE(LoadConfig(inputs).ok());
}

TEST_F(ConfigTest, TheFileCanSetEverything) {
  world_.Write("keymill.yml", R"(
listen: {http: "localhost:0", resp: "", grpc: "localhost:1", links: "0.0.0.0:80"}
data_dir: /tmp/d
store: "memory:"
store_create: never
accept_unsafe_store: a test
block_size: 1
block_growth: off
runway_target: 1h
pool_low: 0
worker_id: 17
accept_clock_ahead: true
links_keyspace: short
links_public_url: https://sho.rt
links_homepage: https://home.test/
request_timeout: 10ms
threads: 256
connections_max: 1000000
drain_delay: 1.5s
shutdown_timeout: 1m
log_level: trace
log_format: json
insecure: true
compat: []
keyspaces:
  orders: {kind: sequence, alphabet: decimal}
)");
  const Config config = Load();
  for (const SettingInfo& info : SettingTable()) {
    EXPECT_EQ(config.origins.at(std::string(info.path)).layer, Layer::kFile) << info.path;
    EXPECT_NE(SettingValue(config.settings, info.path), SettingValue(Settings(), info.path));
  }
  ASSERT_EQ(config.settings.keyspaces.size(), 1U);
  EXPECT_EQ(config.settings.keyspaces.at("orders").kind, Kind::kSequence);
}

TEST_F(ConfigTest, KeyspacesMayBeNone) {
  world_.Write("keymill.yml", "keyspaces: {}\n");
  EXPECT_EQ(Told("keyspaces"), "{} from keymill.yml:1");
}

TEST_F(ConfigTest, KeyspacesMayStandInTheEnvironment) {
  world_.environment["KEYMILL_KEYSPACES"] = "{orders: {kind: sequence}}";
  EXPECT_EQ(Told("keyspaces"),
            "{orders: {kind: sequence, alphabet: base62, length: 0}} from KEYMILL_KEYSPACES");
}

TEST_F(ConfigTest, CompatIsAListOrWordsWithCommas) {
  world_.Write("keymill.yml", "compat: [\n  forge,\n]\n");
  EXPECT_EQ(Told("compat"), "forge from keymill.yml:1");
  world_.Write("keymill.yml", "compat: [forge]\n");
  EXPECT_EQ(Told("compat"), "forge from keymill.yml:1");
  world_.Write("keymill.yml", "compat: \"\"\n");
  EXPECT_EQ(Told("compat"), " from keymill.yml:1");
  world_.environment["KEYMILL_COMPAT"] = "forge";
  EXPECT_EQ(Told("compat"), "forge from KEYMILL_COMPAT");
  world_.flags = {{"compat", ""}};
  EXPECT_EQ(Told("compat"), " from --compat");
}

TEST_F(ConfigTest, AnEmptyVariableTurnsTheListenerOff) {
  world_.environment["KEYMILL_LISTEN_HTTP"] = "";
  EXPECT_EQ(Told("listen.http"), " from KEYMILL_LISTEN_HTTP");
}

TEST_F(ConfigTest, TheLastOfTwoFlagsWins) {
  world_.flags = {{"block_size", "1"}, {"block_size", "2"}};
  EXPECT_EQ(Told("block_size"), "2 from --block-size");
}

TEST_F(ConfigTest, InsecureOpensTheListenerFromAnyLayer) {
  world_.Write("keymill.yml", "insecure: true\n");
  world_.environment["KEYMILL_LISTEN_HTTP"] = "0.0.0.0:8080";
  EXPECT_EQ(Told("listen.http"), "0.0.0.0:8080 from KEYMILL_LISTEN_HTTP");
}

TEST_F(ConfigTest, LegacyNamesWorkInTheEnvironment) {
  world_.environment = {{"PORT", "9000"}, {"RANGE_SIZE", "5000"}, {"DEBUG_ENABLED", "true"}};
  EXPECT_EQ(Told("listen.http"), "127.0.0.1:9000 from PORT");
  EXPECT_EQ(Told("block_size"), "5000 from RANGE_SIZE");
  EXPECT_EQ(Told("log_level"), "debug from DEBUG_ENABLED");
}

TEST_F(ConfigTest, EmptyLegacyNamesAreNotSet) {
  world_.environment = {
      {"PORT", ""}, {"RANGE_SIZE", ""}, {"DEBUG_ENABLED", ""}, {"CONFIG_PATH", ""}};
  EXPECT_EQ(Told("listen.http"), "127.0.0.1:8080 from ");
  EXPECT_EQ(Told("block_size"), "1000 from ");
  EXPECT_EQ(Told("log_level"), "info from ");
}

TEST_F(ConfigTest, DebugDisabledChangesNothing) {
  world_.Write("keymill.yml", "log_level: warn\n");
  world_.environment = {{"DEBUG_ENABLED", "false"}};
  EXPECT_EQ(Told("log_level"), "warn from keymill.yml:1");
}

TEST_F(ConfigTest, DebugDisabledUndoesTheDebugOfALowerLayer) {
  world_.Write("keymill.yml", "DEBUG_ENABLED: true\n");
  EXPECT_EQ(Told("log_level"), "debug from keymill.yml:1");
  for (const char* no : {"false", "0"}) {
    world_.environment = {{"DEBUG_ENABLED", no}};
    EXPECT_EQ(Told("log_level"), "info from DEBUG_ENABLED");
  }
  world_.environment = {{"DEBUG_ENABLED", ""}};
  EXPECT_EQ(Told("log_level"), "debug from keymill.yml:1");
  // What was asked for under our own name is more than a debug switch.
  world_.environment = {{"DEBUG_ENABLED", "false"}};
  world_.Write("keymill.yml", "log_level: debug\nDEBUG_ENABLED: true\n");
  EXPECT_EQ(Told("log_level"), "debug from keymill.yml:1");
}

TEST_F(ConfigTest, OurOwnNameBeatsTheLegacyOneInEachLayer) {
  world_.Write("keymill.yml", "listen: {http: \"127.0.0.1:1\"}\nPORT: 2\n");
  EXPECT_EQ(Told("listen.http"), "127.0.0.1:1 from keymill.yml:1");
  world_.environment["PORT"] = "3";
  EXPECT_EQ(Told("listen.http"), "127.0.0.1:3 from PORT");
  world_.environment["KEYMILL_LISTEN_HTTP"] = "127.0.0.1:4";
  EXPECT_EQ(Told("listen.http"), "127.0.0.1:4 from KEYMILL_LISTEN_HTTP");
  // It is not even looked at.
  world_.environment["PORT"] = "tcp://10.0.0.1:80";
  EXPECT_EQ(Told("listen.http"), "127.0.0.1:4 from KEYMILL_LISTEN_HTTP");
}

constexpr std::string_view kForgeFile =
    "PORT: ${PORT}\nRANGE_SIZE: ${RANGE_SIZE}\nDEBUG_ENABLED: ${DEBUG_ENABLED}\n";

TEST_F(ConfigTest, TheOlderServicesFilesWorkUnchanged) {
  std::filesystem::create_directory(world_.directory.path() / "config");
  world_.Write("config/config.yml", kForgeFile);
  world_.Write(".env", "PORT=9000\nRANGE_SIZE=500\nDEBUG_ENABLED=true\nCONFIG_PATH=config\nDB=x\n");
  world_.read_dot_env = true;
  EXPECT_EQ(Load().file, "config/config.yml");
  EXPECT_EQ(Told("listen.http"), "127.0.0.1:9000 from PORT (.env)");
  EXPECT_EQ(Told("block_size"), "500 from RANGE_SIZE (.env)");
  EXPECT_EQ(Told("log_level"), "debug from DEBUG_ENABLED (.env)");
}

TEST_F(ConfigTest, TheRealEnvironmentWinsOverDotEnvWhateverTheName) {
  world_.Write(".env", "KEYMILL_LISTEN_HTTP=127.0.0.1:9000\n");
  world_.read_dot_env = true;
  world_.environment["PORT"] = "8081";
  EXPECT_EQ(Told("listen.http"), "127.0.0.1:8081 from PORT");
  world_.environment["KEYMILL_LISTEN_HTTP"] = "127.0.0.1:8082";
  EXPECT_EQ(Told("listen.http"), "127.0.0.1:8082 from KEYMILL_LISTEN_HTTP");
}

TEST_F(ConfigTest, TheOlderServicesFileNeedsNoVariables) {
  world_.Write("c.yml", kForgeFile);
  world_.environment["CONFIG_PATH"] = "c.yml";
  world_.environment["RANGE_SIZE"] = "";
  EXPECT_EQ(Load().file, "c.yml");
  EXPECT_EQ(Told("listen.http"), "127.0.0.1:8080 from ");
  EXPECT_EQ(Told("block_size"), "1000 from ");
  world_.Write("c.yml", "PORT: ${X:-7}\nRANGE_SIZE:\nDEBUG_ENABLED: yes\n");
  EXPECT_EQ(Told("listen.http"), "127.0.0.1:7 from c.yml:1");
  EXPECT_EQ(Told("log_level"), "debug from c.yml:3");
}

TEST_F(ConfigTest, ChoosesTheFile) {
  for (const char* name : {"flag.yml", "own.yml", "legacy.yml", "keymill.yml"}) {
    world_.Write(name, "block_size: 5\n");
  }
  EXPECT_EQ(Load().file, "keymill.yml");
  world_.environment["CONFIG_PATH"] = "legacy.yml";
  EXPECT_EQ(Load().file, "legacy.yml");
  world_.environment["KEYMILL_CONFIG"] = "own.yml";
  EXPECT_EQ(Load().file, "own.yml");
  world_.config_file = "flag.yml";
  EXPECT_EQ(Load().file, "flag.yml");
  world_.config_file = (world_.directory.path() / "flag.yml").string();
  EXPECT_EQ(Load().file, *world_.config_file);
}

TEST_F(ConfigTest, ReadsAFileBehindASymbolicLinkAndWithAByteOrderMark) {
  world_.Write("real.yml",
               "\xef\xbb\xbf"
               "block_size: 5\r\n");
  std::filesystem::create_symlink("real.yml", world_.directory.path() / "keymill.yml");
  EXPECT_EQ(Told("block_size"), "5 from keymill.yml:1");
}

TEST_F(ConfigTest, ExpandsVariablesInValuesOnly) {
  world_.environment = {{"SIZE", "7"}, {"DIR", "a: b\nblock_size: 9 #\"'"}, {"TWICE", "${SIZE}"}};
  world_.Write("keymill.yml", "block_size: ${SIZE}\ndata_dir: ${DIR}\n");
  EXPECT_EQ(Told("block_size"), "7 from keymill.yml:1");
  EXPECT_EQ(Load().settings.data_dir, "a: b\nblock_size: 9 #\"'");
  world_.Write("keymill.yml", "data_dir: '${TWICE}/$$${NO:-d}'\n");
  EXPECT_EQ(Load().settings.data_dir, "${SIZE}/$d");
  world_.Write("keymill.yml",
               "compat: [\"${NO:-forge}\"]\nkeyspaces: {a: {length: \"${SIZE}\"}}\n");
  EXPECT_EQ(Load().settings.keyspaces.at("a").length, 7U);
}

TEST_F(ConfigTest, DotEnvIsUnderTheEnvironmentAndOverTheFile) {
  world_.Write("keymill.yml", "block_size: 1\nthreads: 1\ndata_dir: \"${KEYMILL_STORE:-d}\"\n");
  world_.Write(".env", "KEYMILL_BLOCK_SIZE=2\nKEYMILL_THREADS=2\nKEYMILL_STORE='memory:'\n");
  world_.environment["KEYMILL_THREADS"] = "3";
  EXPECT_EQ(Load().settings.block_size, 1U);  // Nobody asked for .env.
  world_.read_dot_env = true;
  EXPECT_EQ(Told("block_size"), "2 from KEYMILL_BLOCK_SIZE (.env)");
  EXPECT_EQ(Told("threads"), "3 from KEYMILL_THREADS");
  EXPECT_EQ(Told("data_dir"), "memory: from keymill.yml:3");
}

TEST_F(ConfigTest, DotEnvMayBeAbsent) {
  world_.read_dot_env = true;
  EXPECT_EQ(world_.Outcome(), "kOk ");
}

TEST_F(ConfigTest, TellsWhichNamesOfDotEnvAreOurs) {
  const std::string directory = world_.directory.path().string();
  EXPECT_TRUE(DotEnvNames(directory).empty());
  world_.Write(".env", "UNRELATED=1\n");
  EXPECT_TRUE(DotEnvNames(directory).empty());
  world_.Write(".env", "PORT=1\nUNRELATED=1\nKEYMILL_DATA_DIR=elsewhere\n");
  EXPECT_EQ(DotEnvNames(directory), (std::vector<std::string>{"KEYMILL_DATA_DIR", "PORT"}));
}

TEST_F(ConfigTest, TheExampleOfDotEnvChangesNothing) {
  const auto source = std::filesystem::path(KEYMILL_SOURCE_DIR) / ".env.example";
  std::ostringstream text;
  text << std::ifstream(source).rdbuf();
  ASSERT_NE(text.str(), "") << source;
  world_.Write(".env", text.str());
  world_.read_dot_env = true;
  for (const SettingInfo& info : SettingTable()) {
    EXPECT_EQ(SettingValue(Load().settings, info.path), SettingValue(Settings(), info.path));
  }
  EXPECT_EQ(Told("listen.http"), "127.0.0.1:8080 from PORT (.env)");
}

// A Service called "keymill" puts these into every pod.
TEST_F(ConfigTest, IgnoresTheVariablesOfKubernetes) {
  world_.environment = {{"KEYMILL_SERVICE_HOST", "10.0.0.7"},
                        {"KEYMILL_SERVICE_PORT", "8080"},
                        {"KEYMILL_SERVICE_PORT_HTTP", "8080"},
                        {"KEYMILL_PORT", "tcp://10.0.0.7:8080"},
                        {"KEYMILL_PORT_8080_TCP", "tcp://10.0.0.7:8080"},
                        {"KEYMILL_PORT_8080_TCP_PROTO", "tcp"},
                        {"KEYMILL_PORT_8080_TCP_PORT", "8080"},
                        {"KEYMILL_PORT_8080_TCP_ADDR", "10.0.0.7"},
                        {"KEYMILL_HTTP_PORT", "tcp://10.0.0.7:8080"}};
  EXPECT_EQ(world_.Outcome(), "kOk ");
}

TEST(StoreSettingTest, TheStoreCanStandInAFile) {
  namespace fs = std::filesystem;
  ConfigWorld world;
  world.Write("url", "sqlite:secret.db\r\n");
  world.environment["KEYMILL_STORE_FILE"] = "url";
  fs::permissions(world.directory.path() / "url", fs::perms::owner_read);
  auto config = world.Load();
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->settings.store, "sqlite:secret.db");
  EXPECT_EQ(config->origins.at("store").detail, "KEYMILL_STORE_FILE");
  EXPECT_TRUE(config->warnings.empty());

  fs::permissions(world.directory.path() / "url", fs::perms::others_read, fs::perm_options::add);
  config = world.Load();
  ASSERT_TRUE(config.ok());
  ASSERT_EQ(config->warnings.size(), 1U);
  EXPECT_EQ(config->warnings[0],
            "KEYMILL_STORE_FILE: every user of this machine can read url; chmod 600 url");

  // .env never wins over the real environment.
  world.read_dot_env = true;
  world.Write(".env", "KEYMILL_STORE=sqlite:other.db\n");
  config = world.Load();
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->settings.store, "sqlite:secret.db");
}

TEST(StoreSettingTest, AStoreIsShownWithoutItsPassword) {
  Settings settings;
  settings.store = "postgres://ann:hunter2@db/keys?sslmode=require";
  EXPECT_EQ(ShownSetting(settings, "store"), "postgres://ann@db/keys?sslmode=require");
  EXPECT_EQ(SettingValue(settings, "store"), settings.store);
}

}  // namespace
}  // namespace keymill::app
