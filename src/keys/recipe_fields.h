// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The fields of a recipe, one by one: what each is called, which kinds have it, and its value as
// text and back. Everything that reads or writes recipes goes by this table, so that a field has
// one name and one set of mistakes, in stores, files, flags and requests.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/keyspace.h"
#include "keymill/status.h"

namespace keymill::keys {

struct RecipeField {
  enum class Form : std::uint8_t {
    kText,
    kNumber,  // In JSON, too.
    kFlag,    // "true" or "false"; in JSON, too.
    kList,    // Any number of values; the others have exactly one.
  };

  std::string_view name;
  Form form = Form::kText;
  // Not kept, but a short way to set others: those that come with it are set on top of it.
  bool shorthand = false;
  // A bit for each kind that has it, by its number.
  std::uint32_t kinds = 0;

  // Nothing for a shorthand.
  std::vector<std::string> (*values)(const Recipe& recipe) = nullptr;
  // kInvalidArgument, with a message that begins with the name, when a value is none.
  Status (*set)(const std::vector<std::string>& values, Recipe& recipe) = nullptr;

  // Came when there were recipes without it, whose hashes must not change: written only where it
  // is not "".
  bool later = false;

  [[nodiscard]] bool BelongsTo(Kind kind) const {
    return (kinds >> static_cast<std::uint32_t>(kind) & 1) != 0;
  }
};

// All but the kind itself, in the order of a recipe's text; shorthands first.
std::span<const RecipeField> RecipeFields();

// Null when there is none of this name.
const RecipeField* FindRecipeField(std::string_view name);

// Whether a keyspace can have this recipe: every field in its range, and at its default where the
// kind does not have it. kInvalidArgument names the field.
Status ValidateRecipe(const Recipe& recipe);

}  // namespace keymill::keys
