// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The command line as data: what completions and manual pages are made of, so that neither can
// name a verb or flag that does not exist.

#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace keymill::app {

struct CommandOption {
  std::vector<std::string> names;    // "-o", "--output"; for an argument just "FILE".
  std::string value;                 // "FORMAT"; "" for a flag without a value.
  std::vector<std::string> choices;  // What the value may be, where that is a short list.
  std::string summary;
  bool required = false;
  bool several = false;
};

struct Command {
  std::string path;  // "keymill keyspace create"
  std::string name;  // "create"
  std::string summary;
  std::string footer;
  std::vector<CommandOption> options;
  std::vector<CommandOption> arguments;
  std::vector<Command> verbs;
};

// The tree below `app`. What its help is silent on is left out.
Command ReadCommands(const CLI::App& app);

// `root` and all below it, each before its verbs.
std::vector<const Command*> AllCommands(const Command& root);

}  // namespace keymill::app
