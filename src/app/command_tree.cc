// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/command_tree.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace keymill::app {
namespace {

// CLI11 tells the choices of a value only in words: "FORMAT:{table,json}".
void SplitType(std::string_view type, CommandOption& option) {
  const std::size_t brace = type.find('{');
  const std::size_t colon = type.find(':');
  const bool list = brace != std::string_view::npos && type.ends_with('}') && colon + 1 == brace;
  // Other checks, such as ranges, follow a colon as well; a value such as HOST:PORT has one of
  // its own.
  const bool range =
      colon != std::string_view::npos && type.find(" in [") != std::string_view::npos;
  option.value = type.substr(0, list || range ? colon : type.size());
  if (!list) return;
  std::string_view words = type.substr(brace + 1, type.size() - brace - 2);
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(','), words.size());
    option.choices.emplace_back(words.substr(0, comma));
    words.remove_prefix(std::min(comma + 1, words.size()));
  }
}

CommandOption ReadOption(const CLI::Option& read) {
  CommandOption option;
  if (read.get_positional()) option.names.push_back(read.get_name(true));
  for (const std::string& name : read.get_snames()) option.names.push_back("-" + name);
  for (const std::string& name : read.get_lnames()) option.names.push_back("--" + name);
  if (read.get_items_expected_max() > 0) SplitType(read.get_type_name(), option);
  option.summary = read.get_description();
  option.required = read.get_required();
  option.several = read.get_items_expected_max() > 1;
  return option;
}

Command Read(const CLI::App& app, const std::string& parent) {
  Command command;
  command.name = app.get_name();
  command.path = parent.empty() ? command.name : fmt::format("{} {}", parent, command.name);
  command.summary = app.get_description();
  command.footer = app.get_footer();
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_group().empty()) continue;
    auto& list = option->get_positional() ? command.arguments : command.options;
    list.push_back(ReadOption(*option));
  }
  for (const CLI::App* const verb : app.get_subcommands({})) {
    command.verbs.push_back(Read(*verb, command.path));
  }
  return command;
}

void Collect(const Command& command, std::vector<const Command*>& all) {
  all.push_back(&command);
  for (const Command& verb : command.verbs) Collect(verb, all);
}

}  // namespace

Command ReadCommands(const CLI::App& app) { return Read(app, ""); }

std::vector<const Command*> AllCommands(const Command& root) {
  std::vector<const Command*> all;
  Collect(root, all);
  return all;
}

}  // namespace keymill::app
