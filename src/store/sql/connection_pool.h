// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A bounded set of connections, each used by one thread at a time.

#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "base/mutex.h"
#include "store/sql/connection.h"

namespace keymill::store::sql {

// Safe for concurrent use by multiple threads.
class ConnectionPool {
 public:
  ConnectionPool(std::unique_ptr<Driver> driver, std::uint32_t connections_max)
      : driver_(std::move(driver)), connections_max_(connections_max) {}

  // A connection that goes back to the pool at the end of its scope, or is closed there
  // when it was marked broken.
  class Lease {
   public:
    Lease(ConnectionPool& pool, std::unique_ptr<Connection> connection)
        : pool_(&pool), connection_(std::move(connection)) {}
    ~Lease() {
      if (pool_ != nullptr) pool_->Return(std::move(connection_));
    }
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), connection_(std::move(other.connection_)) {}
    Lease& operator=(Lease&&) = delete;

    Connection& operator*() { return *connection_; }
    Connection* operator->() { return connection_.get(); }
    void MarkBroken() { connection_.reset(); }

   private:
    ConnectionPool* pool_;
    std::unique_ptr<Connection> connection_;
  };

  // Waits for a free connection, opens one while fewer than connections_max exist.
  // Errors: kUnavailable at the deadline, or whatever Driver::Connect says.
  Result<Lease> Acquire(MonotonicTime deadline);

  Driver& driver() { return *driver_; }

 private:
  void Return(std::unique_ptr<Connection> connection);

  const std::unique_ptr<Driver> driver_;
  const std::uint32_t connections_max_;
  Mutex mu_;
  CondVar freed_;
  std::uint32_t in_use_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::vector<std::unique_ptr<Connection>> idle_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::store::sql
