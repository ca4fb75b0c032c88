// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/import_verbs.h"

namespace keymill::app {
namespace {

constexpr const char* kUrl = "Its database: mariadb://…, mysql://…, postgres://… or sqlite:PATH";

}  // namespace

void ImportVerbs::AddTo(CLI::App& app, SettingFlags& settings, std::function<int()>& run) {
  CLI::App* const group =
      app.add_subcommand("import", "Take over from another service, and never repeat its keys");
  group->require_subcommand(1);
  group->footer(
      "Stop the other service first: what it gives out afterwards is not known here. May be "
      "repeated when it was cut off.");
  group_ = group;
  settings_ = &settings;
  run_ = &run;
  AddServices();
  AddDatabases();
  AddCodes();
}

CLI::App* ImportVerbs::Add(const char* name, const char* summary, const char* source,
                           const char* source_summary, int (*body)(const ImportFlags&)) {
  CLI::App* const verb = group_->add_subcommand(name, summary);
  verb->callback([this, body] {
    *run_ = [this, body] {
      flags_.common = settings_->Common();
      flags_.words = words_.Words();
      return body(flags_);
    };
  });
  verb->add_option(source, flags_.source, source_summary)->required()->type_name("");
  return verb;
}

void ImportVerbs::Finish(CLI::App& verb) {
  verb.add_flag("--dry-run", flags_.dry_run, "Say what would be done, and change nothing");
  settings_->AddStoreTo(verb);
}

void ImportVerbs::FinishCounter(CLI::App& verb) {
  verb.add_option("--margin", flags_.margin,
                  "Leave out so many numbers more, for what is not written down (0)")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40))
      ->type_name("N");
  Finish(verb);
}

void ImportVerbs::AddKeyspace(CLI::App& verb) {
  verb.add_option("KEYSPACE", flags_.keyspace, "The keyspace")->required()->type_name("");
}

void ImportVerbs::AddServices() {
  CLI::App* const forge = Add("forge", "The older Go service: its SQLite file", "FILE",
                              "test.db in its working directory", RunImportForge);
  forge->add_option("--keyspace", flags_.keyspace, "The keyspace (default)")->type_name("NAME");
  Finish(*forge);
  for (CLI::App* const verb :
       {Add("leaf", "Leaf: a sequence for each tag of leaf_alloc", "URL", kUrl, RunImportLeaf),
        Add("tinyid", "tinyid: a sequence for each type of tiny_id_info", "URL", kUrl,
            RunImportTinyid)}) {
    verb->add_option("--only", flags_.only, "This one; may be repeated (all)")
        ->allow_extra_args(false)
        ->type_name("TAG");
    FinishCounter(*verb);
  }
}

void ImportVerbs::AddDatabases() {
  CLI::App* const sequence =
      Add("sequence", "A sequence of PostgreSQL or MariaDB", "URL", kUrl, RunImportSequence);
  sequence->add_option("SEQUENCE", flags_.table, "Its name, or schema.name")
      ->required()
      ->type_name("");
  AddKeyspace(*sequence);
  FinishCounter(*sequence);
  CLI::App* const max = Add("max", "The largest value of a column", "URL", kUrl, RunImportMax);
  max->add_option("TABLE", flags_.table, "The table, or schema.table")->required()->type_name("");
  max->add_option("COLUMN", flags_.column, "The column")->required()->type_name("");
  AddKeyspace(*max);
  FinishCounter(*max);
}

void ImportVerbs::AddCodes() {
  CLI::App* const codes = Add("codes", "A file of codes in use, which the keyspace never gives out",
                              "FILE", "One code in a line; - is stdin", RunImportCodes);
  AddKeyspace(*codes);
  words_.AddTo(*codes);
  Finish(*codes);
}

}  // namespace keymill::app
