// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One TCP connection on one event loop.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "net/reactor.h"
#include "net/session.h"

namespace keymill::net {

class Loop;
struct Endpoint;

// Used by its loop's thread only. An idle one holds no buffer: it reads into the loop's own, and
// only what is left over of a request is kept.
class Connection final : public Watcher, public std::enable_shared_from_this<Connection> {
 public:
  // `open` is for the loop, and not changed here.
  // REQUIRES: `socket` does not block.
  Connection(Loop& loop, const Endpoint& endpoint, Descriptor socket,
             std::atomic<std::size_t>& open);
  ~Connection() override;

  void Start(const SessionFactory& factory);

  [[nodiscard]] std::atomic<std::size_t>& open() const { return open_; }

  // Closes it if a deadline has passed. Called by the loop at every tick.
  void CheckDeadline(MonotonicTime now);

  // The server stops: whatever is in the socket is still answered.
  void Drain();
  // Nothing is going on: between requests, nothing to write.
  [[nodiscard]] bool idle() const;
  // When it became idle. REQUIRES: idle()
  [[nodiscard]] MonotonicTime idle_since() const;
  // Something of ours is still owed to the peer: a request has begun, or an answer is leaving.
  [[nodiscard]] bool in_flight() const;
  // Closes it if it is idle and nothing has arrived, either.
  void CloseIdle();
  // At once. Finish() is for a peer that should still read our last words.
  void Close();

  void OnEvents(std::uint32_t events) override;

 private:
  enum class State : std::uint8_t {
    kReading,    // Until the peer sends something.
    kWaiting,    // Until the session is woken; earlier output may be leaving meanwhile.
    kWriting,    // Until the output has left; then want_ says what is next.
    kLingering,  // We have said our last; waits for the peer to do the same.
    kClosed,
  };

  void Probe() const;
  void AwaitInput();
  void OnReadable();
  // Adds what is in the socket to the input that was kept.
  void ReadAll();
  void OnWritable();
  void OnWake();
  // Lets the session work on `input`, and on the input that was kept. Both keep what it leaves.
  void Work(std::string_view input);
  void WorkOnKept();
  void Follow(const Step& step);
  // The output has left: does what the session wants.
  void Proceed();
  // Writes what it can; the rest is kept. False when the connection is gone.
  bool Write(std::string_view output);
  void SetDeadline(std::chrono::milliseconds after);
  [[nodiscard]] std::chrono::milliseconds idle_timeout() const;
  void WatchFor(std::uint32_t events);
  // Closes our side, and the connection once the peer has closed its own or had time to.
  void Finish();
  void Linger();

  Loop& loop_;
  const Endpoint& endpoint_;
  Descriptor socket_;
  std::atomic<std::size_t>& open_;    // Connections of the endpoint.
  std::unique_ptr<Session> session_;  // Null once the connection is lingering or closed.
  State state_ = State::kReading;
  Want want_ = Want::kInput;
  bool in_request_ = false;
  bool holding_ = false;
  std::uint32_t watched_ = kReadable;
  MonotonicTime deadline_;       // Of the present state; none in kWaiting.
  MonotonicTime request_until_;  // When the request that has begun must be here.
  std::string input_;            // Left over: the beginning of a request.
  std::string output_;           // Not yet taken by the peer.
  std::size_t written_ = 0;
  Reactor::Timer wake_timer_;
};

}  // namespace keymill::net
