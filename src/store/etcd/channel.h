// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One HTTP/1.1 connection to one member, kept open between requests.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "store/etcd/socket.h"

namespace keymill::store::etcd {

struct HttpAsk {
  std::string_view path;   // "/v3/kv/txn"
  std::string_view body;   // "": GET instead of POST.
  std::string_view token;  // Of etcd's authentication; may be empty.
};

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
  std::string date = {};  // As the member says, by its clock; "" when it does not.
};

// Used by one thread at a time.
class Channel {
 public:
  Channel(HostPort member, std::unique_ptr<Socket> socket)
      : member_(std::move(member)), socket_(std::move(socket)) {}

  // After any error the channel cannot be used again.
  // Errors:
  //   kUnavailable     the request was not sent whole: nobody can have carried it out.
  //   kUnknownOutcome  it was sent, but no answer came.
  Result<HttpAnswer> Ask(const HttpAsk& ask, MonotonicTime deadline);

  // Whether another request may be sent on it.
  [[nodiscard]] bool usable() const { return usable_ && socket_->Quiet(); }

 private:
  Result<HttpAnswer> ReadAnswer(MonotonicTime deadline);

  const HostPort member_;
  const std::unique_ptr<Socket> socket_;
  bool usable_ = true;
};

}  // namespace keymill::store::etcd
