// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Many steps, by many clients or at random, against what must be true of all.

#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/every_store.h"

namespace keymill {
namespace {

class StoreWalkTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreWalkTest, testing::ValuesIn(EveryStore()), NameOf);

TEST_P(StoreWalkTest, TwoClientsNeverShareABlock) {
  const KeyspaceRecord keyspace = Create();
  std::vector<std::unique_ptr<Store>> clients;
  for (int i = 0; i < 3; ++i) {
    if (auto client = fixture_->OpenClient()) clients.push_back(std::move(client));
  }
  std::vector<Store*> stores = {store_.get(), store_.get()};
  for (const auto& client : clients) stores.push_back(client.get());
  std::vector<std::vector<Block>> blocks(stores.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        auto block = stores[i]->Reserve(Ask(keyspace, 7, std::to_string(i)), Soon());
        if (block.ok()) blocks[i].push_back(*block);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::uint64_t> numbers;
  std::size_t total = 0;
  for (const auto& of_client : blocks) {
    EXPECT_EQ(of_client.size(), 20U);
    for (const Block& block : of_client) {
      for (std::uint32_t i = 0; i < block.count; ++i) numbers.insert(block.first + i);
      total += block.count;
    }
  }
  EXPECT_EQ(numbers.size(), total);
}

// A seeded random walk against a model: what is out, what is free, who holds what.
TEST_P(StoreWalkTest, AgreesWithAModelUnderARandomWalk) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const KeyspaceRecord keyspace = Create(0, 5000);
  std::set<std::uint64_t> out;  // Handed out for good.
  struct Held {
    Block block;
    std::uint64_t end = 0;
  };
  std::map<std::string, Held> held;  // By block id: [first, end).
  Witness last{1, 0};
  for (int step = 0; step < 300; ++step) {
    if (random() % 3 != 0 || held.empty()) {
      ReserveRequest request = Ask(keyspace, static_cast<std::uint32_t>(random() % 60 + 1),
                                   "i" + std::to_string(random() % 3));
      request.witness = last;
      request.lend = random() % 3 == 0;
      auto block = store_->Reserve(request, Soon());
      if (!block.ok()) {
        ASSERT_EQ(block.code(), Code::kExhausted);
        continue;
      }
      ASSERT_GT(block->seen.rev, last.rev);
      ASSERT_GE(block->seen.next, last.next);
      last = block->seen;
      auto [at, fresh] = held.try_emplace(block->id, Held{*block, block->first + block->count});
      if (!fresh) {
        ASSERT_FALSE(request.lend) << "what is lent shares no row";
        ASSERT_EQ(at->second.end, block->first) << "a shared row grows at its end";
        at->second.end += block->count;
      }
    } else {
      auto at = held.begin();
      std::advance(at, static_cast<long>(random() % held.size()));
      const Held& row = at->second;
      const std::uint64_t used = row.block.first + random() % (row.end - row.block.first + 1);
      auto settled = store_->GiveBack({keyspace.id, at->first, used, {}}, Soon());
      ASSERT_TRUE(settled.ok()) << settled.status().message();
      last = *settled;
      for (std::uint64_t number = row.block.first; number < used; ++number) {
        ASSERT_TRUE(out.insert(number).second) << "number " << number << " twice";
      }
      held.erase(at);
    }
  }
  for (const auto& [id, row] : held) {
    for (std::uint64_t number = row.block.first; number < row.end; ++number) {
      ASSERT_TRUE(out.insert(number).second) << "number " << number << " twice";
    }
  }
  std::uint64_t end = 0;
  for (const LedgerRow& row : Ledger(keyspace)) {
    ASSERT_EQ(row.first, end) << "the ledger has no hole and no overlap";
    end = row.first + row.count;
  }
  EXPECT_EQ(end, last.next);
}

}  // namespace
}  // namespace keymill
