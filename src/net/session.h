// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a protocol is to the network: something that turns bytes into bytes. The network
// knows sockets, buffers and deadlines; a session knows what the bytes mean.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "keymill/clock.h"

namespace keymill::net {

// What a session wants next.
enum class Want : std::uint8_t {
  kInput,  // More bytes than it was given.
  kWake,   // To be woken by its Waker (or at wake_at); takes no input until then.
  kFlush,  // To go on as soon as its output has left: back-pressure for long answers.
  kClose,  // The connection to be closed once its output has left.
};

struct Step {
  std::size_t consumed = 0;  // Bytes of the input that need not be shown again.
  Want want = Want::kInput;
  // Whether a request has begun and is not whole, which then has to arrive in time: it is among the
  // bytes that are left over, or the session has taken them.
  bool in_request = false;
  // With in_request: whether it began in this call. Its time counts from there, however it drips.
  bool new_request = false;
  // Whether the session keeps something for requests to come: the connection may not be idle as
  // long as one that costs nothing.
  bool holding = false;
  std::optional<MonotonicTime> wake_at = {};  // With kWake: the latest moment to be called.
};

// Wakes a session from any thread, once or many times; harmless after its end.
using Waker = std::function<void()>;

// One per connection, used by one thread at a time.
class Session {
 public:
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // When the round of the event loop began in which the calls that follow are made. A session that
  // wants to know how late it is needs no clock of its own.
  void SetRound(MonotonicTime began) { round_ = began; }

  // Called when there is something to do: new input, a wake-up, an emptied output. Reads
  // from `input`, appends to `output`, says what it wants next.
  virtual Step Advance(std::string_view input, std::string& output) = 0;

  // A request did not arrive in time. May append a last answer; the connection is closed.
  virtual void OnTimeout(std::string& output) = 0;

  // The server stops: finish what was begun, take nothing new.
  virtual void OnDrain() = 0;

 protected:
  Session() = default;

  // The epoch when nobody said.
  [[nodiscard]] MonotonicTime round() const { return round_; }

 private:
  MonotonicTime round_{};
};

// Makes the session of a new connection. Called by any of the event loops, which is the only one
// that will ever use it.
using SessionFactory = std::function<std::unique_ptr<Session>(Waker waker)>;

}  // namespace keymill::net
