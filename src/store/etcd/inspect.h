// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Whether an etcd cluster keeps what it acknowledges: its version, members, alarms, space, and
// whether they write to disk before they answer.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/store.h"

#include "base/mutex.h"
#include "store/etcd/etcd_client.h"

namespace keymill::store::etcd {

// What one member says of itself.
struct MemberFacts {
  std::string name;  // "127.0.0.1:2379"
  std::string version;
  bool has_leader = false;
  bool is_leader = false;
  bool is_learner = false;
  std::int64_t db_size_bytes = 0;
  std::uint64_t raft_index = 0;
  std::uint64_t applied_index = 0;  // 0: not told.
  // From its page of metrics; absent when there is no such page.
  bool has_metrics = false;
  std::int64_t quota_bytes = 0;
  std::uint64_t fsync_count = 0;  // This and the next since it was started,
  std::uint64_t put_count = 0;
  double started_at_seconds = 0;  // which was then.
  std::int64_t revision = 0;
  std::int64_t compacted_revision = 0;
};

struct ClusterFacts {
  std::vector<MemberFacts> members;      // Those of the URL that answered.
  std::vector<std::string> unreachable;  // Those of the URL that did not, with the reason.
  std::size_t voters = 0;
  std::vector<std::string> alarms;  // "NOSPACE"
};

// How far a member's log and its count of fsyncs had come when it was looked at before.
struct FsyncMark {
  std::uint64_t raft_index = 0;
  std::uint64_t fsync_count = 0;
  double started_at_seconds = 0;
};

// The findings that follow from the facts. Pure.
std::vector<StoreFinding> Judge(const ClusterFacts& facts,
                                const std::map<std::string, FsyncMark>& before);

// Reads status, and the metrics in Prometheus's text form, into `facts`.
void ReadStatus(std::string_view json, MemberFacts& facts);
void ReadMetrics(std::string_view text, MemberFacts& facts);

// Safe for concurrent use by multiple threads. Changes nothing in the cluster.
// REQUIRES: `client` outlives it.
class Inspector {
 public:
  explicit Inspector(EtcdClient& client) : client_(client) {}

  // Errors: kUnavailable when no member answers; kFailedPrecondition when they refuse us.
  Result<std::vector<StoreFinding>> Inspect(MonotonicTime deadline);

 private:
  Result<MemberFacts> LookAt(std::size_t member, MonotonicTime deadline);
  // The first time, with something to write to its log in between, so that it can be seen to sync.
  Result<MemberFacts> LookTwice(std::size_t member, MonotonicTime deadline);
  void LookAtCluster(std::size_t member, ClusterFacts& facts, MonotonicTime deadline);

  EtcdClient& client_;
  Mutex mu_;
  std::map<std::string, FsyncMark> seen_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::store::etcd
