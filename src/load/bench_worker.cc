// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/bench_worker.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace keymill::load {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kPublishNs = 100 * kMs;
constexpr std::int64_t kReopenNs = 50 * kMs;  // Before a lost connection is made again.
constexpr std::int64_t kKnockNs = kMs;        // The same while nobody listens yet: at once, but not
                                              // so that nobody else gets to run.
constexpr std::int64_t kLastAnswersNs = 5000 * kMs;  // How long the end waits for answers.
constexpr std::int64_t kSilenceNs = 30'000 * kMs;    // After which a closed loop gives up.
constexpr std::size_t kBufferSize = std::size_t{256} << 10;
constexpr int kEventsMax = 512;
constexpr std::int64_t kNone = -1;

Status SocketError(std::string_view action) {
  return {Code::kUnavailable, std::string(action) + ": " + std::generic_category().message(errno)};
}

}  // namespace

BenchWorker::BenchWorker(BenchRun& run, std::size_t index, std::size_t workers)
    : run_(run),
      workers_(workers),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      buffer_(kBufferSize),
      next_(index),
      keys_(std::make_unique<KeyBatch>()) {
  const BenchOptions& options = run.options;
  for (const Target& target : options.targets) {
    std::string& text = requests_.emplace_back();
    for (std::size_t i = 0; i < options.pipeline; ++i) target.protocol->AppendRequest(text);
  }
  for (std::size_t i = index; i < options.connections; i += workers) {
    const std::size_t at = i % options.targets.size();
    Connection& connection = connections_.emplace_back();
    connection.target = &options.targets[at];
    connection.requests = &requests_[at];
    connection.reader = connection.target->protocol->NewReader();
    connection.due_ns.resize(options.pipeline);
  }
}

BenchWorker::~BenchWorker() {
  for (const Connection& connection : connections_) {
    if (connection.fd >= 0) ::close(connection.fd);
  }
  if (epoll_ >= 0) ::close(epoll_);
}

std::int64_t BenchWorker::NowNs() const {
  return std::chrono::nanoseconds(SystemClock().Monotonic() - run_.start).count();
}

Status BenchWorker::Run() {
  if (epoll_ < 0) return SocketError("create an event loop");
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);  // Requests are due to the microsecond.
  if (run_.schedule != nullptr) {
    next_due_ns_ = next_ < run_.requests_max ? run_.schedule->DueOf(next_)->count() : kNone;
  }
  now_ns_ = NowNs();
  publish_ns_ = now_ns_ + kPublishNs;
  for (Connection& connection : connections_) Open(connection);
  std::array<epoll_event, kEventsMax> events{};
  for (;;) {
    Turn(NowNs());
    if (!failure_.ok() || Finished(now_ns_)) break;
    timespec pause{};
    const std::int64_t wait = Pause();
    pause.tv_sec = wait / 1'000'000'000;
    pause.tv_nsec = wait % 1'000'000'000;
    const int count = ::epoll_pwait2(epoll_, events.data(), kEventsMax, &pause, nullptr);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      OnEvent(*static_cast<Connection*>(event.data.ptr), event.events);
    }
  }
  stats_.unanswered += under_way_;
  Publish();
  return failure_;
}

// What time, rather than an event, calls for.
void BenchWorker::Turn(std::int64_t now) {
  now_ns_ = now;
  if (!stopping_ && (now >= run_.end_ns || run_.stop.load(std::memory_order_relaxed))) {
    stopping_ = true;
    if (now >= run_.end_ns) CountUnsent();
  }
  if (Knocking() && now >= run_.options.await.count()) {
    failure_ = {Code::kUnavailable,
                "connect to " + connections_.front().target->url + ": nobody listens there"};
  }
  // Without this a number of requests would be no end when the server is gone.
  if (run_.schedule == nullptr && now - heard_ns_ >= kSilenceNs) stopping_ = true;
  if (now >= publish_ns_) {
    Publish();
    publish_ns_ = now + kPublishNs;
  }
  if (stopping_) return;
  Reopen();
  if (run_.schedule != nullptr) SendDue();
}

bool BenchWorker::Finished(std::int64_t now) {
  if (run_.schedule != nullptr && next_due_ns_ == kNone) stopping_ = true;
  if (!stopping_) return false;
  if (give_up_ns_ == 0) give_up_ns_ = now + kLastAnswersNs;
  return under_way_ == 0 || now >= give_up_ns_;
}

// How long nothing but events can happen.
std::int64_t BenchWorker::Pause() const {
  std::int64_t next = publish_ns_;
  if (stopping_) {
    next = std::min(next, give_up_ns_);
  } else {
    next = std::min(next, run_.end_ns);
    if (!closed_.empty()) next = std::min(next, closed_.front().first);
    if (run_.schedule != nullptr && !ready_.empty()) next = std::min(next, next_due_ns_);
  }
  return std::max<std::int64_t>(0, next - NowNs());
}

void BenchWorker::Open(Connection& connection) {
  const Target& target = *connection.target;
  connection.fd = ::socket(target.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection.fd < 0) {
    failure_ = SocketError("open a connection to " + target.url);
    return;
  }
  const int one = 1;
  ::setsockopt(connection.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  connection.state = State::kConnecting;
  connection.closing = false;
  connection.unsent = 0;
  connection.reader->Reset();
  const auto* const address = reinterpret_cast<const sockaddr*>(&target.address);
  if (::connect(connection.fd, address, target.address_size) != 0 && errno != EINPROGRESS) {
    return Lose(connection);
  }
  Watch(connection, EPOLL_CTL_ADD, true);
}

void BenchWorker::Reopen() {
  while (!closed_.empty() && closed_.front().first <= now_ns_) {
    Connection& connection = *closed_.front().second;
    closed_.pop_front();
    Open(connection);
  }
}

// Whether a server is waited for that has not shown up yet.
bool BenchWorker::Knocking() const {
  return run_.options.await.count() > 0 &&
         run_.reached_ns.load(std::memory_order_relaxed) == BenchRun::kNotReached;
}

// The connection is of no use any more. What is under way on it has no answer.
void BenchWorker::Lose(Connection& connection) {
  const bool knocked = connection.state == State::kConnecting && Knocking();
  if (knocked) {
    ++stats_.knocks;
  } else if (connection.state == State::kConnecting) {
    ++stats_.refused;
  } else {
    ++stats_.reconnects;
  }
  stats_.lost += connection.under_way;
  under_way_ -= connection.under_way;
  connection.under_way = 0;
  ::close(connection.fd);
  connection.fd = -1;
  if (connection.in_ready) {
    std::erase(ready_, &connection);
    connection.in_ready = false;
  }
  // One that ended as announced is made again at once.
  const bool announced = connection.state == State::kOpen && connection.closing;
  connection.state = State::kClosed;
  const std::int64_t when = now_ns_ + (announced ? 0 : knocked ? kKnockNs : kReopenNs);
  if (announced) {
    closed_.emplace_front(when, &connection);
  } else {
    closed_.emplace_back(when, &connection);
  }
}

void BenchWorker::OnEvent(Connection& connection, std::uint32_t events) {
  if (connection.state == State::kClosed) return;
  now_ns_ = NowNs();
  if (connection.state == State::kConnecting) return OnConnected(connection);
  if ((events & EPOLLOUT) != 0) Flush(connection);
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0 && connection.state == State::kOpen) {
    OnReadable(connection);
  }
}

void BenchWorker::OnConnected(Connection& connection) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(connection.fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return Lose(connection);
  heard_ns_ = now_ns_;
  std::int64_t nobody = BenchRun::kNotReached;
  run_.reached_ns.compare_exchange_strong(nobody, now_ns_, std::memory_order_relaxed);
  connection.state = State::kOpen;
  Watch(connection, EPOLL_CTL_MOD, false);
  Refill(connection);
}

void BenchWorker::OnReadable(Connection& connection) {
  const ssize_t got = ::recv(connection.fd, buffer_.data(), buffer_.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return Lose(connection);
  const auto size = static_cast<std::size_t>(got);
  stats_.bytes += size;
  heard_ns_ = now_ns_;
  current_ = &connection;
  unasked_ = false;
  const bool fine = connection.reader->Consume({buffer_.data(), size}, *this);
  if (!fine || unasked_) {
    ++stats_.malformed;
    if (connection.under_way > 0) {  // It was the answer to this one.
      --connection.under_way;
      --under_way_;
    }
    return Lose(connection);
  }
  if (connection.closing) return Lose(connection);
  Refill(connection);
}

void BenchWorker::OnKey(std::string_view key) {
  ++stats_.keys;
  if (run_.checker == nullptr || keys_->Append(key)) return;
  run_.checker->Submit(keys_);
  keys_->Append(key);
}

void BenchWorker::OnAnswer(int status, bool close) {
  Connection& connection = *current_;
  connection.closing = connection.closing || close;
  if (connection.under_way == 0) {
    unasked_ = true;
    return;
  }
  const std::int64_t due_ns = connection.due_ns[connection.first];
  if (++connection.first == connection.due_ns.size()) connection.first = 0;
  --connection.under_way;
  --under_way_;
  if (status != 200) {
    ++stats_.by_status[std::min<std::size_t>(static_cast<std::size_t>(status),
                                             BenchStats::kStatuses - 1)];
    return;
  }
  ++stats_.ok;
  stats_.latency.Record(static_cast<std::uint64_t>(std::max<std::int64_t>(0, now_ns_ - due_ns)));
}

// The connection has room for requests: now, or when the next ones are due.
void BenchWorker::Refill(Connection& connection) {
  if (stopping_) return;
  if (run_.schedule != nullptr) return MarkReady(connection);
  const std::size_t count = TakeTurns(connection.due_ns.size() - connection.under_way);
  Queue(connection, count, now_ns_);
  Flush(connection);
}

// How many requests may still be sent, up to `wanted`.
std::size_t BenchWorker::TakeTurns(std::size_t wanted) {
  if (now_ns_ >= run_.end_ns) return 0;  // The loop's next turn ends the run.
  if (run_.requests_max == 0) return wanted;
  const std::uint64_t before = run_.sent.fetch_add(wanted, std::memory_order_relaxed);
  if (before + wanted < run_.requests_max) return wanted;
  stopping_ = true;
  return before >= run_.requests_max ? 0 : run_.requests_max - before;
}

void BenchWorker::MarkReady(Connection& connection) {
  if (connection.in_ready || connection.under_way == connection.due_ns.size()) return;
  connection.in_ready = true;
  ready_.push_back(&connection);
}

void BenchWorker::SendDue() {
  while (next_due_ns_ != kNone && next_due_ns_ <= now_ns_ && !ready_.empty()) {
    Connection& connection = *ready_.front();
    ready_.pop_front();
    connection.in_ready = false;
    Queue(connection, 1, next_due_ns_);
    MarkReady(connection);
    if (!connection.in_dirty) {
      connection.in_dirty = true;
      dirty_.push_back(&connection);
    }
    next_ += workers_;
    next_due_ns_ = next_ < run_.requests_max ? run_.schedule->DueOf(next_)->count() : kNone;
  }
  for (Connection* const connection : dirty_) {
    connection->in_dirty = false;
    if (connection->state == State::kOpen) Flush(*connection);
  }
  dirty_.clear();
}

void BenchWorker::Queue(Connection& connection, std::size_t count, std::int64_t due_ns) {
  const std::size_t depth = connection.due_ns.size();
  for (std::size_t i = 0; i < count; ++i) {
    connection.due_ns[(connection.first + connection.under_way) % depth] = due_ns;
    ++connection.under_way;
  }
  under_way_ += count;
  connection.unsent += count * (connection.requests->size() / depth);
}

void BenchWorker::Flush(Connection& connection) {
  if (connection.unsent == 0) return;
  const std::string& text = *connection.requests;
  const char* const from = text.data() + text.size() - connection.unsent;
  const ssize_t sent = ::send(connection.fd, from, connection.unsent, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return Lose(connection);
  if (sent > 0) connection.unsent -= static_cast<std::size_t>(sent);
  const bool output = connection.unsent > 0;
  if (output != connection.watches_output) Watch(connection, EPOLL_CTL_MOD, output);
}

void BenchWorker::Watch(Connection& connection, int operation, bool output) {
  epoll_event event{};
  event.events = EPOLLIN | (output ? std::uint32_t{EPOLLOUT} : 0U);
  event.data.ptr = &connection;
  connection.watches_output = output;
  if (::epoll_ctl(epoll_, operation, connection.fd, &event) != 0) {
    failure_ = SocketError("watch a connection to " + connection.target->url);
  }
}

void BenchWorker::Publish() {
  if (run_.checker != nullptr && !keys_->empty()) run_.checker->Submit(keys_);
  const MutexLock lock(mu_);
  published_.Add(stats_);
  stats_.Clear();
}

void BenchWorker::TakeStats(BenchStats& to) {
  const MutexLock lock(mu_);
  to.Add(published_);
  published_.Clear();
}

// At the end of an open loop: requests that were due and never sent are not forgotten, or a
// server that stands still would look better than a slow one.
void BenchWorker::CountUnsent() {
  if (run_.schedule == nullptr || next_ >= run_.requests_max) return;
  stats_.unsent += (run_.requests_max - next_ + workers_ - 1) / workers_;
}

}  // namespace keymill::load
