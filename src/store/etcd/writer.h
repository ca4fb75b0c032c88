// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// How every change is made: read, compute, and write if nobody has come first; otherwise again.

#pragma once

#include <optional>
#include <utility>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "store/etcd/etcd_client.h"
#include "store/etcd/txn.h"

namespace keymill::store::etcd {

// One try of a change: its outcome, or nothing when somebody else came first.
template <typename T>
using Attempt = Result<std::optional<T>>;

template <typename T>
Attempt<T> Done(T outcome) {
  return std::optional<T>(std::move(outcome));
}

// Safe for concurrent use by multiple threads.
// REQUIRES: both outlive it.
class Writer {
 public:
  Writer(EtcdClient& client, const Clock& clock) : client_(client), clock_(clock) {}

  // Tries until the change is made or refused, or time is up.
  template <typename T, typename Try>
  Result<T> Repeat(MonotonicTime deadline, const Try& attempt) {
    do {
      Attempt<T> outcome = attempt();
      if (!outcome.ok()) return outcome.status();
      if (outcome->has_value()) return **std::move(outcome);
    } while (clock_.Monotonic() < deadline);
    return Status(Code::kUnavailable, "change the store: others were first every time");
  }

  // `since`: of what the transaction was computed from, if it holds in that timeline only.
  template <typename T>
  Attempt<T> Commit(const Transaction& transaction, T outcome, MonotonicTime deadline,
                    const std::optional<Header>& since = {}) {
    Result<Reply> reply = client_.Commit(transaction, deadline);
    if (!reply.ok()) return reply.status();
    if (!reply->succeeded) return std::optional<T>();
    const Header& now = reply->header;
    if (since && (now.cluster_id != since->cluster_id || now.term != since->term ||
                  now.revision <= since->revision)) {
      return Status(Code::kUnknownOutcome,
                    "change the store: the cluster was started anew, or held an election, just "
                    "then");
    }
    return Done(std::move(outcome));
  }

 private:
  EtcdClient& client_;
  const Clock& clock_;
};

}  // namespace keymill::store::etcd
