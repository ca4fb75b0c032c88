// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/finding.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/config/quote.h"

namespace keymill::app::doctor {
namespace {

constexpr std::size_t kTextMax = 1000;

std::string Counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kProblem:
      break;
  }
  return "problem";
}

std::size_t CountOf(const Findings& findings, Severity severity) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [severity](const Finding& each) { return each.severity == severity; }));
}

bool IsHealthy(const Findings& findings) {
  return CountOf(findings, Severity::kWarning) + CountOf(findings, Severity::kProblem) == 0;
}

std::string FindingsTable(const Findings& findings) {
  std::size_t width = 0;
  for (const Finding& each : findings) width = std::max(width, each.check.size());
  std::string text;
  for (const Finding& each : findings) {
    text += fmt::format("{:<7}  {:<{}}  {}\n", SeverityName(each.severity), each.check, width,
                        Printable(each.says, kTextMax));
    if (each.fix.empty()) continue;
    text += fmt::format("{:<7}  {:<{}}  fix: {}\n", "", "", width, Printable(each.fix, kTextMax));
  }
  const std::size_t problems = CountOf(findings, Severity::kProblem);
  const std::size_t warnings = CountOf(findings, Severity::kWarning);
  return text + fmt::format("{}, {}\n", Counted(problems, "problem"), Counted(warnings, "warning"));
}

std::string FindingsJson(const Findings& findings) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["healthy"] = IsHealthy(findings);
  json["problems"] = CountOf(findings, Severity::kProblem);
  json["warnings"] = CountOf(findings, Severity::kWarning);
  json["checks"] = Json::array();
  for (const Finding& each : findings) {
    json["checks"].push_back({{"check", each.check},
                              {"severity", SeverityName(each.severity)},
                              {"says", each.says},
                              {"fix", each.fix.empty() ? Json(nullptr) : Json(each.fix)}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ShellWord(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:,=@%+").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

std::string OwnershipFix(std::uint32_t user, std::string_view path, bool directory) {
  const std::string word = ShellWord(path);
  return fmt::format(
      "ask as the user that the server runs as; if that is {0}: chown {1}{0} {2} && chmod {3} {2}",
      user, directory ? "-R " : "", word, directory ? 700 : 600);
}

}  // namespace keymill::app::doctor
