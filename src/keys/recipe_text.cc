// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The text is a promise to every store that holds one. A new field may be added only so
// that recipes without it keep their text.

#include "keys/recipe_text.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hex.h"
#include "keys/alphabet.h"
#include "keys/recipe_fields.h"

namespace keymill::keys {
namespace {

using Json = nlohmann::ordered_json;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

Status NotARecipe() {
  return {Code::kInvalidArgument,
          "recipe text: not one that this version writes; a newer version or somebody's hand did"};
}

Json FieldJson(const RecipeField& field, const Recipe& recipe) {
  const std::vector<std::string> values = field.values(recipe);
  switch (field.form) {
    case RecipeField::Form::kText:
      return values.front();
    case RecipeField::Form::kNumber:
      return std::stoull(values.front());
    case RecipeField::Form::kFlag:
      return values.front() == "true";
    case RecipeField::Form::kList:
      return values;
  }
  return {};
}

// The values of a field as RecipeText has written them; nothing when it did not.
std::optional<std::vector<std::string>> FieldValues(const RecipeField& field, const Json& json) {
  const auto found = json.find(std::string(field.name));
  if (found == json.end()) return {};
  switch (field.form) {
    case RecipeField::Form::kText:
      if (found->is_string()) return {{found->get<std::string>()}};
      break;
    case RecipeField::Form::kNumber:
      if (found->is_number_unsigned()) return {{found->dump()}};
      break;
    case RecipeField::Form::kFlag:
      if (found->is_boolean()) return {{found->dump()}};
      break;
    case RecipeField::Form::kList:
      if (found->is_array() && std::all_of(found->begin(), found->end(),
                                           [](const Json& word) { return word.is_string(); })) {
        return found->get<std::vector<std::string>>();
      }
      break;
  }
  return {};
}

bool IsKept(const RecipeField& field, Kind kind) {
  return !field.shorthand && field.BelongsTo(kind);
}

bool IsLeftOut(const RecipeField& field, const Recipe& recipe) {
  return field.later && field.values(recipe).front().empty();
}

std::string DescribeLists(std::string_view name, const std::vector<std::string>& in_store,
                          const std::vector<std::string>& here) {
  std::vector<std::string> missing;
  std::vector<std::string> added;
  std::set_difference(in_store.begin(), in_store.end(), here.begin(), here.end(),
                      std::back_inserter(missing));
  std::set_difference(here.begin(), here.end(), in_store.begin(), in_store.end(),
                      std::back_inserter(added));
  return fmt::format("{} has {} words in the store, {} here ({} only in the store, {} only here)",
                     name, in_store.size(), here.size(), missing.size(), added.size());
}

}  // namespace

Recipe CanonicalRecipe(const Recipe& recipe) {
  Recipe canonical = recipe;
  if (const Result<Alphabet> alphabet = Alphabet::Parse(recipe.alphabet); alphabet.ok()) {
    canonical.alphabet = alphabet->name();
  }
  std::vector<std::string>& words = canonical.blocklist;
  std::transform(words.begin(), words.end(), words.begin(), LowerCase);
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return canonical;
}

std::string RecipeText(const Recipe& recipe) {
  const Recipe canonical = CanonicalRecipe(recipe);
  Json json;
  json["kind"] = KindName(canonical.kind);
  for (const RecipeField& field : RecipeFields()) {
    if (!IsKept(field, recipe.kind) || IsLeftOut(field, canonical)) continue;
    json[std::string(field.name)] = FieldJson(field, canonical);
  }
  return json.dump();
}

Result<Recipe> ParseRecipeText(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("kind") || !json["kind"].is_string()) {
    return NotARecipe();
  }
  const Result<Kind> kind = ParseKind(json["kind"].get_ref<const std::string&>());
  if (!kind.ok()) return kind.status();
  Recipe recipe = DefaultRecipe(*kind);
  for (const RecipeField& field : RecipeFields()) {
    if (!IsKept(field, *kind)) continue;
    const auto values = FieldValues(field, json);
    if (!values && field.later) continue;
    if (!values || !field.set(*values, recipe).ok()) return NotARecipe();
  }
  if (Status status = ValidateRecipe(recipe); !status.ok()) return status;
  // Whatever the parser was generous about (other fields, spaces, order, a number that was
  // cut down to 32 bits) shows here.
  if (RecipeText(recipe) != text) return NotARecipe();
  return recipe;
}

std::string RecipeHash(std::string_view recipe_text, std::span<const std::uint8_t> secret) {
  const std::string_view secret_bytes(reinterpret_cast<const char*>(secret.data()), secret.size());
  return Sha256Hex(fmt::format("{}\n{}", recipe_text, Sha256Hex(secret_bytes)));
}

std::string DescribeDifference(const Recipe& in_store, const Recipe& here) {
  const Recipe a = CanonicalRecipe(in_store);
  const Recipe b = CanonicalRecipe(here);
  std::vector<std::string> parts;
  const auto compare = [&](std::string_view field, const auto& left, const auto& right) {
    if (left == right) return;
    parts.push_back(fmt::format("{} is {} in the store, {} here", field, left, right));
  };
  compare("kind", KindName(a.kind), KindName(b.kind));
  for (const RecipeField& field : RecipeFields()) {
    if (!IsKept(field, a.kind) || !IsKept(field, b.kind)) continue;
    const std::vector<std::string> left = field.values(a);
    const std::vector<std::string> right = field.values(b);
    if (field.form == RecipeField::Form::kList) {
      if (left != right) parts.push_back(DescribeLists(field.name, left, right));
    } else if (field.name == "prefix" || field.later) {  // Often none at all.
      compare(field.name, fmt::format("\"{}\"", left.front()),
              fmt::format("\"{}\"", right.front()));
    } else {
      compare(field.name, left.front(), right.front());
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace keymill::keys
