// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "links/link_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace keymill::links {
namespace {

// What an entry takes beside its texts: nodes of the list and of the table, by measure.
constexpr std::size_t kEntryBytes = 240;

}  // namespace

LinkCache::LinkCache(LinkCacheOptions options) : options_(options) {}

LinkCache::Shard& LinkCache::ShardOf(std::string_view key) {
  // Other bits than those by which the table of the shard goes.
  return shards_[(std::hash<std::string_view>{}(key) >> 48) % kShards];
}

std::size_t LinkCache::BytesOf(const Entry& entry) {
  return kEntryBytes + entry.key.size() + entry.url.size();
}

LinkCache::Entry* LinkCache::Touch(Shard& shard, std::string_view key) {
  const auto found = shard.by_key.find(key);
  if (found == shard.by_key.end()) return nullptr;
  if (found->second != shard.order.begin()) {
    shard.order.splice(shard.order.begin(), shard.order, found->second);
  }
  found->second->round = shard.round;
  return &*found->second;
}

bool LinkCache::LookStale(std::string_view key, MonotonicTime now, std::uint64_t hits,
                          const Use& use) {
  Shard& shard = ShardOf(key);
  const MutexLock lock(shard.mu);
  Entry* const entry = Touch(shard, key);
  if (entry == nullptr || entry->url.empty() || now >= entry->ends_at) return false;
  entry->fresh_until = std::min(now + options_.fresh_none, entry->ends_at);
  entry->usable_until = std::min(now + options_.fresh_none + options_.fresh, entry->ends_at);
  entry->hits += hits;
  use(entry->url);
  return true;
}

void LinkCache::Put(std::string_view key, std::string_view url, MonotonicTime now,
                    MonotonicTime ends_at, std::uint64_t hits) {
  Shard& shard = ShardOf(key);
  const MutexLock lock(shard.mu);
  if (const auto found = shard.by_key.find(key); found != shard.by_key.end()) {
    Remove(shard, found->second);
  }
  const auto fresh = url.empty() ? options_.fresh_none : options_.fresh;
  shard.order.push_front(
      {.key = std::string(key),
       .url = std::string(url),
       .fresh_until = std::min(now + fresh, ends_at),
       .usable_until = std::min(url.empty() ? now + fresh : now + 2 * fresh, ends_at),
       .ends_at = ends_at,
       .hits = url.empty() ? 0 : hits,
       .round = shard.round});
  const auto placed = shard.order.begin();
  shard.by_key.emplace(placed->key, placed);
  shard.bytes += BytesOf(*placed);
  while (shard.bytes > options_.bytes_max / kShards && shard.order.size() > 1) {
    Remove(shard, std::prev(shard.order.end()));
  }
}

void LinkCache::Drop(std::string_view key) {
  Shard& shard = ShardOf(key);
  const MutexLock lock(shard.mu);
  if (const auto found = shard.by_key.find(key); found != shard.by_key.end()) {
    Remove(shard, found->second);
  }
}

void LinkCache::Remove(Shard& shard, Order::iterator at) {
  Remember(shard, at->key, at->hits);
  shard.bytes -= BytesOf(*at);
  shard.by_key.erase(at->key);
  shard.order.erase(at);
}

void LinkCache::Remember(Shard& shard, std::string_view key, std::uint64_t hits) {
  if (hits == 0) return;
  const auto found = shard.uncounted.find(key);
  if (found != shard.uncounted.end()) {
    found->second += hits;
  } else if (shard.uncounted.size() < options_.hits_max / kShards) {
    shard.uncounted.emplace(key, hits);
  } else {
    shard.hits_dropped += hits;
  }
}

Hits LinkCache::TakeHits() {
  Hits all;
  for (Shard& shard : shards_) {
    const MutexLock lock(shard.mu);
    // All that was asked for in this round comes first.
    for (auto at = shard.order.begin(); at != shard.order.end() && at->round == shard.round; ++at) {
      if (at->hits != 0) all[at->key] += std::exchange(at->hits, 0);
    }
    ++shard.round;
    for (const auto& [key, hits] : std::exchange(shard.uncounted, {})) all[key] += hits;
  }
  return all;
}

void LinkCache::ReturnHits(Hits hits) {
  for (const auto& [key, count] : hits) {
    Shard& shard = ShardOf(key);
    const MutexLock lock(shard.mu);
    Remember(shard, key, count);
  }
}

LinkCache::Stats LinkCache::stats() const {
  Stats stats;
  for (Shard& shard : shards_) {
    const MutexLock lock(shard.mu);
    stats.entries += shard.order.size();
    stats.bytes += shard.bytes;
    stats.hits_dropped += shard.hits_dropped;
  }
  return stats;
}

}  // namespace keymill::links
