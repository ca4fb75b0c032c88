// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What redirects are answered from: the links that were asked for lately, as much as fits, and how
// often each was followed. Nothing here waits for anything but a lock that is held for a look.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "keymill/clock.h"

#include "base/mutex.h"

namespace keymill::links {

struct LinkCacheOptions {
  // All that is kept, bookkeeping included. The least recently asked for goes first.
  std::size_t bytes_max = std::size_t{32} << 20;

  // How long what the store said is good. For as long again it is still used while somebody asks
  // the store anew. So a link that was deleted elsewhere is followed here for twice this time.
  std::chrono::milliseconds fresh{5'000};

  // The same for keys that lead nowhere, which somebody may be about to make lead somewhere.
  std::chrono::milliseconds fresh_none{1'000};

  // Links whose hits wait to be counted. Those of any more are dropped.
  std::size_t hits_max = 100'000;
};

// How often each of some links was followed.
using Hits = std::map<std::string, std::uint64_t, std::less<>>;

// Safe for concurrent use by multiple threads.
class LinkCache {
 public:
  explicit LinkCache(LinkCacheOptions options = {});

  enum class Found : std::uint8_t {
    kNothing,  // Ask the store.
    kLink,     // `use` was called.
    kStale,    // The same; and it is up to the caller, nobody else, to ask the store again.
    kNone,     // There is no such link.
  };
  using Use = std::function<void(std::string_view url)>;

  // Looks `key` up. If it leads somewhere, calls `use` with the URL, good during the call, and
  // counts `hits`.
  template <typename Use>
  Found Look(std::string_view key, MonotonicTime now, std::uint64_t hits, Use use) {
    Shard& shard = ShardOf(key);
    const MutexLock lock(shard.mu);
    Entry* const entry = Touch(shard, key);
    if (entry == nullptr || now >= entry->usable_until) return Found::kNothing;
    if (entry->url.empty()) return Found::kNone;
    entry->hits += hits;
    use(std::string_view(entry->url));
    if (now < entry->fresh_until) return Found::kLink;
    entry->fresh_until = entry->usable_until;  // Nobody else asks.
    return Found::kStale;
  }

  // The same for when the store does not answer: however old it is, but not after the link's end.
  // It is good for a moment again then, so that nobody waits for a store that is known to be away.
  bool LookStale(std::string_view key, MonotonicTime now, std::uint64_t hits, const Use& use);

  // What the store said of `key` just now: where it leads, until when at the latest; "" for
  // nowhere. `hits` are counted at once.
  void Put(std::string_view key, std::string_view url, MonotonicTime now, MonotonicTime ends_at,
           std::uint64_t hits);

  // The store is to be asked anew.
  void Drop(std::string_view key);

  // Takes what was counted since the last call.
  Hits TakeHits();
  // Puts back what could not be written down.
  void ReturnHits(Hits hits);

  struct Stats {
    std::size_t entries = 0;
    std::size_t bytes = 0;
    std::uint64_t hits_dropped = 0;
  };
  [[nodiscard]] Stats stats() const;

 private:
  struct Entry {
    std::string key;
    std::string url;
    MonotonicTime fresh_until;
    MonotonicTime usable_until;
    MonotonicTime ends_at;  // Of the link itself.
    std::uint64_t hits = 0;
    std::uint64_t round = 0;  // In which it was asked for last.
  };
  using Order = std::list<Entry>;  // What was asked for last comes first.
  struct Shard {
    Mutex mu;
    Order order KEYMILL_GUARDED_BY(mu);
    std::unordered_map<std::string_view, Order::iterator> by_key KEYMILL_GUARDED_BY(mu);
    std::size_t bytes KEYMILL_GUARDED_BY(mu) = 0;
    // Grows whenever hits are taken: what was not asked for since then has none.
    std::uint64_t round KEYMILL_GUARDED_BY(mu) = 0;
    Hits uncounted KEYMILL_GUARDED_BY(mu);  // Of links that are no longer here.
    std::uint64_t hits_dropped KEYMILL_GUARDED_BY(mu) = 0;
  };
  static constexpr std::size_t kShards = 16;

  Shard& ShardOf(std::string_view key);
  static std::size_t BytesOf(const Entry& entry);
  static Entry* Touch(Shard& shard, std::string_view key) KEYMILL_REQUIRES(shard.mu);
  void Remove(Shard& shard, Order::iterator at) KEYMILL_REQUIRES(shard.mu);
  void Remember(Shard& shard, std::string_view key, std::uint64_t hits) KEYMILL_REQUIRES(shard.mu);

  const LinkCacheOptions options_;
  mutable std::array<Shard, kShards> shards_;
};

}  // namespace keymill::links
