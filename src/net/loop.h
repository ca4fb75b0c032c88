// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// An event loop: one thread, one reactor, the connections that belong to it and the buffers
// that they share.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/descriptor.h"
#include "base/mutex.h"
#include "net/connection.h"
#include "net/reactor.h"
#include "net/server.h"

namespace keymill::net {

// Takes work for a loop from any thread, and drops it once the loop is gone: whoever wakes a
// session does not know how long its server lives.
class Mailbox {
 public:
  explicit Mailbox(Reactor& reactor) : reactor_(&reactor) {}

  void Post(std::function<void()> work);
  void Close();

 private:
  Mutex mu_;
  Reactor* reactor_ KEYMILL_GUARDED_BY(mu_);  // Null once closed.
};

class Loop {
 public:
  explicit Loop(std::atomic<std::size_t>& connection_count);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void Start();
  // From any thread. Ends the thread after the round that it is in.
  void Stop();
  void Join();

  [[nodiscard]] Reactor& reactor() { return reactor_; }
  [[nodiscard]] const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }

  // ---- On the loop's thread. ----
  // `endpoint` and `open`, which counts its connections and is one less when this one ends,
  // outlive the connection.
  void Adopt(Descriptor socket, const Endpoint& endpoint, const SessionFactory& factory,
             std::atomic<std::size_t>& open);
  void Remove(const std::shared_ptr<Connection>& connection);
  // From now on every session, also of connections that are yet to come, is told to finish, and
  // whoever sends nothing for a while is closed.
  void Drain();
  // Whether a connection that was here when the drain began has not been idle or gone since.
  // REQUIRES: draining()
  bool Owes();
  [[nodiscard]] MonotonicTime now() const { return reactor_.now(); }
  [[nodiscard]] bool draining() const { return draining_; }

  std::array<char, 64 * 1024> read_buffer;
  std::string write_buffer;  // Empty between two steps.

 private:
  void Tick();
  void CloseIdle();  // In a drain, and again soon.

  std::atomic<std::size_t>& connection_count_;
  Reactor reactor_;
  const std::shared_ptr<Mailbox> mailbox_;
  bool ticking_ = false;
  bool draining_ = false;
  bool closing_idle_ = false;
  MonotonicTime drain_began_;
  MonotonicTime left_at_;  // When a connection ended last that was not closed for being idle.
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::vector<std::shared_ptr<Connection>> ticked_;  // Used within Tick; keeps its memory.
  std::vector<std::weak_ptr<Connection>> owed_;      // What Owes has yet to see idle or gone.
  std::thread thread_;
};

}  // namespace keymill::net
