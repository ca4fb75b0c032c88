// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/releases.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "mint/code_import.h"
#include "mint/keyspace.h"

namespace keymill::mint {

Result<Release> ReleaseKey(KeyRegister& keys, const Keyspace& keyspace, std::string_view key,
                           std::optional<std::uint64_t> generation) {
  if (!keyspace.recipe().recycle) {
    return Release{ReleaseVerdict::kNeverRecycled,
                   fmt::format("keyspace {} does not take keys back; only a pool that was created "
                               "with recycle does",
                               keyspace.name())};
  }
  const Result<std::optional<KeyRow>> found = keys.Find(keyspace, key);
  if (!found.ok()) return found.status();
  // Aliases are keys of the pool, too, but nobody recycles them; notes are no keys.
  if (!*found || (*found)->state == KeyState::kNote) {
    return Release{ReleaseVerdict::kUnknown,
                   fmt::format("keyspace {} has no such key", keyspace.name())};
  }
  const KeyRow& row = **found;
  if (generation && row.generation != *generation) {
    return Release{ReleaseVerdict::kOtherGeneration,
                   fmt::format("the key is of generation {}, not {}: somebody else has it now",
                               row.generation, *generation)};
  }
  const Release not_used{
      ReleaseVerdict::kNotUsed,
      fmt::format("the key is {}, and only a used one can be released", KeyStateName(row.state))};
  if (row.state != KeyState::kUsed) return not_used;
  if (IsImported(row)) {
    return Release{ReleaseVerdict::kNeverRecycled,
                   "the key was imported: another service gave it out, and it is never recycled"};
  }
  // The generation as it was found, whether asked for or not: the key may live its next life by
  // now.
  // Its rest begins no earlier than its use did, whatever a clock that was set back says.
  const std::int64_t now_ms = std::max(keys.NowMs(), row.since_ms);
  const Result<std::vector<KeyRow>> changed =
      keys.Change(keyspace, {.match = {.keys = {std::string(key)},
                                       .state = KeyState::kUsed,
                                       .generation = row.generation},
                             .to = KeyState::kReleased,
                             .at_ms = now_ms});
  if (!changed.ok()) return changed.status();
  if (!changed->empty()) return Release{};
  // A call that was repeated for want of an answer finds what it did itself.
  const Result<std::optional<KeyRow>> after = keys.Find(keyspace, key);
  if (!after.ok()) return after.status();
  if (*after && (*after)->state == KeyState::kReleased && (*after)->since_ms == now_ms) {
    return Release{};
  }
  return Release{ReleaseVerdict::kNotUsed, "the key was released by somebody else just now"};
}

}  // namespace keymill::mint
