// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "embed/stores.h"

#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#ifdef KEYMILL_HAS_ETCD
#include "store/etcd/etcd_store.h"
#endif
#ifdef KEYMILL_HAS_MARIADB
#include "store/mariadb/mariadb_store.h"
#endif
#include "store/memory/memory_store.h"
#ifdef KEYMILL_HAS_POSTGRES
#include "store/postgres/postgres_store.h"
#endif
#ifdef KEYMILL_HAS_REDIS
#include "store/redis/redis_store.h"
#endif
#include "store/sqlite/sqlite_store.h"
#include "store/store_url.h"

namespace keymill::embed {
namespace {

constexpr std::string_view kMemory = "memory:";
constexpr std::string_view kSqlite = "sqlite:";

// A store that is reached over a network.
struct ServerStore {
  std::string_view scheme;  // "postgres"
  std::string_view name;    // "PostgreSQL"
  // Null when this build is without it.
  Result<std::unique_ptr<Store>> (*open)(const store::StoreUrl& url, bool create,
                                         const Clock& clock, MonotonicTime deadline) = nullptr;
  // What else is wrong with a URL of the right form; null: nothing can be.
  Status (*check)(const store::StoreUrl& url) = nullptr;
};

#ifdef KEYMILL_HAS_POSTGRES
constexpr auto* kOpenPostgres = &store::OpenPostgresStore;
constexpr auto* kCheckPostgres = &store::CheckPostgresUrl;
#else
constexpr std::nullptr_t kOpenPostgres = nullptr;
constexpr std::nullptr_t kCheckPostgres = nullptr;
#endif

#ifdef KEYMILL_HAS_MARIADB
constexpr auto* kOpenMariadb = &store::OpenMariadbStore;
constexpr auto* kCheckMariadb = &store::CheckMariadbUrl;
#else
constexpr std::nullptr_t kOpenMariadb = nullptr;
constexpr std::nullptr_t kCheckMariadb = nullptr;
#endif

#ifdef KEYMILL_HAS_REDIS
constexpr auto* kOpenRedis = &store::OpenRedisStore;
constexpr auto* kCheckRedis = &store::CheckRedisUrl;
#else
constexpr std::nullptr_t kOpenRedis = nullptr;
constexpr std::nullptr_t kCheckRedis = nullptr;
#endif

#ifdef KEYMILL_HAS_ETCD
constexpr auto* kOpenEtcd = &store::OpenEtcdStore;
constexpr auto* kCheckEtcd = &store::CheckEtcdUrl;
#else
constexpr std::nullptr_t kOpenEtcd = nullptr;
constexpr std::nullptr_t kCheckEtcd = nullptr;
#endif

constexpr std::array<ServerStore, 7> kServerStores = {{
    {"postgres", "PostgreSQL", kOpenPostgres, kCheckPostgres},
    {"postgresql", "PostgreSQL", kOpenPostgres, kCheckPostgres},
    {"mariadb", "MariaDB", kOpenMariadb, kCheckMariadb},
    {"mysql", "MariaDB", kOpenMariadb, kCheckMariadb},
    {"redis", "Redis", kOpenRedis, kCheckRedis},
    {"rediss", "Redis", kOpenRedis, kCheckRedis},
    {"etcd", "etcd", kOpenEtcd, kCheckEtcd},
}};

const ServerStore* FindServerStore(std::string_view url) {
  const std::string_view scheme = url.substr(0, url.find("://"));
  for (const ServerStore& store : kServerStores) {
    if (store.scheme == scheme && scheme.size() < url.size()) return &store;
  }
  return nullptr;
}

Status Unusable(std::string_view url, std::string_view why) {
  return {Code::kInvalidArgument, fmt::format("store \"{}\": {}", store::ShownScheme(url), why)};
}

bool IsSqlite(std::string_view url) {
  return url.starts_with(kSqlite) && url.size() > kSqlite.size();
}

}  // namespace

std::vector<std::string_view> StoreSchemes() {
  std::vector<std::string_view> schemes = {"sqlite"};
  std::string_view last;
  for (const ServerStore& store : kServerStores) {
    // Of several schemes of one store, the first.
    if (store.open != nullptr && store.name != last) schemes.push_back(store.scheme);
    last = store.name;
  }
  schemes.emplace_back("memory");
  return schemes;
}

std::string StoreForms() {
  std::string forms = "sqlite:PATH";
  for (const std::string_view scheme : StoreSchemes()) {
    if (scheme == "memory") {
      forms += " or memory:";
    } else if (scheme != "sqlite") {
      forms += fmt::format(", {}://…", scheme);
    }
  }
  return forms;
}

Status CheckStore(std::string_view url) {
  if (url == kMemory || IsSqlite(url)) return {};
  const auto refuse = [](std::string why) {
    return Status(Code::kInvalidArgument, std::move(why));
  };
  const ServerStore* const server = FindServerStore(url);
  if (server == nullptr) return refuse(fmt::format("use {}", StoreForms()));
  if (server->open == nullptr) {
    return refuse(fmt::format("this build has no {} store; use {}", server->name, StoreForms()));
  }
  Result<store::StoreUrl> parsed = store::ParseStoreUrl(url);
  if (!parsed.ok()) return parsed.status();
  return server->check == nullptr ? Status() : server->check(*parsed);
}

Result<StorePlace> FindStore(std::string_view url, const std::filesystem::path& data_dir) {
  if (Status usable = CheckStore(url); !usable.ok()) return Unusable(url, usable.message());
  if (url == kMemory) return StorePlace{std::string(url), std::string(url), false};
  if (IsSqlite(url)) {
    const auto path = (data_dir / url.substr(kSqlite.size())).lexically_normal();
    return StorePlace{std::string(url), fmt::format("{}{}", kSqlite, path.string())};
  }
  return StorePlace{std::string(url), store::ShownUrl(url)};
}

Result<std::unique_ptr<Store>> OpenStore(const StorePlace& place, bool create, const Clock& clock,
                                         MonotonicTime deadline) {
  if (place.url == kMemory) return store::OpenMemoryStore(clock);
  if (place.location.starts_with(kSqlite)) {
    return store::OpenSqliteStore({.path = place.location.substr(kSqlite.size()), .create = create},
                                  clock, deadline);
  }
  const ServerStore* const server = FindServerStore(place.url);
  if (server == nullptr || server->open == nullptr) return Unusable(place.url, "no such store");
  Result<store::StoreUrl> url = store::ParseStoreUrl(place.url);
  if (!url.ok()) return url.status();
  return server->open(*url, create, clock, deadline);
}

}  // namespace keymill::embed
