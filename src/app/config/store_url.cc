// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/store_url.h"

#include <array>

#include <fmt/format.h>

#include "app/config/quote.h"

namespace keymill::app {
namespace {

struct AbsentStore {
  std::string_view scheme;
  std::string_view name;
};
constexpr std::array<AbsentStore, 7> kAbsentStores = {{{"postgres://", "PostgreSQL"},
                                                       {"postgresql://", "PostgreSQL"},
                                                       {"mariadb://", "MariaDB"},
                                                       {"mysql://", "MySQL"},
                                                       {"redis://", "Redis"},
                                                       {"rediss://", "Redis"},
                                                       {"etcd://", "etcd"}}};

}  // namespace

Status CheckStoreUrl(std::string_view url) {
  static constexpr std::string_view kSqlite = "sqlite:";
  if (url == "memory:") return {};
  // sqlite://x.db would be the file /x.db, which is hardly what anybody means by it.
  if (url.starts_with(kSqlite) && url.size() > kSqlite.size() && !url.starts_with("sqlite://") &&
      url.find('\0') == std::string_view::npos) {
    return {};
  }
  for (const AbsentStore& store : kAbsentStores) {
    if (url.starts_with(store.scheme)) {
      return {Code::kInvalidArgument,
              fmt::format("this version has no {} store, which {} asks for; use sqlite:PATH or "
                          "memory:",
                          store.name, QuoteValue(url))};
    }
  }
  return {Code::kInvalidArgument,
          fmt::format("expected sqlite:PATH or memory:, not {}", QuoteValue(url))};
}

}  // namespace keymill::app
