// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The verbs. Each takes what the command line said and returns the exit code.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keymill/status.h"

#include "app/config/config.h"
#include "embed/open.h"
#include "mint/recipe_words.h"

namespace keymill::app {

// What every verb that uses the configuration accepts.
struct CommonFlags {
  std::optional<std::string> config_file;
  std::vector<std::pair<std::string, std::string>> settings;  // By setting path.
};

// What `serve` runs with if it is told what this process was told: reads .env, too.
Result<Config> LoadServeConfig(const CommonFlags& flags);

// The configuration of this process; sets up the log. Only `serve` (`serving`) reads .env;
// the other verbs say so when there is one that means something to it. A store in memory is
// remarked on.
Result<Config> ReadConfig(const CommonFlags& flags, bool serving);

// How blocks are to be reserved.
mint::RefillOptions ConfiguredRefill(const Settings& settings);

// The configured store, with the configured keyspaces in it.
Result<embed::Opened> OpenConfigured(const Settings& settings, mint::EngineOptions engine = {});

// kNotFound when there is no store yet where one is configured, for verbs that must not make one.
// A store that is lost, of which a witness speaks, is for OpenConfigured to refuse.
Status CheckStoreExists(const Settings& settings);

// Says so when a verb has made the store: whoever is in the wrong directory should know.
void TellIfCreated(const embed::Opened& opened);

// kNotFound for a keyspace that the store does not have: which one was probably meant, and
// how to create it.
Status NoSuchKeyspace(mint::Engine& engine, std::string_view name);

struct ServeFlags {
  CommonFlags common;
  std::string print_ports;
};
int RunServe(const ServeFlags& flags);

struct MintFlags {
  CommonFlags common;
  std::string keyspace = "default";
  std::uint64_t count = 1;
  std::string server;           // URL; "" mints from the store.
  std::string timeout = "30s";  // The longest wait without a key.
};
int RunMint(const MintFlags& flags);

struct ExplainFlags {
  CommonFlags common;
  std::string key;
  std::string keyspace;  // "" tries all.
  bool json = false;
};
int RunExplain(const ExplainFlags& flags);

struct KeyspaceFlags {
  CommonFlags common;
  std::string name;
  std::vector<mint::RecipeWord> words;
  bool json = false;
};
int RunKeyspaceList(const KeyspaceFlags& flags);
int RunKeyspaceShow(const KeyspaceFlags& flags);
int RunKeyspaceCreate(const KeyspaceFlags& flags);
int RunKeyspaceRetire(const KeyspaceFlags& flags);
int RunRecover(const KeyspaceFlags& flags);

struct PlanFlags {
  std::vector<mint::RecipeWord> words;
  std::string rate;  // "1000/s"; "" when nobody knows.
  bool json = false;
};
int RunPlan(const PlanFlags& flags);

struct ConfigFlags {
  CommonFlags common;
  std::string file;     // check, init: "" is the usual one.
  bool origin = false;  // show: where each value came from.
  bool force = false;   // init: over a file that is there.
  bool json = false;
};
int RunConfigShow(const ConfigFlags& flags);
int RunConfigCheck(const ConfigFlags& flags);
int RunConfigInit(const ConfigFlags& flags);

struct VerifyFlags {
  std::vector<std::string> files;
  std::string temp_dir;
  bool json = false;
};
int RunVerify(const VerifyFlags& flags);

struct HealthcheckFlags {
  CommonFlags common;
  std::string url;             // "" is the configured listener.
  std::string timeout = "2s";  // For the whole answer.
};
int RunHealthcheck(const HealthcheckFlags& flags);

struct DoctorFlags {
  CommonFlags common;
  bool json = false;
};
int RunDoctor(const DoctorFlags& flags);

int RunVersion(bool json);

}  // namespace keymill::app
