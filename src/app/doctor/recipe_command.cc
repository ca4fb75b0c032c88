// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/recipe_command.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/doctor/finding.h"
#include "keys/alphabet.h"
#include "keys/recipe_fields.h"

namespace keymill::app::doctor {
namespace {

// What no key of `recipe` has behind its prefix, because the symbol at its end is none of the
// alphabet; "" where every symbol that a prefix may have is.
std::string Mark(const Recipe& recipe) {
  const Result<keys::Alphabet> alphabet = keys::Alphabet::Parse(recipe.alphabet);
  for (const char symbol : {'_', '-', '.'}) {
    if (!alphabet.ok() || alphabet->symbols().find(symbol) == std::string_view::npos) {
      return fmt::format("2{}", symbol);
    }
  }
  return "";
}

}  // namespace

std::string RecipeFlagName(std::string_view word) {
  std::string name = fmt::format("--{}", word);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string RecipeCommandFlags(const Recipe& recipe) {
  const Recipe normal = DefaultRecipe(recipe.kind);
  std::string flags = fmt::format("--kind {}", KindName(recipe.kind));
  for (const keys::RecipeField& field : keys::RecipeFields()) {
    if (!field.BelongsTo(recipe.kind)) continue;
    const std::vector<std::string> values = field.values(recipe);
    if (values == field.values(normal) && field.name != "alphabet") continue;
    flags += fmt::format(" {} {}", RecipeFlagName(field.name),
                         ShellWord(fmt::format("{}", fmt::join(values, ","))));
  }
  return flags;
}

std::optional<Recipe> SuccessorRecipe(const Recipe& recipe) {
  Recipe next = recipe;
  next.taken.clear();
  // Numbers of any length end at 2^63, so that one that grows cannot grow any more.
  if (recipe.length > 0) {
    ++next.length;
    if (keys::ValidateRecipe(next).ok()) return next;
    next.length = recipe.length;
  }
  const std::string mark = Mark(recipe);
  next.prefix += mark;
  if (mark.empty() || !keys::ValidateRecipe(next).ok()) return {};
  return next;
}

}  // namespace keymill::app::doctor
