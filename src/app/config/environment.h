// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The environment layer: the process's variables, and under them those of .env.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "keymill/status.h"

#include "app/config/config.h"
#include "app/config/dot_env.h"

namespace keymill::app {

struct EnvironmentValue {
  std::string text;
  std::string where;   // "PORT" or ".env:3: PORT", for messages.
  std::string origin;  // "PORT" or "PORT (.env)".
  bool from_dot_env = false;
};

class Environment {
 public:
  // Reads .env if the inputs say so. Does not keep `inputs`.
  // Errors:
  //   kFailedPrecondition  .env cannot be read or has a bad line, or there is a KEYMILL_…
  //                        name that means nothing.
  static Result<Environment> Load(const ConfigInputs& inputs);

  [[nodiscard]] std::optional<EnvironmentValue> Find(std::string_view name) const;

 private:
  Environment() = default;

  std::function<std::optional<std::string>(std::string_view)> getenv_;
  std::map<std::string, DotEnvValue, std::less<>> dot_env_;
};

}  // namespace keymill::app
