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

#include "app/commands.h"
#include "app/output.h"
#include "base/suggest.h"

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
  std::deque<std::pair<std::string, std::string>> words;
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
  flag.option = verb.add_option(names, flag.value, std::string(info.summary))->type_name("");
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
  AddSettings(*verb, parsed, {});
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
      for (const auto& [word, value] : parsed.words) {
        if (value.empty() && word != "prefix") continue;
        parsed.keyspace.words.push_back({word, {value}});
      }
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
  for (const std::string_view word : mint::RecipeWordNames()) {
    auto& entry = parsed.words.emplace_back(std::string(word), "");
    create->add_option("--" + entry.first, entry.second)->type_name("");
  }
  AddKeyspaceVerb(*group, parsed, "retire", "End a keyspace for ever; its name stays taken", true,
                  RunKeyspaceRetire);
  AddKeyspaceVerb(app, parsed, "recover",
                  "Reopen a quarantined keyspace above everything known of it", true, RunRecover);
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

void AddVersion(CLI::App& app, Parsed& parsed) {
  CLI::App* const verb = app.add_subcommand("version", "The version of this program");
  AddOutput(*verb, parsed);
  verb->callback(
      [&parsed] { parsed.run = [&parsed] { return RunVersion(parsed.output == "json"); }; });
}

constexpr std::string_view kShortHelp =
    "keymill hands out short, unique keys.\n"
    "\n"
    "  keymill serve                     run the server on 127.0.0.1:8080\n"
    "  keymill mint -n 5                 five keys, without a server\n"
    "  keymill keyspace create orders --kind sequence --alphabet decimal\n"
    "\n"
    "Verbs: serve, mint, explain, keyspace, recover, verify, version.\n"
    "keymill VERB --help says more.\n";

// An unknown verb is named before anything else is complained about.
std::string UnknownVerb(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  std::vector<std::string> names;
  for (const CLI::App* const verb : app.get_subcommands({})) names.push_back(verb->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return {};
  const std::vector<std::string_view> views(names.begin(), names.end());
  return fmt::format("unknown verb \"{}\"{}", argv[1], DidYouMean(argv[1], views));
}

// CLI11 says which argument it does not know; we say which one was probably meant.
std::string SuggestFlag(const CLI::App& app, std::string_view said) {
  const CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  const std::size_t dashes = said.find("--");
  if (dashes == std::string_view::npos) return {};
  const std::string_view unknown = said.substr(dashes, said.find_first_of(" =,", dashes) - dashes);
  std::vector<std::string> names;
  for (const CLI::Option* const option : verb->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return DidYouMean(unknown, views);
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
  CLI::App app("keymill hands out short, unique keys", "keymill");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("keymill {}", Version()));
  Parsed parsed;
  AddServe(app, parsed);
  AddMint(app, parsed);
  AddExplain(app, parsed);
  AddKeyspace(app, parsed);
  AddVerify(app, parsed);
  AddVersion(app, parsed);
  if (argc < 2) {
    Say("{}", kShortHelp);
    return kExitUsage;
  }
  if (const std::string unknown = UnknownVerb(app, argc, argv); !unknown.empty()) {
    Say("keymill: {}\n{}", unknown, "keymill --help lists the verbs.\n");
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
    Say("keymill: {}{}\n", error.what(), SuggestFlag(app, error.what()));
    return kExitUsage;
  }
  return Finish(parsed.run());
}

}  // namespace keymill::app
