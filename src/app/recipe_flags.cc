// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/recipe_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "app/doctor/recipe_command.h"
#include "base/check.h"

namespace keymill::app {
namespace {

struct RecipeHelp {
  std::string_view word;
  const char* value;
  const char* summary;
};
constexpr std::array<RecipeHelp, 25> kRecipeHelp = {{
    {"kind", "KIND",
     "sequence (counted), shuffled (not guessable from one another), ticket (every n-th number), "
     "snowflake (by time), uuid4, uuid7, ulid, pool (random, made ahead) or derived (from content) "
     "(shuffled)"},
    {"alphabet", "NAME",
     "base62, base64url, base58, base36, base32, hex, decimal, or the symbols themselves (base62; "
     "decimal for snowflake)"},
    {"length", "N",
     "Symbols in a key, without prefix and check symbol, at most 32; 0: as many as the number "
     "needs, for those that count (7 for shuffled, pool and derived, 0 for others)"},
    {"prefix", "TEXT", "Text in front of every key, at most 16 of A-Z a-z 0-9 _ . - (none)"},
    {"check", "BOOL", "true: a check symbol at the end catches mistyped keys (false)"},
    {"start", "N", "The first number (1 for sequence, 0 for others)"},
    {"blocklist", "WORDS",
     "Words that no key may spell, of 3 to 16 symbols: foo,bar; may be repeated (none)"},
    {"taken", "NAME", "Of shuffled: the list of codes in use that keymill import has made (none)"},
    {"counter", "KIND", "Of a ticket: sequence or shuffled (sequence)"},
    {"stride", "N", "Of a ticket: how many authorities share the numbers (1)"},
    {"offset", "N", "Of a ticket: which of them this is, from 1 to the stride (1)"},
    {"layout", "NAME",
     "Of a snowflake: default (41/10/12), twitter, 41-11-11 or javascript (53 bits); the words "
     "below change it (default)"},
    {"time_bits", "N", "Of a snowflake: bits for the time (41)"},
    {"worker_bits", "N", "Of a snowflake: bits for the worker (10)"},
    {"sequence_bits", "N", "Of a snowflake: bits for the sequence (12)"},
    {"epoch", "TIME", "Of a snowflake: the moment 0, as 2025-01-01 or 2025-01-01T00:00:00Z"},
    {"unit_ms", "N", "Of a snowflake: milliseconds in a unit of time (1)"},
    {"workers", "N", "Of a snowflake: worker ids that each instance takes (1)"},
    {"audit", "WORD",
     "Of a pool: batch marks keys as used when they are loaded, key each one before it leaves "
     "(batch)"},
    {"expires_s", "N", "Of a pool: seconds that a key is used; 0: for ever (0)"},
    {"recycle", "BOOL",
     "Of a pool: true: keys that expired or were released are handed out again (false)"},
    {"quarantine_s", "N", "Of a pool: seconds that such keys rest before that (86400)"},
    {"hash", "NAME", "Of derived: sha256 or md5 (sha256)"},
    {"canonical_url", "BOOL",
     "Of derived: true: content is a URL, all spellings of it are one (false)"},
    {"distinct", "BOOL", "Of derived: true: the same content gets another key each time (false)"},
}};

}  // namespace

void RecipeFlags::AddTo(CLI::App& verb) {
  for (const std::string_view word : mint::RecipeWordNames()) {
    Flag& flag = flags_.emplace_back();
    flag.word = word;
    const auto* const help = std::find_if(kRecipeHelp.begin(), kRecipeHelp.end(),
                                          [&](const RecipeHelp& row) { return row.word == word; });
    KEYMILL_CHECK(help != kRecipeHelp.end());
    flag.option = verb.add_option(doctor::RecipeFlagName(word), flag.values, help->summary)
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
