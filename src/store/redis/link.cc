// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "store/resolve.h"

namespace keymill::store::redis {

Result<std::unique_ptr<Link>> Link::Connect(const RedisSettings& settings, const Clock& clock,
                                            MonotonicTime deadline) {
  std::unique_ptr<Link> link(new Link(settings, clock));
  if (Status dialed = link->Dial(settings, deadline); !dialed.ok()) return dialed;
  if (!settings.tls) return link;
  Result<std::unique_ptr<TlsSession>> tls = TlsSession::Make(settings);
  if (!tls.ok()) return tls.status();
  link->tls_ = *std::move(tls);
  if (Status shaken = link->ShakeHands(deadline); !shaken.ok()) return shaken;
  return link;
}

Status Link::Broken(std::string_view what, int error) const {
  return {Code::kUnavailable,
          fmt::format("{} {}: {}", what, place_, std::generic_category().message(error))};
}

Status Link::Dial(const RedisSettings& settings, MonotonicTime deadline) {
  Result<std::vector<HostAddress>> addresses =
      ResolveHost(settings.host, settings.port, clock_, deadline);
  if (!addresses.ok()) return addresses.status();
  Status failure(Code::kUnavailable, fmt::format("connect to {}: no address", place_));
  for (std::size_t i = 0; i < addresses->size(); ++i) {
    const HostAddress& address = (*addresses)[i];
    socket_ = Descriptor(
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket_.open()) return Broken("connect to", errno);
    const int on = 1;
    // Both are for speed and for hosts that vanish; without them it works too.
    static_cast<void>(::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
    static_cast<void>(::setsockopt(socket_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)));
    if (::connect(socket_.get(), address.socket_address(), address.size) == 0) return {};
    if (errno != EINPROGRESS) {
      failure = Broken("connect to", errno);
      continue;
    }
    // An address that never answers must leave time for the next one.
    const MonotonicTime now = clock_.Monotonic();
    const auto share = (deadline - now) / static_cast<std::int64_t>(addresses->size() - i);
    failure = Await(POLLOUT, "connect to", now + share);
    if (!failure.ok()) continue;
    int error = 0;
    socklen_t size = sizeof(error);
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error == 0) return {};
    failure = Broken("connect to", error);
  }
  return failure;
}

Status Link::Await(short events, std::string_view what, MonotonicTime deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock_.Monotonic());
    if (left.count() <= 0) {
      return {Code::kUnavailable, fmt::format("{} {}: no answer by the deadline", what, place_)};
    }
    pollfd waiting{socket_.get(), events, 0};
    const int ready =
        ::poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left.count(), INT_MAX)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Broken(what, errno);
  }
}

Status Link::ShakeHands(MonotonicTime deadline) {
  for (;;) {
    Result<bool> done = tls_->Handshake();
    // Also what says why the handshake failed goes to the server.
    bool sent = false;
    Status flushed = SendRaw(tls_->TakeOutput(), deadline, sent);
    if (!done.ok()) return done.status();
    if (!flushed.ok()) return flushed;
    if (*done) return {};
    std::string bytes;
    if (Status received = ReceiveRaw(bytes, deadline); !received.ok()) return received;
    tls_->PutInput(bytes);
  }
}

Status Link::Send(std::string_view bytes, MonotonicTime deadline, bool& sent) {
  sent = false;
  if (!tls_) return SendRaw(bytes, deadline, sent);
  if (Status encrypted = tls_->Encrypt(bytes); !encrypted.ok()) return encrypted;
  return SendRaw(tls_->TakeOutput(), deadline, sent);
}

Status Link::SendRaw(std::string_view bytes, MonotonicTime deadline, bool& sent) {
  while (!bytes.empty()) {
    const ssize_t written = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written > 0) {
      sent = true;
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return Broken("send to", errno);
    if (Status ready = Await(POLLOUT, "send to", deadline); !ready.ok()) return ready;
  }
  return {};
}

Status Link::Receive(std::string& bytes, MonotonicTime deadline) {
  if (!tls_) return ReceiveRaw(bytes, deadline);
  const std::size_t before = bytes.size();
  while (bytes.size() == before) {
    std::string encrypted;
    if (Status received = ReceiveRaw(encrypted, deadline); !received.ok()) return received;
    tls_->PutInput(encrypted);
    Result<bool> open = tls_->Decrypt(bytes);
    if (!open.ok()) return open.status();
    // A session may have to answer while it reads.
    bool sent = false;
    if (Status flushed = SendRaw(tls_->TakeOutput(), deadline, sent); !flushed.ok()) return flushed;
    if (!*open && bytes.size() == before) return Broken("read from", ECONNRESET);
  }
  return {};
}

Status Link::ReceiveRaw(std::string& bytes, MonotonicTime deadline) {
  std::array<char, 16 * 1024> buffer{};
  for (;;) {
    const ssize_t read = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (read > 0) {
      bytes.append(buffer.data(), static_cast<std::size_t>(read));
      return {};
    }
    if (read == 0) return Broken("read from", ECONNRESET);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return Broken("read from", errno);
    if (Status ready = Await(POLLIN, "read from", deadline); !ready.ok()) return ready;
  }
}

bool Link::Quiet() const {
  pollfd now{socket_.get(), POLLIN, 0};
  return ::poll(&now, 1, 0) == 0;
}

}  // namespace keymill::store::redis
