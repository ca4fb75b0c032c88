// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A recipe as the flags of `keymill keyspace create`, for advice that can be pasted.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "keymill/keyspace.h"

namespace keymill::app::doctor {

// "--time-bits" of "time_bits".
std::string RecipeFlagName(std::string_view word);

// "--kind ticket --stride 4 --offset 3 --alphabet decimal": the flags that make this very recipe.
// What has its default is left out, except for the alphabet, which people look for.
std::string RecipeCommandFlags(const Recipe& recipe);

// The recipe of a keyspace that goes on where one of this recipe has no numbers left, and never
// gives one of its keys again: longer by a symbol, or with a prefix where that cannot be; nothing
// where neither can. `taken` is left out, as such a list belongs to one keyspace.
std::optional<Recipe> SuccessorRecipe(const Recipe& recipe);

}  // namespace keymill::app::doctor
