// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill import`, as the parser sees it.

#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "app/commands.h"
#include "app/recipe_flags.h"
#include "app/setting_flags.h"

namespace keymill::app {

// What the parser writes into; must live, and stay in its place, as long as the parser.
class ImportVerbs {
 public:
  ImportVerbs() = default;
  ImportVerbs(const ImportVerbs&) = delete;
  ImportVerbs& operator=(const ImportVerbs&) = delete;

  // Adds the verb. Its subcommand that is chosen sets `run`.
  void AddTo(CLI::App& app, SettingFlags& settings, std::function<int()>& run);

 private:
  // A subcommand that takes over from `source`.
  CLI::App* Add(const char* name, const char* summary, const char* source,
                const char* source_summary, int (*body)(const ImportFlags&));
  void AddServices();
  void AddDatabases();
  void AddCodes();
  void AddKeyspace(CLI::App& verb);
  // What all have, and those that only set a beginning.
  void Finish(CLI::App& verb);
  void FinishCounter(CLI::App& verb);

  ImportFlags flags_;
  RecipeFlags words_;
  CLI::App* group_ = nullptr;
  SettingFlags* settings_ = nullptr;
  std::function<int()>* run_ = nullptr;
};

}  // namespace keymill::app
