// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/session.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/http/parameters.h"

namespace keymill::api::http {
namespace {

// Once this much output has piled up it has to leave before anything else is read.
constexpr std::size_t kOutputHigh = 256 * 1024;

// Keys encoded in one go.
constexpr std::uint64_t kBatch = 4096;

// The size of a streamed piece.
constexpr std::size_t kPiece = 64 * 1024;

constexpr std::string_view kNoStore = "Cache-Control: no-store\r\n";

std::string_view SlugFor(int status) {
  switch (status) {
    case 408:
      return "request-timeout";
    case 413:
      return "too-large";
    case 414:
      return "uri-too-long";
    case 417:
      return "expectation-failed";
    case 431:
      return "header-too-large";
    case 501:
      return "not-implemented";
    case 505:
      return "http-version";
    default:
      return "bad-request";
  }
}

bool WantsText(std::string_view accept) {
  return accept.find("text/plain") != std::string_view::npos;
}

}  // namespace

HttpSession::HttpSession(Service& service, net::Waker waker)
    : service_(service), waker_(std::move(waker)) {}

HttpSession::~HttpSession() {
  if (job_ && job_->waiter != 0) job_->keyspace->Forget(job_->waiter);
}

net::Step HttpSession::Advance(std::string_view input, std::string& output) {
  std::size_t consumed = 0;
  if (deferred_ || job_) {
    const Progress progress = deferred_ ? ContinueDeferred(output) : ContinueJob(output);
    if (progress != Progress::kDone) return StepFor(progress, consumed);
  }
  while (!closing_ && output.size() < kOutputHigh) {
    const std::string_view rest = input.substr(consumed);
    if (rest.empty()) break;
    const wire::HttpReader::Outcome outcome = reader_.Read(rest);
    if (outcome == wire::HttpReader::Outcome::kNeedMore) {
      if (reader_.TakeExpectation()) output += "HTTP/1.1 100 Continue\r\n\r\n";
      return {.consumed = consumed, .want = net::Want::kInput, .in_request = true, .wake_at = {}};
    }
    if (outcome == wire::HttpReader::Outcome::kError) {
      closing_ = true;
      const wire::HttpError& error = reader_.error();
      AppendReply(
          output,
          Problem(error.status, SlugFor(error.status), ReasonPhrase(error.status), error.detail),
          {.keep_alive = false});
      break;
    }
    const wire::HttpRequest& request = reader_.request();
    consumed += reader_.consumed();
    context_ = {.keep_alive = request.keep_alive && !draining_,
                .http10 = request.http10,
                .head_only = request.method == wire::Method::kHead};
    if (!context_.keep_alive) closing_ = true;
    const Progress progress = Dispatch(request, output);
    if (progress != Progress::kDone) return StepFor(progress, consumed);
  }
  if (closing_) return {.consumed = input.size(), .want = net::Want::kClose};
  const bool more = consumed < input.size();
  return {.consumed = consumed, .want = more ? net::Want::kFlush : net::Want::kInput};
}

net::Step HttpSession::StepFor(Progress progress, std::size_t consumed) {
  switch (progress) {
    case Progress::kParked: {
      net::Step step{.consumed = consumed, .want = net::Want::kWake};
      if (job_) step.wake_at = job_->deadline;
      return step;
    }
    case Progress::kFlush:
      return {.consumed = consumed, .want = net::Want::kFlush};
    default:
      return {.consumed = consumed, .want = net::Want::kClose};
  }
}

void HttpSession::OnTimeout(std::string& output) {
  AppendReply(output,
              Problem(408, SlugFor(408), ReasonPhrase(408), "the request did not arrive in time"),
              {.keep_alive = false});
}

HttpSession::Progress HttpSession::Answer(const Reply& reply, std::string& output) {
  AppendReply(output, reply, context_);
  return Progress::kDone;
}

HttpSession::Progress HttpSession::Dispatch(const wire::HttpRequest& request, std::string& output) {
  Route route = FindRoute(request, service_.options().router);
  const bool verbose = HasParameter(request.query, "verbose");
  const std::string_view exclude = RawParameter(request.query, "exclude");
  switch (route.operation) {
    case Operation::kGetKey:
      return BeginMint(request, service_.options().default_keyspace, Format::kBare, 1, output);
    case Operation::kMint:
      return BeginMintOnV1(request, route, output);
    case Operation::kIndex:
      return Answer(service_.Index(request.accept), output);
    case Operation::kLive:
      return Answer(service_.Live(verbose), output);
    case Operation::kReady:
      return Answer(service_.Ready("readyz", route.key, verbose, exclude), output);
    case Operation::kHealth:
      return Answer(service_.Ready("healthz", route.key, verbose, exclude), output);
    case Operation::kListKeyspaces:
      return DeferReply([this] { return service_.ListKeyspaces(); }, output);
    case Operation::kShowKeyspace:
      return DeferReply([this, k = route.keyspace] { return service_.ShowKeyspace(k); }, output);
    case Operation::kRetireKeyspace:
      return DeferReply([this, k = route.keyspace] { return service_.RetireKeyspace(k); }, output);
    case Operation::kExplain:
      return DeferReply(
          [this, k = route.keyspace, key = route.key] { return service_.Explain(k, key); }, output);
    case Operation::kCreateKeyspace:
      return BeginCreate(request, route, output);
    case Operation::kOptions:
      return Answer({.status = 204,
                     .content_type = {},
                     .body = {},
                     .headers = fmt::format("Allow: {}\r\n", route.allow)},
                    output);
    case Operation::kWrongMethod:
      return Answer(Problem(405, "method-not-allowed", ReasonPhrase(405),
                            fmt::format("use {} here", route.allow),
                            fmt::format("Allow: {}\r\n", route.allow)),
                    output);
    case Operation::kBadPath:
      return Answer(Problem(400, "bad-request", ReasonPhrase(400), route.detail), output);
    case Operation::kUnknownPath:
      break;
  }
  return Answer(Problem(404, "not-found", ReasonPhrase(404), "nothing is here; / lists what is"),
                output);
}

HttpSession::Progress HttpSession::BeginCreate(const wire::HttpRequest& request, const Route& route,
                                               std::string& output) {
  if (!IsJsonOrEmpty(request)) {
    return Answer(Problem(415, "unsupported-media-type", ReasonPhrase(415),
                          "send the recipe with Content-Type: application/json"),
                  output);
  }
  return DeferReply([this, k = route.keyspace,
                     body = std::string(request.body)] { return service_.CreateKeyspace(k, body); },
                    output);
}

HttpSession::Progress HttpSession::DeferReply(std::function<Reply()> work, std::string& output) {
  deferred_ = service_.Defer(
      [work = std::move(work)](Service::Deferred& deferred) { deferred.reply = work(); }, waker_);
  if (deferred_) return Progress::kParked;
  return Answer(StatusProblem({Code::kOverloaded, "too many requests wait for the store"}), output);
}

HttpSession::Progress HttpSession::ContinueDeferred(std::string& output) {
  if (!deferred_->done.load(std::memory_order_acquire)) return Progress::kParked;
  const auto deferred = std::exchange(deferred_, nullptr);
  if (deferred->keyspace == nullptr) {
    job_.reset();
    return Answer(deferred->reply, output);
  }
  job_->keyspace = deferred->keyspace;
  return ContinueJob(output);
}

HttpSession::Progress HttpSession::BeginMintOnV1(const wire::HttpRequest& request,
                                                 const Route& route, std::string& output) {
  if (!IsJsonOrEmpty(request)) {
    return Answer(Problem(415, "unsupported-media-type", ReasonPhrase(415),
                          "send the body with Content-Type: application/json, or use ?count=N"),
                  output);
  }
  const Result<std::uint64_t> count = MintCount(request);
  if (!count.ok()) return Answer(StatusProblem(count.status()), output);
  const bool text = WantsText(request.accept);
  const std::uint64_t most = text ? kTextKeysMax : kJsonKeysMax;
  if (*count > most) {
    return Answer(
        Problem(413, "too-many-keys", "Too many keys",
                fmt::format("count is {}; at most {} {}", *count, most,
                            text ? "at once" : "as JSON (Accept: text/plain streams more)")),
        output);
  }
  Format format = text ? Format::kText : Format::kJson;
  if (*count > kJsonKeysMax) {
    if (context_.http10) {
      return Answer(Problem(400, "bad-request", ReasonPhrase(400),
                            fmt::format("more than {} keys need HTTP/1.1", kJsonKeysMax)),
                    output);
    }
    format = Format::kStream;
  }
  return BeginMint(request, route.keyspace, format, *count, output);
}

HttpSession::Progress HttpSession::BeginMint(const wire::HttpRequest& /*request*/, std::string name,
                                             Format format, std::uint64_t count,
                                             std::string& output) {
  mint::Engine* const engine = service_.engine();
  if (engine == nullptr) return Answer(Service::NoEngine(), output);
  job_.emplace();
  job_->keyspace_name = std::move(name);
  job_->format = format;
  job_->left = count;
  job_->deadline = service_.clock().Monotonic() + service_.options().request_timeout;
  job_->keyspace = engine->Find(job_->keyspace_name);
  if (job_->keyspace != nullptr) return ContinueJob(output);
  deferred_ = service_.Defer([this, k = job_->keyspace_name](
                                 Service::Deferred& deferred) { service_.LookUp(k, deferred); },
                             waker_);
  if (deferred_) return Progress::kParked;
  job_.reset();
  return Answer(StatusProblem({Code::kOverloaded, "too many requests wait for the store"}), output);
}

HttpSession::Progress HttpSession::ContinueJob(std::string& output) {
  Job& job = *job_;
  if (job.waiter != 0) {
    job.keyspace->Forget(job.waiter);
    job.waiter = 0;
  }
  return job.format == Format::kStream ? Stream(job, output) : FillBody(job, output);
}

HttpSession::Wait HttpSession::AwaitBlock(Job& job, Status& verdict) {
  if (service_.clock().Monotonic() >= job.deadline) {
    verdict = job.keyspace->DeadlineVerdict();
    return Wait::kOver;
  }
  verdict = job.keyspace->Verdict();
  if (!verdict.ok()) return Wait::kOver;
  const Result<std::uint64_t> waiter = job.keyspace->Await(job.left, waker_);
  if (!waiter.ok()) {
    verdict = waiter.status();
    return Wait::kOver;
  }
  if (*waiter == 0) return Wait::kRetry;
  job.waiter = *waiter;
  return Wait::kParked;
}

HttpSession::Progress HttpSession::FillBody(Job& job, std::string& output) {
  const keys::Codec& codec = job.keyspace->codec();
  const std::string_view after = job.format == Format::kJson   ? std::string_view("\",\"")
                                 : job.format == Format::kText ? std::string_view("\n")
                                                               : std::string_view();
  while (job.left > 0) {
    const mint::Reservoir::Run run = job.keyspace->Take(std::min(job.left, kBatch));
    if (run.count == 0) {
      Status verdict;
      const Wait wait = AwaitBlock(job, verdict);
      if (wait == Wait::kRetry) continue;
      if (wait == Wait::kParked) return Progress::kParked;
      return Conclude(job, verdict, output);
    }
    const std::size_t before = job.body.size();
    job.body.resize(before + run.count * (codec.size_max() + after.size()));
    const auto written = codec.Encode(run.first, static_cast<std::uint32_t>(run.count), after,
                                      job.body.data() + before);
    job.body.resize(before + written.bytes);
    job.left -= written.keys;
  }
  return FinishBody(job, output);
}

HttpSession::Progress HttpSession::FinishBody(Job& job, std::string& output) {
  if (job.format == Format::kJson) {
    constexpr std::string_view kClosing = "]}\n";
    const std::string opening =
        fmt::format("{{\"keyspace\":\"{}\",\"keys\":[\"", job.keyspace_name);
    job.body.resize(job.body.size() - 2);  // The comma and quote behind the last key.
    AppendHead(output, 200, kJsonType,
               static_cast<std::int64_t>(opening.size() + job.body.size() + kClosing.size()),
               kNoStore, context_);
    output.append("\r\n").append(opening).append(job.body).append(kClosing);
  } else {
    AppendHead(output, 200, kTextType, static_cast<std::int64_t>(job.body.size()), kNoStore,
               context_);
    output.append("\r\n").append(job.body);
  }
  job_.reset();
  return Progress::kDone;
}

HttpSession::Progress HttpSession::Stream(Job& job, std::string& output) {
  const keys::Codec& codec = job.keyspace->codec();
  const std::uint64_t batch = std::max<std::uint64_t>(1, kPiece / (codec.size_max() + 1));
  while (job.left > 0) {
    const mint::Reservoir::Run run = job.keyspace->Take(std::min(job.left, batch));
    if (run.count == 0) {
      job.deadline = service_.clock().Monotonic() + service_.options().request_timeout;
      Status verdict;
      const Wait wait = AwaitBlock(job, verdict);
      if (wait == Wait::kRetry) continue;
      if (wait == Wait::kParked) return Progress::kParked;
      return Conclude(job, verdict, output);
    }
    if (!std::exchange(job.started, true)) {
      AppendHead(output, 200, kTextType, -1,
                 "Cache-Control: no-store\r\nTransfer-Encoding: chunked\r\n", context_);
      output += "\r\n";
    }
    AppendChunk(codec, run, job.left, output);
    if (job.left > 0 && output.size() >= kPiece) return Progress::kFlush;
  }
  output += "0\r\n\r\n";
  job_.reset();
  return Progress::kDone;
}

void HttpSession::AppendChunk(const keys::Codec& codec, const mint::Reservoir::Run& run,
                              std::uint64_t& left, std::string& output) {
  constexpr std::string_view kSizePlace = "00000000\r\n";
  const std::size_t at = output.size();
  output.resize(at + kSizePlace.size() + run.count * (codec.size_max() + 1));
  const auto written = codec.Encode(run.first, static_cast<std::uint32_t>(run.count), "\n",
                                    output.data() + at + kSizePlace.size());
  if (written.bytes == 0) {
    output.resize(at);  // All were blocked words: an empty chunk would end the stream.
    return;
  }
  fmt::format_to(output.data() + at, "{:08x}\r\n", written.bytes);
  output.resize(at + kSizePlace.size() + written.bytes);
  output += "\r\n";
  left -= written.keys;
}

Reply HttpSession::MintProblem(const Job& job, const Status& verdict) const {
  if (verdict.code() == Code::kFailedPrecondition) {
    return Problem(410, "keyspace-retired", "Keyspace retired",
                   fmt::format("keyspace {} is retired", job.keyspace_name));
  }
  return StatusProblem(verdict);
}

HttpSession::Progress HttpSession::Conclude(Job& job, const Status& verdict, std::string& output) {
  if (job.started) {
    job_.reset();
    closing_ = true;
    return Progress::kCut;  // No last chunk: the reader sees that keys are missing.
  }
  // What was taken is issued: better fewer keys than asked for than keys that are lost.
  if (!job.body.empty()) return FinishBody(job, output);
  const Reply problem = MintProblem(job, verdict);
  job_.reset();
  return Answer(problem, output);
}

}  // namespace keymill::api::http
