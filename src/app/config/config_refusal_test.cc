// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What LoadConfig says when it refuses. The messages are golden: people search for them.

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "app/config/config.h"
#include "app/config/config_test_support.h"
#include "embed/stores.h"

namespace keymill::app {
namespace {

class ConfigRefusalTest : public testing::Test {
 protected:
  std::string OutcomeOf(std::string_view yaml) const { return world_.OutcomeOf(yaml); }
  std::string OutcomeOfVariable(const std::string& name, const std::string& value) {
    world_.environment = {{name, value}};
    return world_.Outcome();
  }
  std::string OutcomeOfFlag(const std::string& path, const std::string& value) {
    world_.flags = {{path, value}};
    return world_.Outcome();
  }
  std::string OutcomeOfDotEnv(std::string_view text) {
    world_.Write(".env", text);
    world_.read_dot_env = true;
    return world_.Outcome();
  }

  ConfigWorld world_;
};

TEST_F(ConfigRefusalTest, MisspeltSettings) {
  EXPECT_EQ(OutcomeOf("# sizes\n\nblok_size: 5\n"),
            "kFailedPrecondition keymill.yml:3:1: unknown setting \"blok_size\", did you mean "
            "\"block_size\"?");
  EXPECT_EQ(OutcomeOf("listen:\n  htpp: \"\"\n"),
            "kFailedPrecondition keymill.yml:2:3: unknown setting \"listen.htpp\", did you mean "
            "\"listen.http\"?");
  EXPECT_EQ(OutcomeOf("completely: different\n"),
            "kFailedPrecondition keymill.yml:1:1: unknown setting \"completely\"");
  EXPECT_EQ(OutcomeOf("listen.http: \"127.0.0.1:1\"\n").substr(0, 65),
            "kFailedPrecondition keymill.yml:1:1: unknown setting \"listen.http");
  EXPECT_EQ(OutcomeOf("\"\": 1\n"), "kFailedPrecondition keymill.yml:1:1: unknown setting \"\"");
}

TEST_F(ConfigRefusalTest, KeysThatAreThereTwice) {
  EXPECT_EQ(OutcomeOf("block_size: 1\nthreads: 2\nblock_size: 3\n"),
            "kFailedPrecondition keymill.yml:3:1: \"block_size\" is here twice; the first is on "
            "line 1");
  EXPECT_EQ(OutcomeOf("keyspaces:\n  a: {}\n  a: {}\n"),
            "kFailedPrecondition keymill.yml:3:3: \"a\" is here twice; the first is on line 2");
}

TEST_F(ConfigRefusalTest, WrongTypes) {
  EXPECT_EQ(OutcomeOf("block_size: [1]\n"),
            "kFailedPrecondition keymill.yml:1:13: block_size: expected a whole number in [1, "
            "16777216], not a list");
  EXPECT_EQ(OutcomeOf("threads: many\n"),
            "kFailedPrecondition keymill.yml:1:10: threads: expected a whole number in [0, 256], "
            "not \"many\"");
  EXPECT_EQ(
      OutcomeOf("store: {sqlite: x}\n"),
      "kFailedPrecondition keymill.yml:1:8: store: expected sqlite:PATH, the URL of a server, or "
      "memory:, not a "
      "mapping");
  EXPECT_EQ(OutcomeOf("data_dir:\nthreads: 1\n"),
            "kFailedPrecondition keymill.yml:1:1: data_dir: expected the path of a directory, not "
            "nothing");
  EXPECT_EQ(OutcomeOf("data_dir: \"\"\n"),
            "kFailedPrecondition keymill.yml:1:11: data_dir: is empty; expected the path of a "
            "directory");
  EXPECT_EQ(OutcomeOf("listen: 127.0.0.1:80\n"),
            "kFailedPrecondition keymill.yml:1:9: listen: expected a mapping, such as {http: "
            "\"127.0.0.1:8080\"}, not \"127.0.0.1:80\"");
  EXPECT_EQ(OutcomeOf("compat: {forge: true}\n"),
            "kFailedPrecondition keymill.yml:1:9: compat: expected a list of words: forge, "
            "generate-id, leaf, tinyid, not a mapping");
  EXPECT_EQ(OutcomeOf("compat:\n  - forge\n  - [leaf]\n"),
            "kFailedPrecondition keymill.yml:3:5: compat: expected a word, not a list");
  EXPECT_EQ(OutcomeOf("PORT: [1]\n"),
            "kFailedPrecondition keymill.yml:1:7: PORT: expected one value, not a list");
  EXPECT_EQ(OutcomeOf("- a\n"),
            "kFailedPrecondition keymill.yml:1:1: expected settings such as \"block_size: 1000\", "
            "not a list");
}

TEST_F(ConfigRefusalTest, VariablesInTheFile) {
  EXPECT_EQ(OutcomeOf("\ndata_dir: ${NOWHERE}/x\n"),
            "kFailedPrecondition keymill.yml:2:11: data_dir: the variable NOWHERE is not set "
            "(write ${NOWHERE:-default} where it may be)");
  EXPECT_EQ(OutcomeOf("keyspaces:\n  a: {prefix: \"${NOWHERE}\"}\n"),
            "kFailedPrecondition keymill.yml:2:15: keyspaces.a.prefix: the variable NOWHERE is not "
            "set (write ${NOWHERE:-default} where it may be)");
  EXPECT_EQ(OutcomeOf("data_dir: ${HOME\n"),
            "kFailedPrecondition keymill.yml:1:11: data_dir: ${ without its } (write $$ for a "
            "dollar)");
  EXPECT_EQ(OutcomeOf("PORT: ${HOME\n"),
            "kFailedPrecondition keymill.yml:1:7: PORT: ${ without its } (write $$ for a dollar)");
}

TEST_F(ConfigRefusalTest, LegacyValuesThatDoNotParse) {
  EXPECT_EQ(OutcomeOf("PORT: http\n"),
            "kFailedPrecondition keymill.yml:1:7: PORT: expected a port in [0, 65535], not "
            "\"http\"");
  EXPECT_EQ(OutcomeOf(""), "kOk ");
  EXPECT_EQ(OutcomeOfVariable("PORT", "70000"),
            "kFailedPrecondition PORT: expected a port in [0, 65535], not \"70000\"");
  EXPECT_EQ(OutcomeOfVariable("RANGE_SIZE", "0"),
            "kFailedPrecondition RANGE_SIZE: expected a whole number in [1, 16777216], not \"0\"");
  EXPECT_EQ(OutcomeOfVariable("DEBUG_ENABLED", "perhaps"),
            "kFailedPrecondition DEBUG_ENABLED: expected true or false, not \"perhaps\"");
}

TEST_F(ConfigRefusalTest, LinksAndPeers) {
  EXPECT_EQ(OutcomeOf("links_homepage: ftp://home.test/\n"),
            "kFailedPrecondition keymill.yml:1:17: links_homepage: expected an http or https URL, "
            "or \"\", not \"ftp://home.test/\"");
  EXPECT_EQ(OutcomeOf(""), "kOk ");
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_LISTEN_LINKS", ""), "kOk ");
  // Everybody may follow links.
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_LISTEN_LINKS", "0.0.0.0:80"), "kOk ");
  EXPECT_EQ(OutcomeOf("compat: [forge, generate-id, leaf, tinyid]\n"), "kOk ");
  EXPECT_EQ(OutcomeOf("compat: [forge, tinid]\n"),
            "kFailedPrecondition keymill.yml:1:17: compat: unknown word \"tinid\", did you mean "
            "\"tinyid\"?");
  EXPECT_EQ(OutcomeOf(""), "kOk ");
  EXPECT_EQ(OutcomeOfFlag("links_keyspace", "a b").substr(0, 34),
            "kInvalidArgument --links-keyspace:");
}

TEST_F(ConfigRefusalTest, Keyspaces) {
  EXPECT_EQ(OutcomeOf("keyspaces: [a]\n"),
            "kFailedPrecondition keymill.yml:1:12: keyspaces: expected a mapping of names to "
            "recipes, such as {orders: {kind: sequence}}, not a list");
  EXPECT_EQ(OutcomeOf("keyspaces:\n  orders:\n    lenght: 7\n"),
            "kFailedPrecondition keymill.yml:3:5: keyspaces.orders: recipe: \"lenght\" is unknown, "
            "did you mean \"length\"?");
  EXPECT_EQ(OutcomeOf("keyspaces: {\"no spaces\": {}}\n").substr(0, 51),
            "kFailedPrecondition keymill.yml:1:13: keyspaces: ke");
  EXPECT_EQ(OutcomeOf(""), "kOk ");
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_KEYSPACES", "{a: 1}"),
            "kFailedPrecondition KEYMILL_KEYSPACES: value:1:5: keyspaces.a: expected a recipe, "
            "such as {kind: shuffled, length: 7}, not \"1\"");
  world_.environment.clear();
  EXPECT_EQ(OutcomeOfFlag("keyspaces", "{}"), "kInvalidArgument keyspaces: has no flag");
}

TEST_F(ConfigRefusalTest, UnknownVariables) {
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_BLOK_SIZE", "5"),
            "kFailedPrecondition unknown environment variable \"KEYMILL_BLOK_SIZE\", did you mean "
            "\"KEYMILL_BLOCK_SIZE\"?");
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_PORT", "8080").substr(0, 63),
            "kFailedPrecondition unknown environment variable \"KEYMILL_PORT\"");
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_", "").substr(0, 59),
            "kFailedPrecondition unknown environment variable \"KEYMILL_\"");
  EXPECT_EQ(OutcomeOfVariable("KEYMILLER", "5"), "kOk ");
}

TEST_F(ConfigRefusalTest, EmptyVariables) {
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_STORE", ""),
            "kFailedPrecondition KEYMILL_STORE: is empty; expected sqlite:PATH, the URL of a "
            "server, or memory:");
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_CONFIG", ""),
            "kFailedPrecondition KEYMILL_CONFIG: is empty; expected the path of a file");
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_THREADS", ""),
            "kFailedPrecondition KEYMILL_THREADS: is empty; expected a whole number in [0, 256]");
}

TEST_F(ConfigRefusalTest, Flags) {
  EXPECT_EQ(OutcomeOfFlag("block_size", "0"),
            "kInvalidArgument --block-size: expected a whole number in [1, 16777216], not \"0\"");
  EXPECT_EQ(OutcomeOfFlag("data_dir", ""),
            "kInvalidArgument --data-dir: is empty; expected the path of a directory");
  EXPECT_EQ(OutcomeOfFlag("listen.http", ":8080"),
            "kInvalidArgument --listen: \":8080\" does not say who may connect; write "
            "127.0.0.1:8080 (this machine) or 0.0.0.0:8080 (everyone)");
  EXPECT_EQ(OutcomeOfFlag("blok_size", "5"),
            "kInvalidArgument unknown setting \"blok_size\", did you mean \"block_size\"?");
  world_.flags.clear();
  world_.config_file = "";
  EXPECT_EQ(world_.Outcome(), "kInvalidArgument --config: is empty; expected the path of a file");
}

TEST_F(ConfigRefusalTest, AnOpenListener) {
  EXPECT_EQ(OutcomeOfFlag("listen.http", "0.0.0.0:8080"),
            "kFailedPrecondition listen.http (--listen): 0.0.0.0:8080 can be reached by other "
            "machines, and nobody has to show a token; bind to 127.0.0.1 or pass --insecure");
  EXPECT_EQ(OutcomeOfFlag("listen.http", "[::]:8080"),
            "kFailedPrecondition listen.http (--listen): [::]:8080 can be reached by other "
            "machines, and nobody has to show a token; bind to 127.0.0.1 or pass --insecure");
  world_.flags.emplace_back("insecure", "true");
  EXPECT_EQ(world_.Outcome(), "kOk ");
  world_.flags.clear();
  EXPECT_EQ(OutcomeOfFlag("listen.grpc", "0.0.0.0:9090"),
            "kFailedPrecondition listen.grpc (--listen-grpc): 0.0.0.0:9090 can be reached by other "
            "machines, and nobody has to show a token; bind to 127.0.0.1 or pass --insecure");
  world_.flags.clear();
  for (const char* address : {"127.0.0.1:0", "127.9.9.9:80", "[::1]:80", "localhost:80", ""}) {
    EXPECT_EQ(OutcomeOfFlag("listen.http", address), "kOk ") << address;
  }
  world_.flags.clear();
  EXPECT_EQ(
      OutcomeOf("\nlisten: {http: \"keys.example.org:80\"}\n"),
      "kFailedPrecondition listen.http (keymill.yml:2): keys.example.org:80 can be reached by "
      "other machines, and nobody has to show a token; bind to 127.0.0.1 or pass --insecure");
}

TEST_F(ConfigRefusalTest, TwoTicketsThatWouldGiveTheSameKeys) {
  EXPECT_THAT(OutcomeOf("keyspaces:\n  a: {kind: ticket, stride: 2, offset: 1}\n"
                        "  b: {kind: ticket, stride: 2, offset: 1}\n"),
              testing::StartsWith("kFailedPrecondition keyspaces (keymill.yml:1): keyspace b would "
                                  "give the same keys as keyspace a"));
  EXPECT_EQ(OutcomeOf("keyspaces:\n  a: {kind: ticket, stride: 2, offset: 1}\n"
                      "  b: {kind: ticket, stride: 2, offset: 2}\n"
                      "  c: {kind: ticket, stride: 2, offset: 1, prefix: c}\n"),
            "kOk ");
}

TEST_F(ConfigRefusalTest, AListenerWhoseNameMeansNothing) {
  world_.check_host = [](const std::string& host) {
    return host == "nosuch" ? Status(Code::kFailedPrecondition, "nosuch: never heard of it")
                            : Status();
  };
  EXPECT_EQ(OutcomeOfFlag("listen.http", "nosuch:22054"),
            "kFailedPrecondition listen.http (--listen): nosuch: never heard of it");
  EXPECT_THAT(OutcomeOfFlag("listen.http", "keys.example.org:80"),
              testing::HasSubstr("can be reached by other machines"));
}

TEST_F(ConfigRefusalTest, AFileForWhatIsNoSecret) {
  EXPECT_EQ(
      OutcomeOfVariable("KEYMILL_LOG_LEVEL_FILE", "/run/secrets/level"),
      "kFailedPrecondition unknown environment variable \"KEYMILL_LOG_LEVEL_FILE\": only what "
      "may hold a secret is read from a file: KEYMILL_STORE_FILE; did you mean "
      "KEYMILL_LOG_LEVEL?");
  EXPECT_EQ(
      OutcomeOfVariable("KEYMILL_TOKEN_FILE", "/run/secrets/token"),
      "kFailedPrecondition unknown environment variable \"KEYMILL_TOKEN_FILE\": only what may "
      "hold a secret is read from a file: KEYMILL_STORE_FILE");
  EXPECT_THAT(OutcomeOfVariable("KEYMILL_FILE", "x"), testing::HasSubstr("KEYMILL_FILE"));
}

TEST_F(ConfigRefusalTest, AFileForTheStoreThatDoesNotHelp) {
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_STORE_FILE", ""),
            "kFailedPrecondition KEYMILL_STORE_FILE: is empty; expected the path of a file");
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_STORE_FILE", "nosuch"),
            "kFailedPrecondition KEYMILL_STORE_FILE: nosuch: cannot be opened: No such file or "
            "directory");
  world_.Write("url", "mongo://bob:hunter2@db\n");
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_STORE_FILE", "url"),
            "kFailedPrecondition KEYMILL_STORE_FILE: url: expected " + embed::StoreForms() +
                ", not \"mongo://…\"");
  world_.Write("url", "\n");
  EXPECT_THAT(OutcomeOfVariable("KEYMILL_STORE_FILE", "url"), testing::HasSubstr("url: is empty"));
  world_.Write("url", "sqlite:a.db\n");
  world_.environment = {{"KEYMILL_STORE", "sqlite:b.db"}, {"KEYMILL_STORE_FILE", "url"}};
  EXPECT_EQ(world_.Outcome(),
            "kFailedPrecondition KEYMILL_STORE and KEYMILL_STORE_FILE are both there; keep one");
}

TEST_F(ConfigRefusalTest, ADotEnvThatIsADirectory) {
  std::filesystem::create_directory(world_.directory.path() / ".env");
  EXPECT_EQ(world_.Outcome(), "kOk ");
  world_.read_dot_env = true;
  EXPECT_EQ(world_.Outcome(), "kFailedPrecondition .env: is a directory, not a file");
}

TEST_F(ConfigRefusalTest, ADrainLongerThanTheStop) {
  EXPECT_EQ(OutcomeOfFlag("drain_delay", "30s"), "kOk ");
  EXPECT_EQ(OutcomeOfFlag("drain_delay", "1m"),
            "kFailedPrecondition drain_delay (--drain-delay) is 1m, longer than shutdown_timeout, "
            "which is 30s");
}

TEST_F(ConfigRefusalTest, StoresWithoutTheirPasswords) {
  world_.environment["PASSWORD"] = "hunter2";
  EXPECT_EQ(OutcomeOf("store: mongo://bob:${PASSWORD}@db/keys\n"),
            "kFailedPrecondition keymill.yml:1:8: store: expected " + embed::StoreForms() +
                ", not \"mongo://…\"");
  EXPECT_EQ(OutcomeOf("threads: postgres://bob:${PASSWORD}@db/keys\n"),
            "kFailedPrecondition keymill.yml:1:10: threads: expected a whole number in [0, 256], "
            "not \"postgres://***@db/keys\"");
  EXPECT_EQ(OutcomeOf(""), "kOk ");
  EXPECT_EQ(OutcomeOfFlag("store", "mongo://bob:hunter2@db"),
            "kInvalidArgument --store: expected " + embed::StoreForms() + ", not \"mongo://…\"");
}

TEST_F(ConfigRefusalTest, FilesThatAreNotThere) {
  world_.config_file = "absent.yml";
  EXPECT_EQ(world_.Outcome(),
            "kFailedPrecondition absent.yml: cannot be opened: No such file or directory (named by "
            "--config)");
  world_.config_file.reset();
  EXPECT_EQ(OutcomeOfVariable("KEYMILL_CONFIG", "absent.yml"),
            "kFailedPrecondition absent.yml: cannot be opened: No such file or directory (named by "
            "KEYMILL_CONFIG)");
  std::filesystem::create_directory(world_.directory.path() / "config");
  EXPECT_EQ(OutcomeOfVariable("CONFIG_PATH", "config"),
            "kFailedPrecondition config/config.yml: cannot be opened: No such file or directory "
            "(named by CONFIG_PATH)");
}

TEST_F(ConfigRefusalTest, FilesThatAreNoFiles) {
  world_.config_file = "/dev/zero";
  EXPECT_EQ(world_.Outcome(),
            "kFailedPrecondition /dev/zero: is not a regular file (named by --config)");
  world_.config_file = ".";
  EXPECT_EQ(world_.Outcome(),
            "kFailedPrecondition .: is a directory, not a file (named by --config)");
  ASSERT_EQ(::mkfifo((world_.directory.path() / "fifo").c_str(), 0600), 0);
  world_.config_file = "fifo";
  EXPECT_EQ(world_.Outcome(),
            "kFailedPrecondition fifo: is not a regular file (named by --config)");
  world_.config_file.reset();
  std::filesystem::create_symlink("/dev/zero", world_.directory.path() / "keymill.yml");
  EXPECT_EQ(world_.Outcome(), "kFailedPrecondition keymill.yml: is not a regular file");
}

TEST_F(ConfigRefusalTest, FilesThatAreTooLarge) {
  EXPECT_EQ(OutcomeOf(std::string(1024 * 1024, '#')), "kOk ");
  EXPECT_EQ(OutcomeOf(std::string(2 * 1024 * 1024, '#')),
            "kFailedPrecondition keymill.yml: is larger than 1 MiB");
}

TEST_F(ConfigRefusalTest, FilesThatAreNoText) {
  EXPECT_EQ(OutcomeOf(std::string("threads: 1\nstore: \0\n", 20)),
            "kFailedPrecondition keymill.yml:2:8: control character 0x00");
  EXPECT_EQ(OutcomeOf("store: \xc3\x28\n"),
            "kFailedPrecondition keymill.yml:1:8: byte 0xc3 is not UTF-8");
  EXPECT_EQ(OutcomeOf(std::string("\xff\xfe"
                                  "t\0",
                                  4)),
            "kFailedPrecondition keymill.yml:1:1: byte 0xff is not UTF-8");
  EXPECT_EQ(OutcomeOf("block_size: [1\n"),
            "kFailedPrecondition keymill.yml:1:14: not YAML: end of sequence flow not found");
  EXPECT_EQ(OutcomeOf("store: \"sqlite:k.db\nblock_size: 5\n"),
            "kFailedPrecondition keymill.yml:2:14: not YAML: illegal EOF in scalar");
  EXPECT_EQ(OutcomeOf("store: memory:\n"),
            "kFailedPrecondition keymill.yml:1:14: not YAML: illegal map value (a value that ends "
            "in a colon, or has one before a space, needs quotes)");
}

TEST_F(ConfigRefusalTest, Bombs) {
  EXPECT_EQ(OutcomeOf(std::string(100'000, '[')).substr(0, 36),
            "kFailedPrecondition keymill.yml:1:1:");
  EXPECT_EQ(OutcomeOf("compat: " + std::string(100, '[') + std::string(100, ']')),
            "kFailedPrecondition keymill.yml:1:24: is nested more than 16 deep");
  EXPECT_EQ(OutcomeOf("a: &a [x]\nb: &b [*a, *a]\n"),
            "kFailedPrecondition keymill.yml:1:4: anchors (&name) are not allowed here");
}

TEST_F(ConfigRefusalTest, DotEnv) {
  EXPECT_EQ(OutcomeOfDotEnv("A=1\nPORT 8080\n"),
            "kFailedPrecondition .env:2: PORT: expected NAME=value");
  EXPECT_EQ(OutcomeOfDotEnv("A=1\nKEYMILL_THREADS=-1\n"),
            "kFailedPrecondition .env:2: KEYMILL_THREADS: expected a whole number in [0, 256], not "
            "\"-1\"");
  EXPECT_EQ(OutcomeOfDotEnv("PORT=x\n"),
            "kFailedPrecondition .env:1: PORT: expected a port in [0, 65535], not \"x\"");
  EXPECT_EQ(OutcomeOfDotEnv("KEYMILL_STOER=memory:\n"),
            "kFailedPrecondition .env:1: unknown environment variable \"KEYMILL_STOER\", did you "
            "mean \"KEYMILL_STORE\"?");
  EXPECT_EQ(OutcomeOfDotEnv(std::string(64 * 1024 + 1, '#')),
            "kFailedPrecondition .env: is larger than 64 KiB");
  EXPECT_EQ(OutcomeOfDotEnv(std::string("A=\0\n", 4)),
            "kFailedPrecondition .env: holds a NUL byte");
}

}  // namespace
}  // namespace keymill::app
