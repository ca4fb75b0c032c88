// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a request asks for, from its query or its body.

#pragma once

#include <cstdint>
#include <limits>
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

// Which of the keyspaces a list shows: the first `limit` whose names come after `after`.
struct ListPage {
  std::size_t limit = kListMax;
  std::string after;
};
// ?limit=100&after=orders, both optional.
// Errors: kInvalidArgument, naming the parameter and what it may be.
Result<ListPage> ParseListPage(std::string_view query);

// Whether a body may be read as JSON: it has the type or none, or there is nothing to read.
bool MayBeJson(const wire::HttpRequest& request);

// Whether Accept asks for text/plain, and not as much for JSON.
bool PrefersText(std::string_view accept);

// The values of a parameter as they were sent, for probes.
std::vector<std::string_view> RawParameters(std::string_view query, std::string_view name);
bool HasParameter(std::string_view query, std::string_view name);

}  // namespace keymill::api::http
