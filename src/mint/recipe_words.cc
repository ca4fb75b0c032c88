// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/recipe_words.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/suggest.h"
#include "keys/recipe_fields.h"
#include "keys/recipe_text.h"

namespace keymill::mint {
namespace {

constexpr std::string_view kKind = "kind";

const std::vector<std::string_view>& Names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all = {kKind};
    for (const keys::RecipeField& field : keys::RecipeFields()) all.push_back(field.name);
    return all;
  }();
  return names;
}

Status CheckWords(std::span<const RecipeWord> words) {
  std::set<std::string_view> seen;
  for (const RecipeWord& word : words) {
    const keys::RecipeField* const field = keys::FindRecipeField(word.word);
    if (field == nullptr && word.word != kKind) {
      return {Code::kInvalidArgument, fmt::format("recipe: \"{:.32}\" is unknown{}", word.word,
                                                  DidYouMean(word.word, Names()))};
    }
    if (!seen.insert(word.word).second) {
      return {Code::kInvalidArgument, fmt::format("recipe: {} is given twice", word.word)};
    }
    const bool several = field != nullptr && field->form == keys::RecipeField::Form::kList;
    if (!several && word.values.size() != 1) {
      return {Code::kInvalidArgument,
              fmt::format("{}: {} values, exactly one is needed", word.word, word.values.size())};
    }
  }
  return Status::Ok();
}

const RecipeWord* FindWord(std::span<const RecipeWord> words, std::string_view name) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const RecipeWord& each) { return each.word == name; });
  return found == words.end() ? nullptr : &*found;
}

}  // namespace

std::span<const std::string_view> RecipeWordNames() { return Names(); }

Result<Recipe> RecipeFromWords(std::span<const RecipeWord> words) {
  if (Status status = CheckWords(words); !status.ok()) return status;
  // The kind comes first, wherever it was written: the defaults depend on it.
  Recipe recipe = DefaultRecipe(Kind::kShuffled);
  if (const RecipeWord* const word = FindWord(words, kKind)) {
    const Result<Kind> kind = ParseKind(word->values.front());
    if (!kind.ok()) return kind.status();
    recipe = DefaultRecipe(*kind);
  }
  // Then in the order of the table, so that a short way comes before what it is a way to.
  for (const keys::RecipeField& field : keys::RecipeFields()) {
    const RecipeWord* const word = FindWord(words, field.name);
    if (word == nullptr) continue;
    if (!field.BelongsTo(recipe.kind)) {
      return {Code::kInvalidArgument,
              fmt::format("{}: a keyspace of kind {} has none", field.name, KindName(recipe.kind))};
    }
    if (Status status = field.set(word->values, recipe); !status.ok()) return status;
  }
  if (Status status = keys::ValidateRecipe(recipe); !status.ok()) return status;
  return keys::CanonicalRecipe(recipe);
}

}  // namespace keymill::mint
