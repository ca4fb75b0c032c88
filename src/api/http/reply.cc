// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/reply.h"

#include <array>
#include <charconv>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "api/details.h"
#include "api/status_map.h"
#include "base/json.h"

namespace keymill::api::http {
namespace {

constexpr std::array<std::pair<int, std::string_view>, 26> kReasons = {{
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {204, "No Content"},
    {302, "Found"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
}};

struct ThreadDate {
  std::int64_t second = -1;
  MonotonicTime made_at{};
  MonotonicTime good_until{};
  std::array<char, 64> text{};
  std::size_t size = 0;
};
thread_local ThreadDate thread_date;

void AppendNumber(std::string& output, std::int64_t number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  output.append(digits.data(), end);
}

}  // namespace

std::string_view ReasonPhrase(int status) {
  for (const auto& [number, reason] : kReasons) {
    if (number == status) return reason;
  }
  return "Unknown";
}

std::string_view HttpDate() {
  if (thread_date.second < 0) RefreshHttpDate(SystemClock().Monotonic());
  return {thread_date.text.data(), thread_date.size};
}

void RefreshHttpDate(MonotonicTime now) {
  if (now >= thread_date.made_at && now < thread_date.good_until) return;
  const std::int64_t wall_ms = SystemClock().WallMs();
  thread_date.made_at = now;
  thread_date.good_until = now + std::chrono::milliseconds(1000 - wall_ms % 1000);
  const std::int64_t second = wall_ms / 1000;
  if (second == thread_date.second) return;
  thread_date.second = second;
  const std::time_t time = second;
  std::tm parts{};
  gmtime_r(&time, &parts);
  thread_date.size = std::strftime(thread_date.text.data(), thread_date.text.size(),
                                   "%a, %d %b %Y %H:%M:%S GMT", &parts);
}

std::string_view OkHead(std::string_view content_type, std::size_t length) {
  // Keys of one keyspace have one length, so a few heads are all that a thread ever needs.
  struct Head {
    std::int64_t second = -1;
    std::string_view content_type;
    std::size_t length = 0;
    std::string bytes;
  };
  thread_local std::array<Head, 8> heads;
  Head& head = heads[(length ^ content_type.size()) % heads.size()];
  const bool fits = head.second == thread_date.second && head.length == length &&
                    head.content_type.data() == content_type.data();
  if (!fits) {
    head.bytes.clear();
    AppendHead(head.bytes, 200, content_type, static_cast<std::int64_t>(length), kNoStore, {});
    head.bytes += "\r\n";
    head.second = thread_date.second;
    head.length = length;
    head.content_type = content_type;
  }
  return head.bytes;
}

void AppendHead(std::string& output, int status, std::string_view content_type, std::int64_t length,
                std::string_view headers, const ReplyContext& context) {
  if (status == 200) {
    output += "HTTP/1.1 200 OK\r\n";
  } else {
    output += "HTTP/1.1 ";
    AppendNumber(output, status);
    output += ' ';
    output += ReasonPhrase(status);
    output += "\r\n";
  }
  output += "Date: ";
  output += HttpDate();
  output += "\r\n";
  if (!content_type.empty()) {
    output += "Content-Type: ";
    output += content_type;
    output += "\r\n";
  }
  if (length >= 0) {
    output += "Content-Length: ";
    AppendNumber(output, length);
    output += "\r\n";
  }
  output += headers;
  if (!context.keep_alive) {
    output += "Connection: close\r\n";
  } else if (context.http10) {
    output += "Connection: keep-alive\r\n";
  }
}

void AppendReply(std::string& output, const Reply& reply, const ReplyContext& context) {
  const bool bodiless = reply.status == 204 || reply.status == 304;
  AppendHead(output, reply.status, reply.content_type,
             bodiless ? -1 : static_cast<std::int64_t>(reply.body.size()), reply.headers, context);
  output += "\r\n";
  if (!context.head_only && !bodiless) output += reply.body;
}

Reply Problem(int status, std::string_view slug, std::string_view title, std::string_view detail,
              std::string_view headers) {
  return {.status = status,
          .content_type = "application/problem+json",
          .body = fmt::format(R"({{"type":"{}","title":{},"status":{},"detail":{}}})"
                              "\n",
                              slug, JsonQuote(title), status, JsonQuote(detail)),
          .headers = fmt::format("{}{}", kNoStore, headers)};
}

Reply WrongType(std::string_view detail) {
  return Problem(415, "unsupported-media-type", ReasonPhrase(415), detail);
}

Reply JsonReply(int status, std::string json) {
  json += '\n';
  return {.status = status,
          .content_type = kJsonType,
          .body = std::move(json),
          .headers = std::string(kNoStore)};
}

Reply KeyspaceRetired(std::string_view name) {
  return Problem(410, "keyspace-retired", "Keyspace retired",
                 fmt::format("keyspace {} is retired, and its name is never reused", name));
}

Reply KeyspaceMoved(std::string_view name) {
  const StatusMapping& row = MapStatus(Code::kUnavailable);
  // Nothing changes before somebody starts it anew.
  return Problem(row.http, row.slug, row.title, MovedDetail(name), "Retry-After: 60\r\n");
}

Reply KeysProblem(const Status& verdict, std::string_view name, KeyspaceState state) {
  if (verdict.code() != Code::kFailedPrecondition) return StatusProblem(verdict);
  if (state == KeyspaceState::kRetired) {
    return Problem(410, "keyspace-retired", "Keyspace retired", verdict.message());
  }
  if (state == KeyspaceState::kSealed) return KeyspaceMoved(name);
  // The instance's own trouble, such as a damaged witness: its log says more.
  return StatusProblem({Code::kUnavailable, verdict.message()});
}

Reply NotSupportedByStore(std::string_view detail) {
  return Problem(501, "not-supported-by-store", "Not supported by the store", detail);
}

Reply StatusProblem(const Status& status) {
  const StatusMapping& row = MapStatus(status.code());
  std::string headers;
  if (row.retry_after_seconds > 0) {
    headers = fmt::format("Retry-After: {}\r\n", row.retry_after_seconds);
  }
  return Problem(row.http, row.slug, row.title, ClientDetail(status, "http"), headers);
}

}  // namespace keymill::api::http
