// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/plain_socket.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/descriptor.h"
#include "store/resolve.h"

namespace keymill::store::etcd {
namespace {

Status Failed(std::string_view what, const HostPort& to, std::string_view said) {
  return {Code::kUnavailable, fmt::format("{} {}: {}", what, MemberText(to), said)};
}

std::string Reason(int error) { return std::generic_category().message(error); }

class PlainSocket final : public Socket {
 public:
  PlainSocket(Descriptor descriptor, HostPort peer, const Clock& clock)
      : descriptor_(std::move(descriptor)), peer_(std::move(peer)), clock_(clock) {}

  Status Open(const HostAddress& address, MonotonicTime deadline) {
    const int on = 1;
    ::setsockopt(descriptor_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (::connect(descriptor_.get(), address.socket_address(), address.size) == 0) return {};
    if (errno != EINPROGRESS) return Failed("connect to", peer_, Reason(errno));
    if (Status waited = Wait(POLLOUT, "connect to", deadline); !waited.ok()) return waited;
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(descriptor_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 ? Status() : Failed("connect to", peer_, Reason(error));
  }

  Status WriteAll(std::string_view data, MonotonicTime deadline) override {
    while (!data.empty()) {
      const ssize_t sent = ::send(descriptor_.get(), data.data(), data.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        data.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN) {
        if (Status waited = Wait(POLLOUT, "write to", deadline); !waited.ok()) return waited;
      } else if (errno != EINTR) {
        return Failed("write to", peer_, Reason(errno));
      }
    }
    return {};
  }

  Result<std::size_t> ReadSome(std::span<char> into, MonotonicTime deadline) override {
    for (;;) {
      const ssize_t got = ::recv(descriptor_.get(), into.data(), into.size(), 0);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return Failed("read from", peer_, Reason(errno));
      if (Status waited = Wait(POLLIN, "read from", deadline); !waited.ok()) return waited;
    }
  }

  [[nodiscard]] bool Quiet() const override {
    pollfd wanted{descriptor_.get(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 0;
  }

 private:
  Status Wait(short events, std::string_view what, MonotonicTime deadline) const {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock_.Monotonic());
      if (left.count() <= 0) return Failed(what, peer_, "no answer in time");
      pollfd wanted{descriptor_.get(), events, 0};
      const auto patience = std::min<std::int64_t>(left.count(), 60'000);
      const int ready = ::poll(&wanted, 1, static_cast<int>(patience));
      if (ready > 0) return {};
      if (ready < 0 && errno != EINTR) return Failed(what, peer_, Reason(errno));
    }
  }

  const Descriptor descriptor_;
  const HostPort peer_;
  const Clock& clock_;
};

}  // namespace

Result<std::unique_ptr<Socket>> ConnectPlain(const HostPort& to, const Clock& clock,
                                             MonotonicTime deadline) {
  Result<std::vector<HostAddress>> addresses = ResolveHost(to.host, to.port, clock, deadline);
  if (!addresses.ok()) return addresses.status();
  Status failed = Failed("find", to, "the name has no address");
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    const HostAddress& address = (*addresses)[i];
    Descriptor descriptor(
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (descriptor.get() < 0) return Failed("open a socket for", to, Reason(errno));
    auto socket = std::make_unique<PlainSocket>(std::move(descriptor), to, clock);
    // An address that never answers must leave time for the next one.
    const MonotonicTime now = clock.Monotonic();
    const auto share = (deadline - now) / static_cast<std::int64_t>(addresses->size() - i);
    failed = socket->Open(address, now + share);
    if (failed.ok()) return std::unique_ptr<Socket>(std::move(socket));
  }
  return failed;
}

}  // namespace keymill::store::etcd
