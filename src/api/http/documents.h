// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What this server says of itself: docs/openapi.json, and the page that shows it (web/docs).

#pragma once

#include <span>
#include <string_view>

#include "api/http/reply.h"
#include "base/embedded_file.h"

namespace keymill::api::http {

inline constexpr std::string_view kOpenApiFile = "openapi.json";
inline constexpr std::string_view kDocsPage = "docs.html";

// All that there are.
std::span<const EmbeddedFile> Documents();

// The file of this name: 200; 304 if `if_none_match`, a header field, has its tag; 404 when there
// is none.
Reply DocumentReply(std::string_view name, std::string_view if_none_match);

// What is at /docs/`name`: what the page needs, not the page itself.
Reply DocsFileReply(std::string_view name, std::string_view if_none_match);

}  // namespace keymill::api::http
