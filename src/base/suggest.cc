// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/suggest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

namespace keymill {
namespace {

// Insertions, deletions, replacements and swaps of neighbours, each counted once.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  // Row i holds the distances from the first i letters of `a`; three rows are enough,
  // because a swap looks back two.
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;

  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::size_t limit = (word.size() + 2) / 3;
  std::string_view nearest;
  for (const std::string_view candidate : candidates) {
    // The distance is at least the difference in length; this also keeps a word of a
    // megabyte from costing more than a glance.
    const std::size_t longer = std::max(word.size(), candidate.size());
    if (longer - std::min(word.size(), candidate.size()) > limit) continue;
    const std::size_t distance = EditDistance(word, candidate);
    if (distance > limit || (distance == limit && !nearest.empty())) continue;
    limit = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view nearest = Nearest(word, candidates);
  return nearest.empty() ? std::string() : fmt::format(", did you mean \"{}\"?", nearest);
}

}  // namespace keymill
