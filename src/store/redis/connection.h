// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One connection to a Redis server: commands out, replies in.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "store/redis/link.h"
#include "store/redis/settings.h"
#include "wire/resp.h"

namespace keymill::store::redis {

using Command = std::vector<std::string_view>;

// What a lost reply means: that nothing is known, or that nothing was learned.
enum class Access : std::uint8_t { kRead, kWrite };

// What Redis says with an error reply, as our own.
//   kUnavailable         nothing was changed, and it may work later: loading, busy, out of memory,
//                        a replica, …
//   kFailedPrecondition  nothing was changed, and it will not work before somebody changes a
//                        setting: password, rights.
//   kInternal            anything else, from which nothing follows.
Status ReplyError(std::string_view what, std::string_view place, const wire::RespValue& reply);

// Whether it is an error for want of a right.
bool LacksRight(const wire::RespValue& reply);

// Used by one thread at a time. After an error it is of no more use.
class Connection {
 public:
  // Connects, authenticates, and selects the database.
  // Errors: kUnavailable; kFailedPrecondition when TLS, user, password or database are refused.
  static Result<std::unique_ptr<Connection>> Open(const RedisSettings& settings, const Clock& clock,
                                                  MonotonicTime deadline);

  // Sends all commands at once and waits for as many replies; some of them may be errors.
  // Errors:
  //   kUnavailable     nothing was changed.
  //   kUnknownOutcome  with kWrite: the commands may have left, and no reply came.
  //   kInternal        with kRead: what came was no reply.
  Result<std::vector<wire::RespValue>> Call(std::span<const Command> commands, Access access,
                                            MonotonicTime deadline);

  // Whether it can be used: neither closed by the server nor inherited from a parent process.
  [[nodiscard]] bool Usable() const;

 private:
  Connection(std::unique_ptr<Link> link, std::string place);

  Status ShakeHands(const RedisSettings& settings, MonotonicTime deadline);
  Result<wire::RespValue> CallOne(const Command& command, MonotonicTime deadline);
  Result<wire::RespValue> ReadReply(MonotonicTime deadline);

  const std::unique_ptr<Link> link_;
  const std::string place_;
  const std::uint64_t fork_generation_;
  wire::RespReader reader_;
  std::string received_;  // What the reader has not taken yet.
  bool shaken_ = false;   // It has answered as Redis does.
};

}  // namespace keymill::store::redis
