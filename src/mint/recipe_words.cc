// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/recipe_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/suggest.h"
#include "keys/codec.h"
#include "keys/recipe_text.h"

namespace keymill::mint {
namespace {

template <typename Number>
Status SetNumber(const RecipeWord& word, Number& out) {
  const std::string& text = word.values.front();
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, out);
  if (error == std::errc() && stopped == end) return Status::Ok();
  return {Code::kInvalidArgument,
          error == std::errc::result_out_of_range
              ? fmt::format("{}: {:.32} is too large", word.word, text)
              : fmt::format("{}: expected a whole number, not \"{:.32}\"", word.word, text)};
}

Status SetKind(const RecipeWord& word, Recipe& recipe) {
  const Result<Kind> kind = ParseKind(word.values.front());
  if (!kind.ok()) return kind.status();
  recipe.kind = *kind;
  return Status::Ok();
}

Status SetCheck(const RecipeWord& word, Recipe& recipe) {
  const std::string& text = word.values.front();
  if (text == "true" || text == "appended") {
    recipe.check = CheckSymbol::kAppended;
  } else if (text == "false" || text == "none") {
    recipe.check = CheckSymbol::kNone;
  } else {
    return {Code::kInvalidArgument,
            fmt::format("check: \"{:.32}\" is neither true (appended) nor false (none)", text)};
  }
  return Status::Ok();
}

// A word, and how its values get into a recipe.
struct Word {
  std::string_view name;
  bool several = false;  // May have any number of values; others have exactly one.
  Status (*set)(const RecipeWord& word, Recipe& recipe) = nullptr;
};

constexpr std::array<Word, 7> kWords = {{
    {"kind", false, SetKind},
    {"alphabet", false,
     [](const RecipeWord& word, Recipe& recipe) {
       recipe.alphabet = word.values.front();
       return Status::Ok();
     }},
    {"length", false,
     [](const RecipeWord& word, Recipe& recipe) { return SetNumber(word, recipe.length); }},
    {"prefix", false,
     [](const RecipeWord& word, Recipe& recipe) {
       recipe.prefix = word.values.front();
       return Status::Ok();
     }},
    {"check", false, SetCheck},
    {"start", false,
     [](const RecipeWord& word, Recipe& recipe) { return SetNumber(word, recipe.start); }},
    {"blocklist", true,
     [](const RecipeWord& word, Recipe& recipe) {
       recipe.blocklist = word.values;
       return Status::Ok();
     }},
}};

constexpr std::array<std::string_view, kWords.size()> kNames = [] {
  std::array<std::string_view, kWords.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kWords[i].name;
  return names;
}();

Status CheckWords(std::span<const RecipeWord> words) {
  std::array<bool, kWords.size()> seen{};
  for (const RecipeWord& word : words) {
    const auto found = std::find(kNames.begin(), kNames.end(), word.word);
    if (found == kNames.end()) {
      return {Code::kInvalidArgument, fmt::format("recipe: \"{:.32}\" is unknown{}", word.word,
                                                  DidYouMean(word.word, kNames))};
    }
    const auto index = static_cast<std::size_t>(found - kNames.begin());
    if (std::exchange(seen[index], true)) {
      return {Code::kInvalidArgument, fmt::format("recipe: {} is given twice", word.word)};
    }
    if (!kWords[index].several && word.values.size() != 1) {
      return {Code::kInvalidArgument,
              fmt::format("{}: {} values, exactly one is needed", word.word, word.values.size())};
    }
  }
  return Status::Ok();
}

}  // namespace

std::span<const std::string_view> RecipeWordNames() { return kNames; }

Result<Recipe> RecipeFromWords(std::span<const RecipeWord> words) {
  if (Status status = CheckWords(words); !status.ok()) return status;
  // The kind comes first, wherever it was written: the defaults depend on it.
  Recipe recipe = DefaultRecipe(Kind::kShuffled);
  for (const RecipeWord& word : words) {
    if (word.word != "kind") continue;
    if (Status status = SetKind(word, recipe); !status.ok()) return status;
    recipe = DefaultRecipe(recipe.kind);
  }
  for (const RecipeWord& word : words) {
    const auto found = std::find(kNames.begin(), kNames.end(), word.word);
    const Word& known = kWords[static_cast<std::size_t>(found - kNames.begin())];
    if (Status status = known.set(word, recipe); !status.ok()) return status;
  }
  if (Status status = keys::Codec::Validate(recipe); !status.ok()) return status;
  return keys::CanonicalRecipe(recipe);
}

}  // namespace keymill::mint
