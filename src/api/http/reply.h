// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// An HTTP answer and how it becomes bytes.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "keymill/clock.h"
#include "keymill/status.h"
#include "keymill/store.h"

namespace keymill::api::http {

inline constexpr std::string_view kTextType = "text/plain; charset=utf-8";
inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kNoStore = "Cache-Control: no-store\r\n";

struct Reply {
  int status = 200;
  std::string_view content_type = kTextType;  // Empty: no body, no type.
  std::string body;
  std::string headers;  // Further header lines, each with its CRLF.
};

// How the request that is answered bears on the answer.
struct ReplyContext {
  bool keep_alive = true;
  bool http10 = false;
  bool head_only = false;  // HEAD: everything but the body.
};

// "OK", "Not Found": the words after the number.
std::string_view ReasonPhrase(int status);

// The time in HTTP's form, as of this thread's last call of RefreshHttpDate. The wall clock is
// looked at once a second: `now`, which the caller knows anyway, tells when. After a jump of the
// wall clock the date may be wrong for that second.
std::string_view HttpDate();
void RefreshHttpDate(MonotonicTime now);

// Status line and header up to, but without, the empty line. `length` < 0 leaves
// Content-Length out.
void AppendHead(std::string& output, int status, std::string_view content_type, std::int64_t length,
                std::string_view headers, const ReplyContext& context);

// What comes before the body in an answer "200 OK" with keys, to an HTTP/1.1 request whose
// connection goes on: the bytes of AppendHead and the empty line, made before. Good until this
// thread's next call.
// REQUIRES: `content_type` is one of the constants above.
std::string_view OkHead(std::string_view content_type, std::size_t length);

void AppendReply(std::string& output, const Reply& reply, const ReplyContext& context);

// An RFC 9457 problem.
Reply Problem(int status, std::string_view slug, std::string_view title, std::string_view detail,
              std::string_view headers = {});

// 415: a body of another type than `detail` asks for.
Reply WrongType(std::string_view detail);

// 200 or 201, with JSON that lacks its end of line.
Reply JsonReply(int status, std::string json);

// 410: `name` was retired, and with it everything that could be done with it.
Reply KeyspaceRetired(std::string_view name);

// 503: `name` is in another store now.
Reply KeyspaceMoved(std::string_view name);

// Why keys of `name`, which is in that state, cannot be had, by a verdict that is
// kFailedPrecondition; StatusProblem for any other.
Reply KeysProblem(const Status& verdict, std::string_view name, KeyspaceState state);

// 501: what was asked for needs a store that remembers keys one by one.
Reply NotSupportedByStore(std::string_view detail);

// The problem that a Status is (status_map.h), with Retry-After where it helps. Messages that
// are not for clients are logged.
Reply StatusProblem(const Status& status);

}  // namespace keymill::api::http
