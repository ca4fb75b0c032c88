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

std::string_view Separator(MintJob::Format format) {
  switch (format) {
    case MintJob::Format::kJson:
      return "\",\"";
    case MintJob::Format::kText:
    case MintJob::Format::kStream:
      return "\n";
    case MintJob::Format::kBare:
      break;
  }
  return {};
}

Reply MintProblem(mint::Keyspace& keyspace, const Status& verdict) {
  if (verdict.code() != Code::kFailedPrecondition) return StatusProblem(verdict);
  if (keyspace.stats().state == KeyspaceState::kRetired) {
    return Problem(410, "keyspace-retired", "Keyspace retired", verdict.message());
  }
  // The instance's own trouble, such as a damaged witness: its log says more.
  return StatusProblem({Code::kUnavailable, verdict.message()});
}

}  // namespace

MintJob::MintJob(const Service& service, std::string keyspace_name, Format format,
                 std::uint64_t count, net::Waker waker)
    : service_(service),
      keyspace_name_(std::move(keyspace_name)),
      format_(format),
      waker_(std::move(waker)),
      left_(count),
      deadline_(service.Deadline()) {}

MintJob::~MintJob() { StopWaiting(); }

Progress MintJob::Continue(const ReplyContext& context, std::string& output) {
  StopWaiting();
  return format_ == Format::kStream ? Stream(context, output) : FillBody(context, output);
}

void MintJob::StopWaiting() {
  if (const std::uint64_t waiter = std::exchange(waiter_, 0); waiter != 0) {
    keyspace_->Forget(waiter);
  }
}

MintJob::Wait MintJob::AwaitBlock() {
  if (service_.clock().Monotonic() >= deadline_) {
    verdict_ = keyspace_->DeadlineVerdict();
    return Wait::kOver;
  }
  verdict_ = keyspace_->Verdict();
  if (!verdict_.ok()) return Wait::kOver;
  const Result<std::uint64_t> waiter = keyspace_->Await(left_, waker_);
  if (!waiter.ok()) {
    verdict_ = waiter.status();
    return Wait::kOver;
  }
  waiter_ = *waiter;
  return waiter_ == 0 ? Wait::kRetry : Wait::kParked;
}

Progress MintJob::FillBody(const ReplyContext& context, std::string& output) {
  const keys::Codec& codec = keyspace_->codec();
  const std::string_view separator = Separator(format_);
  while (left_ > 0) {
    const mint::Reservoir::Run run = keyspace_->Take(std::min(left_, kBatch));
    if (run.count == 0) {
      const Wait wait = AwaitBlock();
      if (wait == Wait::kRetry) continue;
      if (format_ == Format::kText && !body_.empty() && !context.http10) {
        BecomeStream(context, output);
      }
      return wait == Wait::kParked ? Progress::kParked : Conclude(context, output);
    }
    const std::size_t before = body_.size();
    body_.resize(before + run.count * (codec.size_max() + separator.size()));
    const auto written = codec.Encode(run.first, static_cast<std::uint32_t>(run.count), separator,
                                      body_.data() + before);
    body_.resize(before + written.bytes);
    left_ -= written.keys;
  }
  return FinishBody(context, output);
}

Progress MintJob::FinishBody(const ReplyContext& context, std::string& output) {
  if (format_ == Format::kJson) {
    body_.resize(body_.size() - 2);  // The comma and quote behind the last key.
    body_.insert(0, fmt::format("{{\"keyspace\":\"{}\",\"keys\":[\"", keyspace_name_));
    body_.append("]}\n");
  }
  AppendHead(output, 200, format_ == Format::kJson ? kJsonType : kTextType,
             static_cast<std::int64_t>(body_.size()), kNoStore, context);
  output.append("\r\n").append(body_);
  return Progress::kDone;
}

void MintJob::StartStream(const ReplyContext& context, std::string& output) {
  started_ = true;
  AppendHead(output, 200, kTextType, -1, fmt::format("{}Transfer-Encoding: chunked\r\n", kNoStore),
             context);
  output += "\r\n";
}

void MintJob::BecomeStream(const ReplyContext& context, std::string& output) {
  format_ = Format::kStream;
  StartStream(context, output);
  output.append(fmt::format("{:x}\r\n", body_.size())).append(body_).append("\r\n");
  body_ = {};
}

Progress MintJob::Stream(const ReplyContext& context, std::string& output) {
  const std::uint64_t batch =
      std::max<std::uint64_t>(1, kPiece / (keyspace_->codec().size_max() + 1));
  while (left_ > 0) {
    const mint::Reservoir::Run run = keyspace_->Take(std::min(left_, batch));
    if (run.count == 0) {
      const Wait wait = AwaitBlock();
      if (wait == Wait::kRetry) continue;
      return wait == Wait::kParked ? Progress::kParked : Conclude(context, output);
    }
    deadline_ = service_.Deadline();  // A stream may take long; only standing still is limited.
    if (!started_) StartStream(context, output);
    AppendChunk(run, output);
    if (left_ > 0 && output.size() >= kPiece) return Progress::kFlush;
  }
  output += "0\r\n\r\n";
  return Progress::kDone;
}

void MintJob::AppendChunk(const mint::Reservoir::Run& run, std::string& output) {
  constexpr std::string_view kSizePlace = "00000000\r\n";
  const keys::Codec& codec = keyspace_->codec();
  const std::string_view separator = Separator(format_);
  const std::size_t at = output.size();
  output.resize(at + kSizePlace.size() + run.count * (codec.size_max() + separator.size()));
  const auto written = codec.Encode(run.first, static_cast<std::uint32_t>(run.count), separator,
                                    output.data() + at + kSizePlace.size());
  if (written.bytes == 0) {
    output.resize(at);  // All were blocked words: an empty chunk would end the stream.
    return;
  }
  fmt::format_to(output.data() + at, "{:08x}\r\n", written.bytes);
  output.resize(at + kSizePlace.size() + written.bytes);
  output += "\r\n";
  left_ -= written.keys;
}

Progress MintJob::Conclude(const ReplyContext& context, std::string& output) {
  if (started_) return Progress::kCut;  // No last chunk: the reader sees that keys are missing.
  // What was taken is issued: better fewer keys than asked for than keys that are lost. Lines
  // for HTTP/1.0 cannot be cut off visibly, so those keys are lost.
  if (format_ == Format::kJson && !body_.empty()) return FinishBody(context, output);
  AppendReply(output, MintProblem(*keyspace_, verdict_), context);
  return Progress::kDone;
}

}  // namespace keymill::api::http
