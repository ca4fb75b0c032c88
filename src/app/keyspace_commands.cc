// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <algorithm>
#include <cstdio>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/http/keyspace_json.h"
#include "app/cli.h"
#include "app/commands.h"
#include "app/output.h"
#include "app/plan_text.h"

namespace keymill::app {
namespace {

std::string Forecast(const mint::KeyspaceInfo& info) {
  return info.exhausted_at_ms ? api::http::IsoTime(*info.exhausted_at_ms) : "-";
}

std::string Percent(const mint::KeyspaceInfo& info) {
  return fmt::format("{:.2f}%",
                     100.0 * static_cast<double>(info.used) / static_cast<double>(info.capacity));
}

// Keys per second since the keyspace was made; 0 when there is nothing to go by.
double AverageRate(const mint::KeyspaceInfo& info) {
  const std::int64_t age_ms = SystemClock().WallMs() - info.record.created_at_ms;
  constexpr std::int64_t kAgeMin = std::int64_t{24} * 3'600 * 1'000;  // Less says nothing.
  return age_ms < kAgeMin ? 0 : static_cast<double>(info.used) * 1e3 / static_cast<double>(age_ms);
}

Result<keys::Plan> PlanOf(const mint::KeyspaceInfo& info) {
  return keys::MakePlan(info.recipe, AverageRate(info));
}

void PrintJson(const mint::KeyspaceInfo& info) {
  auto json = nlohmann::ordered_json::parse(api::http::KeyspaceJson(info));
  if (const Result<keys::Plan> plan = PlanOf(info); plan.ok()) {
    json["plan"] = nlohmann::ordered_json::parse(PlanJson(info.recipe, *plan, AverageRate(info)));
    json["plan"].erase("recipe");
    json["plan"].erase("capacity");
  }
  Print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void PrintShow(const mint::KeyspaceInfo& info, bool warn) {
  Print("name       {}\n", info.record.name);
  Print("kind       {}\n", KindName(info.recipe.kind));
  Print("state      {}{}\n", KeyspaceStateName(info.record.state),
        info.record.reason.empty() ? "" : ": " + info.record.reason);
  Print("recipe     {}\n", info.record.recipe);
  Print("capacity   {}\n", info.capacity);
  Print("used       {} ({})\n", info.used, Percent(info));
  Print("left       {}\n", info.left);
  Print("exhausted  {}\n", Forecast(info));
  if (const Result<keys::Plan> plan = PlanOf(info); plan.ok()) {
    const double rate = AverageRate(info);
    const std::string rate_text = rate > 0 ? fmt::format("{:.3g}/s", rate) : "";
    for (const auto& [name, text] : PlanNature(*plan, rate_text, static_cast<double>(info.used))) {
      Print("{:<10} {}\n", name, text);
    }
    for (const keys::PlanWarning& warning : plan->warnings) {
      if (warn) Print("warning    {}\n", warning.text);
    }
  }
  Print("created    {}\n", api::http::IsoTime(info.record.created_at_ms));
}

// The state of a key, with what is not plain from its name.
std::string StateText(mint::Explanation::State state) {
  const std::string_view name = mint::ExplanationStateName(state);
  if (state != mint::Explanation::State::kReserved) return std::string(name);
  return fmt::format("{} (its block is in use: it was issued, or will be)", name);
}

enum class Absent : std::uint8_t { kCreate, kRefuse };

// The configured store without creating anything that is only configured: looking at
// keyspaces must not make any, nor a store.
Result<embed::Opened> Open(const CommonFlags& common, Absent absent = Absent::kRefuse) {
  Result<Config> config = ReadConfig(common, /*serving=*/false);
  if (!config.ok()) return config.status();
  Settings settings = config->settings;
  settings.keyspaces.clear();
  if (absent == Absent::kRefuse) {
    if (Status there = CheckStoreExists(settings); !there.ok()) return there;
  }
  Result<embed::Opened> opened = OpenConfigured(settings);
  if (opened.ok()) TellIfCreated(*opened);
  return opened;
}

Status Describe(mint::Engine& engine, const Status& status, std::string_view name) {
  return status.code() == Code::kNotFound ? NoSuchKeyspace(engine, name) : status;
}

// A name whose keyspace is retired is taken whatever the recipe.
Status DescribeCreate(mint::Engine& engine, const Status& status, std::string_view name) {
  if (status.code() != Code::kFailedPrecondition) return status;
  const Result<mint::KeyspaceInfo> info = engine.Describe(name);
  if (!info.ok() || info->record.state != KeyspaceState::kRetired) return status;
  return {Code::kFailedPrecondition,
          fmt::format("keyspace {} is retired, and the name of a retired keyspace is not used "
                      "again; choose another",
                      name)};
}

int Show(mint::Engine& engine, const KeyspaceFlags& flags, bool warn = false) {
  Result<mint::KeyspaceInfo> info = engine.Describe(flags.name);
  if (!info.ok()) return Fail(Describe(engine, info.status(), flags.name));
  if (flags.json) {
    PrintJson(*info);
  } else {
    PrintShow(*info, warn);
  }
  return kExitOk;
}

// While it can still be left unused: a recipe never changes.
void WarnOf(const Recipe& recipe) {
  const Result<keys::Plan> plan = keys::MakePlan(recipe, 0);
  if (!plan.ok()) return;
  for (const keys::PlanWarning& warning : plan->warnings) {
    Say("keymill: warning: {}\n", warning.text);
  }
}

}  // namespace

int RunKeyspaceList(const KeyspaceFlags& flags) {
  Result<embed::Opened> opened = Open(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  Result<std::vector<mint::KeyspaceInfo>> all = opened->engine->List();
  if (!all.ok()) return Fail(all.status());
  if (flags.json) {
    std::string json;
    for (const mint::KeyspaceInfo& info : *all) {
      json += (json.empty() ? "" : ",") + api::http::KeyspaceJson(info);
    }
    Print("{{\"keyspaces\":[{}]}}\n", json);
    return kExitOk;
  }
  std::size_t width = 4;
  for (const auto& info : *all) width = std::max(width, info.record.name.size());
  Print("{:<{}}  {:<9} {:<12} {:>8}  {:>20}  {}\n", "NAME", width, "KIND", "STATE", "USED", "LEFT",
        "EXHAUSTED");
  for (const auto& info : *all) {
    Print("{:<{}}  {:<9} {:<12} {:>8}  {:>20}  {}\n", info.record.name, width,
          KindName(info.recipe.kind), KeyspaceStateName(info.record.state), Percent(info),
          info.left, Forecast(info));
  }
  return kExitOk;
}

int RunKeyspaceShow(const KeyspaceFlags& flags) {
  Result<embed::Opened> opened = Open(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  return Show(*opened->engine, flags, /*warn=*/true);
}

int RunKeyspaceCreate(const KeyspaceFlags& flags) {
  Result<Recipe> recipe = mint::RecipeFromWords(flags.words);
  if (!recipe.ok()) return Fail(recipe.status());
  Result<embed::Opened> opened = Open(flags.common, Absent::kCreate);
  if (!opened.ok()) return Fail(opened.status());
  Result<mint::Engine::Created> created = opened->engine->Create(flags.name, *recipe);
  if (!created.ok()) {
    return Fail(DescribeCreate(*opened->engine, created.status(), flags.name));
  }
  if (created->fresh) {
    WarnOf(*recipe);
  } else {
    Say("keymill: {} exists with this recipe\n", flags.name);
  }
  return Show(*opened->engine, flags);
}

int RunKeyspaceRetire(const KeyspaceFlags& flags) {
  Result<embed::Opened> opened = Open(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  if (Status done = opened->engine->Retire(flags.name); !done.ok()) {
    return Fail(Describe(*opened->engine, done, flags.name));
  }
  return Show(*opened->engine, flags);
}

int RunRecover(const KeyspaceFlags& flags) {
  Result<embed::Opened> opened = Open(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  Result<RecoverReport> report = opened->engine->Recover(flags.name);
  if (!report.ok()) return Fail(Describe(*opened->engine, report.status(), flags.name));
  Say("keymill: {} is open again. Next number {} (it was {}): {} numbers were skipped, and "
      "{} that had been given back were burned.\n"
      "Every running instance of this keyspace must be restarted.\n",
      flags.name, report->next_after, report->next_before, report->next_after - report->next_before,
      report->returned_burned);
  return Show(*opened->engine, flags);
}

int RunExplain(const ExplainFlags& flags) {
  Result<embed::Opened> opened = Open(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  std::vector<std::string> names = {flags.keyspace};
  if (flags.keyspace.empty()) {
    Result<std::vector<mint::KeyspaceInfo>> all = opened->engine->List();
    if (!all.ok()) return Fail(all.status());
    names.clear();
    for (const auto& info : *all) names.push_back(info.record.name);
  }
  Status why(Code::kNotFound, "there is no keyspace yet");
  bool found = false;
  for (const std::string& name : names) {
    Result<mint::Explanation> told = opened->engine->Explain(name, flags.key);
    if (!told.ok()) {
      why = told.status();
      continue;
    }
    found = true;
    if (flags.json) {
      Print("{}\n", api::http::ExplanationJson(*told, flags.key));
      continue;
    }
    Print("key       {}\nkeyspace  {}\nstate     {}\nkind      {}\nnumber    {}\n", flags.key,
          told->keyspace, StateText(told->state), KindName(told->kind), told->number);
    Print("block     {} ({} {} from {}, {})\ninstance  {}\nreserved  {}\n", told->block.block_id,
          told->block.count, told->block.count == 1 ? "number" : "numbers", told->block.first,
          BlockStateName(told->block.state), told->block.instance,
          api::http::IsoTime(told->block.reserved_at_ms));
  }
  if (found) return kExitOk;
  if (names.size() > 1) {
    why = Status(Code::kNotFound, fmt::format("no keyspace can have issued \"{}\"", flags.key));
  }
  // In another directory there is another store: the most common reason not to find a key.
  return Fail({why.code(), fmt::format("{} (looked in {})", why.message(), opened->location)});
}

}  // namespace keymill::app
