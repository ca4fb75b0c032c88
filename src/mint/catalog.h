// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The keyspaces that this instance knows, found by name without a lock.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "mint/keyspace.h"

namespace keymill::mint {

// Grows and never shrinks: a pointer that Find returned stays good as long as the catalog.
// Safe for concurrent use by multiple threads.
class Catalog {
 public:
  Catalog() = default;
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // nullptr when this instance does not know the name. One hash and a short walk.
  [[nodiscard]] Keyspace* Find(std::string_view name) const;

  // Adds a keyspace unless its name is there already; returns the one that is there now.
  Keyspace* Add(std::unique_ptr<Keyspace> keyspace);

  // All of them, in the order in which they were added.
  [[nodiscard]] std::vector<Keyspace*> All() const;

 private:
  // A chain grows at its head and is otherwise never touched, so that a reader needs no more
  // than the head. Chains stay short up to tens of thousands of keyspaces.
  struct Node {
    Keyspace* keyspace = nullptr;
    const Node* next = nullptr;
  };
  static constexpr std::size_t kChains = 1024;

  std::array<std::atomic<const Node*>, kChains> chains_{};
  mutable Mutex mu_;
  std::vector<std::unique_ptr<Keyspace>> keyspaces_ KEYMILL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<const Node>> nodes_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::mint
