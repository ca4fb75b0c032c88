// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Everything that is not minting, as a client sees it.

#include "api/http/service.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/http/http_test_support.h"
#include "api/status_map.h"

namespace keymill::api::http {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

TEST(ServiceTest, ListsKeyspacesByName) {
  TestServer server;
  Client client(server);
  const Response response = client.Ask("GET", "/v1/keyspaces");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.header("content-type"), "application/json");
  const Json list = Json::parse(response.body).at("keyspaces");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].at("name"), "default");
  EXPECT_EQ(list[1].at("name"), "orders");
  EXPECT_EQ(response.body.find("secret"), std::string::npos);
}

TEST(ServiceTest, ListsManyKeyspacesInPages) {
  TestServer server;
  for (const std::string name : {"a", "b", "z"})
    server.Create(name, DefaultRecipe(Kind::kSequence));
  Client client(server);
  const auto names = [&](const std::string& query) {
    const Response response = client.Ask("GET", "/v1/keyspaces" + query);
    EXPECT_EQ(response.status, 200) << response.body;
    const Json json = Json::parse(response.body);
    std::string all;
    for (const Json& each : json.at("keyspaces")) all += each.at("name").get<std::string>() + " ";
    return all + (json.contains("next") ? "next " + json.at("next").get<std::string>() : "");
  };
  EXPECT_EQ(names(""), "a b default orders z ");
  EXPECT_EQ(names("?limit=5"), "a b default orders z ");
  EXPECT_EQ(names("?limit=2"), "a b next b");
  EXPECT_EQ(names("?limit=2&after=b"), "default orders next orders");
  EXPECT_EQ(names("?limit=2&after=orders"), "z ");
  EXPECT_EQ(names("?after=c"), "default orders z ");  // It need not exist.
  EXPECT_EQ(names("?after=z"), "");
  for (const std::string query : {"?limit=0", "?limit=1001", "?limit=", "?limit=x", "?limit=-1",
                                  "?limit=18446744073709551617", "?limt=1"}) {
    const Response response = client.Ask("GET", "/v1/keyspaces" + query);
    EXPECT_EQ(response.status, 400) << query;
    EXPECT_NE(response.body.find("limit"), std::string::npos) << response.body;
  }
}

TEST(ServiceTest, ShowsWhatAKeyspaceIsAndHowFarItHasCome) {
  TestServer server;
  Client client(server);
  client.Ask("POST", "/v1/keyspaces/default/keys?count=10");
  const Response response = client.Ask("GET", "/v1/keyspaces/default");
  EXPECT_EQ(response.status, 200);
  const Json json = Json::parse(response.body);
  EXPECT_EQ(json.at("kind"), "shuffled");
  EXPECT_EQ(json.at("state"), "open");
  EXPECT_EQ(json.at("capacity"), "3521614606208");  // 62^7, as text.
  EXPECT_EQ(std::stoull(json.at("used").get<std::string>()) +
                std::stoull(json.at("left").get<std::string>()),
            3521614606208U);
  EXPECT_EQ(json.at("recipe").at("length"), 7);
  EXPECT_TRUE(json.at("forecast").contains("exhausted_at"));
  EXPECT_TRUE(json.at("instance").contains("runway_seconds"));
  EXPECT_EQ(json.at("instance").at("waited"), "1") << "the first one found no block";
  EXPECT_EQ(client.Ask("HEAD", "/v1/keyspaces/default").status, 200);
  EXPECT_EQ(client.output(), "");

  const Response missing = client.Ask("GET", "/v1/keyspaces/nobody");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(Json::parse(missing.body).at("type"), "keyspace-not-found");
}

TEST(ServiceTest, CreatesAKeyspaceOnce) {
  TestServer server;
  Client client(server);
  const std::string recipe = R"({"kind":"sequence","alphabet":"decimal","prefix":"inv_"})";
  const Response created = client.AskJson("PUT", "/v1/keyspaces/invoices", recipe);
  EXPECT_EQ(created.status, 201) << created.body;
  EXPECT_EQ(created.header("location"), "/v1/keyspaces/invoices");
  EXPECT_EQ(Json::parse(created.body).at("name"), "invoices");
  const Response again = client.AskJson("PUT", "/v1/keyspaces/invoices", recipe);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.header("location"), "");
  const Response other = client.AskJson("PUT", "/v1/keyspaces/invoices", R"({"kind":"shuffled"})");
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(Json::parse(other.body).at("type"), "recipe-mismatch");
  EXPECT_EQ(Json::parse(client.Ask("POST", "/v1/keyspaces/invoices/keys").body).at("keys")[0],
            "inv_1");
  EXPECT_EQ(client.Ask("PUT", "/v1/keyspaces/plain").status, 201);  // All defaults.
  EXPECT_EQ(client.Ask("PUT", "/v1/keyspaces/invoices", "", recipe).status, 200);
}

TEST(ServiceTest, RefusesRecipesThatCannotBe) {
  TestServer server;
  Client client(server);
  for (const std::string recipe :
       {R"({"kind":"nonsense"})", R"({"knid":"sequence"})", R"({"kind":{"a":1}})",
        R"({"kind":["sequence","shuffled"]})", R"({"length":-1})", R"({"length":1000})",
        R"({"prefix":"a\r\nb"})", R"({"kind":null})", "[]", "{", "{}{}"}) {
    const Response response = client.AskJson("PUT", "/v1/keyspaces/bad", recipe);
    EXPECT_EQ(response.status, 400) << recipe;
    EXPECT_EQ(Json::parse(response.body).at("type"), "bad-request");
  }
  EXPECT_EQ(client.Ask("PUT", "/v1/keyspaces/bad", "Content-Type: text/plain\r\n", "{}").status,
            415);
  EXPECT_EQ(client.Ask("PUT", "/v1/keyspaces/..", "").status, 400);
  EXPECT_EQ(client.Ask("GET", "/v1/keyspaces/bad").status, 404);
  const Response wrong = client.Ask("POST", "/v1/keyspaces/bad");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.header("allow"), "GET, HEAD, PUT, DELETE");
}

TEST(ServiceTest, RetiresAKeyspaceForEver) {
  TestServer server;
  Client client(server);
  EXPECT_EQ(client.Ask("DELETE", "/v1/keyspaces/nobody").status, 404);
  EXPECT_EQ(client.Ask("DELETE", "/v1/keyspaces/orders").status, 200);
  EXPECT_EQ(client.Ask("DELETE", "/v1/keyspaces/orders").status, 200);
  EXPECT_EQ(Json::parse(client.Ask("GET", "/v1/keyspaces/orders").body).at("state"), "retired");
}

TEST(ServiceTest, ExplainsKeys) {
  TestServer server;
  Client client(server);
  EXPECT_EQ(client.Ask("POST", "/v1/keyspaces/orders/keys?count=3").status, 200);
  const auto explain = [&](const std::string& key) {
    return client.Ask("GET", "/v1/keyspaces/orders/keys/" + key);
  };
  const Response issued = explain("2");
  EXPECT_EQ(issued.status, 200);
  const Json json = Json::parse(issued.body);
  EXPECT_EQ(json.at("keyspace"), "orders");
  EXPECT_EQ(json.at("key"), "2");
  EXPECT_EQ(json.at("state"), "issued");
  EXPECT_EQ(json.at("kind"), "sequence");
  EXPECT_EQ(json.at("number"), "2");
  EXPECT_EQ(json.at("block").at("first"), "1");
  EXPECT_EQ(json.at("block").at("instance"), server.engine().instance());
  EXPECT_EQ(Json::parse(explain("4").body).at("state"), "reserved");

  for (const std::string key : {"99999999", "0", "01", "-1", "%20", "x%2Fy", "%c3%a9", "..",
                                "99999999999999999999999999"}) {
    const Response response = explain(key);
    EXPECT_EQ(response.status, 404) << key;
    EXPECT_EQ(Json::parse(response.body).at("type"), "key-not-found");
  }
  EXPECT_EQ(explain("%0d%0aX-Evil:%20yes").status, 400);
  EXPECT_EQ(explain("%ff").status, 400);
  const Response nobody = client.Ask("GET", "/v1/keyspaces/nobody/keys/1");
  EXPECT_EQ(nobody.status, 404);
  EXPECT_EQ(Json::parse(nobody.body).at("type"), "keyspace-not-found");
  EXPECT_EQ(server.issued(), 3U);
}

TEST(ServiceTest, StoreFailuresAreUnavailable) {
  TestServer server;
  Client client(server);
  server.store().down = true;
  for (const auto& [method, path] :
       std::vector<std::pair<std::string, std::string>>{{"GET", "/v1/keyspaces"},
                                                        {"GET", "/v1/keyspaces/default"},
                                                        {"PUT", "/v1/keyspaces/fresh"},
                                                        {"DELETE", "/v1/keyspaces/orders"},
                                                        {"POST", "/v1/keyspaces/unseen/keys"},
                                                        {"GET", "/v1/keyspaces/orders/keys/1"}}) {
    const Response response = client.Ask(method, path);
    EXPECT_EQ(response.status, 503) << method << ' ' << path;
    EXPECT_EQ(Json::parse(response.body).at("type"), "store-unavailable");
    EXPECT_EQ(response.header("retry-after"), "1");
  }
}

// What a store says of itself is for the log: it may hold statements and paths.
TEST(ServiceTest, StoreFailuresAreNotToldInFull) {
  for (const Code code :
       {Code::kUnavailable, Code::kInternal, Code::kDeadlineExceeded, Code::kUnknownOutcome}) {
    testing::internal::CaptureStderr();
    const Reply reply =
        StatusProblem({code, "run \"SELECT 1\" on /srv/keymill.db: disk I/O error"});
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(reply.body.find("SELECT"), std::string::npos) << reply.body;
    EXPECT_EQ(reply.body.find("/srv"), std::string::npos) << reply.body;
    EXPECT_FALSE(Json::parse(reply.body).at("detail").get<std::string>().empty());
    EXPECT_EQ(Json::parse(reply.body).at("type"), MapStatus(code).slug);
    EXPECT_EQ(reply.status, MapStatus(code).http);
    // The same message within a second is written once.
    EXPECT_EQ(log.find("SELECT") != std::string::npos, code == Code::kUnavailable) << log;
  }
  const Reply user = StatusProblem({Code::kInvalidArgument, "length is 0"});
  EXPECT_EQ(Json::parse(user.body).at("detail"), "length is 0");
}

TEST(ServiceTest, ProbesSayWhetherItLivesAndMints) {
  TestServer server;
  Client client(server);
  EXPECT_EQ(client.Ask("GET", "/livez").body, "ok\n");
  EXPECT_EQ(client.Ask("GET", "/livez?verbose").body, "[+]process ok\nlivez check passed\n");
  EXPECT_EQ(client.Ask("GET", "/livez/process").status, 200);
  EXPECT_EQ(client.Ask("GET", "/livez/nonsense").status, 404);
  EXPECT_EQ(client.Ask("GET", "/readyz").body, "ok\n");
  EXPECT_EQ(client.Ask("GET", "/healthz").body, "ok\n");
  EXPECT_EQ(client.Ask("GET", "/readyz?verbose").body,
            "[+]drain ok\n[+]mint ok\n[+]keyspace ok\nreadyz check passed\n");
  EXPECT_EQ(client.Ask("GET", "/readyz/mint?verbose").body, "[+]mint ok\nreadyz check passed\n");
  EXPECT_EQ(client.Ask("GET", "/readyz/nonsense").status, 404);
  EXPECT_EQ(client.Ask("HEAD", "/readyz").status, 200);
  EXPECT_EQ(client.Ask("POST", "/readyz").status, 405);

  server.service().backend().SetDraining();
  const Response draining = client.Ask("GET", "/readyz");
  EXPECT_EQ(draining.status, 503);
  EXPECT_EQ(draining.body,
            "[-]drain failed: draining\n[+]mint ok\n[+]keyspace ok\nreadyz check failed\n");
  EXPECT_EQ(draining.header("retry-after"), "1");
  EXPECT_EQ(client.Ask("GET", "/readyz?exclude=drain").status, 200);
  EXPECT_EQ(client.Ask("GET", "/readyz/mint").status, 200);
  EXPECT_EQ(client.Ask("GET", "/livez").status, 200);
  EXPECT_EQ(client.Ask("GET", "/get-key").status, 200);  // It still mints.
}

// Ten keys.
Recipe FewKeys() {
  Recipe recipe = DefaultRecipe(Kind::kSequence);
  recipe.alphabet = "decimal";
  recipe.length = 1;
  recipe.start = 0;
  return recipe;
}

TEST(ServiceTest, AKeyspaceThatIsOverFailsTheProbeOnlyIfGetKeyNeedsIt) {
  FakeClock clock;
  TestServer server(clock);
  server.Create("few", FewKeys());
  Client client(server);
  EXPECT_EQ(client.Ask("POST", "/v1/keyspaces/few/keys?count=10").status, 200);
  EXPECT_EQ(client.Ask("POST", "/v1/keyspaces/few/keys").status, 507);
  EXPECT_EQ(client.Ask("GET", "/readyz").status, 200);  // Somebody else's trouble.
  const std::string verbose = client.Ask("GET", "/readyz?verbose").body;
  EXPECT_NE(verbose.find("[!]keyspace few: keyspace few is exhausted"), std::string::npos)
      << verbose;

  Backend backend;
  backend.SetEngine(&server.engine());
  Service service({.version = "1", .default_keyspace = "few"}, backend);
  const Reply failed = service.Ready("readyz", "", false, {});
  EXPECT_EQ(failed.status, 503);
  EXPECT_NE(failed.body.find("[-]keyspace failed: "), std::string::npos) << failed.body;
  EXPECT_EQ(service.Ready("readyz", "mint", false, {}).status, 200);
  EXPECT_EQ(service.Ready("readyz", "", false, {"keyspace"}).status, 200);
  backend.SetDraining();
  EXPECT_EQ(service.Ready("readyz", "", false, {"keyspace"}).status, 503);
  EXPECT_EQ(service.Ready("readyz", "", false, {"drain", "keyspace"}).status, 200);

  Backend serving;
  serving.SetEngine(&server.engine());
  Service other({.router = {.forge = false}, .version = "1", .default_keyspace = "few"}, serving);
  EXPECT_EQ(other.Ready("readyz", "", false, {}).status, 200);  // There is no /get-key.
}

TEST(ServiceTest, AKeyspaceThatStillHoldsItsLastKeysIsReady) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  EXPECT_EQ(client.Ask("GET", "/get-key").status, 200);
  mint::Keyspace& keyspace = *server.engine().Find("default");
  keyspace.RefillFailed({Code::kExhausted, "keyspace default is exhausted"});
  ASSERT_GT(keyspace.stats().ahead, 0U);
  EXPECT_EQ(client.Ask("GET", "/readyz").status, 200);
  std::string keys(1000 * keyspace.key_size_max(), '\0');
  while (keyspace.TakeKeys(1000, "", keys.data()).keys > 0) {
  }
  EXPECT_EQ(client.Ask("GET", "/readyz").status, 503);
}

TEST(ServiceTest, AQuarantinedDefaultIsNotReady) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  EXPECT_EQ(client.Ask("GET", "/get-key").status, 200);
  server.engine().Find("default")->RefillFailed({Code::kQuarantined, "the store went back"});
  EXPECT_EQ(client.Ask("GET", "/readyz").status, 503);
  EXPECT_EQ(client.Ask("GET", "/readyz?exclude=keyspace").status, 200);
  server.service().backend().SetDraining();
  EXPECT_EQ(client.Ask("GET", "/readyz?exclude=keyspace").status, 503);
  EXPECT_EQ(client.Ask("GET", "/readyz?exclude=keyspace&exclude=drain").status, 200);
  EXPECT_EQ(client.Ask("GET", "/readyz?exclude=drain&exclude=keyspace").status, 200);
}

TEST(ServiceTest, TheIndexSpeaksToPeopleAndToBrowsers) {
  TestServer server;
  Client client(server);
  const Response text = client.Ask("GET", "/");
  EXPECT_EQ(text.header("content-type"), "text/plain; charset=utf-8");
  EXPECT_NE(text.body.find("keymill 1.2.3"), std::string::npos);
  EXPECT_NE(text.body.find("curl -X POST 'a/v1/"), std::string::npos) << text.body;
  const auto example = [&](std::string_view version, std::string_view host) {
    Client other(server);
    other.Send(fmt::format("GET / HTTP/{}\r\n{}\r\n", version, host));
    const std::string body = other.Take().body;
    return body.substr(body.find("Try: "));
  };
  constexpr std::string_view kRest = "/v1/keyspaces/default/keys?count=5'\n";
  EXPECT_EQ(example("1.1", "Host: [::1]:90\r\n"),
            fmt::format("Try: curl -X POST '[::1]:90{}", kRest));
  for (const std::string_view odd : {"", "Host:\r\n", "Host: a';rm\r\n", "Host: $(a)\r\n"}) {
    EXPECT_EQ(example("1.0", odd), fmt::format("Try: curl -X POST 'localhost:8080{}", kRest))
        << odd;
  }
  const Response html = client.Ask("GET", "/", "Accept: text/html\r\n");
  EXPECT_EQ(html.header("content-type"), "text/html; charset=utf-8");
  EXPECT_TRUE(html.body.starts_with("<!doctype html>"));
  EXPECT_EQ(client.Ask("GET", "/nothing").status, 404);
  EXPECT_EQ(Json::parse(client.Ask("GET", "/nothing").body).at("type"), "not-found");
  EXPECT_EQ(client.Ask("OPTIONS", "*").status, 204);
}

TEST(ServiceTest, EveryAnswerHasADate) {
  TestServer server;
  Client client(server);
  const std::string date = client.Ask("GET", "/livez").header("date");
  EXPECT_EQ(date.size(), std::string_view("Sun, 06 Nov 1994 08:49:37 GMT").size());
  EXPECT_TRUE(date.ends_with(" GMT"));
}

}  // namespace
}  // namespace keymill::api::http
