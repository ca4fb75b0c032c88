// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/catalog.h"

#include <utility>

namespace keymill::mint {

Catalog::Catalog() {
  const MutexLock lock(mu_);
  maps_.push_back(std::make_unique<const Map>());
  current_.store(maps_.back().get(), std::memory_order_release);
}

Catalog::~Catalog() = default;

Keyspace* Catalog::Find(std::string_view name) const {
  const Map& map = *current_.load(std::memory_order_acquire);
  const auto found = map.find(name);
  return found == map.end() ? nullptr : found->second;
}

Keyspace* Catalog::Add(std::unique_ptr<Keyspace> keyspace) {
  const MutexLock lock(mu_);
  if (Keyspace* const existing = Find(keyspace->name())) return existing;
  auto map = std::make_unique<Map>(*current_.load(std::memory_order_relaxed));
  Keyspace* const added = keyspace.get();
  map->emplace(added->name(), added);
  keyspaces_.push_back(std::move(keyspace));
  current_.store(map.get(), std::memory_order_release);
  maps_.push_back(std::move(map));
  return added;
}

std::vector<Keyspace*> Catalog::All() const {
  std::vector<Keyspace*> all;
  for (const auto& [name, keyspace] : *current_.load(std::memory_order_acquire)) {
    all.push_back(keyspace);
  }
  return all;
}

}  // namespace keymill::mint
