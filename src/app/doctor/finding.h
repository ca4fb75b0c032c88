// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What one check of `keymill doctor` came to.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keymill::app::doctor {

// A note is worth knowing and nothing to act on: only warnings and problems are findings.
enum class Severity : std::uint8_t { kOk, kNote, kWarning, kProblem };
std::string_view SeverityName(Severity severity);

struct Finding {
  std::string check;  // "filesystem"
  Severity severity = Severity::kOk;
  std::string says;  // With the figure that was measured.
  std::string fix;   // The command or setting that helps; "" only where all is well.
};
using Findings = std::vector<Finding>;

// How many of them there are.
std::size_t CountOf(const Findings& findings, Severity severity);

// Whether there is neither a warning nor a problem.
bool IsHealthy(const Findings& findings);

// For people: a line for each, its fix below it, and a line that counts.
std::string FindingsTable(const Findings& findings);

// {"healthy":…,"problems":…,"warnings":…,"checks":[{"check","severity","says","fix"}]}; `fix` is
// null where there is none.
std::string FindingsJson(const Findings& findings);

// `text` as one word of a shell's command line.
std::string ShellWord(std::string_view text);

// What to do about a file or directory that `user`, who asks, may not use. Giving it to whoever
// happens to ask would take it from the server.
std::string OwnershipFix(std::uint32_t user, std::string_view path, bool directory);

}  // namespace keymill::app::doctor
