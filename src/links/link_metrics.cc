// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What short links tell a monitoring system.

#include "links/link_book.h"

namespace keymill::links {

void LinkBook::Collect(MetricFamilies& families) const {
  const LinkCache::Stats cache = cache_.stats();
  families.Counter("keymill_links_created_total", "Links made by this instance.")
      .Add(static_cast<double>(made_.load(std::memory_order_relaxed)));
  families
      .Counter("keymill_links_loads_total",
               "How often the store was asked where a key leads, because memory did not know.")
      .Add(static_cast<double>(loaded_.load(std::memory_order_relaxed)));
  families.Gauge("keymill_links_cached", "Keys whose links, or lack of one, are in memory.")
      .Add(static_cast<double>(cache.entries));
  families.Gauge("keymill_links_cache_bytes", "Memory that these take.")
      .Add(static_cast<double>(cache.bytes));
  families
      .Counter("keymill_links_hits_lost_total",
               "Redirects that are not counted: too many links waited to be, or an answer of the "
               "store was lost.")
      .Add(static_cast<double>(cache.hits_dropped + hits_lost_.load(std::memory_order_relaxed)));
}

}  // namespace keymill::links
