// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The verbs for keys by name, as the parser sees them: claim, derive, pool and audit.

#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "app/commands.h"
#include "app/setting_flags.h"

namespace keymill::app {

// What the parser writes into; must live, and stay in its place, as long as the parser.
class KeyVerbs {
 public:
  KeyVerbs() = default;
  KeyVerbs(const KeyVerbs&) = delete;
  KeyVerbs& operator=(const KeyVerbs&) = delete;

  // Adds the verbs. The one that is chosen sets `run`.
  void AddTo(CLI::App& app, SettingFlags& settings, std::function<int()>& run);

 private:
  void AddClaim(CLI::App& app, SettingFlags& settings, std::function<int()>& run);
  void AddDerive(CLI::App& app, SettingFlags& settings, std::function<int()>& run);
  void AddPool(CLI::App& app, SettingFlags& settings, std::function<int()>& run);
  void AddAudit(CLI::App& app, SettingFlags& settings, std::function<int()>& run);

  ClaimFlags claim_;
  DeriveFlags derive_;
  PoolFlags pool_;
  AuditFlags audit_;
  std::string output_ = "table";
};

}  // namespace keymill::app
