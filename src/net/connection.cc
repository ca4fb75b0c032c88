// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "net/connection.h"

#include <utility>

#include <boost/asio/post.hpp>
#include <sys/socket.h>

#include "net/loop.h"

namespace keymill::net {

namespace asio = boost::asio;
using Error = boost::system::error_code;

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
  session_ = factory([weak, &context = loop_.context()] {
    asio::post(context, [weak] {
      if (const auto self = weak.lock()) self->OnWake();
    });
  });
  OnReadable();  // The first request is often here already.
}

void Connection::SetDeadline(std::chrono::milliseconds after) { deadline_ = loop_.now() + after; }

bool Connection::idle() const {
  return state_ == State::kReading && !in_request_ && input_.empty();
}

void Connection::CheckDeadline(MonotonicTime now) {
  if (now < deadline_ || state_ == State::kWaiting || state_ == State::kClosed) return;
  if (state_ == State::kReading && in_request_) {
    std::string last_words;
    session_->OnTimeout(last_words);
    Error ignored;
    socket_.write_some(asio::buffer(last_words), ignored);
  }
  Close();
}

void Connection::Drain() {
  if (state_ == State::kClosed) return;
  session_->OnDrain();
}

void Connection::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  // Unread input would turn the close into a reset, which can take the answer with it.
  Error ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  if (!ignored) {
    for (int i = 0; i < 16 && socket_.read_some(asio::buffer(loop_.read_buffer), ignored) > 0;
         ++i) {
    }
  }
  socket_.close(ignored);
  wake_timer_.reset();
  loop_.Remove(shared_from_this());
}

void Connection::WaitReadable() {
  state_ = State::kReading;
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const Error& error) {
                       if (error) return self->Close();
                       self->OnReadable();
                     });
}

void Connection::OnReadable() {
  if (state_ == State::kClosed) return;
  Error error;
  if (input_.empty()) {
    const std::size_t got = socket_.read_some(asio::buffer(loop_.read_buffer), error);
    if (error == asio::error::would_block) return WaitReadable();
    if (error) return Close();
    return Work({loop_.read_buffer.data(), got});
  }
  // Behind the beginning of a request that is here already.
  const std::size_t before = input_.size();
  input_.resize(before + 16 * 1024);
  const std::size_t got =
      socket_.read_some(asio::buffer(input_.data() + before, input_.size() - before), error);
  input_.resize(before + (error ? 0 : got));
  if (error == asio::error::would_block) return WaitReadable();
  if (error) return Close();
  const std::string input = std::exchange(input_, {});
  Work(input);
}

void Connection::Work(std::string_view input) {
  std::string& output = loop_.write_buffer;
  output.clear();
  const Step step = session_->Advance(input, output);
  input_.assign(input.substr(step.consumed));
  if (!Write(output)) return;
  Follow(step);
}

void Connection::Follow(const Step& step) {
  if (step.in_request && (!in_request_ || step.consumed > 0)) {
    SetDeadline(loop_.options().request_timeout);
  } else if (!step.in_request) {
    SetDeadline(loop_.options().idle_timeout);
  }
  in_request_ = step.in_request;
  if (step.want == Want::kWake) {
    state_ = State::kWaiting;
    if (step.wake_at) ArmWakeTimer(*step.wake_at);
    return;
  }
  if (output_.empty()) {
    switch (step.want) {
      case Want::kClose:
        return Close();
      case Want::kFlush:
        // Others get their turn between two pieces of a long answer.
        state_ = State::kWaiting;
        asio::post(loop_.context(), [self = shared_from_this()] { self->OnWake(); });
        return;
      default:
        return WaitReadable();
    }
  }
  after_write_ = step.want;
  SetDeadline(loop_.options().write_timeout);
  WaitWritable();
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
  state_ = State::kWriting;
  socket_.async_wait(asio::ip::tcp::socket::wait_write,
                     [self = shared_from_this()](const Error& error) {
                       if (error) return self->Close();
                       self->OnWritable();
                     });
}

void Connection::OnWritable() {
  if (state_ == State::kClosed) return;
  Error error;
  const std::size_t written =
      socket_.write_some(asio::buffer(output_.data() + written_, output_.size() - written_), error);
  if (error && error != asio::error::would_block) return Close();
  if (!error && written > 0) SetDeadline(loop_.options().write_timeout);
  written_ += error ? 0 : written;
  if (written_ < output_.size()) return WaitWritable();
  output_ = {};  // A connection that is done writing holds no buffer.
  written_ = 0;
  if (after_write_ == Want::kClose) return Close();
  SetDeadline(loop_.options().idle_timeout);
  const std::string input = std::exchange(input_, {});
  if (after_write_ == Want::kFlush || !input.empty()) return Work(input);
  WaitReadable();
}

void Connection::OnWake() {
  if (state_ != State::kWaiting) return;  // Woken twice, or too late.
  wake_timer_.reset();
  if (!output_.empty()) {
    // Answers to earlier requests have not left yet; the session goes on behind them.
    after_write_ = Want::kFlush;
    return WaitWritable();
  }
  const std::string input = std::exchange(input_, {});
  Work(input);
}

void Connection::ArmWakeTimer(MonotonicTime at) {
  wake_timer_ = std::make_unique<asio::steady_timer>(loop_.context(), at);
  wake_timer_->async_wait([self = shared_from_this()](const Error& error) {
    if (!error) self->OnWake();
  });
}

}  // namespace keymill::net
