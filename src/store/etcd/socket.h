// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A TCP connection on which every step has a deadline, with TLS where it is asked for. Plain
// system calls instead of Asio: a reactor's epoll set is shared with forked children, and one that
// closes its copy would silence the parent's connection.

#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "store/etcd/etcd_options.h"

namespace keymill::store::etcd {

// What TLS connections share: trusted certificates and our own. Safe for concurrent use.
class TlsContext;

// Null when `options` say that there is no TLS.
// Errors: kFailedPrecondition when a file cannot be used.
Result<std::shared_ptr<const TlsContext>> MakeTlsContext(const TlsOptions& options);

// All errors are kUnavailable, apart from a certificate that is refused: kFailedPrecondition.
// Used by one thread at a time.
class Socket {
 public:
  virtual ~Socket() = default;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  virtual Status WriteAll(std::string_view data, MonotonicTime deadline) = 0;

  // At least one byte; 0 when the other side has ended the connection.
  virtual Result<std::size_t> ReadSome(std::span<char> into, MonotonicTime deadline) = 0;

  // Whether an idle connection can be used again: it was neither closed nor spoken on.
  [[nodiscard]] virtual bool Quiet() const = 0;

 protected:
  Socket() = default;
};

// REQUIRES: `clock` outlives the socket.
Result<std::unique_ptr<Socket>> Connect(const HostPort& to, std::shared_ptr<const TlsContext> tls,
                                        const Clock& clock, MonotonicTime deadline);

}  // namespace keymill::store::etcd
