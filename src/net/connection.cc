// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "net/connection.h"

#include <utility>

#include <boost/asio/post.hpp>

#include "net/loop.h"

namespace keymill::net {

namespace asio = boost::asio;
using Error = boost::system::error_code;

namespace {

// How much is read behind the beginning of a request.
constexpr std::size_t kReadMore = 16 * 1024;

// How long a peer may take to read our last words.
constexpr std::chrono::milliseconds kLinger{1'000};

// Reads of a lingering connection before others get their turn.
constexpr int kLingerReads = 16;

}  // namespace

Connection::Connection(Loop& loop, asio::ip::tcp::socket socket)
    : loop_(loop), socket_(std::move(socket)) {
  SetDeadline(loop_.options().idle_timeout);
}

Connection::~Connection() = default;

void Connection::Start(const SessionFactory& factory) {
  Error ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  const std::weak_ptr<Connection> weak = weak_from_this();
  session_ = factory([weak, mailbox = loop_.mailbox()] {
    mailbox->Post([weak] {
      if (const auto self = weak.lock()) self->OnWake();
    });
  });
  if (loop_.draining()) session_->OnDrain();
  OnReadable();  // The first request is often here already.
}

void Connection::SetDeadline(std::chrono::milliseconds after) { deadline_ = loop_.now() + after; }

bool Connection::idle() const {
  return state_ == State::kReading && !in_request_ && input_.empty();
}

MonotonicTime Connection::idle_since() const { return deadline_ - loop_.options().idle_timeout; }

bool Connection::in_flight() const {
  return !idle() && state_ != State::kLingering && state_ != State::kClosed;
}

void Connection::CheckDeadline(MonotonicTime now) {
  if (now < deadline_ || state_ == State::kWaiting || state_ == State::kClosed) return;
  if (state_ != State::kReading || !in_request_) return Close();
  std::string last_words;
  session_->OnTimeout(last_words);
  Error ignored;
  socket_.write_some(asio::buffer(last_words), ignored);
  Finish();
}

void Connection::Drain() {
  if (session_) session_->OnDrain();
}

void Connection::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  Error ignored;
  socket_.close(ignored);
  session_.reset();
  wake_timer_.reset();
  loop_.Remove(shared_from_this());
}

// Closing with unread input would reset the connection, and a reset can overtake the answer:
// whoever is still sending a body that is too large would never learn so.
void Connection::Finish() {
  Error error;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  if (error) return Close();
  state_ = State::kLingering;
  session_.reset();
  input_ = {};
  SetDeadline(kLinger);
  Linger();
}

void Connection::Linger() {
  if (state_ == State::kClosed) return;
  Error error;
  for (int i = 0; i < kLingerReads && !error; ++i) {
    socket_.read_some(asio::buffer(loop_.read_buffer), error);
  }
  if (error && error != asio::error::would_block) return Close();
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const Error& failure) {
                       if (failure) return self->Close();
                       self->Linger();
                     });
}

void Connection::WaitReadable() {
  state_ = State::kReading;
  if (in_request_) {
    deadline_ = request_until_;
  } else {
    SetDeadline(loop_.options().idle_timeout);
  }
  // Asio's reactor reads as soon as there is something, and knows from a short read that there
  // is no more: one system call, where waiting and then reading would take two.
  socket_.async_read_some(asio::buffer(first_),
                          [self = shared_from_this()](const Error& error, std::size_t size) {
                            if (error) return self->Close();
                            self->OnFirst(size);
                          });
}

void Connection::OnFirst(std::size_t size) {
  if (state_ != State::kReading) return;
  if (size < first_.size() && input_.empty()) return Work({first_.data(), size});
  input_.append(first_.data(), size);
  if (size == first_.size()) {  // There may be more; whatever is wrong shows at the next read.
    Error error;
    input_.resize(input_.size() + kReadMore);
    char* const behind = input_.data() + input_.size() - kReadMore;
    const std::size_t more = socket_.read_some(asio::buffer(behind, kReadMore), error);
    input_.resize(input_.size() - kReadMore + (error ? 0 : more));
  }
  WorkOnKept();
}

void Connection::OnReadable() {
  if (state_ != State::kReading) return;
  Error error;
  if (input_.empty()) {
    const std::size_t got = socket_.read_some(asio::buffer(loop_.read_buffer), error);
    if (error == asio::error::would_block) return WaitReadable();
    if (error) return Close();
    return Work({loop_.read_buffer.data(), got});
  }
  // Behind the beginning of a request that is here already.
  const std::size_t before = input_.size();
  input_.resize(before + kReadMore);
  const std::size_t got = socket_.read_some(asio::buffer(input_.data() + before, kReadMore), error);
  input_.resize(before + (error ? 0 : got));
  if (error == asio::error::would_block) return WaitReadable();
  if (error) return Close();
  WorkOnKept();
}

void Connection::Work(std::string_view input) {
  std::string& output = loop_.write_buffer;
  output.clear();
  const Step step = session_->Advance(input, output);
  input_.assign(input.substr(step.consumed));
  if (Write(output)) Follow(step);
}

void Connection::WorkOnKept() {
  std::string& output = loop_.write_buffer;
  output.clear();
  const Step step = session_->Advance(input_, output);
  input_.erase(0, step.consumed);
  if (input_.empty()) input_ = {};  // An idle connection holds no buffer.
  if (Write(output)) Follow(step);
}

void Connection::Follow(const Step& step) {
  if (step.in_request && (!in_request_ || step.consumed > 0)) {
    request_until_ = loop_.now() + loop_.options().request_timeout;
  }
  in_request_ = step.in_request;
  want_ = step.want;
  if (want_ == Want::kWake) {
    state_ = State::kWaiting;
    if (step.wake_at) ArmWakeTimer(*step.wake_at);
    if (!output_.empty()) WaitWritable();
    return;
  }
  if (output_.empty()) return Proceed();
  state_ = State::kWriting;
  SetDeadline(loop_.options().write_timeout);
  WaitWritable();
}

void Connection::Proceed() {
  switch (want_) {
    case Want::kClose:
      return Finish();
    case Want::kFlush:
    case Want::kWake:
      // Others get their turn between two pieces of a long answer.
      state_ = State::kWaiting;
      asio::post(loop_.context(), [self = shared_from_this()] { self->OnWake(); });
      return;
    case Want::kInput:
      return WaitReadable();
  }
}

bool Connection::Write(std::string_view output) {
  if (!output_.empty()) {
    output_.append(output);
    return true;
  }
  while (!output.empty()) {
    Error error;
    const std::size_t written = socket_.write_some(asio::buffer(output), error);
    if (error == asio::error::would_block) break;
    if (error) {
      Close();
      return false;
    }
    output.remove_prefix(written);
  }
  output_.assign(output);
  written_ = 0;
  return true;
}

void Connection::WaitWritable() {
  if (std::exchange(awaits_writable_, true)) return;
  socket_.async_wait(asio::ip::tcp::socket::wait_write,
                     [self = shared_from_this()](const Error& error) {
                       self->awaits_writable_ = false;
                       if (error) return self->Close();
                       self->OnWritable();
                     });
}

void Connection::OnWritable() {
  if (state_ != State::kWriting && state_ != State::kWaiting) return;
  Error error;
  const std::size_t written =
      socket_.write_some(asio::buffer(output_.data() + written_, output_.size() - written_), error);
  if (error && error != asio::error::would_block) return Close();
  if (!error && written > 0) {
    written_ += written;
    SetDeadline(loop_.options().write_timeout);
  }
  if (written_ < output_.size()) return WaitWritable();
  output_ = {};  // A connection that is done writing holds no buffer.
  written_ = 0;
  if (state_ == State::kWriting) Proceed();
}

void Connection::OnWake() {
  if (state_ != State::kWaiting) return;  // Woken twice, or too late.
  wake_timer_.reset();
  if (output_.empty()) return WorkOnKept();
  // Answers to earlier requests have not left yet; the session goes on behind them.
  state_ = State::kWriting;
  want_ = Want::kFlush;
  SetDeadline(loop_.options().write_timeout);
}

void Connection::ArmWakeTimer(MonotonicTime at) {
  wake_timer_ = std::make_unique<asio::steady_timer>(loop_.context(), at);
  wake_timer_->async_wait([self = shared_from_this()](const Error& error) {
    if (!error) self->OnWake();
  });
}

}  // namespace keymill::net
