// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a mint request asks for, from its query or its body.

#pragma once

#include <cstdint>
#include <string_view>

#include "keymill/status.h"

#include "wire/http_request.h"

namespace keymill::api::http {

// The `count` of a mint request: in the query (?count=5) or a JSON body ({"count":5}); 1 when
// neither says. No upper bound here.
// Errors: kInvalidArgument, naming the parameter and what it may be.
Result<std::uint64_t> MintCount(const wire::HttpRequest& request);

// Whether a body may be read as JSON: it has the type, or there is none to read.
bool IsJsonOrEmpty(const wire::HttpRequest& request);

// The value of a parameter without percent signs, for probes; "" when absent.
std::string_view RawParameter(std::string_view query, std::string_view name);
bool HasParameter(std::string_view query, std::string_view name);

}  // namespace keymill::api::http
