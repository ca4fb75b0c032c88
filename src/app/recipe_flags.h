// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The words of a recipe as flags: --kind, --alphabet and so on.

#pragma once

#include <deque>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "mint/recipe_words.h"

namespace keymill::app {

// What the parser writes into; must live, and stay in its place, as long as the parser.
class RecipeFlags {
 public:
  RecipeFlags() = default;
  RecipeFlags(const RecipeFlags&) = delete;
  RecipeFlags& operator=(const RecipeFlags&) = delete;

  // Adds all words to `verb`.
  void AddTo(CLI::App& verb);

  // Those that the command line has.
  [[nodiscard]] std::vector<mint::RecipeWord> Words() const;

 private:
  struct Flag {
    std::string word;
    std::vector<std::string> values;
    CLI::Option* option = nullptr;
  };
  std::deque<Flag> flags_;
};

}  // namespace keymill::app
