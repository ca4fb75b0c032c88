// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// All three scripts work alike: the words so far are walked to find the verb ("keymill keyspace
// show"), and its own words are offered.

#include "app/completion.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace keymill::app {
namespace {

// In single quotes, for sh and zsh.
std::string ShellQuote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// fish has escapes in single quotes.
std::string FishQuote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::vector<std::string> FlagWords(const Command& command) {
  std::vector<std::string> words;
  for (const CommandOption& option : command.options) {
    words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return words;
}

std::vector<std::string> VerbWords(const Command& command) {
  std::vector<std::string> words;
  for (const Command& verb : command.verbs) words.push_back(verb.name);
  return words;
}

// What may stand in the place of an argument, where that is a short list.
std::vector<std::string> ArgumentWords(const Command& command) {
  std::vector<std::string> words;
  for (const CommandOption& argument : command.arguments) {
    words.insert(words.end(), argument.choices.begin(), argument.choices.end());
  }
  return words;
}

// 'keymill serve'|'keymill mint'|…: all that are verbs.
std::string VerbPaths(const Command& root) {
  std::vector<std::string> paths;
  for (const Command* const command : AllCommands(root)) {
    if (command != &root) paths.push_back(ShellQuote(command->path));
  }
  return fmt::format("{}", fmt::join(paths, "|"));
}

// Lines of a `case` over verb and flag: `set` is what to do with the choices.
template <typename Set>
std::string ChoiceCases(const Command& root, const Set& set) {
  std::string cases;
  for (const Command* const command : AllCommands(root)) {
    for (const CommandOption& option : command->options) {
      if (option.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) {
        patterns.push_back(ShellQuote(fmt::format("{} {}", command->path, name)));
      }
      cases += fmt::format("    {}) {} ;;\n", fmt::join(patterns, "|"), set(option));
    }
  }
  return cases;
}

std::string ZshPairs(const std::vector<CommandOption>& options) {
  std::string pairs;
  for (const CommandOption& option : options) {
    for (const std::string& name : option.names) {
      pairs += fmt::format(" {}", ShellQuote(fmt::format("{}:{}", name, option.summary)));
    }
  }
  return pairs;
}

std::string ZshVerbs(const Command& command) {
  std::string pairs;
  for (const Command& verb : command.verbs) {
    pairs += fmt::format(" {}", ShellQuote(fmt::format("{}:{}", verb.name, verb.summary)));
  }
  for (const std::string& word : ArgumentWords(command)) {
    pairs += fmt::format(" {}", ShellQuote(word));
  }
  return pairs;
}

std::string FishOption(const Command& command, const CommandOption& option) {
  std::string line =
      fmt::format("complete -c keymill -n \"__keymill_at {}\"", FishQuote(command.path));
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                   : fmt::format(" -s {}", name.substr(1));
  }
  if (!option.choices.empty()) {
    line += fmt::format(" -x -a {}", FishQuote(fmt::format("{}", fmt::join(option.choices, " "))));
  } else if (!option.value.empty()) {
    line += " -r -F";
  }
  return fmt::format("{} -d {}\n", line, FishQuote(option.summary));
}

}  // namespace

std::string BashCompletion(const Command& root) {
  std::string words;
  for (const Command* const command : AllCommands(root)) {
    std::vector<std::string> plain = VerbWords(*command);
    for (const std::string& word : ArgumentWords(*command)) plain.push_back(word);
    words += fmt::format("    {}) plain={} flags={} ;;\n", ShellQuote(command->path),
                         ShellQuote(fmt::format("{}", fmt::join(plain, " "))),
                         ShellQuote(fmt::format("{}", fmt::join(FlagWords(*command), " "))));
  }
  const std::string choices = ChoiceCases(root, [](const CommandOption& option) {
    // An empty answer leaves it to bash, which offers files.
    return option.choices.empty()
               ? std::string("return")
               : fmt::format("plain={}; flags=''",
                             ShellQuote(fmt::format("{}", fmt::join(option.choices, " "))));
  });
  return fmt::format(
      R"(# Completion of keymill for bash. Use it with: source <(keymill completion bash)
_keymill() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
  local verb=keymill plain='' flags='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$verb ${{COMP_WORDS[i]}}" in
    {}) verb="$verb ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$verb" in
{}  esac
  case "$verb $prev" in
{}  esac
  if [[ $cur == -* ]]; then plain=$flags; fi
  COMPREPLY=($(compgen -W "$plain" -- "$cur"))
}}
complete -o bashdefault -o default -F _keymill keymill
)",
      VerbPaths(root), words, choices);
}

std::string ZshCompletion(const Command& root) {
  std::string words;
  for (const Command* const command : AllCommands(root)) {
    words += fmt::format("    ({}) plain=({} ) flags=({} ) ;;\n", ShellQuote(command->path),
                         ZshVerbs(*command), ZshPairs(command->options));
  }
  const std::string choices = ChoiceCases(root, [](const CommandOption& option) {
    return option.choices.empty()
               ? std::string("_files; return")
               : fmt::format("compadd -- {}; return", fmt::join(option.choices, " "));
  });
  return fmt::format(
      R"(#compdef keymill
# Completion of keymill for zsh. Use it with: source <(keymill completion zsh)
_keymill() {{
  local verb=keymill i
  local -a plain flags
  for ((i = 2; i < CURRENT; i++)); do
    case "$verb ${{words[i]}}" in
    {}) verb="$verb ${{words[i]}}" ;;
    esac
  done
  case "$verb" in
{}  esac
  case "$verb ${{words[CURRENT-1]}}" in
{}  esac
  if [[ ${{words[CURRENT]}} == -* ]]; then
    _describe 'flag' flags
  elif (( ${{#plain}} )); then
    _describe 'verb' plain
  else
    _files
  fi
}}
if [[ ${{funcstack[1]}} == _keymill ]]; then
  _keymill "$@"
else
  compdef _keymill keymill
fi
)",
      VerbPaths(root), words, choices);
}

std::string FishCompletion(const Command& root) {
  std::vector<std::string> paths;
  std::string lines;
  for (const Command* const command : AllCommands(root)) {
    if (command != &root) paths.push_back(FishQuote(command->path));
    const std::string at =
        fmt::format("complete -c keymill -n \"__keymill_at {}\"", FishQuote(command->path));
    if (!command->verbs.empty()) lines += fmt::format("{} -f\n", at);
    for (const Command& verb : command->verbs) {
      lines += fmt::format("{} -f -a {} -d {}\n", at, verb.name, FishQuote(verb.summary));
    }
    if (const std::vector<std::string> given = ArgumentWords(*command); !given.empty()) {
      lines +=
          fmt::format("{} -f -a {}\n", at, FishQuote(fmt::format("{}", fmt::join(given, " "))));
    }
    for (const CommandOption& option : command->options) lines += FishOption(*command, option);
  }
  return fmt::format(
      R"(# Completion of keymill for fish. Use it with: keymill completion fish | source
function __keymill_at
  set -l verb keymill
  for word in (commandline -opc)[2..-1]
    switch "$verb $word"
      case {}
        set verb "$verb $word"
    end
  end
  test "$verb" = "$argv[1]"
end
{})",
      fmt::join(paths, " "), lines);
}

}  // namespace keymill::app
