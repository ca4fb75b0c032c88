// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the tests of key tables share.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "keymill/key_table.h"

#include "conformance/every_store.h"

namespace keymill {

inline KeyRow Available(std::string key, std::int64_t since_ms = 1'000) {
  return {.key = std::move(key), .state = KeyState::kAvailable, .since_ms = since_ms};
}

inline KeyRow Alias(std::string key, std::string owner = "ann") {
  return {.key = std::move(key),
          .state = KeyState::kAlias,
          .since_ms = 1'000,
          .owner = std::move(owner)};
}

inline KeyRow Derived(std::string key, std::string identity) {
  return {.key = std::move(key),
          .state = KeyState::kDerived,
          .since_ms = 1'000,
          .identity = std::move(identity)};
}

inline KeyRow Note(std::string key, std::string note, std::int64_t expires_at_ms = 0) {
  return {.key = std::move(key),
          .state = KeyState::kNote,
          .since_ms = 1'000,
          .expires_at_ms = expires_at_ms,
          .note = std::move(note)};
}

// 64 hex digits that are `digit`.
inline std::string Identity(char digit) { return std::string(64, digit); }

inline std::vector<KeyRow> Pool(int count, const std::string& prefix = "key-") {
  std::vector<KeyRow> rows;
  rows.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) rows.push_back(Available(prefix + std::to_string(i)));
  return rows;
}

inline KeyTable::TakeRequest Take(std::uint32_t count, std::string token = RandomHex(16)) {
  return {.count = count,
          .to = KeyState::kUsed,
          .instance = "host/1",
          .token = std::move(token),
          .at_ms = 2'000,
          .expires_at_ms = 0};
}

// A store with a key table and one keyspace.
class KeyTableTest : public StoreTest {
 protected:
  KeyTableTest() : keyspace_(Create()), keys_(store_->key_table()) { EXPECT_NE(keys_, nullptr); }

  static KeyGuard Guard(const KeyspaceRecord& keyspace) {
    return {.keyspace_id = keyspace.id, .recipe_hash = keyspace.recipe_hash, .witness = {}};
  }
  [[nodiscard]] KeyGuard Guard() const { return Guard(keyspace_); }

  KeyTable::Added Add(const std::vector<KeyRow>& rows) {
    auto added = keys_->AddKeys(Guard(), rows, Soon());
    EXPECT_TRUE(added.ok()) << added.status().message();
    if (!added.ok()) return {std::vector<std::optional<KeyRow>>(rows.size()), {}};
    EXPECT_EQ(added->present.size(), rows.size());
    return *std::move(added);
  }

  // Adds rows of which none is there.
  void AddNew(const std::vector<KeyRow>& rows) {
    for (const auto& present : Add(rows).present) EXPECT_FALSE(present.has_value());
  }

  std::vector<std::string> TakeSome(const KeyTable::TakeRequest& request) {
    auto taken = keys_->TakeKeys(Guard(), request, Soon());
    EXPECT_TRUE(taken.ok()) << taken.status().message();
    return taken.ok() ? std::move(taken->keys) : std::vector<std::string>{};
  }

  std::vector<KeyRow> Change(const KeyChange& change) {
    auto changed = keys_->ChangeKeys(Guard(), change, Soon());
    EXPECT_TRUE(changed.ok()) << changed.status().message();
    return changed.ok() ? std::move(changed->rows) : std::vector<KeyRow>{};
  }

  std::optional<KeyRow> Find(const std::string& key) {
    auto row = keys_->FindKey(keyspace_.id, key, Soon());
    EXPECT_TRUE(row.ok()) << row.status().message();
    return row.ok() ? *std::move(row) : std::nullopt;
  }

  // All that the query asks for, by key, over pages of its size. No row comes twice as long as
  // nobody changes anything.
  std::vector<KeyRow> List(KeyTable::Query query, int* pages = nullptr) {
    std::map<std::string, KeyRow> rows;
    do {
      auto page = keys_->ListKeys(keyspace_.id, query, Soon());
      EXPECT_TRUE(page.ok()) << page.status().message();
      if (!page.ok()) break;
      EXPECT_LE(page->rows.size(), query.rows_max);
      for (KeyRow& row : page->rows) {
        const std::string key = row.key;
        rows[key] = std::move(row);
      }
      query.cursor = page->cursor;
      if (pages != nullptr) ++*pages;
    } while (!query.cursor.empty());
    std::vector<KeyRow> all;
    for (auto& [key, row] : rows) all.push_back(std::move(row));
    return all;
  }

  static std::vector<std::string> KeysOf(const std::vector<KeyRow>& rows) {
    std::vector<std::string> keys;
    for (const KeyRow& row : rows) keys.push_back(row.key);
    return keys;
  }

  KeyTable::Counts Count() {
    auto counts = keys_->CountKeys(keyspace_.id, Soon());
    EXPECT_TRUE(counts.ok()) << counts.status().message();
    return counts.ok() ? *counts : KeyTable::Counts{};
  }

  Witness Seen(const std::string& name = "links") {
    auto record = store_->FindKeyspace(name, Soon());
    EXPECT_TRUE(record.ok()) << record.status().message();
    return record.ok() ? Witness{record->rev, record->next} : Witness{};
  }

  const KeyspaceRecord keyspace_;
  KeyTable* const keys_;
};

}  // namespace keymill
