// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/http/keyspace_json.h"
#include "app/cli.h"
#include "app/commands.h"
#include "app/explain_text.h"
#include "app/output.h"
#include "app/plan_text.h"
#include "base/utc_text.h"
#include "keys/guess_kind.h"
#include "mint/kinds.h"
#include "mint/patience.h"

namespace keymill::app {
namespace {

std::string Forecast(const mint::KeyspaceInfo& info) {
  return info.exhausted_at_ms ? api::http::IsoTime(*info.exhausted_at_ms) : "-";
}

std::string Percent(const mint::KeyspaceInfo& info) {
  if (!info.counted()) return "-";
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

// "3 available, 2 used": the states that there are. Notes are no keys.
std::string CountsText(const KeyTable::Counts& counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto state = static_cast<KeyState>(i);
    if (counts.at(i) == 0 || state == KeyState::kNote) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts.at(i), KeyStateName(state));
  }
  return text.empty() ? "none yet" : text;
}

void PrintShow(const mint::KeyspaceInfo& info, bool warn) {
  Print("name       {}\n", info.record.name);
  Print("kind       {}\n", KindName(info.recipe.kind));
  Print("state      {}{}\n", KeyspaceStateName(info.record.state),
        info.record.reason.empty() ? "" : ": " + info.record.reason);
  Print("recipe     {}\n", info.record.recipe);
  if (!info.endless) {
    Print("capacity   {}\n", info.capacity);
    if (info.counted()) {
      Print("used       {} ({})\n", info.used, Percent(info));
      Print("left       {}\n", info.left);
    }
    Print("exhausted  {}\n", Forecast(info));
    if (info.years_left) Print("years left {:.1f}\n", *info.years_left);
  }
  if (info.counts) Print("keys       {}\n", CountsText(*info.counts));
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

// An audit of every instance, and the time that its store may need.
constexpr std::chrono::seconds kTestimony{5};

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
  Result<embed::Opened> opened = OpenToLook(flags.common);
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
          info.counted() ? std::to_string(info.left) : "-", Forecast(info));
  }
  return kExitOk;
}

int RunKeyspaceShow(const KeyspaceFlags& flags) {
  Result<embed::Opened> opened = OpenToLook(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  return Show(*opened->engine, flags, /*warn=*/true);
}

int RunKeyspaceCreate(const KeyspaceFlags& flags) {
  Result<Recipe> recipe = mint::RecipeFromWords(flags.words);
  if (!recipe.ok()) return Fail(recipe.status());
  Result<embed::Opened> opened = OpenToLook(flags.common, Absent::kCreate);
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
  Result<embed::Opened> opened = OpenToLook(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  if (Status done = opened->engine->Retire(flags.name); !done.ok()) {
    return Fail(Describe(*opened->engine, done, flags.name));
  }
  return Show(*opened->engine, flags);
}

int RunRecover(const KeyspaceFlags& flags) {
  Result<embed::Opened> opened = mint::AskPatiently([&] { return OpenToLook(flags.common); });
  if (!opened.ok()) return Fail(opened.status());
  mint::Engine& engine = *opened->engine;
  engine.AwaitSettled();  // Others may be about to object.
  const auto quarantined =
      mint::AskPatiently([&] { return engine.QuarantineIfBehind(flags.name); });
  if (!quarantined.ok()) return Fail(Describe(engine, quarantined.status(), flags.name));
  if (*quarantined) {
    // It may have been quarantined only now, or just before.
    Say("keymill: waiting {} s for every running instance to say what it has seen\n",
        kTestimony.count());
    std::this_thread::sleep_for(kTestimony);
  }
  Result<RecoverReport> report = engine.Recover(flags.name);
  if (!report.ok()) return Fail(Describe(engine, report.status(), flags.name));
  Say("keymill: {} is open again. Next number {} (it was {}): {} numbers were skipped, and "
      "{} that had been given back were burned.\n"
      "Every running instance of this keyspace must be restarted.\n",
      flags.name, report->next_after, report->next_before, report->next_after - report->next_before,
      report->returned_burned ? std::to_string(*report->returned_burned) : "those");
  if (report->keys_burned > 0) {
    Say("{} keys of the pool may have been handed out meanwhile, and are burned.\n",
        report->keys_burned);
  }
  if (!report->forgotten.empty()) Say("Mind: {}\n", report->forgotten);
  // It is recovered, whether or not the store tells now how far it has come.
  static_cast<void>(Show(engine, flags));
  return kExitOk;
}

int RunBounds(const BoundsFlags& flags) {
  api::http::TimeRange range;
  for (const auto& [flag, text, out] : {std::tuple("--from", &flags.from, &range.from_ms),
                                        std::tuple("--to", &flags.to, &range.to_ms)}) {
    const Result<std::int64_t> ms = ParseUtcText(*text);
    if (!ms.ok())
      return Fail({Code::kInvalidArgument, fmt::format("{}: {}", flag, ms.status().message())});
    *out = *ms;
  }
  Result<embed::Opened> opened = OpenToLook(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  const Result<mint::Engine::Bounds> bounds =
      opened->engine->BoundsOf(flags.keyspace, range.from_ms, range.to_ms);
  if (!bounds.ok()) return Fail(Describe(*opened->engine, bounds.status(), flags.keyspace));
  if (flags.json) {
    Print("{}\n", api::http::BoundsJson(flags.keyspace, range, *bounds));
  } else {
    Print("{}\n{}\n", bounds->first, bounds->last);
  }
  return kExitOk;
}

}  // namespace keymill::app
