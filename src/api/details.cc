// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/details.h"

#include <fmt/format.h>

#include "api/failure_log.h"
#include "api/status_map.h"
#include "base/log.h"

namespace keymill::api {

std::string_view ClientDetail(const Status& status, std::string_view front_end) {
  static FailureLog failures;
  const std::string_view fixed = PublicDetail(status.code());
  if (fixed.empty()) return status.message();
  if (failures.Admits(status.message(), SystemClock().Monotonic())) {
    Log(status.code() == Code::kInternal ? LogLevel::kError : LogLevel::kWarn, front_end, "{}",
        status.message());
  }
  return fixed;
}

std::string NoKeyspaceDetail(std::string_view name) {
  return fmt::format(
      "there is no keyspace \"{0}\". To create it: keymill keyspace create {0}, or PUT "
      "/v1/keyspaces/{0} with a recipe such as {{\"kind\":\"shuffled\",\"length\":7}}",
      name);
}

std::string MovedDetail(std::string_view name) {
  return fmt::format(
      "keyspace {} was moved to another store, with which this instance has to be started; its log "
      "says which",
      name);
}

}  // namespace keymill::api
