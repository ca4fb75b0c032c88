// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The table of keys of a store in memory.

#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "keymill/key_table.h"

namespace keymill::store {

// The keys of one keyspace.
class MemoryKeys {
 public:
  // nullptr when there is none.
  [[nodiscard]] const KeyRow* Find(const std::string& key) const;
  [[nodiscard]] const KeyRow* FindIdentity(const std::string& identity) const;

  // Replaces the row of this key, if there is one.
  void Put(KeyRow row);
  void Remove(const std::string& key);

  [[nodiscard]] const std::map<std::string, KeyRow>& rows() const { return rows_; }
  [[nodiscard]] const std::set<std::string>& InState(KeyState state) const {
    return by_state_.at(static_cast<std::size_t>(state));
  }

 private:
  std::map<std::string, KeyRow> rows_;       // By key.
  std::map<std::string, std::string> keys_;  // By identity.
  std::array<std::set<std::string>, kKeyStates> by_state_;
};

// What the table needs of the store around it, which holds its lock while `body` runs.
class MemoryKeyspaces {
 public:
  virtual ~MemoryKeyspaces() = default;
  MemoryKeyspaces(const MemoryKeyspaces&) = delete;
  MemoryKeyspaces& operator=(const MemoryKeyspaces&) = delete;

  using Change = std::function<Status(KeyspaceRecord&, MemoryKeys&)>;
  using Look = std::function<Status(const MemoryKeys&)>;
  // If the keyspace may be changed by whoever has this guard.
  virtual Status ChangeKeyspace(const KeyGuard& guard, const Change& body) = 0;
  virtual Status ReadKeyspace(std::string_view id, const Look& body) = 0;
  virtual Status FillKeyspaceKeys(std::string_view fill, std::string_view id,
                                  const Change& body) = 0;

 protected:
  MemoryKeyspaces() = default;
};

// `keyspaces` outlives the table.
std::unique_ptr<KeyTable> MakeMemoryKeyTable(MemoryKeyspaces& keyspaces);

}  // namespace keymill::store
