// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/manpage.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace keymill::app {
namespace {

// Text in which roff sees nothing of its own. A plain - would become a typographic hyphen, which
// nobody can paste.
std::string Escape(std::string_view text) {
  static constexpr std::string_view kEllipsis = "\xe2\x80\xa6";
  std::string escaped;
  bool line_begins = true;
  while (!text.empty()) {
    const char c = text.front();
    if (line_begins && (c == '.' || c == '\'')) escaped += "\\&";
    line_begins = c == '\n';
    if (text.starts_with(kEllipsis)) {
      escaped += "...";
      text.remove_prefix(kEllipsis.size());
      continue;
    }
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
    text.remove_prefix(1);
  }
  return escaped;
}

// As a word of a macro.
std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : Escape(text)) quoted += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return quoted + "\"";
}

std::string Bold(std::string_view text) { return fmt::format("\\fB{}\\fR", Escape(text)); }
std::string Italic(std::string_view text) { return fmt::format("\\fI{}\\fR", Escape(text)); }

std::string ArgumentUse(const CommandOption& argument) {
  const std::string name = Italic(argument.names.front()) + (argument.several ? " ..." : "");
  return argument.required ? name : fmt::format("[{}]", name);
}

std::string Synopsis(const Command& command) {
  std::string text = Bold(command.path);
  if (!command.verbs.empty()) return fmt::format("{} {} ...\n", text, Italic("VERB"));
  if (!command.options.empty()) text += fmt::format(" [{}]", Italic("flags"));
  for (const CommandOption& argument : command.arguments) text += " " + ArgumentUse(argument);
  return text + "\n";
}

// One flag, argument or verb with its text.
std::string Entry(std::string_view head, std::string_view summary) {
  return fmt::format(".TP\n{}\n{}\n", head, summary.empty() ? "\\&" : Escape(summary));
}

std::string OptionHead(const CommandOption& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(Bold(name));
  std::string head = fmt::format("{}", fmt::join(names, ", "));
  if (!option.value.empty()) head += " " + Italic(option.value);
  if (!option.choices.empty()) {
    head += fmt::format(" ({})", Escape(fmt::format("{}", fmt::join(option.choices, ", "))));
  }
  return head;
}

constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\nAll is well.\n"
    ".TP\n1\nA failure: nothing there, not ready, duplicates found, a threshold missed.\n"
    ".TP\n2\nThe command line cannot be understood.\n"
    ".TP\n78\nThe configuration or the store is refused.\n";

constexpr std::string_view kEnvironment =
    ".SH ENVIRONMENT\n"
    "Every setting is also a variable: \\fBKEYMILL_\\fR and its path in upper case, such as "
    "\\fBKEYMILL_BLOCK_SIZE\\fR. Flags win over variables, variables over the file.\n"
    ".SH FILES\n"
    ".TP\n\\fIkeymill.yml\\fR\nThe configuration, read from the working directory. "
    "\\fBkeymill config init\\fR writes one.\n"
    ".TP\n\\fIdata\\fR\nThe directory of the database and the witness.\n";

std::string SeeAlso(const Command& command) {
  std::vector<std::string> pages;
  const std::size_t parent = command.path.rfind(' ');
  if (parent != std::string::npos) {
    std::string name = command.path.substr(0, parent);
    std::replace(name.begin(), name.end(), ' ', '-');
    pages.push_back(fmt::format("{}(1)", Bold(name)));
  }
  for (const Command& verb : command.verbs) {
    pages.push_back(fmt::format("{}(1)", Bold(ManPageName(verb))));
  }
  return fmt::format(".SH SEE ALSO\n{}\n", fmt::join(pages, ",\n"));
}

}  // namespace

std::string ManPageName(const Command& command) {
  std::string name = command.path;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string ManPage(const Command& command, std::string_view version, std::string_view examples) {
  const std::string name = ManPageName(command);
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  std::string page = fmt::format(".TH {} 1 \"\" {} \"Keymill\"\n", Quote(title),
                                 Quote(fmt::format("keymill {}", version)));
  page += fmt::format(".SH NAME\n{} \\- {}\n", Escape(name), Escape(command.summary));
  page += fmt::format(".SH SYNOPSIS\n{}", Synopsis(command));
  if (!examples.empty()) {
    page += fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", Escape(examples));
  }
  if (!command.verbs.empty()) {
    page += ".SH VERBS\n";
    for (const Command& verb : command.verbs) page += Entry(Bold(verb.name), verb.summary);
  }
  if (!command.arguments.empty()) {
    page += ".SH ARGUMENTS\n";
    for (const CommandOption& each : command.arguments) {
      page += Entry(OptionHead(each), each.summary);
    }
  }
  if (!command.options.empty()) {
    page += ".SH FLAGS\n";
    for (const CommandOption& each : command.options) page += Entry(OptionHead(each), each.summary);
    if (!command.footer.empty()) page += fmt::format(".PP\n{}\n", Escape(command.footer));
  }
  page += kExitStatus;
  page += kEnvironment;
  page += SeeAlso(command);
  return page;
}

}  // namespace keymill::app
