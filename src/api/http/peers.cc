// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/peers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/http/parameters.h"
#include "api/status_map.h"
#include "base/json.h"
#include "mint/engine.h"
#include "mint/snowflake_keyspace.h"
#include "wire/percent.h"

namespace keymill::api::http {
namespace {

// As Spring writes them.
constexpr std::string_view kSpringText = "text/plain;charset=UTF-8";
constexpr std::string_view kSpringJson = "application/json;charset=UTF-8";

// tinyid gives no more at once, and does not say so.
constexpr std::int64_t kTinyBatchMax = 100'000;
// A client of tinyid asks for the next segment when so much of one is used.
constexpr std::uint64_t kTinyLoadingPercent = 20;

constexpr std::int64_t kTwitterEpochMs = 1'288'834'974'657;

enum class Peer : std::uint8_t { kGenerateId, kLeaf, kTinyJson, kTinySimple };

Peer PeerOf(Operation operation) {
  switch (operation) {
    case Operation::kLeafSegment:
    case Operation::kLeafSnowflake:
      return Peer::kLeaf;
    case Operation::kTinyIds:
    case Operation::kTinySegment:
      return Peer::kTinyJson;
    case Operation::kTinyIdsSimple:
    case Operation::kTinySegmentSimple:
      return Peer::kTinySimple;
    default:
      return Peer::kGenerateId;
  }
}

Reply SpringReply(int status, std::string_view type, std::string body) {
  return {.status = status,
          .content_type = type,
          .body = std::move(body),
          .headers = std::string(kNoStore)};
}

Reply TinyJson(std::string_view data, int code, std::string_view message) {
  return SpringReply(
      200, kSpringJson,
      fmt::format(R"({{"data":{},"code":{},"message":{}}})", data, code, JsonQuote(message)));
}

// What Java's Long.parseLong and Integer.parseInt read.
template <typename Number>
std::optional<Number> ParseSigned(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (text.empty() || error != std::errc() || end != last) return {};
  return number;
}

bool IsForm(const wire::HttpRequest& request) {
  constexpr std::string_view kForm = "application/x-www-form-urlencoded";
  std::string_view type = request.content_type.substr(0, request.content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return std::equal(type.begin(), type.end(), kForm.begin(), kForm.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a | 0x20 : a) == b; });
}

// The parameters of a servlet: of two with one name the first counts, the query's before the
// form's.
Result<std::vector<std::pair<std::string, std::string>>> Parameters(
    const wire::HttpRequest& request) {
  auto pairs = wire::ParseQuery(request.query);
  if (!pairs.ok() || request.body.empty() || !IsForm(request)) return pairs;
  auto form = wire::ParseQuery(request.body);
  if (!form.ok()) return form;
  std::move(form->begin(), form->end(), std::back_inserter(*pairs));
  return pairs;
}

Status ReadTinyid(const wire::HttpRequest& request, PeerRequest& read) {
  const auto pairs = Parameters(request);
  if (!pairs.ok()) return pairs.status();
  const auto value = [&](std::string_view name) -> const std::string* {
    const auto found = std::find_if(pairs->begin(), pairs->end(),
                                    [&](const auto& pair) { return pair.first == name; });
    return found == pairs->end() ? nullptr : &found->second;
  };
  const std::string* const name = value("bizType");
  const std::string* const token = value("token");
  const std::string* const batch = value("batchSize");
  if (name != nullptr) read.keyspace = *name;
  read.admitted = name != nullptr && token != nullptr && !name->empty() && !token->empty();
  if (batch == nullptr || batch->empty() || WantsSegment(read.operation)) return {};
  const std::optional<std::int32_t> count = ParseSigned<std::int32_t>(*batch);
  if (!count) return {Code::kInvalidArgument, "batchSize must be a whole number"};
  read.count = static_cast<std::uint64_t>(std::clamp<std::int64_t>(*count, 0, kTinyBatchMax));
  return {};
}

// Leaf's codes: of segments, -1 before it is ready, -2 for an unknown key and -3 when none are
// there; of snowflakes, -3 for a clock that went back and -1 for one that stays behind.
int LeafCode(Operation operation, Code code) {
  if (code == Code::kNotFound || code == Code::kFailedPrecondition) return -2;
  if (operation == Operation::kLeafSegment) return -3;
  return code == Code::kClockRegressed ? -3 : -1;
}

// What Spring makes of an exception.
Reply SpringProblem(int status, std::string_view exception, std::string_view message,
                    std::string_view path, std::int64_t wall_ms) {
  return SpringReply(status, kSpringJson,
                     fmt::format(R"({{"timestamp":{},"status":{},"error":"{}",)"
                                 R"("exception":"{}","message":{},"path":{}}})",
                                 wall_ms, status, ReasonPhrase(status), exception,
                                 JsonQuote(message), JsonQuote(path)));
}

Reply LeafProblem(const PeerRequest& request, int code, std::int64_t wall_ms) {
  return SpringProblem(500, "com.sankuai.inf.leaf.server.exception.LeafServerException",
                       fmt::format("Result{{id={}, status=EXCEPTION}}", code), request.path,
                       wall_ms);
}

std::string TinyMessage(const PeerRequest& request, const Status& why) {
  const bool unknown = why.code() == Code::kNotFound || why.code() == Code::kFailedPrecondition;
  const std::string_view fixed = PublicDetail(why.code());
  const std::string message = unknown ? fmt::format("can not find biztype:{}", request.keyspace)
                                      : std::string(fixed.empty() ? why.message() : fixed);
  return WantsSegment(request.operation) ? message : "error query segmentId: " + message;
}

// 1 to `count` numbers. An error, whichever, only if there is not one: what was taken is issued,
// and better fewer than asked for than lost.
Result<std::vector<std::uint64_t>> MintNumbers(mint::Engine& mill, mint::Keyspace& keyspace,
                                               std::uint64_t count, MonotonicTime deadline) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(count);
  const Status minted = mill.Mint(keyspace, count, deadline, [&](std::string_view lines) {
    while (!lines.empty()) {
      const std::string_view key = lines.substr(0, lines.find('\n'));
      if (const auto number = keyspace.NumberOf(key)) numbers.push_back(*number);
      lines.remove_prefix(key.size() + 1);
    }
  });
  if (!minted.ok() && numbers.empty()) return minted;
  if (!minted.ok() || numbers.size() == count) return numbers;
  return Status(Code::kInternal, fmt::format("mint {}: keys without a number", keyspace.name()));
}

}  // namespace

bool WantsSegment(Operation operation) {
  return operation == Operation::kTinySegment || operation == Operation::kTinySegmentSimple;
}

Result<PeerRequest> ReadPeerRequest(const wire::HttpRequest& request, const Route& route,
                                    const ServiceOptions& options) {
  PeerRequest read{.operation = route.operation,
                   .keyspace = {},
                   .count = 1,
                   .admitted = true,
                   .path = std::string(request.path)};
  switch (PeerOf(route.operation)) {
    case Peer::kGenerateId:
      read.keyspace = options.ids_keyspace;
      return read;
    case Peer::kLeaf:
      read.keyspace = route.key;
      return read;
    case Peer::kTinyJson:
    case Peer::kTinySimple:
      break;
  }
  if (Status right = ReadTinyid(request, read); !right.ok()) return right;
  return read;
}

Status CheckSuits(const PeerRequest& request, const mint::Keyspace& keyspace) {
  const bool snowflake = keyspace.recipe().kind == Kind::kSnowflake;
  const bool generate_id = request.operation == Operation::kGenerateId;
  const bool wants_snowflake = request.operation == Operation::kLeafSnowflake;
  if (keyspace.numbered() && (generate_id || snowflake == wants_snowflake)) return {};
  return {generate_id ? Code::kFailedPrecondition : Code::kNotFound,
          fmt::format("keyspace {} is of kind {}: its keys are not the numbers that are asked for",
                      keyspace.name(), KindName(keyspace.recipe().kind))};
}

Reply PeerNumbers(const PeerRequest& request, std::span<const std::uint64_t> numbers) {
  switch (PeerOf(request.operation)) {
    case Peer::kTinyJson:
      return TinyJson(fmt::format("[{}]", fmt::join(numbers, ",")), 200, "");
    case Peer::kLeaf:
    case Peer::kTinySimple:
      return SpringReply(200, kSpringText, fmt::format("{}", fmt::join(numbers, ",")));
    case Peer::kGenerateId:
      break;
  }
  Reply reply = JsonReply(200, fmt::format(R"({{"id":{}}})", fmt::join(numbers, ",")));
  reply.headers += kCors;
  return reply;
}

Reply PeerSegment(const PeerRequest& request, const mint::Loan& segment) {
  // Its client adds `delta` before it hands a number out, up to and with `max`.
  const auto delta = static_cast<std::int64_t>(segment.stride);
  const auto first = static_cast<std::int64_t>(segment.first);
  const std::int64_t current = first - delta;
  const std::int64_t max = current + static_cast<std::int64_t>(segment.count) * delta;
  const auto used = static_cast<std::int64_t>(segment.count * kTinyLoadingPercent / 100);
  const std::int64_t loading = current + used * delta;
  if (PeerOf(request.operation) == Peer::kTinySimple) {
    return SpringReply(200, kSpringText,
                       fmt::format("{},{},{},{},{}", current, loading, max, delta, first % delta));
  }
  return TinyJson(
      fmt::format(R"({{"maxId":{},"loadingId":{},"currentId":{},"delta":{},"remainder":{}}})", max,
                  loading, current, delta, first % delta),
      200, "");
}

Reply PeerProblem(const PeerRequest& request, const Status& why, std::int64_t wall_ms) {
  switch (PeerOf(request.operation)) {
    case Peer::kLeaf:
      return LeafProblem(request, LeafCode(request.operation, why.code()), wall_ms);
    case Peer::kTinyJson:
      if (!request.admitted) return TinyJson("null", 5, "token is error");
      return TinyJson("null", 6, TinyMessage(request, why));
    case Peer::kTinySimple:
      return SpringReply(200, kSpringText, "");
    case Peer::kGenerateId:
      break;
  }
  Reply reply = why.code() == Code::kNotFound ? Service::KeyspaceNotFound(request.keyspace)
                                              : StatusProblem(why);
  reply.headers += kCors;
  return reply;
}

Reply ServePeer(Service& service, const PeerRequest& request, MonotonicTime deadline) {
  const auto refuse = [&](const Status& why) {
    return PeerProblem(request, why, service.clock().WallMs());
  };
  if (service.engine() == nullptr && request.operation == Operation::kLeafSegment) {
    return LeafProblem(request, -1, service.clock().WallMs());
  }
  const Result<mint::Keyspace*> found = service.backend().LookUp(request.keyspace);
  // A name that none can have is unknown to a peer.
  if (found.code() == Code::kInvalidArgument) {
    return refuse({Code::kNotFound, found.status().message()});
  }
  if (!found.ok()) return refuse(found.status());
  if (const Status suits = CheckSuits(request, **found); !suits.ok()) return refuse(suits);
  mint::Engine& mill = *service.engine();
  if (WantsSegment(request.operation)) {
    const Result<mint::Loan> segment = mill.GrantSegment(**found);
    if (segment.code() == Code::kInvalidArgument) {
      return refuse({Code::kNotFound, segment.status().message()});
    }
    return segment.ok() ? PeerSegment(request, *segment) : refuse(segment.status());
  }
  const Result<std::vector<std::uint64_t>> numbers =
      MintNumbers(mill, **found, request.count, deadline);
  return numbers.ok() ? PeerNumbers(request, *numbers) : refuse(numbers.status());
}

Reply LeafDecode(std::string_view query, std::int64_t wall_ms) {
  const auto pairs = wire::ParseQuery(query);
  const std::string* text = nullptr;
  if (pairs.ok()) {
    for (const auto& pair : *pairs) {
      if (pair.first == "snowflakeId" && text == nullptr) text = &pair.second;
    }
  }
  if (text == nullptr) {
    return SpringProblem(
        400, "org.springframework.web.bind.MissingServletRequestParameterException",
        "Required String parameter 'snowflakeId' is not present", "/decodeSnowflakeId", wall_ms);
  }
  const std::optional<std::int64_t> id = ParseSigned<std::int64_t>(*text);
  if (!id) return SpringReply(200, kSpringJson, R"({"errorMsg":"snowflake Id反解析发生异常!"})");
  // With the sign, as there: what is negative has a time before the epoch.
  const std::int64_t ms = (*id >> 22) + kTwitterEpochMs;
  const std::int64_t below = ((ms % 1000) + 1000) % 1000;
  const std::time_t second = (ms - below) / 1000;
  std::tm parts{};
  ::localtime_r(&second, &parts);
  std::array<char, 32> time{};
  const std::size_t size = std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return SpringReply(
      200, kSpringJson,
      // In the order in which Java's HashMap has them.
      fmt::format(R"json({{"workerId":"{}","sequenceId":"{}","timestamp":"{}({}.{:03})"}})json",
                  (*id >> 12) & 0x3ff, *id & 0xfff, ms, std::string_view(time.data(), size),
                  below));
}

Reply PodHealth(const Service& service) {
  const ServiceOptions& options = service.options();
  std::string worker = "null";
  if (mint::Engine* const mill = service.engine()) {
    const auto* const ids =
        dynamic_cast<const mint::SnowflakeKeyspace*>(mill->Find(options.ids_keyspace));
    if (const auto id = ids == nullptr ? std::nullopt : ids->worker()) worker = std::to_string(*id);
  }
  Reply reply = JsonReply(
      200, fmt::format(R"({{"language":"C++","machine_id":{},"node_name":{},"pod_name":{},)"
                       R"("pod_uid":{},"status":"OK"}})",
                       worker, JsonQuote(options.node_name), JsonQuote(options.pod_name),
                       JsonQuote(options.pod_uid)));
  reply.headers += kCors;
  return reply;
}

}  // namespace keymill::api::http
