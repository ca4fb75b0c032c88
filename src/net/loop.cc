// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "net/loop.h"

#include <algorithm>
#include <utility>

#include "base/thread_name.h"

namespace keymill::net {
namespace {

constexpr std::chrono::milliseconds kTick{500};

// Idle connections are left open this long in a drain, so that a client whose request is on
// its way learns from our answer, not from a reset, that it should go elsewhere.
constexpr std::chrono::milliseconds kIdleDrain{500};

}  // namespace

void Mailbox::Post(std::function<void()> work) {
  const MutexLock lock(mu_);
  if (reactor_ != nullptr) reactor_->Post(std::move(work));
}

void Mailbox::Close() {
  const MutexLock lock(mu_);
  reactor_ = nullptr;
}

Loop::Loop(const ServerOptions& options, std::atomic<std::size_t>& connection_count)
    : options_(options),
      connection_count_(connection_count),
      mailbox_(std::make_shared<Mailbox>(reactor_)) {
  write_buffer.reserve(64 * 1024);
}

Loop::~Loop() {
  mailbox_->Close();
  Stop();
  Join();
}

void Loop::Start() {
  thread_ = std::thread([this] {
    NameThisThread("keymill-loop");
    reactor_.Run();
  });
}

void Loop::Stop() { reactor_.Stop(); }

void Loop::Join() {
  if (thread_.joinable()) thread_.join();
}

void Loop::Adopt(Descriptor socket, const SessionFactory& factory) {
  const auto connection = std::make_shared<Connection>(*this, std::move(socket));
  connections_.insert(connection);
  if (!std::exchange(ticking_, true)) Tick();
  connection->Start(factory);
}

void Loop::Remove(const std::shared_ptr<Connection>& connection) {
  if (connections_.erase(connection) > 0) {
    connection_count_.fetch_sub(1, std::memory_order_relaxed);
    reactor_.Discard(connection);
  }
}

void Loop::Drain() {
  draining_ = true;
  drain_began_ = now();
  owed_.assign(connections_.begin(), connections_.end());
  for (const auto& connection : connections_) connection->Drain();
}

bool Loop::Owes() {
  std::erase_if(owed_, [](const std::weak_ptr<Connection>& each) {
    const auto connection = each.lock();
    return !connection || !connection->in_flight();
  });
  return !owed_.empty();
}

// One coarse timer for all connections: setting and cancelling one per request would cost
// more than the request.
void Loop::Tick() {
  const MonotonicTime time = now();
  ticked_.assign(connections_.begin(), connections_.end());  // Closing one changes the set.
  for (const auto& connection : ticked_) {
    connection->CheckDeadline(time);
    if (!draining_ || !connection->idle()) continue;
    if (time < std::max(drain_began_, connection->idle_since()) + kIdleDrain) continue;
    connection->CloseIdle();
  }
  ticked_.clear();
  if (connections_.empty()) {
    ticking_ = false;
    return;
  }
  reactor_.At(time + kTick, [this] { Tick(); });
}

}  // namespace keymill::net
