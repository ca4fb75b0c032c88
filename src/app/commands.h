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
// how to create it, with `words` of a recipe if the verb needs them.
Status NoSuchKeyspace(mint::Engine& engine, std::string_view name, std::string_view words = "");

enum class Absent : std::uint8_t { kCreate, kRefuse };

// The configured store for verbs that look at it, or mend it: nothing is created that is only
// configured, and no store unless `absent` says so; nothing is reserved ahead of need.
Result<embed::Opened> OpenToLook(const CommonFlags& common, Absent absent = Absent::kRefuse);

// The configured store with the configured keyspaces for verbs that change something in it and
// end: nothing is reserved ahead of need, and it is ready for changes.
Result<embed::Opened> OpenToUse(const CommonFlags& common);

struct ServeFlags {
  CommonFlags common;
  std::string print_ports;
};
int RunServe(const ServeFlags& flags);

struct StoreCopyFlags {
  CommonFlags common;
  std::string from;
  std::string to;
  bool instead = false;  // Of another target, to which it was sealed before.
};
int RunStoreCopy(const StoreCopyFlags& flags);

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
  std::string service;   // Whose id it is; "" when it is one of ours.
  bool json = false;
};
int RunExplain(const ExplainFlags& flags);

struct BoundsFlags {
  CommonFlags common;
  std::string keyspace;
  std::string from;
  std::string to;
  bool json = false;
};
int RunBounds(const BoundsFlags& flags);

struct ClaimFlags {
  CommonFlags common;
  std::string keyspace;
  std::string alias;
  std::string owner;
  std::string server;  // URL; "" claims in the store.
};
int RunClaim(const ClaimFlags& flags);

struct DeriveFlags {
  CommonFlags common;
  std::string keyspace;
  std::string content;  // "-": each line of stdin is one.
  std::string salt;
  std::string server;  // URL; "" asks the store.
  bool json = false;
};
int RunDerive(const DeriveFlags& flags);

struct PoolFlags {
  CommonFlags common;
  std::string keyspace;
  std::uint64_t count = 0;                  // fill
  std::string key;                          // release
  std::optional<std::uint64_t> generation;  // release: of this life, or of any.
  bool json = false;
};
int RunPoolFill(const PoolFlags& flags);
int RunPoolStat(const PoolFlags& flags);
int RunPoolRelease(const PoolFlags& flags);

struct AuditFlags {
  CommonFlags common;
  std::string keyspace;
  std::string since;  // "" here and below: any.
  std::string until;
  std::string key;
  std::string instance;
  std::string state;
  std::string format = "text";  // text | csv | json
};
int RunAudit(const AuditFlags& flags);

struct ImportFlags {
  CommonFlags common;
  std::string source;  // A database's URL, or a file.
  std::string table;   // max: the table; sequence: its name.
  std::string column;  // max.
  std::string keyspace;
  std::vector<std::string> only;        // leaf, tinyid: these tags; all when empty.
  std::vector<mint::RecipeWord> words;  // codes.
  std::uint64_t margin = 0;             // Numbers left out behind the last one.
  bool dry_run = false;
};
int RunImportForge(const ImportFlags& flags);
int RunImportLeaf(const ImportFlags& flags);
int RunImportTinyid(const ImportFlags& flags);
int RunImportSequence(const ImportFlags& flags);
int RunImportMax(const ImportFlags& flags);
int RunImportCodes(const ImportFlags& flags);

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
