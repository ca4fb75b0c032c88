// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/catalog.h"

#include <functional>
#include <utility>

namespace keymill::mint {
namespace {

std::size_t ChainOf(std::string_view name, std::size_t chains) {
  return std::hash<std::string_view>{}(name) % chains;
}

}  // namespace

Keyspace* Catalog::Find(std::string_view name) const {
  const Node* node = chains_[ChainOf(name, kChains)].load(std::memory_order_acquire);
  while (node != nullptr && node->keyspace->name() != name) node = node->next;
  return node == nullptr ? nullptr : node->keyspace;
}

Keyspace* Catalog::Add(std::unique_ptr<Keyspace> keyspace) {
  const MutexLock lock(mu_);
  if (Keyspace* const existing = Find(keyspace->name())) return existing;
  Keyspace* const added = keyspace.get();
  auto& head = chains_[ChainOf(added->name(), kChains)];
  nodes_.push_back(std::make_unique<const Node>(
      Node{.keyspace = added, .next = head.load(std::memory_order_relaxed)}));
  keyspaces_.push_back(std::move(keyspace));
  head.store(nodes_.back().get(), std::memory_order_release);
  return added;
}

std::vector<Keyspace*> Catalog::All() const {
  const MutexLock lock(mu_);
  std::vector<Keyspace*> all;
  all.reserve(keyspaces_.size());
  for (const auto& keyspace : keyspaces_) all.push_back(keyspace.get());
  return all;
}

}  // namespace keymill::mint
