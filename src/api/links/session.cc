// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/links/session.h"

#include <utility>

#include "wire/percent.h"

namespace keymill::api::links {
namespace {

using Found = keymill::links::LinkCache::Found;

// Once this much output has piled up it has to leave before anything else is read.
constexpr std::size_t kOutputHigh = 256 * 1024;
// Requests that are answered with one look.
constexpr std::size_t kRepeatsMax = 64;
// Longer than any key that a store keeps.
constexpr std::size_t kPathMax = 256;

std::uint64_t Nanoseconds(MonotonicTime::duration time) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  return ns < 0 ? 0 : static_cast<std::uint64_t>(ns);
}

// What the path asks for; "" when that cannot be the key of a link.
std::string KeyIn(std::string_view path) {
  path.remove_prefix(1);
  if (path.empty() || path.size() > kPathMax || path.find('/') != std::string_view::npos) return {};
  if (path.find('%') == std::string_view::npos) return std::string(path);
  const Result<std::string> decoded = wire::PercentDecode(path);
  return decoded.ok() ? *decoded : std::string();
}

}  // namespace

LinkSession::LinkSession(LinkService& service, net::Waker waker)
    : service_(service),
      waker_(std::move(waker)),
      counters_(service.metrics().Mine()),
      reader_({.body = 0}) {}

LinkSession::~LinkSession() {
  if (waiting_) waiting_->loading->abandoned.store(true, std::memory_order_relaxed);
}

net::Step LinkSession::Advance(std::string_view input, std::string& output) {
  using Outcome = wire::HttpReader::Outcome;
  now_ = round() != MonotonicTime() ? round() : service_.clock().Monotonic();
  http::RefreshHttpDate(now_);
  answered_ = 0;
  if (waiting_) {
    if (!Resume(output)) return AwaitStore(0);
    counters_.times.Record(Nanoseconds(service_.clock().Monotonic() - began_), 1);
    answered_ = 0;
  }
  std::size_t consumed = 0;
  while (!closing_ && consumed < input.size() && output.size() < kOutputHigh) {
    const std::string_view rest = input.substr(consumed);
    if (const std::size_t repeated = AnswerRepeats(rest, output); repeated > 0) {
      consumed += repeated;
      continue;
    }
    const Outcome outcome = reader_.Read(rest);
    if (outcome == Outcome::kNeedMore) break;
    if (outcome == Outcome::kError) {
      method_ = wire::Method::kOther;
      Refuse(reader_.error().status, "bad-request", reader_.error().detail, output);
      break;
    }
    consumed += reader_.consumed();
    const bool last = consumed == input.size();
    closing_ = !reader_.request().keep_alive || (draining_ && last);
    const bool answered = Begin(reader_.request(), output);
    reader_.Release();
    if (!answered) {
      RecordTimes();
      return AwaitStore(consumed);
    }
  }
  RecordTimes();
  if (closing_) return {.consumed = input.size(), .want = net::Want::kClose};
  if (output.size() >= kOutputHigh) return {.consumed = consumed, .want = net::Want::kFlush};
  const std::string_view rest = input.substr(consumed);
  if (wire::EmptyLines(rest) == rest.size()) consumed = input.size();
  return {.consumed = consumed, .want = net::Want::kInput, .in_request = consumed < input.size()};
}

void LinkSession::RecordTimes() {
  if (answered_ == 0) return;
  counters_.times.Record(Nanoseconds(service_.clock().Monotonic() - now_), answered_);
}

net::Step LinkSession::AwaitStore(std::size_t consumed) const {
  return {.consumed = consumed, .want = net::Want::kWake, .wake_at = waiting_->deadline};
}

std::size_t LinkSession::AnswerRepeats(std::string_view input, std::string& output) {
  if (!repeats_ || draining_) return 0;
  const std::size_t requests = reader_.CountRepeats(input, kRepeatsMax);
  if (requests == 0) return 0;
  const Found found = Follow(key_, requests, output);
  if (found != Found::kLink && found != Found::kStale) return 0;
  return requests * reader_.repeat_size();
}

bool LinkSession::Begin(const wire::HttpRequest& request, std::string& output) {
  repeats_ = false;
  method_ = request.method;
  const bool head = method_ == wire::Method::kHead;
  context_ = {.keep_alive = !closing_, .http10 = request.http10, .head_only = head};
  if (method_ != wire::Method::kGet && !head) {
    Answer(http::Problem(405, "method-not-allowed", http::ReasonPhrase(405),
                         "links are followed with GET or HEAD", "Allow: GET, HEAD\r\n"),
           output);
    return true;
  }
  key_ = KeyIn(request.path);
  if (key_.empty()) {
    AnswerNowhere(output);
    return true;
  }
  switch (Follow(key_, 1, output)) {
    case Found::kLink:
    case Found::kStale:
      repeats_ = !closing_ && !context_.http10;
      return true;
    case Found::kNone:
      AnswerNowhere(output);
      return true;
    case Found::kNothing:
      break;
  }
  const std::uint64_t hits = head ? 0 : 1;
  auto loading = service_.Load(key_, hits, waker_);
  if (loading == nullptr) {
    Answer(http::StatusProblem({Code::kOverloaded, "too many requests wait for the store"}),
           output);
    return true;
  }
  waiting_ = {std::move(loading), service_.backend().Deadline()};
  began_ = now_;
  return false;
}

bool LinkSession::Resume(std::string& output) {
  if (!waiting_->loading->done.load(std::memory_order_acquire)) {
    if (service_.clock().Monotonic() < waiting_->deadline) return false;
    waiting_->loading->abandoned.store(true, std::memory_order_relaxed);
    waiting_.reset();
    Answer(http::StatusProblem({Code::kDeadlineExceeded, "the store did not answer in time"}),
           output);
    return true;
  }
  const std::shared_ptr<LinkService::Loading> loading =
      std::exchange(waiting_, std::nullopt)->loading;
  if (draining_) closing_ = true;
  context_.keep_alive = !closing_;
  if (!loading->url.ok()) {
    // Which keyspace is missing is nobody's concern who follows a link.
    const Code code = loading->url.code();
    const bool passing = code != Code::kNotFound && code != Code::kInvalidArgument &&
                         code != Code::kFailedPrecondition;
    passing ? Answer(http::StatusProblem(loading->url.status()), output) : AnswerNowhere(output);
    return true;
  }
  if (loading->url->empty()) {
    AnswerNowhere(output);
    return true;
  }
  AppendRedirect(*loading->url, output);
  Count(http::Ending::kRedirect, 1);
  return true;
}

Found LinkSession::Follow(std::string_view key, std::uint64_t requests, std::string& output) {
  const std::uint64_t hits = method_ == wire::Method::kHead ? 0 : requests;
  const Found found = service_.book().Follow(key, now_, hits, [&](std::string_view url) {
    for (std::uint64_t i = 0; i < requests; ++i) AppendRedirect(url, output);
  });
  if (found == Found::kStale) service_.Refresh(std::string(key));
  if (found == Found::kLink || found == Found::kStale) Count(http::Ending::kRedirect, requests);
  return found;
}

void LinkSession::AppendRedirect(std::string_view url, std::string& output) const {
  output += "HTTP/1.1 302 Found\r\nDate: ";
  output += http::HttpDate();
  // Kept by nobody, so that a link can be counted, changed and ended.
  output += "\r\nContent-Length: 0\r\nCache-Control: no-store\r\nLocation: ";
  output += url;
  if (!context_.keep_alive) {
    output += "\r\nConnection: close";
  } else if (context_.http10) {
    output += "\r\nConnection: keep-alive";
  }
  output += "\r\n\r\n";
}

void LinkSession::AnswerNowhere(std::string& output) {
  const std::string& homepage = service_.options().homepage;
  if (!homepage.empty()) {
    AppendRedirect(homepage, output);
    return Count(http::Ending::kRedirect, 1);
  }
  Answer({.status = 404,
          .content_type = http::kTextType,
          .body = "This link leads nowhere.\n",
          .headers = std::string(http::kNoStore)},
         output);
}

void LinkSession::Answer(const http::Reply& reply, std::string& output) {
  http::AppendReply(output, reply, context_);
  Count(http::EndingOf(reply.status), 1);
}

void LinkSession::Count(http::Ending ending, std::uint64_t requests) {
  counters_.requests(method_, ending).Add(requests);
  answered_ += requests;
}

void LinkSession::Refuse(int status, std::string_view slug, std::string_view detail,
                         std::string& output) {
  closing_ = true;
  context_ = {.keep_alive = false};
  Answer(http::Problem(status, slug, http::ReasonPhrase(status), detail), output);
}

void LinkSession::OnTimeout(std::string& output) {
  http::RefreshHttpDate(service_.clock().Monotonic());
  method_ = wire::Method::kOther;
  Refuse(408, "request-timeout", "the request did not arrive in time", output);
}

}  // namespace keymill::api::links
