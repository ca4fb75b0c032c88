// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Words that a key must not spell.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

namespace keymill::keys {

class Blocklist {
 public:
  // kInvalidArgument, naming the word, when there are more than 1000 words or one is not
  // 3 to 16 letters or digits.
  static Result<Blocklist> Make(std::span<const std::string> words);

  [[nodiscard]] bool empty() const { return words_.empty(); }

  // Whether a word appears anywhere in `text`, whatever its case.
  [[nodiscard]] bool Matches(std::string_view text) const;

 private:
  std::vector<std::string> words_;  // Lower case, sorted, none the beginning of another.
};

}  // namespace keymill::keys
