// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Short links: keys of one keyspace that lead to URLs. A link is one row in the store, under its
// own key, so that the store's primary key decides who has an alias, and what was acknowledged
// outlives any crash. Redirects are answered from a cache; how often each was followed is written
// down every few seconds, off their way.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "base/metrics.h"
#include "base/mutex.h"
#include "links/link.h"
#include "links/link_cache.h"
#include "mint/aliases.h"
#include "mint/engine.h"

namespace keymill::links {

struct LinkOptions {
  // Where the keys of links come from: of a kind whose keys the store does not keep anyway.
  std::string keyspace = "default";

  // What comes before "/KEY" in a link, as people write it; "": see SetPublicUrl.
  std::string public_url = {};

  LinkCacheOptions cache = {};

  // How often hits are written down, and links that ended long ago are forgotten.
  std::chrono::milliseconds count_interval{5'000};
  std::chrono::milliseconds forget_interval{600'000};

  // Whether a thread does so. Off in tests that call StepForTest.
  bool background = true;
};

struct NewLink {
  std::string url;
  std::string alias = {};          // "": a key is minted.
  std::int64_t expires_at_ms = 0;  // 0 for never.
  bool dedupe = false;             // The link that leads there already will do.
};

struct Creation {
  mint::Claim claim = {};  // Whether the alias could be had; kClaimed when a key was minted.
  Link link = {};
  bool existing = false;  // It was there before, with the same URL and end.
};

struct LinkPage {
  std::vector<Link> links;  // May be none although more follow.
  std::string cursor;       // "" after the last page.
};

// Safe for concurrent use by multiple threads. All calls but Follow wait for the store. Errors of
// all of them: kUnavailable without a mint or while the store is away; kNotFound when there is no
// such keyspace; kInvalidArgument when its kind is one of those that are stored by key;
// KeyRegister's, kFailedPrecondition for a store that keeps no keys among them.
class LinkBook final : public MetricSource {
 public:
  explicit LinkBook(LinkOptions options = {}, const Clock& clock = SystemClock());
  ~LinkBook() override;  // Stops.

  // The mint, once there is one. It outlives this, or Stop comes first.
  void SetEngine(mint::Engine* engine);

  [[nodiscard]] const std::string& keyspace() const { return options_.keyspace; }

  // Where links are served, unless the options say what others are to be told.
  void SetPublicUrl(std::string url);
  // What `key` is as a link; "" when nobody knows where links are served.
  [[nodiscard]] std::string PublicUrl(std::string_view key) const;

  // Writes down what was counted, and does nothing in the background any more.
  void Stop();

  // Makes a link; durable before this returns. Keys are waited for until `deadline`.
  // Errors: kInvalidArgument for a URL that no link may lead to, an end that has passed, or an
  // alias together with dedupe; those of Engine::Mint.
  Result<Creation> Create(const NewLink& wanted, MonotonicTime deadline);

  // The link of `key`; nothing when there is none, or it has ended.
  Result<std::optional<Link>> Find(std::string_view key);

  // The links that have not ended, over several pages, in no order. One that is followed meanwhile
  // may come twice.
  Result<LinkPage> List(std::string_view cursor, std::uint32_t rows_max);

  // Ends a link. Its key leads nowhere from now on, and to nobody else's URL ever: a minted one is
  // not minted again, an alias stays taken. Other instances follow it for a few seconds more.
  // False when there is none.
  Result<bool> Delete(std::string_view key);

  // Where `key` leads, from memory; see LinkCache::Look.
  template <typename Use>
  LinkCache::Found Follow(std::string_view key, MonotonicTime now, std::uint64_t hits, Use use) {
    return cache_.Look(key, now, hits, use);
  }

  // Asks the store where `key` leads and keeps that for Follow; "" for nowhere. With the store
  // away, what it said last will do. Counts `hits`.
  Result<std::string> Load(std::string_view key, std::uint64_t hits);

  void Collect(MetricFamilies& families) const override;

  // One round of what is done in the background.
  void StepForTest() {
    CountHits();
    ForgetEnded();
  }

 private:
  // The mint with the keyspace of the links.
  struct Place {
    mint::Engine& mill;
    mint::Keyspace& keyspace;
  };
  Result<Place> Open();

  Result<Creation> CreateAlias(Place place, const NewLink& wanted, Link link);
  Result<Creation> CreateMinted(Place place, Link link, const std::string& identity,
                                MonotonicTime deadline);
  // The row of `key` if it is a link that has not ended.
  static Result<std::optional<KeyRow>> FindRow(Place place, std::string_view key);

  void Run();
  void CountHits();
  void ForgetEnded();

  const LinkOptions options_;
  const Clock& clock_;
  std::atomic<mint::Engine*> engine_{nullptr};
  LinkCache cache_;
  std::atomic<std::uint64_t> made_{0};
  std::atomic<std::uint64_t> loaded_{0};
  std::atomic<std::uint64_t> hits_lost_{0};

  mutable Mutex mu_;
  CondVar bell_;
  std::string public_url_ KEYMILL_GUARDED_BY(mu_);
  bool stop_ KEYMILL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace keymill::links
