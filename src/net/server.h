// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Event loops and listeners: accepts connections, gives each a session, moves bytes.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "keymill/status.h"

#include "net/session.h"

namespace keymill::net {

struct ServerOptions {
  std::uint32_t threads = 1;
  std::uint32_t connections_max = 20'000;  // Of all endpoints together.
};

// For pools of connections that are kept open for hours.
inline constexpr std::chrono::hours kIdleForEver{24 * 365};

// Where one protocol is spoken.
struct Endpoint {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0 picks a free one.

  std::chrono::milliseconds request_timeout{10'000};   // From its first byte to its header's end.
  std::chrono::milliseconds idle_timeout{60'000};      // Between requests.
  std::chrono::milliseconds holding_timeout{120'000};  // The same, of one that keeps something.
  std::chrono::milliseconds write_timeout{30'000};     // A reader that takes nothing.

  // What a connection over the limit is told before it is closed.
  std::string busy_answer = {};
};

class Server {
 public:
  explicit Server(const ServerOptions& options);
  ~Server();  // Stops at once.
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Binds and listens. Returns the port.
  // Errors:
  //   kAlreadyExists    another process listens on this port (the message names it).
  //   kInvalidArgument  the address cannot be bound here.
  // REQUIRES: before Run.
  Result<std::uint16_t> Listen(const Endpoint& endpoint, SessionFactory factory);

  // Starts the loops.
  void Run();

  // Open now, of all endpoints.
  [[nodiscard]] std::size_t connections() const;

  // Of the endpoint whose port Listen returned.
  struct Counts {
    std::size_t open = 0;
    std::uint64_t accepted = 0;     // So far.
    std::uint64_t turned_away = 0;  // Of those, told at once that there are too many.
  };
  [[nodiscard]] Counts counts(std::uint16_t port) const;

  // Answers everything that has reached this machine — connections in the accept queue and
  // requests in sockets included —, then closes the listeners and every connection. Returns
  // false when `timeout` passed first and the rest was cut off.
  //
  // An idle connection is closed once it has been idle for half a second, the longest idle first
  // and few at a time, and not while requests still come on others: whoever closes a connection
  // may cross a request on its way, and pools hand out the one that was used last.
  //
  // The listeners stay open while a connection from before has something in flight, so that a
  // probe on a new connection can still learn that this server is about to go. New connections
  // are answered and do not prolong this.
  bool Drain(std::chrono::milliseconds timeout);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace keymill::net
