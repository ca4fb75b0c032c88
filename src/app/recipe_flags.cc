// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/recipe_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.h"

namespace keymill::app {
namespace {

struct RecipeHelp {
  std::string_view word;
  const char* value;
  const char* summary;
};
constexpr std::array<RecipeHelp, 7> kRecipeHelp = {{
    {"kind", "KIND", "sequence (counted) or shuffled (not guessable from one another) (shuffled)"},
    {"alphabet", "NAME",
     "base62, base64url, base58, base36, base32, hex, decimal, or the symbols themselves (base62)"},
    {"length", "N",
     "Symbols in a key, without prefix and check symbol, at most 32; 0: as many as the number "
     "needs, sequence only (7 for shuffled, 0 for sequence)"},
    {"prefix", "TEXT", "Text in front of every key, at most 16 of A-Z a-z 0-9 _ . - (none)"},
    {"check", "BOOL", "true: a check symbol at the end catches mistyped keys (false)"},
    {"start", "N", "The first number (0 for shuffled, 1 for sequence)"},
    {"blocklist", "WORDS",
     "Words that no key may spell, of 3 to 16 symbols: foo,bar; may be repeated (none)"},
}};

}  // namespace

void RecipeFlags::AddTo(CLI::App& verb) {
  for (const std::string_view word : mint::RecipeWordNames()) {
    Flag& flag = flags_.emplace_back();
    flag.word = word;
    const auto* const help = std::find_if(kRecipeHelp.begin(), kRecipeHelp.end(),
                                          [&](const RecipeHelp& row) { return row.word == word; });
    KEYMILL_CHECK(help != kRecipeHelp.end());
    flag.option = verb.add_option("--" + flag.word, flag.values, help->summary)
                      ->type_name(help->value)
                      ->allow_extra_args(false);
    if (word == "blocklist") {
      flag.option->delimiter(',');
    } else {
      flag.option->expected(1);
    }
  }
}

std::vector<mint::RecipeWord> RecipeFlags::Words() const {
  std::vector<mint::RecipeWord> words;
  for (const Flag& flag : flags_) {
    if (flag.option->count() > 0) words.push_back({flag.word, flag.values});
  }
  return words;
}

}  // namespace keymill::app
