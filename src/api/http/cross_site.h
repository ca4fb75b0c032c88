// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Pages of other sites must not use a visitor's browser to reach a server that the visitor
// can reach and they cannot, such as one on the loopback.

#pragma once

#include "wire/http_request.h"

namespace keymill::api::http {

// Whether a browser sent `request` for a page of another site, although it would change
// something: with any method but GET, HEAD and OPTIONS, or with any if it `mints`. Other clients
// send neither Origin nor Sec-Fetch-Site.
bool IsCrossSite(const wire::HttpRequest& request, bool mints);

}  // namespace keymill::api::http
