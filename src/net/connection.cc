// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "net/connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/check.h"
#include "net/loop.h"

namespace keymill::net {
namespace {

// How long a peer may take to read our last words.
constexpr std::chrono::milliseconds kLinger{1'000};

// Whoever may be silent for longer than this is asked, this often, whether it is still there.
constexpr std::chrono::minutes kProbePeers{5};

// Reads of a lingering connection before others get their turn.
constexpr int kLingerReads = 16;

// How much of what a client has sent ahead is still looked at in a drain.
constexpr std::size_t kDrainInputMax = 8 * 1024 * 1024;

// Whether a call failed for now only.
bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Connection::Connection(Loop& loop, const Endpoint& endpoint, Descriptor socket,
                       std::atomic<std::size_t>& open)
    : loop_(loop), endpoint_(endpoint), socket_(std::move(socket)), open_(open) {
  SetDeadline(endpoint_.idle_timeout);
}

Connection::~Connection() = default;

void Connection::Start(const SessionFactory& factory) {
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (endpoint_.idle_timeout > kProbePeers) Probe();
  const std::weak_ptr<Connection> weak = weak_from_this();
  session_ = factory([weak, mailbox = loop_.mailbox()] {
    mailbox->Post([weak] {
      if (const auto self = weak.lock()) self->OnWake();
    });
  });
  if (loop_.draining()) session_->OnDrain();
  if (!loop_.reactor().Add(socket_.get(), watched_, *this)) Close();
}

// A peer whose machine went away says nothing; nobody else would find out.
void Connection::Probe() const {
  const int on = 1;
  const int seconds = static_cast<int>(std::chrono::seconds(kProbePeers).count());
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

void Connection::SetDeadline(std::chrono::milliseconds after) { deadline_ = loop_.now() + after; }

bool Connection::idle() const {
  return state_ == State::kReading && !in_request_ && input_.empty();
}

std::chrono::milliseconds Connection::idle_timeout() const {
  return holding_ ? std::min(endpoint_.holding_timeout, endpoint_.idle_timeout)
                  : endpoint_.idle_timeout;
}

MonotonicTime Connection::idle_since() const { return deadline_ - idle_timeout(); }

bool Connection::in_flight() const {
  return !idle() && state_ != State::kLingering && state_ != State::kClosed;
}

void Connection::CheckDeadline(MonotonicTime now) {
  if (now < deadline_ || state_ == State::kWaiting || state_ == State::kClosed) return;
  if (state_ == State::kReading) {
    // When it is us who stood still, what it waits for is here.
    OnReadable();
    if (now < deadline_ || state_ != State::kReading) return;
  }
  if (!in_request_ || state_ != State::kReading) return Close();
  std::string last_words;
  session_->OnTimeout(last_words);
  ::send(socket_.get(), last_words.data(), last_words.size(), MSG_NOSIGNAL);
  Finish();
}

void Connection::Drain() {
  if (session_) session_->OnDrain();
}

void Connection::CloseIdle() {
  OnReadable();
  if (idle()) Close();
}

void Connection::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  socket_.Close();
  session_.reset();
  loop_.reactor().Cancel(std::exchange(wake_timer_, {}));
  loop_.Remove(shared_from_this());
}

// Closing with unread input would reset the connection, and a reset can overtake the answer:
// whoever is still sending a body that is too large would never learn so.
void Connection::Finish() {
  if (::shutdown(socket_.get(), SHUT_WR) != 0) return Close();
  state_ = State::kLingering;
  session_.reset();
  input_ = {};
  SetDeadline(kLinger);
  WatchFor(kReadable);
}

void Connection::Linger() {
  for (int i = 0; i < kLingerReads; ++i) {
    const ssize_t got =
        ::recv(socket_.get(), loop_.read_buffer.data(), loop_.read_buffer.size(), 0);
    if (got == 0 || (got < 0 && !WouldBlock())) return Close();
    if (got < 0) return;
  }
}

// What is watched for is changed only when it would matter: a connection that goes from request
// to answer and back needs no system call for it.
void Connection::WatchFor(std::uint32_t events) {
  if (std::exchange(watched_, events) == events) return;
  loop_.reactor().Change(socket_.get(), events, *this);
}

void Connection::OnEvents(std::uint32_t events) {
  if (state_ == State::kClosed) return;
  if (events == kAgain) return OnWake();
  if (state_ == State::kLingering) return Linger();
  if (state_ == State::kReading) return OnReadable();
  if ((events & kBroken) != 0) return Close();
  if (output_.empty()) return WatchFor(0);  // Neither reads nor writes: the session is at work.
  if ((events & kWritable) == 0) return WatchFor(kWritable);
  OnWritable();
}

void Connection::AwaitInput() {
  state_ = State::kReading;
  if (in_request_) {
    deadline_ = request_until_;
  } else {
    SetDeadline(idle_timeout());
  }
  WatchFor(kReadable);
}

void Connection::OnReadable() {
  const ssize_t got = ::recv(socket_.get(), loop_.read_buffer.data(), loop_.read_buffer.size(), 0);
  if (got < 0 && WouldBlock()) return;
  if (got <= 0) return Close();
  const std::string_view input(loop_.read_buffer.data(), static_cast<std::size_t>(got));
  const bool more = loop_.draining() && input.size() == loop_.read_buffer.size();
  if (input_.empty() && !more) return Work(input);
  input_.append(input);
  if (more) ReadAll();
  WorkOnKept();
}

// In a drain, the session closes the connection behind the last request that it is shown.
void Connection::ReadAll() {
  while (input_.size() < kDrainInputMax) {
    const ssize_t got =
        ::recv(socket_.get(), loop_.read_buffer.data(), loop_.read_buffer.size(), 0);
    if (got <= 0) return;  // Whatever is wrong shows at the next read.
    input_.append(loop_.read_buffer.data(), static_cast<std::size_t>(got));
  }
}

void Connection::Work(std::string_view input) {
  std::string& output = loop_.write_buffer;
  output.clear();
  session_->SetRound(loop_.now());
  const Step step = session_->Advance(input, output);
  if (step.consumed < input.size()) input_.assign(input.substr(step.consumed));
  if (Write(output)) Follow(step);
}

void Connection::WorkOnKept() {
  std::string& output = loop_.write_buffer;
  output.clear();
  session_->SetRound(loop_.now());
  const Step step = session_->Advance(input_, output);
  input_.erase(0, step.consumed);
  if (input_.empty()) input_ = {};  // An idle connection holds no buffer.
  if (Write(output)) Follow(step);
}

void Connection::Follow(const Step& step) {
  if (step.in_request && (!in_request_ || step.new_request)) {
    request_until_ = loop_.now() + endpoint_.request_timeout;
  }
  in_request_ = step.in_request;
  holding_ = step.holding;
  want_ = step.want;
  if (want_ == Want::kWake) {
    state_ = State::kWaiting;
    if (step.wake_at) wake_timer_ = loop_.reactor().At(*step.wake_at, [this] { OnWake(); });
  } else if (output_.empty()) {
    return Proceed();
  } else {
    state_ = State::kWriting;
    SetDeadline(endpoint_.write_timeout);
  }
  if (!output_.empty()) WatchFor(kWritable);
}

void Connection::Proceed() {
  switch (want_) {
    case Want::kClose:
      return Finish();
    case Want::kFlush:
    case Want::kWake:
      // Others get their turn between two pieces of a long answer.
      state_ = State::kWaiting;
      return loop_.reactor().Again(*this);
    case Want::kInput:
      return AwaitInput();
  }
}

bool Connection::Write(std::string_view output) {
  KEYMILL_CHECK(output_.empty());  // The session works only when everything has left.
  if (output.empty()) return true;
  const ssize_t sent = ::send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL);
  if (sent < 0 && !WouldBlock()) {
    Close();
    return false;
  }
  // One that took less than everything is full.
  if (sent > 0) output.remove_prefix(static_cast<std::size_t>(sent));
  if (!output.empty()) output_.assign(output);
  written_ = 0;
  return true;
}

void Connection::OnWritable() {
  const ssize_t sent =
      ::send(socket_.get(), output_.data() + written_, output_.size() - written_, MSG_NOSIGNAL);
  if (sent < 0) {
    if (!WouldBlock()) Close();
    return;
  }
  written_ += static_cast<std::size_t>(sent);
  SetDeadline(endpoint_.write_timeout);
  if (written_ < output_.size()) return;
  output_ = {};  // A connection that is done writing holds no buffer.
  written_ = 0;
  if (state_ == State::kWriting) Proceed();
}

void Connection::OnWake() {
  if (state_ != State::kWaiting) return;  // Woken twice, or too late.
  loop_.reactor().Cancel(std::exchange(wake_timer_, {}));
  if (output_.empty()) {
    if (loop_.draining()) ReadAll();
    return WorkOnKept();
  }
  // Answers to earlier requests have not left yet; the session goes on behind them.
  state_ = State::kWriting;
  want_ = Want::kFlush;
  SetDeadline(endpoint_.write_timeout);
}

}  // namespace keymill::net
