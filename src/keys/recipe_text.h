// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A recipe as text: the form in which a store keeps it and by which two recipes are
// compared. Every default is written out and the order is fixed, so that equal recipes
// have equal texts, today and in ten years.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keymill/keyspace.h"
#include "keymill/status.h"

namespace keymill::keys {

// The same recipe in the spelling that its text has: the alphabet by name where it has one,
// blocklist words in lower case, sorted, each once.
Recipe CanonicalRecipe(const Recipe& recipe);

// One line of JSON with all fields of its kind (broken here only), e.g.
// {"kind":"shuffled","alphabet":"base62","length":7,"prefix":"","check":"none","start":0,
//  "blocklist":[]}
// REQUIRES: ValidateRecipe(recipe).ok()
std::string RecipeText(const Recipe& recipe);

// The inverse. kInvalidArgument when `text` is no such line: it was written by a newer
// version, or by somebody's hand.
Result<Recipe> ParseRecipeText(std::string_view text);

// What makes a keyspace itself: SHA-256 over the text and the secret's own SHA-256, in hex.
std::string RecipeHash(std::string_view recipe_text, std::span<const std::uint8_t> secret);

// "length is 7 in the store, 8 here; prefix is "" in the store, "x_" here", for people.
std::string DescribeDifference(const Recipe& in_store, const Recipe& here);

}  // namespace keymill::keys
