// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keyspaces and explanations as JSON. Every number that may pass 2^53 is a string: a number
// silently loses digits in JavaScript.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keymill/status.h"

#include "api/http/parameters.h"
#include "mint/engine.h"
#include "mint/recipe_words.h"

namespace keymill::api::http {

std::string KeyspaceJson(const mint::KeyspaceInfo& info);
std::string ExplanationJson(const mint::Explanation& explanation, std::string_view key);
// A key that somebody has claimed; `owner` may be "".
std::string ClaimJson(std::string_view keyspace, std::string_view key, std::string_view owner);
std::string DerivedJson(std::string_view keyspace, const mint::Engine::Derived& derived);
std::string BoundsJson(std::string_view keyspace, const TimeRange& range,
                       const mint::Engine::Bounds& bounds);

// "2026-11-15T04:05:06Z"
std::string IsoTime(std::int64_t ms);

// A flat JSON object as words: {"kind":"sequence","blocklist":["bad"]}.
// Errors: kInvalidArgument for anything else: other JSON, a name given twice, nesting, bytes
//         behind the end.
Result<std::vector<mint::RecipeWord>> ParseWords(std::string_view json);

// A flat JSON object of integers, each as it was written: {"count":5}.
// Errors: as ParseWords, and for any other value, naming it.
Result<std::vector<std::pair<std::string, std::string>>> ParseIntegers(std::string_view json);

// The same of strings: {"owner":"maria"}.
Result<std::vector<std::pair<std::string, std::string>>> ParseStrings(std::string_view json);

}  // namespace keymill::api::http
