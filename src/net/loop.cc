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

// A proxy with a pool of them notices one by one which are closed, and may meanwhile send a request
// on another that is; nobody can answer that one, and a POST is not tried again. So they are
// closed a part at a time,
constexpr std::size_t kIdlePart = 20;               // one in so many of those that are left,
constexpr std::chrono::milliseconds kIdleStep{10};  // this often;
// and the last few not before requests have ceased to come, because those use them up.
constexpr std::size_t kIdleKept = 32;
constexpr std::chrono::milliseconds kIdleKeptFor{2'000};  // At most, from the begin of the drain.

}  // namespace

void Mailbox::Post(std::function<void()> work) {
  const MutexLock lock(mu_);
  if (reactor_ != nullptr) reactor_->Post(std::move(work));
}

void Mailbox::Close() {
  const MutexLock lock(mu_);
  reactor_ = nullptr;
}

Loop::Loop(std::atomic<std::size_t>& connection_count)
    : connection_count_(connection_count), mailbox_(std::make_shared<Mailbox>(reactor_)) {
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

void Loop::Adopt(Descriptor socket, const Endpoint& endpoint, const SessionFactory& factory,
                 std::atomic<std::size_t>& open) {
  const auto connection = std::make_shared<Connection>(*this, endpoint, std::move(socket), open);
  connections_.insert(connection);
  if (!std::exchange(ticking_, true)) Tick();
  connection->Start(factory);
}

void Loop::Remove(const std::shared_ptr<Connection>& connection) {
  if (connections_.erase(connection) > 0) {
    connection->open().fetch_sub(1, std::memory_order_relaxed);
    connection_count_.fetch_sub(1, std::memory_order_relaxed);
    if (!closing_idle_) left_at_ = now();
    reactor_.Discard(connection);
  }
}

void Loop::Drain() {
  draining_ = true;
  drain_began_ = now();
  owed_.assign(connections_.begin(), connections_.end());
  for (const auto& connection : connections_) connection->Drain();
  reactor_.At(drain_began_ + kIdleDrain, [this] { CloseIdle(); });
}

// Longest idle first: most pools hand out the one that was used last, so what is closed here is
// what nobody is about to use, and what is used ends with our answer.
void Loop::CloseIdle() {
  std::vector<std::pair<MonotonicTime, Connection*>> idle;
  for (const auto& connection : connections_) {
    if (!connection->idle()) continue;
    const MonotonicTime since = std::max(drain_began_, connection->idle_since());
    if (now() >= since + kIdleDrain) idle.emplace_back(connection->idle_since(), connection.get());
  }
  // In a drain every answer ends its connection.
  const bool asked = now() < left_at_ + kIdleDrain && now() < drain_began_ + kIdleKeptFor;
  const std::size_t kept = asked ? std::min(kIdleKept, idle.size()) : 0;
  const std::size_t count = (idle.size() - kept + kIdlePart - 1) / kIdlePart;
  const auto end = idle.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(idle.begin(), end, idle.end());
  // The reactor keeps what is closed until this round ends.
  closing_idle_ = true;
  std::for_each(idle.begin(), end, [](const auto& each) { each.second->CloseIdle(); });
  closing_idle_ = false;
  reactor_.At(now() + kIdleStep, [this] { CloseIdle(); });
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
  }
  ticked_.clear();
  if (connections_.empty()) {
    ticking_ = false;
    return;
  }
  reactor_.At(time + kTick, [this] { Tick(); });
}

}  // namespace keymill::net
