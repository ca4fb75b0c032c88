// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The keyspaces that this instance knows, found by name without a lock.

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "mint/keyspace.h"

namespace keymill::mint {

// Grows and never shrinks: a pointer that Find returned stays good as long as the catalog.
// Safe for concurrent use by multiple threads.
class Catalog {
 public:
  Catalog();
  ~Catalog();
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // nullptr when this instance does not know the name. One atomic load and one hash.
  [[nodiscard]] Keyspace* Find(std::string_view name) const;

  // Adds a keyspace unless its name is there already; returns the one that is there now.
  Keyspace* Add(std::unique_ptr<Keyspace> keyspace);

  // All of them, in no order.
  [[nodiscard]] std::vector<Keyspace*> All() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Map = std::unordered_map<std::string, Keyspace*, Hash, std::equal_to<>>;

  std::atomic<const Map*> current_;
  Mutex mu_;
  std::vector<std::unique_ptr<Keyspace>> keyspaces_ KEYMILL_GUARDED_BY(mu_);
  // Every map that was ever current. A reader may still be in an old one, and keyspaces are
  // created so rarely that keeping them costs less than any way of knowing.
  std::vector<std::unique_ptr<const Map>> maps_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::mint
