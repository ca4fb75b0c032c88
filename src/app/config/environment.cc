// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/environment.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/config/quote.h"
#include "app/config/settings_table.h"
#include "app/config/small_file.h"
#include "base/suggest.h"

namespace keymill::app {
namespace {

constexpr std::string_view kPrefix = "KEYMILL_";
constexpr std::string_view kDotEnv = ".env";
constexpr std::size_t kDotEnvSizeMax = 64 * 1024;

Status Refuse(std::string message) { return {Code::kFailedPrecondition, std::move(message)}; }

bool IsOurs(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kLegacy = {"PORT", "RANGE_SIZE", "DEBUG_ENABLED",
                                                              "CONFIG_PATH"};
  return name.starts_with(kPrefix) ||
         std::find(kLegacy.begin(), kLegacy.end(), name) != kLegacy.end();
}

// Kubernetes and Docker tell every container of a service called "keymill" (or
// "keymill-…") where it is, in variables that look like ours:
// KEYMILL_SERVICE_HOST=10.0.0.7, KEYMILL_PORT=tcp://10.0.0.7:8080,
// KEYMILL_PORT_8080_TCP_ADDR=10.0.0.7. Refusing them would refuse to start there.
bool IsServiceLink(std::string_view name, std::string_view value) {
  if (name.ends_with("_SERVICE_HOST") || name.ends_with("_SERVICE_PORT") ||
      name.find("_SERVICE_PORT_") != std::string_view::npos) {
    return true;
  }
  static constexpr std::array<std::string_view, 3> kSchemes = {"tcp://", "udp://", "sctp://"};
  static constexpr std::array<std::string_view, 3> kProtocols = {"_TCP", "_UDP", "_SCTP"};
  static constexpr std::string_view kPort = "_PORT";
  const std::size_t port = name.find("_PORT_");
  if (port == std::string_view::npos) {
    return name.ends_with(kPort) && std::any_of(kSchemes.begin(), kSchemes.end(), [&](auto scheme) {
             return value.starts_with(scheme);
           });
  }
  std::string_view rest = name.substr(port + kPort.size() + 1);
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  rest.remove_prefix(digits);
  return digits > 0 && std::any_of(kProtocols.begin(), kProtocols.end(),
                                   [&](std::string_view p) { return rest.starts_with(p); });
}

std::vector<std::string_view> KnownNames() {
  std::vector<std::string_view> names = {"KEYMILL_CONFIG"};
  for (const SettingRow& row : SettingRows()) {
    names.push_back(row.info.env);
    if (!row.info.env_file.empty()) names.push_back(row.info.env_file);
  }
  return names;
}

std::vector<std::string_view> FileNames() {
  std::vector<std::string_view> names;
  for (const SettingRow& row : SettingRows()) {
    if (!row.info.env_file.empty()) names.push_back(row.info.env_file);
  }
  return names;
}

// The common prefix would make every name look near.
std::string FileSuggestion(std::string_view stem, const std::vector<std::string_view>& known) {
  std::vector<std::string_view> words;
  words.reserve(known.size());
  for (const std::string_view name : known) words.push_back(name.substr(kPrefix.size()));
  const std::string_view nearest = Nearest(stem.substr(kPrefix.size()), words);
  return nearest.empty() ? "" : fmt::format("; did you mean {}{}?", kPrefix, nearest);
}

Status CheckName(std::string_view name, std::string_view value, std::string_view where) {
  static const std::vector<std::string_view> kKnown = KnownNames();
  if (!name.starts_with(kPrefix)) return {};
  if (std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end()) return {};
  if (IsServiceLink(name, value)) return {};
  static constexpr std::string_view kFile = "_FILE";
  if (name.size() >= kPrefix.size() + kFile.size() && name.ends_with(kFile)) {
    // Passing it by in silence would leave a secret, or a setting, unset.
    const std::string_view stem = name.substr(0, name.size() - kFile.size());
    return Refuse(fmt::format(
        "{}unknown environment variable {}: only what may hold a secret is read from a "
        "file: {}{}",
        where, QuoteValue(name), fmt::join(FileNames(), ", "), FileSuggestion(stem, kKnown)));
  }
  return Refuse(fmt::format("{}unknown environment variable {}{}", where, QuoteValue(name),
                            DidYouMean(name, kKnown)));
}

Result<std::map<std::string, DotEnvValue, std::less<>>> ReadDotEnv(const std::string& directory) {
  using Values = std::map<std::string, DotEnvValue, std::less<>>;
  const std::filesystem::path path = std::filesystem::path(directory) / kDotEnv;
  const Result<std::string> text = ReadSmallFile(path.string(), kDotEnvSizeMax);
  if (text.code() == Code::kNotFound) return Values();
  if (!text.ok()) return Refuse(fmt::format("{}: {}", kDotEnv, text.status().message()));
  if (text->find('\0') != std::string::npos) {
    return Refuse(fmt::format("{}: holds a NUL byte", kDotEnv));
  }
  Result<Values> values = ParseDotEnv(*text, kDotEnv, IsOurs);
  if (!values.ok()) return Refuse(values.status().message());
  return values;
}

}  // namespace

Result<Environment> Environment::Load(const ConfigInputs& inputs) {
  Environment environment;
  environment.getenv_ = inputs.getenv;
  if (inputs.read_dot_env) {
    auto values = ReadDotEnv(inputs.working_directory);
    if (!values.ok()) return values.status();
    environment.dot_env_ = *std::move(values);
  }
  // Sorted, so that of two mistakes it is always the same one that is told.
  const std::set<std::string> names(inputs.environment_names.begin(),
                                    inputs.environment_names.end());
  for (const std::string& name : names) {
    const std::optional<EnvironmentValue> value = environment.Find(name);
    if (Status status = CheckName(name, value ? value->text : "", ""); !status.ok()) return status;
  }
  for (const auto& [name, value] : environment.dot_env_) {
    const std::string where = fmt::format("{}:{}: ", kDotEnv, value.line);
    if (Status status = CheckName(name, value.text, where); !status.ok()) return status;
  }
  return environment;
}

std::vector<std::string> DotEnvNames(const std::string& directory) {
  std::vector<std::string> names;
  const auto values = ReadDotEnv(directory);
  if (!values.ok()) return names;
  for (const auto& [name, value] : *values) names.push_back(name);
  return names;
}

std::optional<EnvironmentValue> Environment::Find(std::string_view name) const {
  const std::string text(name);
  if (getenv_) {
    if (std::optional<std::string> value = getenv_(name)) {
      return EnvironmentValue{*std::move(value), text, text, false};
    }
  }
  const auto found = dot_env_.find(name);
  if (found == dot_env_.end()) return {};
  return EnvironmentValue{found->second.text,
                          fmt::format("{}:{}: {}", kDotEnv, found->second.line, name),
                          fmt::format("{} ({})", name, kDotEnv), true};
}

}  // namespace keymill::app
