// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/reload.h"

#include <fmt/format.h>

#include "app/config/settings_table.h"
#include "base/check.h"

namespace keymill::app {
namespace {

constexpr std::string_view kKeyspaces = "keyspaces";

void CompareKeyspaces(const Settings& running, const Settings& wanted, Reload& reload) {
  for (const auto& [name, recipe] : wanted.keyspaces) {
    const auto known = running.keyspaces.find(name);
    if (known == running.keyspaces.end() || known->second != recipe) {
      reload.keyspaces_gained.push_back(name);
    }
  }
  for (const auto& [name, recipe] : running.keyspaces) {
    if (wanted.keyspaces.count(name) == 0) reload.keyspaces_dropped.push_back(name);
  }
}

std::string Shown(const std::string& value) { return value.empty() ? "\"\"" : value; }

}  // namespace

Reload CompareSettings(const Settings& running, const Settings& wanted) {
  Reload reload;
  for (const SettingRow& row : SettingRows()) {
    if (row.info.path == kKeyspaces) continue;
    const std::string before = row.print(running);
    const std::string after = row.print(wanted);
    if (before == after) continue;
    (row.info.reloads ? reload.now : reload.at_restart)
        .push_back(fmt::format("{} {} -> {}", row.info.path,
                               Shown(ShownSetting(running, row.info.path)),
                               Shown(ShownSetting(wanted, row.info.path))));
  }
  CompareKeyspaces(running, wanted, reload);
  return reload;
}

void AdoptReloaded(const Settings& wanted, Settings& running) {
  for (const SettingRow& row : SettingRows()) {
    if (!row.info.reloads || row.info.path == kKeyspaces) continue;
    const Status adopted = row.parse(running, row.print(wanted));
    KEYMILL_CHECK(adopted.ok());  // It was accepted in `wanted`.
  }
  running.keyspaces = wanted.keyspaces;
}

}  // namespace keymill::app
