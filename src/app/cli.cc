// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/cli.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "app/bench_command.h"
#include "app/commands.h"
#include "app/generated_commands.h"
#include "app/import_verbs.h"
#include "app/key_verbs.h"
#include "app/output.h"
#include "app/recipe_flags.h"
#include "app/setting_flags.h"
#include "app/usage.h"
#include "keys/foreign_snowflake.h"

namespace keymill::app {
namespace {

// Everything that the parser writes into. Lives as long as the parser.
struct Parsed {
  SettingFlags settings;
  ServeFlags serve;
  MintFlags mint;
  ExplainFlags explain;
  BoundsFlags bounds;
  KeyspaceFlags keyspace;
  VerifyFlags verify;
  PlanFlags plan;
  ConfigFlags config;
  HealthcheckFlags healthcheck;
  DoctorFlags doctor;
  StoreCopyFlags store_copy;
  std::string shell;
  std::string man_dir;
  RecipeFlags create_words;
  RecipeFlags plan_words;
  std::string output = "table";
  KeyVerbs key_verbs;
  ImportVerbs import_verbs;
  std::function<int()> run;
};

void AddServe(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb = app.add_subcommand("serve", "Run the server");
  verb->footer(
      "A value in brackets is the default. DURATION is a number with its unit: 250ms, 1.5s, "
      "2m, 1h.");
  parsed.settings.AddTo(*verb);
  verb->add_option("--print-ports", parsed.serve.print_ports,
                   "Write {\"http\":PORT,\"resp\":PORT} to FILE when ready")
      ->type_name("FILE");
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.serve.common = parsed.settings.Common();
      return RunServe(parsed.serve);
    };
  });
}

void AddMint(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb = app.add_subcommand("mint", "Mint keys, one per line");
  verb->add_option("KEYSPACE", parsed.mint.keyspace, "Keyspace (default)")->type_name("");
  verb->add_option("-n,--count", parsed.mint.count, "How many (1)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}))
      ->type_name("N");
  verb->add_option("--timeout", parsed.mint.timeout,
                   "Longest wait without a key, such as 500ms or 2m (30s)")
      ->type_name("DURATION");
  parsed.settings.AddStoreOrServerTo(*verb, parsed.mint.server,
                                     {"pool_low", "worker_id", "accept_clock_ahead"});
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.mint.common = parsed.settings.Common();
      return RunMint(parsed.mint);
    };
  });
}

void AddExplain(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb = app.add_subcommand("explain", "Say what a key is and where it came from");
  verb->add_option("KEY", parsed.explain.key, "The key")->required()->type_name("");
  CLI::Option* const keyspace =
      verb->add_option("--keyspace", parsed.explain.keyspace, "Its keyspace (all are tried)")
          ->type_name("NAME");
  const std::span<const std::string_view> services = keys::ForeignSnowflakeNames();
  verb->add_option("--as", parsed.explain.service,
                   "Take it apart as an id of another service; no store is needed")
      ->check(CLI::IsMember(std::vector<std::string>(services.begin(), services.end())))
      ->excludes(keyspace)
      ->type_name("SERVICE");
  AddOutput(*verb, parsed.output);
  parsed.settings.AddStoreTo(*verb);
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.explain.common = parsed.settings.Common();
      parsed.explain.json = parsed.output == "json";
      return RunExplain(parsed.explain);
    };
  });
}

void AddBounds(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb =
      app.add_subcommand("bounds", "The smallest and the largest snowflake id of a time");
  verb->add_option("NAME", parsed.bounds.keyspace, "The keyspace")->required()->type_name("");
  verb->add_option("--from", parsed.bounds.from, "From this moment on: 2026-01-01T12:00:00Z")
      ->required()
      ->type_name("TIME");
  verb->add_option("--to", parsed.bounds.to, "Up to this moment, and without it")
      ->required()
      ->type_name("TIME");
  AddOutput(*verb, parsed.output);
  parsed.settings.AddStoreTo(*verb);
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.bounds.common = parsed.settings.Common();
      parsed.bounds.json = parsed.output == "json";
      return RunBounds(parsed.bounds);
    };
  });
}

// A verb on one keyspace (or, without a name, on all).
CLI::App* AddKeyspaceVerb(CLI::App& parent, Parsed& parsed, const std::string& name,
                          const std::string& summary, bool named,
                          int (*run)(const KeyspaceFlags&)) {
  CLI::App* const verb = parent.add_subcommand(name, summary);
  if (named) {
    verb->add_option("KEYSPACE", parsed.keyspace.name, "Keyspace")->required()->type_name("");
  }
  AddOutput(*verb, parsed.output);
  parsed.settings.AddStoreTo(*verb);
  verb->callback([&parsed, run] {
    parsed.run = [&parsed, run] {
      parsed.keyspace.common = parsed.settings.Common();
      parsed.keyspace.json = parsed.output == "json";
      parsed.keyspace.words = parsed.create_words.Words();
      return run(parsed.keyspace);
    };
  });
  return verb;
}

void AddKeyspace(CLI::App& app, Parsed& parsed) {
  CLI::App* const group = app.add_subcommand("keyspace", "List, show, create and retire keyspaces");
  group->require_subcommand(1);
  AddKeyspaceVerb(*group, parsed, "list", "All keyspaces", false, RunKeyspaceList);
  AddKeyspaceVerb(*group, parsed, "show", "One keyspace: recipe, capacity, forecast", true,
                  RunKeyspaceShow);
  CLI::App* const create =
      AddKeyspaceVerb(*group, parsed, "create", "Create a keyspace; its recipe is fixed for ever",
                      true, RunKeyspaceCreate);
  parsed.create_words.AddTo(*create);
  AddKeyspaceVerb(*group, parsed, "retire", "End a keyspace for ever; its name stays taken", true,
                  RunKeyspaceRetire);
  AddKeyspaceVerb(app, parsed, "recover",
                  "Reopen a quarantined keyspace above everything known of it", true, RunRecover);
}

void AddPlan(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb =
      app.add_subcommand("plan", "What a recipe comes to: capacity, lifetime, odds of a guess");
  parsed.plan_words.AddTo(*verb);
  verb->add_option("--rate", parsed.plan.rate, "Keys per time: 1000/s, 5k/h, 2M/day (none)")
      ->type_name("RATE");
  AddOutput(*verb, parsed.output);
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.plan.words = parsed.plan_words.Words();
      parsed.plan.json = parsed.output == "json";
      return RunPlan(parsed.plan);
    };
  });
}

void AddConfig(CLI::App& app, Parsed& parsed) {
  CLI::App* const group = app.add_subcommand("config", "Show, check and begin a configuration");
  group->require_subcommand(1);
  const auto finish = [&parsed](CLI::App* verb, int (*run)(const ConfigFlags&)) {
    verb->callback([&parsed, run] {
      parsed.run = [&parsed, run] {
        parsed.config.common = parsed.settings.Common();
        parsed.config.json = parsed.output == "json";
        return run(parsed.config);
      };
    });
  };
  CLI::App* const show =
      group->add_subcommand("show", "What serve would run with here, secrets left out");
  show->add_flag("--origin", parsed.config.origin, "Say where each value came from");
  AddOutput(*show, parsed.output);
  parsed.settings.AddTo(*show);
  finish(show, RunConfigShow);
  CLI::App* const check =
      group->add_subcommand("check", "Say what is wrong, with line, column and a suggestion");
  check->add_option("FILE", parsed.config.file, "The file (the one that serve would read)")
      ->type_name("");
  finish(check, RunConfigCheck);
  CLI::App* const init =
      group->add_subcommand("init", "Write a file that explains every setting at its default");
  init->add_option("FILE", parsed.config.file, "Where to; - is stdout (keymill.yml)")
      ->type_name("");
  init->add_flag("--force", parsed.config.force, "Write over a file that is there");
  finish(init, RunConfigInit);
}

void AddVerify(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb =
      app.add_subcommand("verify", "Find duplicates in files of keys, larger than memory");
  verb->add_option("FILE", parsed.verify.files, "Files, one key per line; - is stdin")
      ->required()
      ->type_name("");
  verb->add_option("--temp-dir", parsed.verify.temp_dir, "Where to spill to ($TMPDIR)")
      ->type_name("DIR");
  AddOutput(*verb, parsed.output);
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.verify.json = parsed.output == "json";
      return RunVerify(parsed.verify);
    };
  });
}

void AddHealthcheck(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb =
      app.add_subcommand("healthcheck", "Whether a server can mint: exit 0 if so, 1 if not");
  verb->add_option("URL", parsed.healthcheck.url, "http://HOST:PORT (the configured listener)")
      ->type_name("");
  verb->add_option("--timeout", parsed.healthcheck.timeout, "Longest wait for the answer (2s)")
      ->type_name("DURATION");
  parsed.settings.AddTo(*verb, {"listen.http", "listen.resp", "insecure"});
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.healthcheck.common = parsed.settings.Common();
      return RunHealthcheck(parsed.healthcheck);
    };
  });
}

void AddDoctor(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb = app.add_subcommand(
      "doctor", "Examine store and host, say how to fix what is found; changes nothing");
  verb->footer("Exit 0 when nothing is found, 1 when there is a warning or a problem.");
  AddOutput(*verb, parsed.output);
  parsed.settings.AddTo(*verb);
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.doctor.common = parsed.settings.Common();
      parsed.doctor.json = parsed.output == "json";
      return RunDoctor(parsed.doctor);
    };
  });
}

void AddStore(CLI::App& app, Parsed& parsed) {
  CLI::App* const group = app.add_subcommand("store", "Move everything to another store");
  group->require_subcommand(1);
  CLI::App* const copy =
      group->add_subcommand("copy", "Seal a store and copy everything in it to an empty one");
  copy->footer(
      "The old store grants nothing any more, the new one grants nothing before all is there.\n"
      "Safe to repeat, whatever ended it in the middle.");
  copy->add_option("FROM", parsed.store_copy.from, "URL of the store that is sealed")
      ->required()
      ->type_name("");
  copy->add_option("TO", parsed.store_copy.to, "URL of a place without a store")
      ->required()
      ->type_name("");
  copy->add_flag("--instead", parsed.store_copy.instead,
                 "The store was sealed for another target, which was never used");
  parsed.settings.AddTo(*copy, {"data_dir", "accept_unsafe_store", "log_level", "log_format"});
  copy->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.store_copy.common = parsed.settings.Common();
      return RunStoreCopy(parsed.store_copy);
    };
  });
}

void AddVersion(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb = app.add_subcommand("version", "The version of this program");
  AddOutput(*verb, parsed.output);
  verb->callback(
      [&parsed] { parsed.run = [&parsed] { return RunVersion(parsed.output == "json"); }; });
}

constexpr std::string_view kExamples =
    "  keymill serve                     run the server on 127.0.0.1:8080\n"
    "  keymill mint -n 5                 five keys, without a server\n"
    "  keymill plan --length 6 --rate 5/s\n"
    "                                    how long 6 symbols last, how easily one is guessed\n";

void AddCompletion(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb =
      app.add_subcommand("completion", "Print a script that completes in a shell");
  verb->footer("bash: source <(keymill completion bash)");
  verb->add_option("SHELL", parsed.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("");
  verb->callback([&app, &parsed] {
    parsed.run = [&app, &parsed] { return RunCompletion(app, parsed.shell); };
  });
}

void AddManpage(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb = app.add_subcommand("manpage", "Print the manual page");
  verb->add_option("--dir", parsed.man_dir, "Write a page for every verb there instead")
      ->type_name("DIR");
  verb->callback([&app, &parsed] {
    parsed.run = [&app, &parsed] { return RunManpage(app, parsed.man_dir, kExamples); };
  });
}

// In every help.
void CallThemVerbs(CLI::App& app) {
  for (CLI::App* const verb : app.get_subcommands([](CLI::App*) { return true; })) {
    verb->group("Verbs");
    CallThemVerbs(*verb);
  }
}

// The exit code of a verb that ended with `code`, its data included.
int Finish(int code) {
  const Status written = FinishData();
  if (written.ok()) return code;
  const int failed = Fail(written);
  return code == kExitOk ? failed : code;
}

}  // namespace

std::string_view Version() { return KEYMILL_VERSION; }

int Fail(const Status& status) {
  Say("keymill: {}\n", status.message());
  switch (status.code()) {
    case Code::kInvalidArgument:
      return kExitUsage;
    case Code::kFailedPrecondition:
      return kExitRefused;
    default:
      return kExitFailure;
  }
}

int RunCli(int argc, char** argv) {
  // "help serve" is "serve --help": everybody tries it once.
  std::vector<char*> words(argv, argv + argc);
  if (argc >= 2 && std::string_view(argv[1]) == "help") {
    std::rotate(words.begin() + 1, words.begin() + 2, words.end());
    static char help[] = "--help";
    words.back() = help;
    argv = words.data();
  }
  CLI::App app("keymill hands out short, unique keys", "keymill");
  app.require_subcommand(1);
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.set_version_flag("--version", fmt::format("keymill {}", Version()));
  Parsed parsed;
  AddServe(app, parsed);
  AddMint(app, parsed);
  parsed.key_verbs.AddTo(app, parsed.settings, parsed.run);
  parsed.import_verbs.AddTo(app, parsed.settings, parsed.run);
  AddExplain(app, parsed);
  AddBounds(app, parsed);
  AddKeyspace(app, parsed);
  AddPlan(app, parsed);
  AddConfig(app, parsed);
  AddVerify(app, parsed);
  AddBench(app, parsed.run);
  AddHealthcheck(app, parsed);
  AddDoctor(app, parsed);
  AddStore(app, parsed);
  AddVersion(app, parsed);
  AddCompletion(app, parsed);
  AddManpage(app, parsed);
  CallThemVerbs(app);
  if (argc < 2) {
    Say("keymill hands out short, unique keys.\n\n{}\n{}\nkeymill VERB --help says more.\n",
        kExamples, VerbList(app));
    return kExitUsage;
  }
  if (const std::string unknown = UnknownVerb(app, argc, argv); !unknown.empty()) {
    Say("keymill: {}\n", unknown);
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream out;
    app.exit(success, out, out);
    WriteData(out.str());
    return Finish(kExitOk);
  } catch (const CLI::ParseError& error) {
    Say("keymill: {}\n", UsageError(app, error));
    return kExitUsage;
  }
  return Finish(parsed.run());
}

}  // namespace keymill::app
