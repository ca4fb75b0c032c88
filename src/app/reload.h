// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a server does with a configuration that changed while it runs: some settings take effect
// at once, the others are told to whoever changed them. SettingInfo::reloads says which.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.h"

namespace keymill::app {

struct Reload {
  // "log_level info -> debug", in the order of the settings.
  std::vector<std::string> now;
  std::vector<std::string> at_restart;
  std::vector<std::string> keyspaces_gained;
  // Named before and not any more. They go on: only `keymill keyspace retire` ends a keyspace.
  std::vector<std::string> keyspaces_dropped;

  [[nodiscard]] bool empty() const {
    return now.empty() && at_restart.empty() && keyspaces_gained.empty() &&
           keyspaces_dropped.empty();
  }
};

// What is different. A keyspace whose recipe changed counts as gained: creating it tells that it
// cannot be.
Reload CompareSettings(const Settings& running, const Settings& wanted);

// Takes those settings of `wanted` into `running` that take effect at once.
void AdoptReloaded(const Settings& wanted, Settings& running);

}  // namespace keymill::app
