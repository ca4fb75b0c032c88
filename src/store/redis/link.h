// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Bytes to and from a Redis server, plain or over TLS, each call by its deadline.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "base/descriptor.h"
#include "store/redis/settings.h"
#include "store/redis/tls.h"

namespace keymill::store::redis {

// Used by one thread at a time. After an error it is of no more use.
class Link {
 public:
  // Errors: kUnavailable; kFailedPrecondition when TLS refuses.
  static Result<std::unique_ptr<Link>> Connect(const RedisSettings& settings, const Clock& clock,
                                               MonotonicTime deadline);

  // Errors: kUnavailable. `sent` is then false if not one byte has left.
  Status Send(std::string_view bytes, MonotonicTime deadline, bool& sent);
  // Waits for some bytes and appends them.
  // Errors: kUnavailable.
  Status Receive(std::string& bytes, MonotonicTime deadline);

  // Whether the server has neither closed the link nor said anything unasked.
  [[nodiscard]] bool Quiet() const;

 private:
  Link(const RedisSettings& settings, const Clock& clock)
      : place_(settings.Place()), clock_(clock) {}

  Status Dial(const RedisSettings& settings, MonotonicTime deadline);
  Status ShakeHands(MonotonicTime deadline);
  Status SendRaw(std::string_view bytes, MonotonicTime deadline, bool& sent);
  Status ReceiveRaw(std::string& bytes, MonotonicTime deadline);
  Status Await(short events, std::string_view what, MonotonicTime deadline);
  [[nodiscard]] Status Broken(std::string_view what, int error) const;

  const std::string place_;
  const Clock& clock_;
  Descriptor socket_;
  std::unique_ptr<TlsSession> tls_;
};

}  // namespace keymill::store::redis
