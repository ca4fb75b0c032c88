// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/mint_job.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace keymill::api::http {
namespace {

// Keys encoded in one go.
constexpr std::uint64_t kBatch = 4096;

// The size of a streamed piece.
constexpr std::size_t kPiece = 64 * 1024;

// A body's memory, for the thread's next job: most answers are about as long as the one before.
thread_local std::string spare_body;
constexpr std::size_t kSpareMax = 256 * 1024;

}  // namespace

MintJob::MintJob(const Service& service, mint::Keyspace& keyspace, const MintWish& wish,
                 MonotonicTime deadline, const net::Waker& waker)
    : service_(service),
      keyspace_(keyspace),
      waker_(waker),
      format_(wish.format),
      left_(wish.count),
      deadline_(deadline) {
  body_.swap(spare_body);
}

MintJob::~MintJob() {
  StopWaiting();
  if (body_.capacity() > kSpareMax) return;
  body_.clear();
  body_.swap(spare_body);
}

Progress MintJob::Continue(const ReplyContext& context, std::string& output) {
  // The time that a reader took for the last piece of a stream is not ours.
  if (started_ && waiter_ == 0 && !again_) deadline_ = service_.Deadline();
  again_ = false;
  StopWaiting();
  return format_ == KeyFormat::kStream ? Stream(context, output) : FillBody(context, output);
}

void MintJob::StopWaiting() {
  if (const std::uint64_t waiter = std::exchange(waiter_, 0); waiter != 0) {
    keyspace_.Forget(waiter);
  }
}

MintJob::Wait MintJob::AwaitBlock() {
  if (service_.clock().Monotonic() >= deadline_) {
    verdict_ = keyspace_.DeadlineVerdict();
    return Wait::kOver;
  }
  verdict_ = keyspace_.Verdict();
  if (!verdict_.ok()) return Wait::kOver;
  const Result<std::uint64_t> waiter = keyspace_.Await(left_, waker_);
  if (!waiter.ok()) {
    verdict_ = waiter.status();
    return Wait::kOver;
  }
  waiter_ = *waiter;
  return waiter_ == 0 ? Wait::kRetry : Wait::kParked;
}

// Others have their turn first: a blocklist may skip numbers for long.
Progress MintJob::Again() {
  again_ = true;
  return Progress::kFlush;
}

Progress MintJob::FillBody(const ReplyContext& context, std::string& output) {
  const std::string_view separator = KeySeparator(format_);
  const std::uint64_t left_before = left_;
  while (left_ > 0) {
    const std::uint64_t count = std::min(left_, kBatch);
    const std::size_t before = body_.size();
    body_.resize(before + count * (keyspace_.key_size_max() + separator.size()));
    const auto written =
        keyspace_.TakeKeys(static_cast<std::uint32_t>(count), separator, body_.data() + before);
    body_.resize(before + written.bytes);
    left_ -= written.keys;
    if (written.keys > 0) continue;
    if (left_ < left_before) return Progress::kFlush;  // Behind those who got nothing.
    const Wait wait = AwaitBlock();
    if (wait == Wait::kRetry) return Again();
    if (format_ == KeyFormat::kText && !body_.empty() && !context.http10) {
      BecomeStream(context, output);
    }
    return wait == Wait::kParked ? Progress::kParked : Conclude(context, output);
  }
  AppendKeysAnswer(output, format_, keyspace_.name(), body_, context);
  return Progress::kDone;
}

void MintJob::BecomeStream(const ReplyContext& context, std::string& output) {
  format_ = KeyFormat::kStream;
  started_ = true;
  AppendStreamHead(output, context);
  output.append(fmt::format("{:x}\r\n", body_.size())).append(body_).append("\r\n");
  body_ = {};
}

Progress MintJob::Stream(const ReplyContext& context, std::string& output) {
  const std::uint64_t left_before = left_;
  while (left_ > 0) {
    if (!AppendPiece(context, output)) {
      if (left_ < left_before) return Progress::kFlush;  // Behind those who got nothing.
      const Wait wait = AwaitBlock();
      if (wait == Wait::kRetry) return Again();
      return wait == Wait::kParked ? Progress::kParked : Conclude(context, output);
    }
    deadline_ = service_.Deadline();  // A stream may take long; only standing still is limited.
    if (left_ > 0 && output.size() >= kPiece) return Progress::kFlush;
  }
  output += "0\r\n\r\n";
  return Progress::kDone;
}

bool MintJob::AppendPiece(const ReplyContext& context, std::string& output) {
  constexpr std::string_view kSizePlace = "00000000\r\n";
  const std::size_t before = output.size();
  if (!started_) AppendStreamHead(output, context);
  const std::size_t line_size = keyspace_.key_size_max() + 1;
  const std::uint64_t count = std::min<std::uint64_t>(left_, kPiece / line_size);
  const std::size_t chunk = output.size();
  output.resize(chunk + kSizePlace.size() + count * line_size);
  const auto written = keyspace_.TakeKeys(static_cast<std::uint32_t>(count), "\n",
                                          output.data() + chunk + kSizePlace.size());
  if (written.keys == 0) {
    output.resize(before);
    return false;
  }
  fmt::format_to(output.data() + chunk, "{:08x}\r\n", written.bytes);
  output.resize(chunk + kSizePlace.size() + written.bytes);
  output += "\r\n";
  started_ = true;
  left_ -= written.keys;
  return true;
}

Progress MintJob::Conclude(const ReplyContext& context, std::string& output) {
  if (started_) return Progress::kCut;  // No last chunk: the reader sees that keys are missing.
  // What was taken is issued: better fewer keys than asked for than keys that are lost. Lines
  // for HTTP/1.0 cannot be cut off visibly, so those keys are lost.
  if (format_ == KeyFormat::kJson && !body_.empty()) {
    AppendKeysAnswer(output, format_, keyspace_.name(), body_, context);
  } else {
    const Reply problem = KeysProblem(verdict_, keyspace_.name(), keyspace_.stats().state);
    status_ = problem.status;
    AppendReply(output, problem, context);
  }
  return Progress::kDone;
}

}  // namespace keymill::api::http
