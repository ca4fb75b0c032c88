// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One row per setting. Flags, environment, file, printing and documentation all read this
// table, so that a setting cannot be known to one of them and strange to another.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

#include "app/config/config.h"

namespace keymill::app {

struct SettingRow {
  SettingInfo info;
  std::string expected;       // "a whole number in [1, 16777216]"
  bool may_be_empty = false;  // "" is a value, not a mistake.

  // Sets the member from text, or says what is wrong with it (kInvalidArgument).
  // REQUIRES: text is not empty, unless may_be_empty.
  std::function<Status(Settings&, std::string_view)> parse;
  // The inverse.
  std::function<std::string(const Settings&)> print;

  // The text for `parse` that a value under the legacy name means; nothing for a "no", which only
  // takes back what a lower layer said under that name: DEBUG_ENABLED=false undoes a file's
  // `DEBUG_ENABLED: true`, and leaves its `log_level: warn` alone. Null when there is no legacy
  // name.
  std::function<Result<std::optional<std::string>>(std::string_view)> from_legacy{};
};

// In the order in which people want to read them.
const std::vector<SettingRow>& SettingRows();

// Null when there is none.
const SettingRow* FindSetting(std::string_view path);

// Sets one setting from text. An empty text is an error of its own.
Status SetFromText(const SettingRow& row, std::string_view text, Settings& settings);

// Sets one setting from the value of its legacy name; false when that changes nothing, as
// an empty one does. `below` is where the present value came from.
// REQUIRES: row has a legacy name.
Result<bool> SetFromLegacy(const SettingRow& row, std::string_view text, const Origin& below,
                           Settings& settings);

// Adds one word to `compat`, if it is one of this version or of a later one.
Status AddCompat(std::string_view word, Settings& settings);

}  // namespace keymill::app
