// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sql/connection_pool.h"

namespace keymill::store::sql {

Result<ConnectionPool::Lease> ConnectionPool::Acquire(MonotonicTime deadline) {
  std::unique_ptr<Connection> connection;
  {
    const MutexLock lock(mu_);
    while (in_use_ >= connections_max_) {
      if (!freed_.WaitUntil(mu_, deadline) && in_use_ >= connections_max_) {
        return Status(Code::kUnavailable, "use the store: all connections are busy");
      }
    }
    ++in_use_;
    if (!idle_.empty()) {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (connection && !connection->CheckAlive().ok()) connection.reset();
  if (!connection) {
    Result<std::unique_ptr<Connection>> fresh = driver_->Connect(deadline);
    if (!fresh.ok()) {
      Return(nullptr);
      return fresh.status();
    }
    connection = *std::move(fresh);
  }
  return Lease(*this, std::move(connection));
}

void ConnectionPool::Return(std::unique_ptr<Connection> connection) {
  const MutexLock lock(mu_);
  --in_use_;
  if (connection) idle_.push_back(std::move(connection));
  freed_.NotifyOne();
}

}  // namespace keymill::store::sql
