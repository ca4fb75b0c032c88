// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a request asks for, from its query or its body.

#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

#include "wire/http_request.h"

namespace keymill::api::http {

// Stands for every count that is larger.
inline constexpr std::uint64_t kCountMax = std::numeric_limits<std::uint64_t>::max();

// The `count` of a mint request: in the query (?count=5) or a JSON body ({"count":5}); 1 when
// neither says. No upper bound here: what does not fit is kCountMax.
// Errors: kInvalidArgument, naming the parameter and what it may be.
Result<std::uint64_t> MintCount(const wire::HttpRequest& request);

inline constexpr std::size_t kListMax = 1000;

// Which part of a list is shown: the first `limit` of those that come after `after`.
struct ListPage {
  std::size_t limit = kListMax;
  std::string after;
};
// ?limit=100&after=orders, both optional. `after_name` is what the list calls the second, and
// `limit` holds when none is said.
// Errors: kInvalidArgument, naming the parameter and what it may be.
Result<ListPage> ParseListPage(std::string_view query, std::string_view after_name = "after",
                               std::size_t limit = kListMax);

// Moments, in milliseconds since 1970: from the first up to, and without, the second.
struct TimeRange {
  std::int64_t from_ms = 0;
  std::int64_t to_ms = 0;
};
// ?from=2026-01-01&to=2026-02-01T12:00:00Z, both needed.
// Errors: kInvalidArgument, naming the parameter and what it may be.
Result<TimeRange> ParseTimeRange(std::string_view query);

// The owner of a claim: a JSON body ({"owner":"maria"}) or none, which is "".
// Errors: kInvalidArgument, naming what is wrong.
Result<std::string> ParseOwner(std::string_view body);

// What a key is to be made from: {"content":"https://example.com/","salt":"user-7"}.
struct Content {
  std::string content;
  std::string salt;  // "" when none was sent.
};
// Errors: kInvalidArgument, naming what is wrong and what to send.
Result<Content> ParseContent(std::string_view body);

// The generation that If-Match names as an ETag, "3" with its quotes; nothing for *, which is any.
// Errors: kInvalidArgument for everything else, weak tags and lists included.
Result<std::optional<std::uint64_t>> ParseGeneration(std::string_view if_match);

// A block that is asked for: ?count=1000&ttl=600, or the same as JSON, both optional.
struct LoanWish {
  std::uint32_t count = 1000;
  std::chrono::seconds time{600};
};
// Errors: kInvalidArgument, naming the parameter and what it may be.
Result<LoanWish> ParseLoanWish(const wire::HttpRequest& request);

// How many numbers of a block were used: ?used=17.
// Errors: kInvalidArgument, also when it is missing.
Result<std::uint64_t> ParseUsed(std::string_view query);

// Whether a body may be read as JSON: it has the type or none, or there is nothing to read.
bool MayBeJson(const wire::HttpRequest& request);

// Whether Accept asks for text/plain, and not as much for JSON.
bool PrefersText(std::string_view accept);

// The values of a parameter as they were sent, for probes.
std::vector<std::string_view> RawParameters(std::string_view query, std::string_view name);
bool HasParameter(std::string_view query, std::string_view name);

}  // namespace keymill::api::http
