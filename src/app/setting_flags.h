// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The settings as flags of the verbs that heed them.

#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/commands.h"
#include "app/config/settings_table.h"

namespace keymill::app {

// Flags are only collected here; config.cc checks them together with the other layers. What the
// parser writes into; must live, and stay in its place, as long as the parser.
class SettingFlags {
 public:
  SettingFlags() = default;
  SettingFlags(const SettingFlags&) = delete;
  SettingFlags& operator=(const SettingFlags&) = delete;

  // --config, and the flags of the settings in `paths`, or of all of them.
  void AddTo(CLI::App& verb, const std::vector<std::string_view>& paths = {});

  // The same for a verb that uses the store: its settings, and those in `more`.
  void AddStoreTo(CLI::App& verb, const std::vector<std::string_view>& more = {});

  // The same, and --server, which names a server to ask instead of the store. With it neither
  // --store nor a flag of `more` is accepted: the server has its own.
  void AddStoreOrServerTo(CLI::App& verb, std::string& server,
                          const std::vector<std::string_view>& more = {});

  // Those that the command line has.
  [[nodiscard]] CommonFlags Common() const;

 private:
  struct Flag {
    std::string path;
    std::string value;
    CLI::Option* option = nullptr;
  };
  void Add(CLI::App& verb, const SettingInfo& info);

  std::deque<Flag> flags_;
  std::string config_file_;
};

// -o, which takes one of `formats`.
void AddOutput(CLI::App& verb, std::string& output,
               const std::vector<std::string>& formats = {"table", "json"});

}  // namespace keymill::app
