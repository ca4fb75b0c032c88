// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill doctor`: looks at what `serve` would use here, and says what to do about each thing
// that is not as it should be. Changes nothing.

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "app/cli.h"
#include "app/commands.h"
#include "app/config/quote.h"
#include "app/doctor/host_checks.h"
#include "app/doctor/host_gather.h"
#include "app/doctor/server_checks.h"
#include "app/doctor/sqlite_checks.h"
#include "app/http_client.h"
#include "app/output.h"
#include "store/store_url.h"

namespace keymill::app {
namespace {

namespace fs = std::filesystem;
using doctor::Finding;
using doctor::Findings;
using doctor::Severity;

constexpr std::chrono::milliseconds kAnswerWithin{1'000};

// What other verbs need to mean the same store. They do not read .env.
std::string FlagsOf(const CommonFlags& common, const Settings& settings) {
  const Settings usual;
  std::string flags;
  if (common.config_file) {
    flags += fmt::format(" --config {}", doctor::ShellWord(*common.config_file));
  }
  if (settings.data_dir != usual.data_dir) {
    flags += fmt::format(" --data-dir {}", doctor::ShellWord(settings.data_dir));
  }
  // One with a password came from a place where other verbs find it too.
  if (settings.store != usual.store && settings.store == store::ShownUrl(settings.store)) {
    flags += fmt::format(" --store {}", doctor::ShellWord(settings.store));
  }
  return flags;
}

// The first line of its index page, if it is one of us.
std::string WhoAnswers(const std::string& url) {
  const Result<HttpAnswer> answer =
      GetOverHttp({.url = url, .path = "/", .timeout = kAnswerWithin});
  if (!answer.ok() || !answer->body.starts_with("keymill ")) return "";
  return Printable(std::string_view(answer->body).substr(0, answer->body.find('\n')), 40);
}

// No default: whoever adds a kind must decide.
bool UsesClock(Kind kind) {
  switch (kind) {
    case Kind::kSequence:
    case Kind::kShuffled:
    case Kind::kTicket:
    case Kind::kUuid4:
    case Kind::kPool:
    case Kind::kDerived:
      return false;  // They count, draw, or look up.
    case Kind::kSnowflake:
    case Kind::kUuid7:
    case Kind::kUlid:
      return true;
  }
  return false;
}

Finding ConfigurationFinding(const Config& config) {
  const auto set =
      std::count_if(config.origins.begin(), config.origins.end(),
                    [](const auto& each) { return each.second.layer != Origin::Layer::kDefault; });
  return {"configuration", Severity::kOk,
          fmt::format("{}; {} of {} settings are set",
                      config.file.empty() ? "no file" : config.file, set, config.origins.size()),
          ""};
}

void AddPlace(Findings& findings, std::string name, const fs::path& directory) {
  const doctor::PlaceFacts place = doctor::GatherPlace(std::move(name), directory, SystemClock());
  findings.push_back(doctor::CheckDirectory(place));
  findings.push_back(doctor::CheckFileSystem(place));
  findings.push_back(doctor::CheckSpace(place));
  findings.push_back(doctor::CheckSync(place));
}

fs::path DataDir(const Settings& settings) {
  std::error_code ignored;
  fs::path data_dir = fs::absolute(settings.data_dir, ignored).lexically_normal();
  if (!data_dir.has_filename()) data_dir = data_dir.parent_path();  // "data/"
  return data_dir;
}

// Returns the latest time that the store knows of, or 0.
std::int64_t AddSqlite(Findings& findings, const Settings& settings, const std::string& flags) {
  const fs::path data_dir = DataDir(settings);
  AddPlace(findings, "data_dir", data_dir);
  const fs::path beside = doctor::DatabasePath(data_dir, settings.store).parent_path();
  if (beside != data_dir) AddPlace(findings, "store directory", beside);
  const doctor::SqliteFacts facts = doctor::GatherSqlite(settings, data_dir, flags, SystemClock());
  for (Finding& each : doctor::CheckSqlite(facts)) findings.push_back(std::move(each));
  return facts.seen.newest_ms;
}

// The witness lies in data_dir, whatever the store.
void AddServer(Findings& findings, const Settings& settings, const std::string& flags) {
  const fs::path data_dir = DataDir(settings);
  AddPlace(findings, "data_dir", data_dir);
  const doctor::ServerFacts facts = doctor::GatherServer(settings, data_dir, flags, SystemClock());
  for (Finding& each : doctor::CheckServer(facts)) findings.push_back(std::move(each));
}

std::int64_t AddStore(Findings& findings, const Settings& settings, const std::string& flags) {
  if (settings.store.starts_with("sqlite:")) return AddSqlite(findings, settings, flags);
  if (settings.store != "memory:") {
    AddServer(findings, settings, flags);
    return 0;
  }
  findings.push_back({"store", Severity::kWarning,
                      "in memory, for tests only: its keys repeat after a restart",
                      "store: sqlite:keymill.db in keymill.yml, or --store sqlite:keymill.db"});
  return 0;
}

void AddHost(Findings& findings, const Settings& settings, std::int64_t newest_ms) {
  doctor::ClockFacts clock = doctor::GatherClock(SystemClock());
  clock.newest_ms = newest_ms;
  clock.in_keys = std::any_of(settings.keyspaces.begin(), settings.keyspaces.end(),
                              [](const auto& each) { return UsesClock(each.second.kind); });
  findings.push_back(doctor::CheckClock(clock));
  findings.push_back(doctor::CheckFileLimit(doctor::GatherLimits(settings)));
  findings.push_back(
      doctor::CheckListener(doctor::GatherListener(settings.listen_http, WhoAnswers)));
  findings.push_back(doctor::CheckRespListener(
      doctor::GatherListener(settings.listen_resp, [](const std::string&) { return ""; }),
      settings.listen_resp == Settings().listen_resp));
  const doctor::MachineFacts machine = doctor::GatherMachine(settings);
  findings.push_back(doctor::CheckBacklog(machine));
  findings.push_back(doctor::CheckCpus(machine));
  findings.push_back(doctor::CheckMemory(machine));
  findings.push_back(doctor::CheckAes(machine));
}

}  // namespace

int RunDoctor(const DoctorFlags& flags) {
  const Result<Config> config = LoadServeConfig(flags.common);
  if (!config.ok()) return Fail(config.status());
  const Settings& settings = config->settings;
  Findings findings = {ConfigurationFinding(*config)};
  const std::int64_t newest_ms = AddStore(findings, settings, FlagsOf(flags.common, settings));
  AddHost(findings, settings, newest_ms);
  WriteData(flags.json ? doctor::FindingsJson(findings) : doctor::FindingsTable(findings));
  return doctor::IsHealthy(findings) ? kExitOk : kExitFailure;
}

}  // namespace keymill::app
