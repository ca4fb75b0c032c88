// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What every store must do, run against every store. Those that need a server are run by
// on_server.py, once for each server of tests/support/store_servers.py.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "keymill/store.h"

#include "base/random.h"

namespace keymill {

// A store's data, apart from the processes that use it.
class StoreFixture {
 public:
  virtual ~StoreFixture() = default;
  // Another client of the same data, of which there may be none yet; nullptr when the store
  // has only one client.
  virtual std::unique_ptr<Store> OpenClient() = 0;
};

struct StoreCase {
  std::string name;
  std::function<std::unique_ptr<StoreFixture>()> make;
  bool remembers_keys = true;  // Whether it has a key table.
};

// Those of this process; or, if somebody has started one, just that server: on_server.py does.
std::vector<StoreCase> EveryStore();

// Those that have a key table.
std::vector<StoreCase> EveryStoreWithKeys();

inline std::string NameOf(const testing::TestParamInfo<StoreCase>& store) {
  return store.param.name;
}

inline MonotonicTime Soon() { return SystemClock().Monotonic() + std::chrono::seconds(30); }

inline NewKeyspace Numbers(std::string name, std::uint64_t first, std::uint64_t end) {
  return {.name = std::move(name),
          .id = RandomHex(16),
          .recipe = "recipe",
          .recipe_hash = "hash",
          .secret = std::string("s\0\xff\x80", 4),
          .first = first,
          .end = end};
}

inline EstablishRequest::Part First(NewKeyspace keyspace, std::uint32_t count) {
  return {.keyspace = std::move(keyspace), .count = count, .reservation = RandomHex(16)};
}

// A store in which nothing has been established yet.
class EmptyStoreTest : public testing::TestWithParam<StoreCase> {
 protected:
  EmptyStoreTest() : fixture_(GetParam().make()), store_(fixture_->OpenClient()) {}

  Established Establish(const EstablishRequest& request) {
    auto made = store_->Establish(request, Soon());
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *std::move(made) : Established{};
  }

  std::unique_ptr<StoreFixture> fixture_;
  std::unique_ptr<Store> store_;
};

// One that has no keyspaces yet.
class StoreTest : public EmptyStoreTest {
 protected:
  StoreTest() { Establish({}); }

  KeyspaceRecord Create(std::uint64_t first = 0, std::uint64_t end = 1'000'000,
                        std::string name = "links") {
    auto record = store_->CreateKeyspace(Numbers(std::move(name), first, end), Soon());
    EXPECT_TRUE(record.ok()) << record.status().message();
    return *record;
  }

  static ReserveRequest Ask(const KeyspaceRecord& keyspace, std::uint32_t count,
                            std::string instance = "a") {
    return {.keyspace_id = keyspace.id,
            .recipe_hash = keyspace.recipe_hash,
            .count = count,
            .witness = {},
            .instance = std::move(instance),
            .reservation = RandomHex(16),
            .above = 0,
            .spent = {}};
  }

  Block Reserve(const ReserveRequest& request) {
    auto block = store_->Reserve(request, Soon());
    EXPECT_TRUE(block.ok()) << block.status().message();
    return block.ok() ? *block : Block{};
  }

  std::vector<LedgerRow> Ledger(const KeyspaceRecord& keyspace) {
    auto rows = store_->ListLedger(keyspace.id, 0, 100'000, Soon());
    EXPECT_TRUE(rows.ok()) << rows.status().message();
    return rows.ok() ? *rows : std::vector<LedgerRow>{};
  }
};

}  // namespace keymill
