// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/documents.h"

#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/http/http_test_support.h"
#include "api/http/router.h"
#include "api/status_map.h"
#include "mint/recipe_words.h"

namespace keymill::api::http {
namespace {

using Json = nlohmann::json;
using Names = std::set<std::string>;

Json OpenApi() { return Json::parse(DocumentReply(kOpenApiFile, {}).body); }

// Calls `visit` with `json` and everything in it.
template <typename Visit>
void Walk(const Json& json, const Visit& visit) {
  visit(json);
  if (!json.is_structured()) return;
  for (const Json& inner : json) Walk(inner, visit);
}

// What a place is called in braces is the document's own affair.
std::string Anonymous(const std::string& endpoint) {
  return std::regex_replace(endpoint, std::regex(R"(\{[^}]*\})"), "{}");
}

TEST(DocumentsTest, TheDocumentHasEveryEndpointAndNoOther) {
  Names served;
  for (const std::string& name : EndpointNames()) served.insert(Anonymous(name));
  Names documented;
  const Json document = OpenApi();
  for (const auto& [path, item] : document["paths"].items()) {
    for (const char* const method : {"get", "put", "post", "delete", "patch"}) {
      if (!item.contains(method)) continue;
      std::string name(method);
      std::transform(name.begin(), name.end(), name.begin(), ::toupper);
      documented.insert(Anonymous(name + " " + path));
    }
  }
  EXPECT_EQ(served, documented);
}

TEST(DocumentsTest, TheDocumentHasEveryWordOfARecipe) {
  Names documented;
  const Json document = OpenApi();
  for (const auto& [word, schema] :
       document["components"]["schemas"]["Recipe"]["properties"].items()) {
    documented.insert(word);
  }
  const auto words = mint::RecipeWordNames();
  EXPECT_EQ(documented, Names(words.begin(), words.end()));
}

TEST(DocumentsTest, TheDocumentHasEveryKind) {
  Names kinds;
  for (std::size_t i = 0; i < kKinds; ++i) kinds.emplace(KindName(static_cast<Kind>(i)));
  EXPECT_EQ(OpenApi()["components"]["schemas"]["Kind"]["enum"].get<Names>(), kinds);
}

TEST(DocumentsTest, TheDocumentHasEveryProblemThatAStatusCanBe) {
  Names slugs;
  Walk(OpenApi(), [&](const Json& json) {
    if (!json.is_object() || !json.contains("properties")) return;
    const Json type = json["properties"].value("type", Json::object());
    if (type.contains("const")) slugs.insert(type["const"].get<std::string>());
    if (type.contains("enum")) slugs.merge(type["enum"].get<Names>());
  });
  for (std::size_t i = 0; i < kCodeCount; ++i) {
    const auto code = static_cast<Code>(i);
    if (code == Code::kOk || code == Code::kUnauthenticated) continue;  // Nobody has to say who.
    EXPECT_TRUE(slugs.contains(std::string(MapStatus(code).slug))) << MapStatus(code).slug;
  }
}

TEST(DocumentsTest, EveryReferenceLeadsSomewhere) {
  const Json document = OpenApi();
  int references = 0;
  Walk(document, [&](const Json& json) {
    if (!json.is_object() || !json.contains("$ref")) return;
    const std::string target = json["$ref"];
    ++references;
    EXPECT_TRUE(target.starts_with("#/") && document.contains(Json::json_pointer(target.substr(1))))
        << target;
  });
  EXPECT_GT(references, 100);
}

TEST(DocumentsTest, FilesAreServedWithTagAndType) {
  TestServer server;
  Client client(server);
  for (const auto& [target, type] :
       std::map<std::string, std::string>{{"/openapi.json", "application/json"},
                                          {"/docs", "text/html; charset=utf-8"},
                                          {"/docs/docs.css", "text/css; charset=utf-8"},
                                          {"/docs/docs.js", "text/javascript; charset=utf-8"}}) {
    const Response response = client.Ask("GET", target);
    EXPECT_EQ(response.status, 200) << target;
    EXPECT_EQ(response.header("content-type"), type);
    EXPECT_EQ(response.header("cache-control"), "no-cache");
    EXPECT_EQ(response.header("x-content-type-options"), "nosniff");
    EXPECT_NE(response.body, "");
    const Response head = client.Ask("HEAD", target);
    EXPECT_EQ(head.header("content-length"), response.header("content-length"));
    const std::string tag = response.header("etag");
    for (const std::string& field : {tag, "W/" + tag, "\"a\", " + tag, std::string("*")}) {
      const Response again = client.Ask("GET", target, "If-None-Match: " + field + "\r\n");
      EXPECT_EQ(again.status, 304) << field;
      EXPECT_EQ(again.header("etag"), tag);
      EXPECT_EQ(again.body, "");
    }
    EXPECT_EQ(client.Ask("GET", target, "If-None-Match: \"0000000000000000\"\r\n").status, 200);
  }
  for (const char* const target :
       {"/docs/docs.html", "/docs/openapi.json", "/docs/..%2Fdocs.css"}) {
    EXPECT_EQ(client.Ask("GET", target).status, 404) << target;
  }
}

TEST(DocumentsTest, OnlyThePageSaysWhatItMayLoad) {
  TestServer server;
  Client client(server);
  const std::string policy = client.Ask("GET", "/docs").header("content-security-policy");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; ")) << policy;
  EXPECT_EQ(policy.find("http"), std::string::npos) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
  EXPECT_EQ(client.Ask("GET", "/openapi.json").header("content-security-policy"), "");
}

}  // namespace
}  // namespace keymill::api::http
