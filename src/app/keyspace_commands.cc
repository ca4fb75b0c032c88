// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <algorithm>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "api/http/keyspace_json.h"
#include "app/cli.h"
#include "app/commands.h"
#include "app/output.h"

namespace keymill::app {
namespace {

std::string Forecast(const mint::KeyspaceInfo& info) {
  return info.exhausted_at_ms ? api::http::IsoTime(*info.exhausted_at_ms) : "-";
}

std::string Percent(const mint::KeyspaceInfo& info) {
  return fmt::format("{:.2f}%",
                     100.0 * static_cast<double>(info.used) / static_cast<double>(info.capacity));
}

void PrintShow(const mint::KeyspaceInfo& info) {
  Print("name       {}\n", info.record.name);
  Print("kind       {}\n", KindName(info.recipe.kind));
  Print("state      {}{}\n", KeyspaceStateName(info.record.state),
        info.record.reason.empty() ? "" : ": " + info.record.reason);
  Print("recipe     {}\n", info.record.recipe);
  Print("capacity   {}\n", info.capacity);
  Print("used       {} ({})\n", info.used, Percent(info));
  Print("left       {}\n", info.left);
  Print("exhausted  {}\n", Forecast(info));
  Print("created    {}\n", api::http::IsoTime(info.record.created_at_ms));
}

// The configured store without creating anything that is only configured: looking at
// keyspaces must not make any.
Result<embed::Opened> Open(const CommonFlags& common) {
  Result<Config> config = ReadConfig(common, /*serving=*/false);
  if (!config.ok()) return config.status();
  Settings settings = config->settings;
  settings.keyspaces.clear();
  return OpenConfigured(settings);
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

int Show(mint::Engine& engine, const KeyspaceFlags& flags) {
  Result<mint::KeyspaceInfo> info = engine.Describe(flags.name);
  if (!info.ok()) return Fail(Describe(engine, info.status(), flags.name));
  if (flags.json) {
    Print("{}\n", api::http::KeyspaceJson(*info));
  } else {
    PrintShow(*info);
  }
  return kExitOk;
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
  return Show(*opened->engine, flags);
}

int RunKeyspaceCreate(const KeyspaceFlags& flags) {
  Result<Recipe> recipe = mint::RecipeFromWords(flags.words);
  if (!recipe.ok()) return Fail(recipe.status());
  Result<embed::Opened> opened = Open(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  Result<mint::Engine::Created> created = opened->engine->Create(flags.name, *recipe);
  if (!created.ok()) {
    return Fail(DescribeCreate(*opened->engine, created.status(), flags.name));
  }
  if (!created->fresh) Say("keymill: {} exists with this recipe\n", flags.name);
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
          told->keyspace, mint::ExplanationStateName(told->state), KindName(told->kind),
          told->number);
    Print("block     {} ({} numbers from {}, {})\ninstance  {}\nreserved  {}\n",
          told->block.block_id, told->block.count, told->block.first,
          BlockStateName(told->block.state), told->block.instance,
          api::http::IsoTime(told->block.reserved_at_ms));
  }
  if (found) return kExitOk;
  if (names.size() > 1) {
    why = Status(Code::kNotFound, fmt::format("no keyspace can have issued \"{}\"", flags.key));
  }
  return Fail(why);
}

}  // namespace keymill::app
