// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/key_verbs.h"

#include <cstdint>

namespace keymill::app {
namespace {

constexpr std::uint64_t kFillMax = 10'000'000'000;

void AddKeyspace(CLI::App& verb, std::string& name) {
  verb.add_option("KEYSPACE", name, "Keyspace")->required()->type_name("");
}

}  // namespace

void KeyVerbs::AddTo(CLI::App& app, SettingFlags& settings, std::function<int()>& run) {
  AddClaim(app, settings, run);
  AddDerive(app, settings, run);
  AddPool(app, settings, run);
  AddAudit(app, settings, run);
}

void KeyVerbs::AddClaim(CLI::App& app, SettingFlags& settings, std::function<int()>& run) {
  CLI::App* const verb = app.add_subcommand("claim", "Claim a key of your own choice: an alias");
  verb->footer(
      "Exit 0 when it is yours, also if it was before; 1 when somebody else has it or nobody can.");
  AddKeyspace(*verb, claim_.keyspace);
  verb->add_option("ALIAS", claim_.alias,
                   "3 to 16 of A-Z a-z 0-9 _ - that begin with a letter or a digit")
      ->required()
      ->type_name("");
  verb->add_option("--owner", claim_.owner,
                   "Whose it is, in any words; only with an owner it can be claimed again (none)")
      ->type_name("TEXT");
  settings.AddStoreOrServerTo(*verb, claim_.server);
  verb->callback([this, &settings, &run] {
    run = [this, &settings] {
      claim_.common = settings.Common();
      return RunClaim(claim_);
    };
  });
}

void KeyVerbs::AddDerive(CLI::App& app, SettingFlags& settings, std::function<int()>& run) {
  CLI::App* const verb =
      app.add_subcommand("derive", "The key of a content: the same content, the same key");
  AddKeyspace(*verb, derive_.keyspace);
  verb->add_option("CONTENT", derive_.content, "The content; -: each line of stdin is one")
      ->required()
      ->type_name("");
  verb->add_option("--salt", derive_.salt,
                   "With another salt, such as a user's id, the content gets another key (none)")
      ->type_name("TEXT");
  AddOutput(*verb, output_);
  settings.AddStoreOrServerTo(*verb, derive_.server);
  verb->callback([this, &settings, &run] {
    run = [this, &settings] {
      derive_.common = settings.Common();
      derive_.json = output_ == "json";
      return RunDerive(derive_);
    };
  });
}

void KeyVerbs::AddPool(CLI::App& app, SettingFlags& settings, std::function<int()>& run) {
  CLI::App* const group = app.add_subcommand("pool", "Fill a pool, count it, release its keys");
  group->require_subcommand(1);
  const auto finish = [this, &settings, &run](CLI::App* verb, int (*body)(const PoolFlags&)) {
    settings.AddStoreTo(*verb);
    verb->callback([this, &settings, &run, body] {
      run = [this, &settings, body] {
        pool_.common = settings.Common();
        pool_.json = output_ == "json";
        return body(pool_);
      };
    });
  };
  CLI::App* const fill = group->add_subcommand("fill", "Add new random keys");
  fill->footer("Safe beside running servers, and to be ended and repeated at any time.");
  AddKeyspace(*fill, pool_.keyspace);
  fill->add_option("-n,--count", pool_.count, "How many")
      ->required()
      ->check(CLI::Range(std::uint64_t{1}, kFillMax))
      ->type_name("N");
  AddOutput(*fill, output_);
  finish(fill, RunPoolFill);
  CLI::App* const stat = group->add_subcommand("stat", "How many keys are in which state");
  AddKeyspace(*stat, pool_.keyspace);
  AddOutput(*stat, output_);
  finish(stat, RunPoolStat);
  CLI::App* const release =
      group->add_subcommand("release", "Give a key back, where the keyspace recycles");
  AddKeyspace(*release, pool_.keyspace);
  release->add_option("KEY", pool_.key, "The key")->required()->type_name("");
  release
      ->add_option("--generation", pool_.generation,
                   "Only if it is in this life; explain tells which (any)")
      ->type_name("N");
  finish(release, RunPoolRelease);
}

void KeyVerbs::AddAudit(CLI::App& app, SettingFlags& settings, std::function<int()>& run) {
  CLI::App* const verb =
      app.add_subcommand("audit", "The record of every key that the store remembers");
  verb->footer(
      "TIME is 2026-01-01 or 2026-01-01T12:00:00Z, always UTC. Read page by page: what changes "
      "meanwhile may be there in either state.");
  verb->add_option("--keyspace", audit_.keyspace, "Its keyspace")->required()->type_name("NAME");
  verb->add_option("--since", audit_.since, "In their state since this moment or later (any)")
      ->type_name("TIME");
  verb->add_option("--until", audit_.until, "and since before this one (any)")->type_name("TIME");
  verb->add_option("--key", audit_.key, "This key only (all)")->type_name("KEY");
  verb->add_option("--instance", audit_.instance, "Those that this instance took (any)")
      ->type_name("ID");
  verb->add_option("--state", audit_.state, "Those in this state (any)")
      ->check(CLI::IsMember({"available", "reserved", "used", "released", "alias", "derived"}))
      ->type_name("STATE");
  AddOutput(*verb, audit_.format, {"text", "csv", "json"});
  settings.AddStoreTo(*verb);
  verb->callback([this, &settings, &run] {
    run = [this, &settings] {
      audit_.common = settings.Common();
      return RunAudit(audit_);
    };
  });
}

}  // namespace keymill::app
