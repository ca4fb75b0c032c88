// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A few connections to one Redis server, and scripts that run there.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "base/mutex.h"
#include "store/redis/connection.h"
#include "store/redis/settings.h"
#include "wire/resp.h"

namespace keymill::store::redis {

// A Lua program. It runs alone on the server, so that what it does happens at once or not at all.
class Script {
 public:
  Script(std::string text, Access access);

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::string_view sha1() const { return sha1_; }  // In hex, as Redis names it.
  [[nodiscard]] Access access() const { return access_; }

 private:
  std::string text_;
  std::string sha1_;
  Access access_;
};

// Safe for concurrent use by multiple threads.
class Client {
 public:
  Client(RedisSettings settings, const Clock& clock)
      : settings_(std::move(settings)), clock_(clock) {}

  // Errors: those of Connection::Call, and those of Refused when the reply is one.
  Result<wire::RespValue> Run(const Script& script, std::span<const std::string> keys,
                              std::span<const std::string> arguments, MonotonicTime deadline);

  // Commands that change nothing; their replies may be errors.
  Result<std::vector<wire::RespValue>> Ask(std::span<const Command> commands,
                                           MonotonicTime deadline);

  // What a reply that is an error means; see ReplyError. Where a right is missing, how to give it.
  // Once the user is admitted, what has to be put right by somebody is kUnavailable.
  [[nodiscard]] Status Refused(std::string_view what, const wire::RespValue& reply) const;

  // Whether the user has had every right that it needs: it was said so, or has changed something.
  [[nodiscard]] bool admitted() const { return admitted_; }
  void Admit() { admitted_ = true; }

  [[nodiscard]] const RedisSettings& settings() const { return settings_; }

 private:
  // More serve people who look at the ledger while a block is being reserved.
  static constexpr std::uint32_t kConnectionsMax = 4;

  Result<std::vector<wire::RespValue>> Call(std::span<const Command> commands, Access access,
                                            MonotonicTime deadline);
  Result<std::unique_ptr<Connection>> Acquire(MonotonicTime deadline, bool& reused);
  Result<std::unique_ptr<Connection>> Connect(MonotonicTime deadline);
  void Release(std::unique_ptr<Connection> connection);

  const RedisSettings settings_;
  const Clock& clock_;
  std::atomic<bool> connected_{false};
  std::atomic<bool> admitted_{false};
  Mutex mu_;
  CondVar freed_;
  std::uint32_t in_use_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::vector<std::unique_ptr<Connection>> idle_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::store::redis
