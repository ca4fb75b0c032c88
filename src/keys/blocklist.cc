// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/blocklist.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace keymill::keys {
namespace {

constexpr std::size_t kWordsMax = 1000;
constexpr std::size_t kWordSizeMin = 3;
constexpr std::size_t kWordSizeMax = 16;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsWordSymbol(char c) {
  const char lower = Lower(c);
  return (lower >= '0' && lower <= '9') || (lower >= 'a' && lower <= 'z');
}

// Whether `text`, in lower case, comes before `word` in byte order.
bool Before(std::string_view text, std::string_view word) {
  const std::size_t size = std::min(text.size(), word.size());
  for (std::size_t i = 0; i < size; ++i) {
    const auto left = static_cast<unsigned char>(Lower(text[i]));
    const auto right = static_cast<unsigned char>(word[i]);
    if (left != right) return left < right;
  }
  return text.size() < word.size();
}

bool BeginsWith(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(),
                    [](char in_word, char in_text) { return in_word == Lower(in_text); });
}

}  // namespace

Result<Blocklist> Blocklist::Make(std::span<const std::string> words) {
  if (words.size() > kWordsMax) {
    return {Code::kInvalidArgument,
            fmt::format("blocklist: {} words, at most {} are allowed; \"{:.16}\" is one too many",
                        words.size(), kWordsMax, words[kWordsMax])};
  }
  Blocklist list;
  for (const std::string& word : words) {
    if (word.size() < kWordSizeMin || word.size() > kWordSizeMax ||
        !std::all_of(word.begin(), word.end(), IsWordSymbol)) {
      return {Code::kInvalidArgument, fmt::format("blocklist: \"{:.32}\" is not {} to {} letters "
                                                  "or digits",
                                                  word, kWordSizeMin, kWordSizeMax)};
    }
    std::string& lower = list.words_.emplace_back(word);
    std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  }
  std::sort(list.words_.begin(), list.words_.end());
  // After sorting, words that begin with another stand right behind it. They add nothing.
  std::vector<std::string> kept;
  for (std::string& word : list.words_) {
    if (kept.empty() || !word.starts_with(kept.back())) kept.push_back(std::move(word));
  }
  list.words_ = std::move(kept);
  return list;
}

bool Blocklist::Matches(std::string_view text) const {
  for (; text.size() >= kWordSizeMin; text.remove_prefix(1)) {
    // No word begins with another, so of all words only the last that is not after `text`
    // can be the beginning of it.
    const auto after = std::upper_bound(words_.begin(), words_.end(), text, Before);
    if (after != words_.begin() && BeginsWith(text, *(after - 1))) return true;
  }
  return false;
}

}  // namespace keymill::keys
