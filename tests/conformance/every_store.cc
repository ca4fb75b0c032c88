// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "conformance/every_store.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "embed/stores.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/temp_dir.h"

namespace keymill {
namespace {

class MemoryFixture final : public StoreFixture {
 public:
  std::unique_ptr<Store> OpenClient() override {
    return opened_.exchange(true) ? nullptr : store::OpenMemoryStore();
  }

 private:
  std::atomic<bool> opened_ = false;  // Threads of one test ask at once.
};

class SqliteFixture final : public StoreFixture {
 public:
  std::unique_ptr<Store> OpenClient() override {
    auto opened =
        store::OpenSqliteStore({.path = dir_.path() / "store.db", .create = true}, SystemClock(),
                               SystemClock().Monotonic() + std::chrono::seconds(30));
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? *std::move(opened) : nullptr;
  }

 private:
  TempDir dir_;
};

// A server that somebody else has started. `url` has {} where each fixture puts a name of its own,
// so that no test sees what another one has left.
class ServerFixture final : public StoreFixture {
 public:
  explicit ServerFixture(std::string url) : place_{std::move(url), {}} {
    const std::size_t mark = place_.url.find("{}");
    EXPECT_NE(mark, std::string::npos) << "no {} in " << place_.url;
    place_.url.replace(mark, 2, "t" + RandomHex(8));
    place_.location = place_.url;
  }

  std::unique_ptr<Store> OpenClient() override {
    auto opened = embed::OpenStore(place_, /*create=*/true, SystemClock(),
                                   SystemClock().Monotonic() + std::chrono::seconds(30));
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? *std::move(opened) : nullptr;
  }

 private:
  embed::StorePlace place_;
};

}  // namespace

std::vector<StoreCase> EveryStore() {
  if (const char* const url = std::getenv("KEYMILL_CONFORMANCE_URL"); url != nullptr) {
    const bool etcd = std::string_view(url).starts_with("etcd");
    return {{"Server", [url] { return std::make_unique<ServerFixture>(url); }, !etcd}};
  }
  return {{"Memory", [] { return std::make_unique<MemoryFixture>(); }},
          {"Sqlite", [] { return std::make_unique<SqliteFixture>(); }}};
}

std::vector<StoreCase> EveryStoreWithKeys() {
  std::vector<StoreCase> stores = EveryStore();
  std::erase_if(stores, [](const StoreCase& store) { return !store.remembers_keys; });
  return stores;
}

}  // namespace keymill
