// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/code_import.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "keys/codec.h"
#include "mint/aliases.h"
#include "mint/counter_keyspace.h"
#include "mint/taken_list.h"

namespace keymill::mint {
namespace {

constexpr std::size_t kRowsPerCall = 1'000;

// Who has what was imported, in the record of keys.
constexpr std::string_view kImported = "import";

// Of a keyspace that counts, the codes that are written like its keys: nobody can claim one, so
// that they need no row.
Result<std::vector<bool>> WhichAreKeys(Recipe recipe, const std::vector<std::string>& codes) {
  recipe.start = 0;
  const std::array<std::uint8_t, keys::kSecretSize> any_secret{};
  const bool shuffled = recipe.kind == Kind::kShuffled;
  const Result<keys::Codec> codec =
      keys::Codec::Make(recipe, shuffled ? std::span<const std::uint8_t>(any_secret)
                                         : std::span<const std::uint8_t>());
  if (!codec.ok()) return codec.status();
  std::vector<bool> are;
  are.reserve(codes.size());
  for (const std::string& code : codes) are.push_back(codec->HasForm(code));
  return are;
}

// Adds a row for each code, in `state`; counts what was there already and is somebody else's.
class RowImport {
 public:
  RowImport(KeyRegister& keys, Keyspace& keyspace, KeyState state)
      : keys_(keys), keyspace_(keyspace), state_(state) {}

  Status Add(const std::string& code) {
    rows_.push_back({.key = code,
                     .state = state_,
                     .since_ms = keys_.NowMs(),
                     .instance = std::string(kImported),
                     .owner = std::string(kImported)});
    return rows_.size() < kRowsPerCall ? Status() : Flush();
  }

  Status Flush() {
    if (rows_.empty()) return {};
    const auto present = keys_.AddPatiently(keyspace_, rows_);
    if (!present.ok()) return present.status();
    std::vector<std::string> stocked;
    for (const std::optional<KeyRow>& row : *present) {
      if (!row) continue;
      // What a pool had ready, and an import has withdrawn, was never any instance's.
      const bool ours = row->state == state_ && (row->owner == kImported || row->instance.empty());
      if (row->state == KeyState::kAvailable) {
        stocked.push_back(row->key);
      } else if (!ours) {
        ++met_;
      }
    }
    rows_.clear();
    return Withdraw(stocked);
  }

  [[nodiscard]] std::uint64_t met() const { return met_; }

 private:
  // A pool had them ready for somebody.
  Status Withdraw(const std::vector<std::string>& stocked) {
    if (stocked.empty()) return {};
    const auto changed =
        keys_.Change(keyspace_, {.match = {.keys = stocked, .state = KeyState::kAvailable},
                                 .to = KeyState::kUsed,
                                 .at_ms = keys_.NowMs(),
                                 .rows_max = static_cast<std::uint32_t>(stocked.size())});
    if (!changed.ok()) return changed.status();
    // Somebody was faster.
    met_ += stocked.size() - changed->size();
    return {};
  }

  KeyRegister& keys_;
  Keyspace& keyspace_;
  const KeyState state_;
  std::vector<KeyRow> rows_;
  std::uint64_t met_ = 0;
};

// Codes that the keyspace cannot make: whoever could claim one must not.
Status ImportOthers(KeyRegister& keys, Keyspace& keyspace, const std::vector<std::string>& codes,
                    const std::vector<bool>& are_keys, CodeImport& import) {
  RowImport aliases(keys, keyspace, KeyState::kAlias);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (are_keys[i]) continue;
    if (JudgeAlias(keyspace, codes[i]).verdict != ClaimVerdict::kClaimed) {
      ++import.ignored;
      continue;
    }
    ++import.claimed;
    if (Status added = aliases.Add(codes[i]); !added.ok()) return added;
  }
  if (Status flushed = aliases.Flush(); !flushed.ok()) return flushed;
  import.met += aliases.met();
  return {};
}

}  // namespace

bool IsImported(const KeyRow& row) {
  if (row.state != KeyState::kUsed) return false;
  // What a pool had ready, and an import has withdrawn, nobody ever took.
  return row.owner == kImported || (row.instance.empty() && row.token.empty());
}

Result<Recipe> RecipeForCodes(Recipe recipe, const std::vector<std::string>& codes) {
  switch (recipe.kind) {
    case Kind::kPool:
    case Kind::kDerived:
      return recipe;
    case Kind::kShuffled: {
      const Result<std::vector<bool>> are_keys = WhichAreKeys(recipe, codes);
      if (!are_keys.ok()) return are_keys.status();
      const bool any = std::find(are_keys->begin(), are_keys->end(), true) != are_keys->end();
      recipe.taken = any ? TakenDigest(codes) : "";
      return recipe;
    }
    case Kind::kSequence: {
      Recipe all = recipe;
      all.start = 0;
      const Result<keys::Codec> codec = keys::Codec::Make(all, {});
      if (!codec.ok()) return codec.status();
      for (const std::string& code : codes) {
        const Result<std::uint64_t> number = codec->Decode(code);
        if (number.ok()) recipe.start = std::max(recipe.start, *number + 1);
      }
      return recipe;
    }
    default:
      return Status(Code::kInvalidArgument,
                    fmt::format("codes cannot be imported into a keyspace of kind {}: use "
                                "shuffled, sequence, pool or derived",
                                KindName(recipe.kind)));
  }
}

Result<CodeImport> ImportCodes(KeyRegister& keys, Keyspace& keyspace,
                               const std::vector<std::string>& codes,
                               const std::function<void(std::uint64_t)>& progress) {
  CodeImport import;
  const Recipe& recipe = keyspace.recipe();
  if (recipe.kind == Kind::kPool || recipe.kind == Kind::kDerived) {
    const bool pool = recipe.kind == Kind::kPool;
    RowImport rows(keys, keyspace, pool ? KeyState::kUsed : KeyState::kAlias);
    for (const std::string& code : codes) {
      if (Status added = rows.Add(code); !added.ok()) return added;
      if (++import.skipped % kRowsPerCall == 0 && progress) progress(import.skipped);
    }
    if (Status flushed = rows.Flush(); !flushed.ok()) return flushed;
    import.met = rows.met();
    return import;
  }
  const Result<std::vector<bool>> are_keys = WhichAreKeys(recipe, codes);
  if (!are_keys.ok()) return are_keys.status();
  if (Status others = ImportOthers(keys, keyspace, codes, *are_keys, import); !others.ok()) {
    return others;
  }
  import.skipped = static_cast<std::uint64_t>(std::count(are_keys->begin(), are_keys->end(), true));
  // Codes that name no list leave that of an earlier import as it is.
  if (recipe.taken.empty() || import.skipped == 0) return import;
  std::vector<std::uint64_t> numbers;
  const keys::Codec& codec = dynamic_cast<CounterKeyspace&>(keyspace).codec();
  for (std::size_t i = 0; i < codes.size(); ++i) {
    // One below the start cannot come anyway. That may be all of them, and is a list, too: nothing
    // is given out before there is one.
    const Result<std::uint64_t> number = codec.Decode(codes[i]);
    if (number.ok()) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  if (Status written = WriteTaken(keys, keyspace, numbers, progress); !written.ok()) return written;
  return import;
}

}  // namespace keymill::mint
