// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/cli.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "app/bench_command.h"
#include "app/commands.h"
#include "app/config/settings_table.h"
#include "app/generated_commands.h"
#include "app/output.h"
#include "app/recipe_flags.h"
#include "app/usage.h"

namespace keymill::app {
namespace {

// Flags are only collected here; config.cc checks them together with the other layers.
struct SettingFlag {
  std::string path;
  std::string value;
  CLI::Option* option = nullptr;
};

// Everything that the parser writes into. Lives as long as the parser.
struct Parsed {
  std::deque<SettingFlag> settings;
  std::string config_file;
  ServeFlags serve;
  MintFlags mint;
  ExplainFlags explain;
  KeyspaceFlags keyspace;
  VerifyFlags verify;
  PlanFlags plan;
  ConfigFlags config;
  HealthcheckFlags healthcheck;
  DoctorFlags doctor;
  std::string shell;
  std::string man_dir;
  RecipeFlags create_words;
  RecipeFlags plan_words;
  std::string output = "table";
  std::function<int()> run;
};

CommonFlags Common(const Parsed& parsed) {
  CommonFlags common;
  if (!parsed.config_file.empty()) common.config_file = parsed.config_file;
  for (const SettingFlag& flag : parsed.settings) {
    if (flag.option->count() > 0) common.settings.emplace_back(flag.path, flag.value);
  }
  return common;
}

void AddSetting(CLI::App& verb, Parsed& parsed, const SettingInfo& info) {
  SettingFlag& flag = parsed.settings.emplace_back();
  flag.path = info.path;
  std::string names(info.flag);
  if (!info.flag_alias.empty()) names += fmt::format(",{}", info.flag_alias);
  if (info.path == "insecure") {
    flag.value = "true";
    flag.option = verb.add_flag(names)->description(std::string(info.summary));
    return;
  }
  const std::string preset = SettingValue(Settings(), info.path);
  flag.option = verb.add_option(names, flag.value, fmt::format("{} ({})", info.summary, preset))
                    ->type_name(std::string(info.value));
}

// Listeners that later versions have may be turned off in this one; --help is silent on them.
void AddFutureListeners(CLI::App& verb, Parsed& parsed) {
  for (const FutureListener& listener : FutureListeners()) {
    SettingFlag& flag = parsed.settings.emplace_back();
    flag.path = listener.path;
    flag.option = verb.add_option(std::string(listener.flag), flag.value)->group("");
  }
}

// The flags of the settings in `paths`, or of all of them.
void AddSettings(CLI::App& verb, Parsed& parsed, const std::vector<std::string_view>& paths) {
  verb.add_option("--config", parsed.config_file, "Configuration file (keymill.yml)")
      ->type_name("FILE");
  for (const SettingInfo& info : SettingTable()) {
    if (info.flag.empty()) continue;
    if (!paths.empty() && std::find(paths.begin(), paths.end(), info.path) == paths.end()) continue;
    AddSetting(verb, parsed, info);
  }
}

const std::vector<std::string_view> kStoreSettings = {"data_dir", "store", "store_create",
                                                      "log_level", "log_format"};

void AddOutput(CLI::App& verb, Parsed& parsed) {
  verb.add_option("-o,--output", parsed.output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
}

void AddServe(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb = app.add_subcommand("serve", "Run the server");
  verb->footer(
      "A value in brackets is the default. DURATION is a number with its unit: 250ms, 1.5s, "
      "2m, 1h.");
  AddSettings(*verb, parsed, {});
  AddFutureListeners(*verb, parsed);
  verb->add_option("--print-ports", parsed.serve.print_ports,
                   "Write {\"http\":PORT} to FILE when ready")
      ->type_name("FILE");
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.serve.common = Common(parsed);
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
  CLI::Option* const server = verb->add_option("--server", parsed.mint.server,
                                               "Ask a running server, e.g. http://HOST:PORT")
                                  ->type_name("URL");
  verb->add_option("--timeout", parsed.mint.timeout,
                   "Longest wait without a key, such as 500ms or 2m (30s)")
      ->type_name("DURATION");
  AddSettings(*verb, parsed, kStoreSettings);
  for (const SettingFlag& flag : parsed.settings) {
    if (flag.path == "store" && flag.option->get_name() == "--store" &&
        verb->get_option_no_throw("--store") == flag.option) {
      flag.option->excludes(server);
    }
  }
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.mint.common = Common(parsed);
      return RunMint(parsed.mint);
    };
  });
}

void AddExplain(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb = app.add_subcommand("explain", "Say what a key is and where it came from");
  verb->add_option("KEY", parsed.explain.key, "The key")->required()->type_name("");
  verb->add_option("--keyspace", parsed.explain.keyspace, "Its keyspace (all are tried)")
      ->type_name("NAME");
  AddOutput(*verb, parsed);
  AddSettings(*verb, parsed, kStoreSettings);
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.explain.common = Common(parsed);
      parsed.explain.json = parsed.output == "json";
      return RunExplain(parsed.explain);
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
  AddOutput(*verb, parsed);
  AddSettings(*verb, parsed, kStoreSettings);
  verb->callback([&parsed, run] {
    parsed.run = [&parsed, run] {
      parsed.keyspace.common = Common(parsed);
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
  AddOutput(*verb, parsed);
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
        parsed.config.common = Common(parsed);
        parsed.config.json = parsed.output == "json";
        return run(parsed.config);
      };
    });
  };
  CLI::App* const show =
      group->add_subcommand("show", "What serve would run with here, secrets left out");
  show->add_flag("--origin", parsed.config.origin, "Say where each value came from");
  AddOutput(*show, parsed);
  AddSettings(*show, parsed, {});
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
  AddOutput(*verb, parsed);
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
  AddSettings(*verb, parsed, {"listen.http", "insecure"});
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.healthcheck.common = Common(parsed);
      return RunHealthcheck(parsed.healthcheck);
    };
  });
}

void AddDoctor(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb = app.add_subcommand(
      "doctor", "Examine store and host, say how to fix what is found; changes nothing");
  verb->footer("Exit 0 when nothing is found, 1 when there is a warning or a problem.");
  AddOutput(*verb, parsed);
  AddSettings(*verb, parsed, {});
  verb->callback([&parsed] {
    parsed.run = [&parsed] {
      parsed.doctor.common = Common(parsed);
      parsed.doctor.json = parsed.output == "json";
      return RunDoctor(parsed.doctor);
    };
  });
}

void AddVersion(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb = app.add_subcommand("version", "The version of this program");
  AddOutput(*verb, parsed);
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
  AddExplain(app, parsed);
  AddKeyspace(app, parsed);
  AddPlan(app, parsed);
  AddConfig(app, parsed);
  AddVerify(app, parsed);
  AddBench(app, parsed.run);
  AddHealthcheck(app, parsed);
  AddDoctor(app, parsed);
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
