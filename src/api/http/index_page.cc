// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/index_page.h"

#include <array>

#include <fmt/format.h>

namespace keymill::api::http {
namespace {

struct Entry {
  std::string_view method;
  std::string_view path;
  std::string_view summary;
  bool link;  // Whether a browser may simply follow it.
};

constexpr std::array<Entry, 21> kEntries = {{
    {"POST", "/v1/keyspaces/default/keys?count=5", "mint keys (Accept: text/plain for lines)",
     false},
    {"GET", "/v1/keyspaces/default/keys/{key}", "explain a key", false},
    {"PUT", "/v1/keyspaces/default/keys/{alias}", "claim a key of your own choice", false},
    {"DELETE", "/v1/keyspaces/{name}/keys/{key}", "give a key of a pool back", false},
    {"POST", "/v1/keyspaces/{name}/derive", "the key of a content", false},
    {"GET", "/v1/keyspaces", "all keyspaces, capacity and forecast", true},
    {"GET", "/v1/keyspaces/default", "one keyspace", true},
    {"PUT", "/v1/keyspaces/{name}", "create a keyspace", false},
    {"DELETE", "/v1/keyspaces/{name}", "retire a keyspace, for ever", false},
    {"POST", "/v1/keyspaces/{name}/blocks", "a block of numbers, for clients that cache", false},
    {"DELETE", "/v1/keyspaces/{name}/blocks/{id}", "give the rest of a block back", false},
    {"POST", "/v1/links", "a short link to a URL", false},
    {"GET", "/v1/links", "the links, and how often each was followed", true},
    {"GET", "/get-key", "one key of the default keyspace, bare", false},
    {"GET", "/generate-id", "one id of the keyspace ids, as a JSON number", false},
    {"GET", "/livez", "is the process alive", true},
    {"GET", "/readyz?verbose", "can it mint", true},
    {"GET", "/healthz", "the same, for older probes", true},
    {"GET", "/metrics", "figures for Prometheus", true},
    {"GET", "/docs", "all of this, to read and to try", true},
    {"GET", "/openapi.json", "the same for programs (OpenAPI 3.1)", true},
}};

}  // namespace

bool IsPlainHost(std::string_view host) {
  constexpr std::string_view kSymbols =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]";
  return !host.empty() && host.size() <= 255 &&
         host.find_first_not_of(kSymbols) == std::string_view::npos;
}

std::string IndexText(std::string_view version, std::string_view host) {
  std::string page = fmt::format("keymill {}\n\n", version);
  for (const Entry& entry : kEntries) {
    page += fmt::format("{:<7}{:<38}{}\n", entry.method, entry.path, entry.summary);
  }
  page += fmt::format("\nTry: curl -X POST '{}/v1/keyspaces/default/keys?count=5'\n", host);
  return page;
}

std::string IndexHtml(std::string_view version) {
  std::string page = fmt::format(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>Keymill</title>"
      "<style>body{{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:52rem;"
      "padding:0 1rem;color-scheme:light dark}}td{{padding:.2rem 1rem .2rem 0}}"
      "code{{font-size:.95em}}</style><h1>Keymill {}</h1><table>",
      version);
  for (const Entry& entry : kEntries) {
    const std::string path =
        entry.link ? fmt::format("<a href=\"{0}\">{0}</a>", entry.path) : std::string(entry.path);
    page += fmt::format("<tr><td><code>{}</code><td><code>{}</code><td>{}", entry.method, path,
                        entry.summary);
  }
  page += "</table></html>\n";
  return page;
}

}  // namespace keymill::api::http
