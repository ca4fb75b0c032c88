// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/documents.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace keymill::api::http {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes = {{
    {".json", kJsonType},
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
}};

// The page asks this server and nobody else, and nobody shows it inside of another one.
constexpr std::string_view kPageHeaders =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n";

std::string_view TypeOf(std::string_view name) {
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return type;
  }
  return kTextType;
}

// Tags have quotes around them, and nothing else in the field can look like one: whether it is
// one of a list, or weak, makes no difference.
bool HasTag(std::string_view field, std::string_view tag) {
  return field == "*" || field.find(tag) != std::string_view::npos;
}

}  // namespace

Reply DocumentReply(std::string_view name, std::string_view if_none_match) {
  const auto files = Documents();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const EmbeddedFile& file) { return file.name == name; });
  if (found == files.end()) {
    return Problem(404, "not-found", ReasonPhrase(404), "nothing is here; / lists what is");
  }
  // A newer program has newer files at the same address.
  std::string headers = fmt::format("Cache-Control: no-cache\r\nETag: {}\r\n", found->tag);
  if (HasTag(if_none_match, found->tag)) {
    return {.status = 304, .content_type = {}, .body = {}, .headers = std::move(headers)};
  }
  headers += "X-Content-Type-Options: nosniff\r\n";
  if (name == kDocsPage) headers += kPageHeaders;
  return {.status = 200,
          .content_type = TypeOf(name),
          .body = std::string(found->text),
          .headers = std::move(headers)};
}

Reply DocsFileReply(std::string_view name, std::string_view if_none_match) {
  const bool elsewhere = name == kDocsPage || name == kOpenApiFile;
  return DocumentReply(elsewhere ? std::string_view() : name, if_none_match);
}

}  // namespace keymill::api::http
