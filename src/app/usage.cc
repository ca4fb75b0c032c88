// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/usage.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/suggest.h"

namespace keymill::app {
namespace {

constexpr std::size_t kLineMax = 80;

// What some people look for under another name.
struct OtherName {
  std::string_view flag;   // As they say it.
  std::string_view ours;   // The flag that does it here.
  std::string_view usage;  // How to say that.
};
constexpr OtherName kOtherNames[] = {
    {"--port", "--listen", "--listen HOST:PORT, such as 127.0.0.1:8081"},
    {"--host", "--listen", "--listen HOST:PORT, such as 127.0.0.1:8081"}};

// "; use --listen HOST:PORT", or "".
std::string Ours(std::string_view flag, const std::vector<std::string>& names) {
  for (const OtherName& other : kOtherNames) {
    const std::string_view theirs[] = {other.flag};
    if (Nearest(flag, theirs).empty()) continue;
    if (std::find(names.begin(), names.end(), other.ours) == names.end()) continue;
    return fmt::format("; use {}", other.usage);
  }
  return {};
}

// "; did you mean serve?", or "".
std::string Meant(std::string_view word, const std::vector<std::string>& names,
                  std::string_view before = "") {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view nearest = Nearest(word, views);
  return nearest.empty() ? "" : fmt::format("; did you mean {}{}?", before, nearest);
}

const CLI::App& DeepestVerb(const CLI::App& app) {
  const CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  return *verb;
}

// "keymill keyspace create"
std::string VerbPath(const CLI::App& verb) {
  const CLI::App* const parent = verb.get_parent();
  return parent == nullptr ? verb.get_name()
                           : fmt::format("{} {}", VerbPath(*parent), verb.get_name());
}

std::vector<std::string> FlagNames(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

std::vector<std::string> VerbNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

std::string VerbList(const CLI::App& app) {
  std::string list = "Verbs:";
  std::size_t line = list.size();
  const std::vector<std::string> names = VerbNames(app);
  for (const std::string& name : names) {
    const std::string word = name + (&name == &names.back() ? "." : ",");
    const bool fits = line + 1 + word.size() <= kLineMax;
    list += fmt::format("{}{}", fits ? " " : "\n       ", word);
    line = fits ? line + 1 + word.size() : std::string_view("       ").size() + word.size();
  }
  return list;
}

std::string UnknownVerb(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* parent = &app;
  std::string path;  // "keyspace "
  for (int i = 1; i <= argc; ++i) {
    const std::vector<std::string> names = VerbNames(*parent);
    if (names.empty()) return {};
    const std::string list = fmt::format("\n{}", VerbList(*parent));
    if (i == argc) return fmt::format("{}needs a verb{}", path, list);
    const std::string_view word = argv[i];
    if (word.starts_with('-')) return {};
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      return fmt::format("unknown verb {}{}{}{}", path, word, Meant(word, names, path), list);
    }
    parent = parent->get_subcommand(std::string(word));
    path += fmt::format("{} ", word);
  }
  return {};
}

std::string UsageError(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = DeepestVerb(app);
  const std::vector<std::string> extras = verb.remaining();
  for (const std::string& extra : extras) {
    if (!extra.starts_with('-') || extra == "-" || extra == "--") continue;
    const std::string name = extra.substr(0, extra.find('='));
    const std::vector<std::string> names = FlagNames(verb);
    std::string hint = Meant(name, names);
    if (hint.empty()) hint = Ours(name, names);
    if (hint.empty()) hint = fmt::format("; {} --help lists them", VerbPath(verb));
    return fmt::format("unknown flag {}{}", name, hint);
  }
  if (!extras.empty()) return fmt::format("unexpected argument {}", extras.front());
  std::string said = error.what();
  const std::string name = said.substr(0, said.find(": "));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && name != said) {
    return said.ends_with(" missing") ? fmt::format("{} needs a value", name)
                                      : fmt::format("{} is given more than once", name);
  }
  return said;
}

}  // namespace keymill::app
