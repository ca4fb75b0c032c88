// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A recipe as people write it: the words are the same in the configuration file, on the
// command line and in the body of PUT /v1/keyspaces/{k}, and so is what is said of a
// mistake in them.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/keyspace.h"
#include "keymill/status.h"

namespace keymill::mint {

// One word with its value as text. `check` is true or false (or as a recipe's text has it,
// appended or none). `blocklist` is the only word with several values;
// all others must have exactly one.
struct RecipeWord {
  std::string word;                 // kind, or the name of a keys::RecipeField
  std::vector<std::string> values;  // "7", "true", …
};

// The words that exist, for help texts and suggestions.
std::span<const std::string_view> RecipeWordNames();

// The recipe that `words` describe, on top of the defaults of its kind (shuffled when no
// kind is given), validated by ValidateRecipe, in CanonicalRecipe's spelling.
// Errors:
//   kInvalidArgument  an unknown word (with a suggestion where one is near), a word given
//                     twice, a value that does not parse, one that the kind
//                     does not have, or a recipe that cannot be.
Result<Recipe> RecipeFromWords(std::span<const RecipeWord> words);

}  // namespace keymill::mint
