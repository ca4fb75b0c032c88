// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Taking over codes that another service has given out: a keyspace that never gives them out again.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "keymill/key_table.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"

#include "mint/key_register.h"

namespace keymill::mint {

class Keyspace;

struct CodeImport {
  bool fresh = false;         // Whether the keyspace was made by this call.
  std::uint64_t skipped = 0;  // Codes that the keyspace could make, and will not.
  std::uint64_t claimed = 0;  // Others that somebody could have claimed as an alias, and cannot.
  std::uint64_t ignored = 0;  // Others that nobody can ever get from the keyspace.
  std::uint64_t met = 0;  // Of a pool that was there before: codes that it has handed out itself.
};

// How a recipe has to be for these codes: of a shuffled keyspace it names the list, a sequence
// begins behind the highest of them. Others stay as they are.
// Errors: kInvalidArgument for kinds that cannot skip codes.
// REQUIRES: sorted, each once.
Result<Recipe> RecipeForCodes(Recipe recipe, const std::vector<std::string>& codes);

// Makes sure that `keyspace`, which has the recipe that RecipeForCodes gave, never gives out one of
// the codes. May be repeated with the same codes. `progress` hears how many are done so far.
// Errors: KeyRegister::Add's.
Result<CodeImport> ImportCodes(KeyRegister& keys, Keyspace& keyspace,
                               const std::vector<std::string>& codes,
                               const std::function<void(std::uint64_t)>& progress = {});

// Whether a row of a pool is a code that was imported: another service has given it out, and
// whoever has it never heard of this keyspace.
bool IsImported(const KeyRow& row);

}  // namespace keymill::mint
