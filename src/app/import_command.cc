// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill import`: keyspaces that go on where other services have stopped.

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/cli.h"
#include "app/commands.h"
#include "app/doctor/recipe_command.h"
#include "app/import_sources.h"
#include "app/output.h"
#include "app/progress_bar.h"
#include "keys/recipe_fields.h"
#include "load/quantity.h"
#include "mint/recipe_words.h"

namespace keymill::app {
namespace {

constexpr std::chrono::seconds kReadTimeout{30};

using Reader = Result<std::vector<Successor>> (*)(embed::ForeignDatabase&, MonotonicTime);

MonotonicTime ReadDeadline() { return SystemClock().Monotonic() + kReadTimeout; }

Result<embed::ForeignDatabase> OpenSource(const std::string& url) {
  return embed::ForeignDatabase::Open(url, SystemClock(), ReadDeadline());
}

// The store, made if there is none, without the keyspaces of the configuration: those that are
// imported come first.
Result<embed::Opened> OpenTarget(const CommonFlags& common) {
  Result<embed::Opened> opened = OpenToLook(common, Absent::kCreate);
  if (opened.ok()) opened->engine->AwaitSettled();
  return opened;
}

// Of a ticket `start` counts indices.
Status AddMargin(std::uint64_t margin, Recipe& recipe) {
  const std::uint64_t steps = (margin + recipe.stride - 1) / recipe.stride;
  if (recipe.start > kNumberEnd - steps) {
    return {Code::kInvalidArgument, "--margin: no numbers are left behind it"};
  }
  recipe.start += steps;
  return {};
}

// Refuses before anything is made.
Status CheckAll(const std::vector<Successor>& successors) {
  for (const Successor& each : successors) {
    if (Status named = CheckKeyspaceName(each.name); !named.ok()) {
      return {Code::kInvalidArgument,
              fmt::format("{}; leave it out with --only, and create a keyspace of another name: "
                          "keymill keyspace create NAME {}",
                          named.message(), doctor::RecipeCommandFlags(each.recipe))};
    }
    if (Status valid = keys::ValidateRecipe(each.recipe); !valid.ok()) {
      return {Code::kInvalidArgument, fmt::format("{}: {}", each.name, valid.message())};
    }
  }
  return {};
}

// The first number that will be minted, as people know it: of a ticket `start` counts indices.
// REQUIRES: keys::ValidateRecipe(recipe).ok()
std::uint64_t FirstNumber(const Recipe& recipe) {
  if (recipe.kind != Kind::kTicket) return recipe.start;
  return recipe.start * recipe.stride + recipe.offset;
}

int Succeed(const ImportFlags& flags, std::vector<Successor> successors) {
  for (Successor& each : successors) {
    if (Status margin = AddMargin(flags.margin, each.recipe); !margin.ok()) return Fail(margin);
  }
  if (Status sound = CheckAll(successors); !sound.ok()) return Fail(sound);
  if (flags.dry_run) {
    for (const Successor& each : successors) {
      Print("{} would begin at {} ({})\n", each.name, FirstNumber(each.recipe), each.told);
    }
    return kExitOk;
  }
  Result<embed::Opened> opened = OpenTarget(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  for (const Successor& each : successors) {
    const auto created = opened->engine->Create(each.name, each.recipe);
    if (!created.ok()) return Fail(created.status());
    Print("{} {} at {} ({})\n", each.name, created->fresh ? "begins" : "is there, and began",
          FirstNumber(each.recipe), each.told);
  }
  return kExitOk;
}

int ImportTagged(const ImportFlags& flags, Reader read) {
  Result<embed::ForeignDatabase> database = OpenSource(flags.source);
  if (!database.ok()) return Fail(database.status());
  Result<std::vector<Successor>> all = read(*database, ReadDeadline());
  if (!all.ok()) return Fail(all.status());
  const auto find = [&](const std::string& name) {
    return std::find_if(all->begin(), all->end(),
                        [&](const Successor& each) { return each.name == name; });
  };
  if (flags.only.empty()) return Succeed(flags, *std::move(all));
  std::vector<Successor> chosen;
  for (const std::string& name : flags.only) {
    const auto found = find(name);
    if (found == all->end()) {
      return Fail({Code::kNotFound, fmt::format("--only {}: there is no such row", name)});
    }
    chosen.push_back(*found);
  }
  return Succeed(flags, std::move(chosen));
}

int ImportOne(const ImportFlags& flags, Result<Successor> successor) {
  if (!successor.ok()) return Fail(successor.status());
  successor->name = flags.keyspace;
  return Succeed(flags, {*std::move(successor)});
}

int TellImport(const std::string& keyspace, const mint::CodeImport& import) {
  Print(
      "{} {} codes: {} that it could make are skipped, {} more cannot be claimed, {} it could "
      "never give out\n",
      keyspace, import.fresh ? "is made, and keeps from" : "keeps from", import.skipped,
      import.claimed, import.ignored);
  if (import.met == 0) return kExitOk;
  return Fail({Code::kAlreadyExists,
               fmt::format("{} of the codes were given out by {} itself, before they were imported",
                           import.met, keyspace)});
}

int TakeCodes(const ImportFlags& flags, const std::string& keyspace, const Recipe& recipe,
              const std::vector<std::string>& codes) {
  const Result<Recipe> fitting = mint::RecipeForCodes(recipe, codes);
  if (!fitting.ok()) return Fail(fitting.status());
  if (flags.dry_run) {
    Print("{} codes would be kept from {}\n", codes.size(), keyspace);
    return kExitOk;
  }
  Result<embed::Opened> opened = OpenTarget(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  const auto import = [&] {
    ProgressBar bar;
    const auto draw = [&](std::uint64_t done) {
      bar.Draw(fmt::format("{} of {} codes", load::CountText(done), load::CountText(codes.size())),
               static_cast<double>(done) / static_cast<double>(codes.size()));
    };
    return opened->engine->Import(keyspace, recipe, codes, draw);
  }();
  return import.ok() ? TellImport(keyspace, *import) : Fail(import.status());
}

}  // namespace

int RunImportLeaf(const ImportFlags& flags) { return ImportTagged(flags, ReadLeaf); }

int RunImportTinyid(const ImportFlags& flags) { return ImportTagged(flags, ReadTinyid); }

int RunImportSequence(const ImportFlags& flags) {
  Result<embed::ForeignDatabase> database = OpenSource(flags.source);
  if (!database.ok()) return Fail(database.status());
  return ImportOne(flags, ReadSequence(*database, flags.table, ReadDeadline()));
}

int RunImportMax(const ImportFlags& flags) {
  Result<embed::ForeignDatabase> database = OpenSource(flags.source);
  if (!database.ok()) return Fail(database.status());
  return ImportOne(flags, ReadColumn(*database, flags.table, flags.column, ReadDeadline()));
}

int RunImportForge(const ImportFlags& flags) {
  Result<embed::ForeignDatabase> database = OpenSource(fmt::format("sqlite:{}", flags.source));
  if (!database.ok()) return Fail(database.status());
  const Result<std::vector<std::string>> codes = ReadForge(*database, ReadDeadline());
  if (!codes.ok()) return Fail(codes.status());
  const std::string keyspace = flags.keyspace.empty() ? "default" : flags.keyspace;
  return TakeCodes(flags, keyspace, DefaultRecipe(Kind::kShuffled), *codes);
}

int RunImportCodes(const ImportFlags& flags) {
  const Result<Recipe> recipe = mint::RecipeFromWords(flags.words);
  if (!recipe.ok()) return Fail(recipe.status());
  std::ifstream file;
  if (flags.source != "-") {
    file.open(flags.source);
    if (!file) return Fail({Code::kNotFound, fmt::format("{} cannot be read", flags.source)});
  }
  const Result<std::vector<std::string>> codes =
      ReadCodes(flags.source == "-" ? std::cin : static_cast<std::istream&>(file));
  if (!codes.ok()) return Fail(codes.status());
  // More likely an export that failed than a service without codes: a keyspace made from it would
  // give out what is in use.
  if (codes->empty()) {
    return Fail({Code::kInvalidArgument,
                 fmt::format("{} has no codes; for a keyspace that skips none: keymill keyspace "
                             "create {}",
                             flags.source == "-" ? "stdin" : flags.source, flags.keyspace)});
  }
  return TakeCodes(flags, flags.keyspace, *recipe, *codes);
}

}  // namespace keymill::app
