// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Settings of a Redis server under which an acknowledged write can be lost.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/store.h"

#include "base/mutex.h"
#include "store/redis/client.h"

namespace keymill::store::redis {

// The value of "name:value" in what INFO says; "" when it is not there.
std::string InfoField(std::string_view info, std::string_view name);

// Safe for concurrent use by multiple threads. Changes nothing in the server.
// REQUIRES: `client` outlives it.
class Inspector {
 public:
  Inspector(Client& client, const Clock& clock) : client_(client), clock_(clock) {}

  Result<std::vector<StoreFinding>> Inspect(MonotonicTime deadline);

 private:
  // Asks until no rewrite is under way that matters, or for long enough.
  Result<std::vector<wire::RespValue>> AskSettled(std::span<const Command> commands,
                                                  MonotonicTime deadline);
  // Whether the append-only file has kept what is acknowledged since before this rewrite.
  bool IsInForce(std::string_view info) KEYMILL_REQUIRES(mu_);
  // Whether the append-only file keeps what is acknowledged, though it is being rewritten.
  void CheckRewrite(std::string_view info, std::vector<StoreFinding>& findings);

  Client& client_;
  const Clock& clock_;
  Mutex mu_;
  // The server's history when its append-only file was last seen in force; "" when it was not.
  std::string in_force_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::store::redis
