// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/session.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "api/http/cross_site.h"
#include "api/http/documents.h"
#include "api/http/parameters.h"
#include "api/http/peers.h"

namespace keymill::api::http {
namespace {

// Once this much output has piled up it has to leave before anything else is read.
constexpr std::size_t kOutputHigh = 256 * 1024;

// Requests that are answered with one step of the reservoir.
constexpr std::size_t kRepeatsMax = 64;

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

// The peer says on every answer that any page may ask. A browser asks so with OPTIONS first.
std::string_view CorsOf(const Route& route) {
  const bool theirs = route.cors || route.operation == Operation::kGenerateId ||
                      route.operation == Operation::kPodHealth;
  return theirs ? kCors : std::string_view();
}

Reply OptionsReply(const Route& route) {
  return {.status = 204,
          .content_type = {},
          .body = {},
          .headers = fmt::format("Allow: {}\r\n{}", route.allow, CorsOf(route))};
}

Reply ForeignPage(const Route& route) {
  Reply reply = StatusProblem({Code::kPermissionDenied,
                               "a browser sent this for a page of another site; such pages may "
                               "not mint or change anything here"});
  reply.headers += CorsOf(route);
  return reply;
}

Reply WrongMethod(const Route& route) {
  return Problem(405, "method-not-allowed", ReasonPhrase(405),
                 fmt::format("use {} here", route.allow),
                 fmt::format("Allow: {}\r\n{}", route.allow, CorsOf(route)));
}

Reply TooManyKeys(std::uint64_t count, bool text) {
  return Problem(
      413, "too-many-keys", "Too many keys",
      fmt::format("count is {}{}; at most {} {}", count, count == kCountMax ? " or more" : "",
                  text ? kTextKeysMax : kJsonKeysMax,
                  text ? "at once" : "as JSON (Accept: text/plain streams more)"));
}

std::uint64_t Nanoseconds(MonotonicTime::duration time) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  return ns < 0 ? 0 : static_cast<std::uint64_t>(ns);
}

}  // namespace

HttpSession::HttpSession(Service& service, net::Waker waker)
    : service_(service),
      waker_(std::move(waker)),
      counters_(service.metrics().Mine()),
      reader_({.body_of = BodyMax}) {}

HttpSession::~HttpSession() {
  if (errand_) errand_->deferred->abandoned.store(true, std::memory_order_relaxed);
}

net::Step HttpSession::Advance(std::string_view input, std::string& output) {
  const bool known = round() != MonotonicTime();
  const MonotonicTime began = known ? round() : service_.clock().Monotonic();
  RefreshHttpDate(began);
  const bool resumed = busy();
  answered_ = 0;
  const net::Step step = Work(input, output);
  const bool still_busy = resumed && answered_ == 0;
  if (answered_ > 0) {
    // One look at the clock for all of them: their answers leave together.
    const MonotonicTime now = service_.clock().Monotonic();
    if (resumed) {
      counters_.times.Record(Nanoseconds(now - began_), 1);
      --answered_;
    }
    if (answered_ > 0) counters_.times.Record(Nanoseconds(now - began), answered_);
  }
  if (!still_busy) began_ = began;  // For one that was begun just now.
  return step;
}

void HttpSession::Count(Ending ending, std::uint64_t requests) {
  counters_.requests(method_, ending).Add(requests);
  answered_ += requests;
}

net::Step HttpSession::Work(std::string_view input, std::string& output) {
  using Outcome = wire::HttpReader::Outcome;
  if (busy()) {
    const bool parked = std::exchange(parked_, false);
    const Progress progress = Resume(input.empty(), output);
    if (progress != Progress::kDone) return StepFor(progress, 0);
    // Others were woken by the same block: first they, then what is behind this request.
    if (parked && !closing_ && !input.empty()) return {.consumed = 0, .want = net::Want::kFlush};
  }
  std::size_t consumed = 0;
  while (!closing_ && consumed < input.size() && output.size() < kOutputHigh) {
    const std::string_view rest = input.substr(consumed);
    std::size_t repeated = 0;
    Progress progress = AnswerRepeats(rest, repeated, output);
    consumed += repeated;
    if (repeated == 0) {
      const Outcome outcome = reader_.Read(rest);
      if (outcome == Outcome::kNeedMore) return AwaitRest(input, consumed, output);
      if (outcome == Outcome::kError) {
        method_ = wire::Method::kOther;
        context_ = {.head_only = rest.substr(wire::EmptyLines(rest)).starts_with("HEAD ")};
        RefuseInput(reader_.error().status, reader_.error().detail, output);
        break;
      }
      consumed += reader_.consumed();
      progress = Begin(reader_.request(), consumed == input.size(), output);
      reader_.Release();
    }
    if (progress != Progress::kDone) return StepFor(progress, consumed);
  }
  if (closing_) return {.consumed = input.size(), .want = net::Want::kClose};
  const bool more = consumed < input.size();
  return {.consumed = consumed, .want = more ? net::Want::kFlush : net::Want::kInput};
}

net::Step HttpSession::StepFor(Progress progress, std::size_t consumed) {
  net::Step step{.consumed = consumed, .want = net::Want::kClose};
  if (progress == Progress::kFlush) step.want = net::Want::kFlush;
  if (progress == Progress::kParked) {
    parked_ = true;
    step.want = net::Want::kWake;
    step.wake_at = errand_ ? errand_->deadline : job_->deadline();
  }
  return step;
}

net::Step HttpSession::AwaitRest(std::string_view input, std::size_t consumed,
                                 std::string& output) {
  if (reader_.TakeExpectation()) output += "HTTP/1.1 100 Continue\r\n\r\n";
  if (wire::EmptyLines(input.substr(consumed)) == input.size() - consumed) consumed = input.size();
  return {.consumed = consumed,
          .want = net::Want::kInput,
          .in_request = consumed<input.size(), .new_request = consumed> 0};
}

Progress HttpSession::AnswerRepeats(std::string_view input, std::size_t& size,
                                    std::string& output) {
  if (repeat_.keyspace == nullptr || draining_) return Progress::kDone;
  const MintWish& wish = repeat_.wish;
  const std::size_t repeats = reader_.CountRepeats(input, wish.count == 1 ? kRepeatsMax : 1);
  if (repeats == 0) return Progress::kDone;
  method_ = repeat_.method;
  if (wish.count == 1) {
    const std::size_t answered = AnswerAtOnce(repeats, output);
    size = answered * reader_.repeat_size();
    if (answered > 0) return Progress::kDone;
  }
  size = reader_.repeat_size();
  return RunJob(*repeat_.keyspace, wish, service_.Deadline(), output);
}

std::size_t HttpSession::AnswerAtOnce(std::size_t requests, std::string& output) {
  mint::Keyspace& keyspace = *repeat_.keyspace;
  std::array<char, kRepeatsMax*(keys::kKeySizeMax + 1)> buffer;
  const auto written = keyspace.TakeKeys(static_cast<std::uint32_t>(requests), "\n", buffer.data());
  std::string_view lines(buffer.data(), written.bytes);
  const bool fixed = keyspace.fixed_key_size();
  while (!lines.empty()) {
    const std::size_t size = lines.find('\n');
    const std::string_view alike = fixed ? lines : lines.substr(0, size + 1);
    AppendKeyAnswers(output, repeat_.wish.format, keyspace.name(), alike, size);
    lines.remove_prefix(alike.size());
  }
  if (written.keys > 0) Count(Ending::kSuccess, written.keys);
  return written.keys;
}

void HttpSession::OnTimeout(std::string& output) {
  RefreshHttpDate(service_.clock().Monotonic());
  method_ = wire::Method::kOther;
  context_ = {};
  RefuseInput(408, "the request did not arrive in time", output);
}

void HttpSession::RefuseInput(int status, std::string_view detail, std::string& output) {
  CloseAfterThis();
  Answer(Problem(status, SlugFor(status), ReasonPhrase(status), detail), output);
}

void HttpSession::CloseAfterThis() {
  closing_ = true;
  context_.keep_alive = false;
}

Progress HttpSession::Begin(const wire::HttpRequest& request, bool last, std::string& output) {
  repeat_ = {};
  method_ = request.method;
  context_ = {.keep_alive = true,
              .http10 = request.http10,
              .head_only = request.method == wire::Method::kHead};
  // While draining, what the client has sent behind this request is still answered.
  if (!request.keep_alive || (draining_ && last)) CloseAfterThis();
  return Dispatch(request, output);
}

Progress HttpSession::Resume(bool last, std::string& output) {
  if (draining_ && last) CloseAfterThis();
  return errand_ ? ResumeErrand(output) : ContinueJob(output);
}

Progress HttpSession::ResumeErrand(std::string& output) {
  if (!errand_->deferred->done.load(std::memory_order_acquire)) {
    if (service_.clock().Monotonic() < errand_->deadline) return Progress::kParked;
    errand_->deferred->abandoned.store(true, std::memory_order_relaxed);
    errand_.reset();
    return Answer(StatusProblem({Code::kDeadlineExceeded, "the store did not answer in time"}),
                  output);
  }
  const auto [deferred, deadline, wish] = *std::exchange(errand_, std::nullopt);
  if (deferred->keyspace == nullptr) return Answer(deferred->reply, output);
  return RunJob(*deferred->keyspace, wish, deadline, output);
}

Progress HttpSession::ContinueJob(std::string& output) {
  const Progress progress = job_->Continue(context_, output);
  if (progress == Progress::kDone) Count(EndingOf(job_->status()));
  if (progress == Progress::kCut) Count(Ending::kCut);
  if (progress == Progress::kDone || progress == Progress::kCut) job_.reset();
  if (progress == Progress::kCut) closing_ = true;
  return progress;
}

Progress HttpSession::Answer(const Reply& reply, std::string& output) {
  AppendReply(output, reply, context_);
  Count(EndingOf(reply.status));
  return Progress::kDone;
}

Progress HttpSession::RunErrand(Service::Work work, std::string& output, const MintWish& wish) {
  return Await(service_.Defer(Queue::kKeyspaces, std::move(work), waker_),
               "too many requests wait for the store", output, wish);
}

Progress HttpSession::BeginMetrics(std::string& output) {
  auto page = service_.Defer(
      Queue::kPages,
      [](Service& service, Service::Deferred& deferred) { deferred.reply = service.Metrics(); },
      waker_);
  return Await(std::move(page), "too many requests wait for the metrics", output, {});
}

Progress HttpSession::Await(std::shared_ptr<Service::Deferred> deferred, std::string_view refusal,
                            std::string& output, const MintWish& wish) {
  if (deferred == nullptr) {
    return Answer(StatusProblem({Code::kOverloaded, std::string(refusal)}), output);
  }
  errand_ = {std::move(deferred), service_.Deadline(), wish};
  return Progress::kParked;
}

Progress HttpSession::AnswerLater(std::function<Reply(Service&)> work, std::string& output) {
  return RunErrand(
      [work = std::move(work)](Service& service, Service::Deferred& deferred) {
        deferred.reply = work(service);
      },
      output);
}

Progress HttpSession::AnswerKeyLater(std::function<Reply(Service&)> work, std::string& output) {
  auto deferred = service_.Defer(
      Queue::kKeys,
      [work = std::move(work)](Service& service, Service::Deferred& prepared) {
        prepared.reply = work(service);
      },
      waker_);
  return Await(std::move(deferred), "too many requests wait for the store", output, {});
}

Progress HttpSession::Dispatch(const wire::HttpRequest& request, std::string& output) {
  const Route route = FindRoute(request, service_.options().router);
  // Any page may ask for ids, as the CORS headers of that peer say.
  const bool mints = MintsOnGet(route.operation) && route.operation != Operation::kGenerateId;
  if (IsCrossSite(request, mints)) {
    return Answer(ForeignPage(route), output);
  }
  switch (route.operation) {
    case Operation::kGetKey:
      return BeginMint(service_.options().default_keyspace, {KeyFormat::kBare, 1}, output);
    case Operation::kMint:
      return BeginMintOnV1(request, route.keyspace, output);
    case Operation::kListKeyspaces:
      return BeginList(request, output);
    case Operation::kShowKeyspace:
      return AnswerLater([k = route.keyspace](Service& service) { return service.ShowKeyspace(k); },
                         output);
    case Operation::kRetireKeyspace:
      return AnswerLater(
          [k = route.keyspace](Service& service) { return service.RetireKeyspace(k); }, output);
    case Operation::kExplain:
      return AnswerKeyLater([k = route.keyspace,
                             key = route.key](Service& service) { return service.Explain(k, key); },
                            output);
    case Operation::kClaim:
      return BeginClaim(request, route, output);
    case Operation::kRelease:
      return BeginRelease(request, route, output);
    case Operation::kDerive:
      return BeginDerive(request, route, output);
    case Operation::kBounds:
      return BeginBounds(request, route.keyspace, output);
    case Operation::kCreateKeyspace:
      return BeginCreate(request, route.keyspace, output);
    case Operation::kLend:
      return BeginLend(request, route, output);
    case Operation::kTakeBack:
      return BeginTakeBack(request, route, output);
    case Operation::kCreateLink:
    case Operation::kListLinks:
    case Operation::kShowLink:
    case Operation::kDeleteLink:
      return BeginLinks(request, route, output);
    case Operation::kGenerateId:
    case Operation::kPodHealth:
    case Operation::kLeafSegment:
    case Operation::kLeafSnowflake:
    case Operation::kLeafDecode:
    case Operation::kTinyIds:
    case Operation::kTinyIdsSimple:
    case Operation::kTinySegment:
    case Operation::kTinySegmentSimple:
      return BeginPeer(request, route, output);
    default:
      return DispatchPage(request, route, output);
  }
}

Progress HttpSession::DispatchPage(const wire::HttpRequest& request, const Route& route,
                                   std::string& output) {
  switch (route.operation) {
    case Operation::kIndex:
      return Answer(service_.Index(request.accept, request.host), output);
    case Operation::kLive:
      return Answer(Service::Live(route.key, HasParameter(request.query, "verbose")), output);
    case Operation::kReady:
      return Answer(ReadyReply("readyz", request, route.key), output);
    case Operation::kHealth:
      return Answer(ReadyReply("healthz", request, route.key), output);
    case Operation::kMetrics:
      return BeginMetrics(output);
    case Operation::kOpenApi:
      return Answer(DocumentReply(kOpenApiFile, request.if_none_match), output);
    case Operation::kDocs:
      return Answer(route.key.empty() ? DocumentReply(kDocsPage, request.if_none_match)
                                      : DocsFileReply(route.key, request.if_none_match),
                    output);
    case Operation::kOptions:
      return Answer(OptionsReply(route), output);
    case Operation::kWrongMethod:
      return Answer(WrongMethod(route), output);
    case Operation::kBadTarget:
      return Answer(Problem(400, "bad-request", ReasonPhrase(400), route.detail), output);
    default:
      break;
  }
  return Answer(Problem(404, "not-found", ReasonPhrase(404), "nothing is here; / lists what is"),
                output);
}

Reply HttpSession::ReadyReply(std::string_view name, const wire::HttpRequest& request,
                              std::string_view only) {
  return service_.Ready(name, only, HasParameter(request.query, "verbose"),
                        RawParameters(request.query, "exclude"));
}

Progress HttpSession::BeginList(const wire::HttpRequest& request, std::string& output) {
  Result<ListPage> page = ParseListPage(request.query);
  if (!page.ok()) return Answer(StatusProblem(page.status()), output);
  return AnswerLater(
      [page = *std::move(page)](Service& service) { return service.ListKeyspaces(page); }, output);
}

Progress HttpSession::BeginBounds(const wire::HttpRequest& request, std::string name,
                                  std::string& output) {
  Result<TimeRange> range = ParseTimeRange(request.query);
  if (!range.ok()) return Answer(StatusProblem(range.status()), output);
  return AnswerLater([k = std::move(name),
                      range = *range](Service& service) { return service.ShowBounds(k, range); },
                     output);
}

Progress HttpSession::BeginCreate(const wire::HttpRequest& request, std::string name,
                                  std::string& output) {
  if (!MayBeJson(request)) {
    return Answer(WrongType("send the recipe with Content-Type: application/json"), output);
  }
  return AnswerLater([k = std::move(name), body = std::string(request.body)](
                         Service& service) { return service.CreateKeyspace(k, body); },
                     output);
}

Progress HttpSession::BeginMintOnV1(const wire::HttpRequest& request, std::string_view name,
                                    std::string& output) {
  if (!MayBeJson(request)) {
    return Answer(WrongType("send the body with Content-Type: application/json, or use ?count=N"),
                  output);
  }
  const Result<std::uint64_t> count = MintCount(request);
  if (!count.ok()) return Answer(StatusProblem(count.status()), output);
  const bool text = PrefersText(request.accept);
  if (request.idempotency_key) {
    const MintWish wish{text ? KeyFormat::kText : KeyFormat::kJson, *count};
    return BeginMintOnce(name, *request.idempotency_key, wish, output);
  }
  if (*count > (text ? kTextKeysMax : kJsonKeysMax)) {
    return Answer(TooManyKeys(*count, text), output);
  }
  KeyFormat format = text ? KeyFormat::kText : KeyFormat::kJson;
  if (*count > kJsonKeysMax) format = KeyFormat::kStream;
  if (format == KeyFormat::kStream && context_.http10) {
    return Answer(Problem(400, "bad-request", ReasonPhrase(400),
                          fmt::format("more than {} keys need HTTP/1.1", kJsonKeysMax)),
                  output);
  }
  return BeginMint(name, {format, *count}, output);
}

Progress HttpSession::BeginMint(std::string_view name, const MintWish& wish, std::string& output) {
  mint::Engine* const engine = service_.engine();
  if (engine == nullptr) return Answer(Service::NoEngine(), output);
  if (mint::Keyspace* const keyspace = engine->Find(name)) {
    if (context_.keep_alive && !context_.http10) repeat_ = {keyspace, wish, method_};
    return RunJob(*keyspace, wish, service_.Deadline(), output);
  }
  return RunErrand(
      [k = std::string(name)](Service& service, Service::Deferred& deferred) {
        deferred.keyspace = service.LookUp(k, deferred.reply);
      },
      output, wish);
}

Progress HttpSession::RunJob(mint::Keyspace& keyspace, const MintWish& wish, MonotonicTime deadline,
                             std::string& output) {
  job_.emplace(service_, keyspace, wish, deadline, waker_);
  return ContinueJob(output);
}

}  // namespace keymill::api::http
