// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What names the data behind a cluster at present, and whether that was agreed on.
//
// Every answer tells the cluster's id and the raft term: its era. A name is the era and something
// random, because eras can come again:
//   - All members are started with an old copy of their directories. The term goes on from that of
//     the copy, and may reach one that was had before; but the copy does not hold the name that was
//     agreed on then.
//   - A snapshot is restored, with the same peers and token as before. Cluster id and term are as
//     before, and so may be the agreed name. Whoever was there sees the revision fall. Whoever was
//     not sees that the log has begun anew while the revisions go on: the lead of its index over
//     the revision never falls otherwise, for no change takes less than one entry of the log.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keymill/clock.h"

#include "base/mutex.h"
#include "store/etcd/etcd_client.h"
#include "store/etcd/layout.h"

namespace keymill::store::etcd {

// Safe for concurrent use by multiple threads.
// REQUIRES: `client` outlives it.
class Timeline {
 public:
  explicit Timeline(EtcdClient& client) : client_(client) {}

  // A name that never was, for the era of an answer.
  static std::string NewName(const Header& header);

  // Whether the name that was agreed on is that of the present, as far as an answer can tell.
  // REQUIRES, for this and the next: both come from one answer.
  bool Holds(const StoreEntry& store, const Header& header);
  // The agreed name where it holds, otherwise one that this process suggests.
  std::string Name(const StoreEntry& store, const Header& header);

  // Asks the members how far their log leads, and distrusts the agreed name if that fell. Does
  // nothing where they do not tell.
  void CompareLead(const StoreEntry& store, const Header& header, MonotonicTime deadline);
  // How far it leads now; nothing when nobody tells.
  std::optional<std::int64_t> Lead(MonotonicTime deadline);

 private:
  EtcdClient& client_;
  Mutex mu_;
  std::uint64_t falls_ KEYMILL_GUARDED_BY(mu_) = 0;  // Those that are accounted for.
  std::string distrusted_ KEYMILL_GUARDED_BY(mu_);   // The agreed name that holds no more.
  std::string suggested_ KEYMILL_GUARDED_BY(mu_);    // The name,
  std::string instead_of_ KEYMILL_GUARDED_BY(mu_);   // in place of this one.
};

}  // namespace keymill::store::etcd
