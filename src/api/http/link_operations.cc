// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/link_operations.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/http/key_operations.h"
#include "api/http/keyspace_json.h"
#include "api/http/parameters.h"
#include "base/suggest.h"
#include "base/utc_text.h"

namespace keymill::api::http {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kLinkWords = {"url", "alias", "expires_at", "dedupe"};
// More would not fit what JavaScript counts exactly.
constexpr std::uint64_t kHitsShownMax = (std::uint64_t{1} << 53) - 1;

Status Invalid(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

Json LinkJson(const keymill::links::LinkBook& book, const keymill::links::Link& link) {
  Json json;
  json["key"] = link.key;
  json["url"] = link.url;
  const std::string shown = book.PublicUrl(link.key);
  if (!shown.empty()) json["public_url"] = shown;
  json["alias"] = link.alias;
  json["created_at"] = UtcText(link.created_at_ms);
  if (link.expires_at_ms != 0) json["expires_at"] = UtcText(link.expires_at_ms);
  json["hits"] = std::min(link.hits, kHitsShownMax);
  if (link.counted_at_ms != 0) json["counted_at"] = UtcText(link.counted_at_ms);
  return json;
}

// What is in the store is UTF-8, unless somebody else has written it.
std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Reply NoSuchLink(const std::string& key) {
  return Problem(404, "link-not-found", "No such link",
                 fmt::format("\"{}\" leads nowhere: there is no such link, or it has ended", key));
}

Reply LinkProblem(Service& service, const Status& status) {
  mint::Engine* const mill = service.engine();
  if (mill == nullptr) return Service::NoEngine();
  return StoreProblem(*mill, service.options().links->keyspace(), status);
}

Status SetWord(const std::string& name, std::string value, keymill::links::NewLink& wanted) {
  if (name == "url") {
    wanted.url = std::move(value);
  } else if (name == "alias") {
    if (value.empty()) return Invalid("alias is empty; leave it out, and a key is made");
    wanted.alias = std::move(value);
  } else if (name == "expires_at") {
    const Result<std::int64_t> ms = ParseUtcText(value);
    if (!ms.ok()) return Invalid(fmt::format("expires_at: {}", ms.status().message()));
    wanted.expires_at_ms = *ms;
  } else if (name == "dedupe") {
    if (value != "true" && value != "false") return Invalid("dedupe must be true or false");
    wanted.dedupe = value == "true";
  } else {
    return Invalid(fmt::format("unknown parameter \"{}\"{}", name.substr(0, 32),
                               DidYouMean(name, kLinkWords)));
  }
  return {};
}

}  // namespace

Result<keymill::links::NewLink> ParseNewLink(std::string_view body) {
  if (body.empty()) return Invalid("url is missing: send {\"url\":\"https://…\"}");
  Result<std::vector<mint::RecipeWord>> words = ParseWords(body);
  if (!words.ok()) return words.status();
  keymill::links::NewLink wanted;
  for (mint::RecipeWord& word : *words) {
    if (word.values.size() != 1) return Invalid(fmt::format("{} must be one value", word.word));
    if (Status set = SetWord(word.word, std::move(word.values.front()), wanted); !set.ok()) {
      return set;
    }
  }
  if (wanted.url.empty()) return Invalid("url is missing: send {\"url\":\"https://…\"}");
  return wanted;
}

Result<LinkListPage> ParseLinkListPage(std::string_view query) {
  Result<ListPage> page = ParseListPage(query, "cursor", LinkListPage().limit);
  if (!page.ok()) return page.status();
  return LinkListPage{static_cast<std::uint32_t>(page->limit), std::move(page->after)};
}

Reply CreateLink(Service& service, const keymill::links::NewLink& wanted, MonotonicTime deadline) {
  keymill::links::LinkBook& book = *service.options().links;
  const Result<keymill::links::Creation> made = book.Create(wanted, deadline);
  if (!made.ok()) return LinkProblem(service, made.status());
  if (made->claim.verdict != mint::ClaimVerdict::kClaimed) return ClaimProblem(made->claim);
  Reply reply = JsonReply(made->existing ? 200 : 201, Text(LinkJson(book, made->link)));
  if (!made->existing) reply.headers += fmt::format("Location: /v1/links/{}\r\n", made->link.key);
  return reply;
}

Reply ShowLink(Service& service, const std::string& key) {
  keymill::links::LinkBook& book = *service.options().links;
  const Result<std::optional<keymill::links::Link>> link = book.Find(key);
  if (!link.ok()) return LinkProblem(service, link.status());
  return *link ? JsonReply(200, Text(LinkJson(book, **link))) : NoSuchLink(key);
}

Reply ListLinks(Service& service, const LinkListPage& page) {
  keymill::links::LinkBook& book = *service.options().links;
  const Result<keymill::links::LinkPage> found = book.List(page.cursor, page.limit);
  if (!found.ok()) return LinkProblem(service, found.status());
  Json json;
  json["links"] = Json::array();
  for (const keymill::links::Link& link : found->links)
    json["links"].push_back(LinkJson(book, link));
  if (!found->cursor.empty()) json["cursor"] = found->cursor;
  return JsonReply(200, Text(json));
}

Reply DeleteLink(Service& service, const std::string& key) {
  const Result<bool> gone = service.options().links->Delete(key);
  if (!gone.ok()) return LinkProblem(service, gone.status());
  if (!*gone) return NoSuchLink(key);
  return {.status = 204, .content_type = {}, .body = {}, .headers = std::string(kNoStore)};
}

}  // namespace keymill::api::http
