// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/links/session.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/http/http_test_support.h"

namespace keymill::api::links {
namespace {

using http::Response;
using testing::HasSubstr;
using testing::Not;

// A connection to the listener for links, of which the test plays the network's part.
class LinkSessionTest : public testing::Test {
 protected:
  LinkSessionTest() {
    book_.SetEngine(&server_.engine());
    Restart({});
  }
  ~LinkSessionTest() override {
    server_.service().backend().Stop();
    book_.Stop();
  }

  void Restart(LinkServiceOptions options) {
    session_.reset();
    service_ =
        std::make_unique<LinkService>(std::move(options), server_.service().backend(), book_);
    session_ = std::make_unique<LinkSession>(*service_, [signal = signal_] { signal->Raise(); });
  }

  std::string Make(keymill::links::NewLink wanted) {
    const auto made = book_.Create(wanted, service_->backend().Deadline());
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? made->link.key : "";
  }

  static std::string Get(std::string_view target, std::string_view method = "GET") {
    return fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n\r\n", method, target);
  }

  // Gives bytes to the session and lets it work until it wants more of them, or to be closed.
  std::string Feed(std::string_view bytes) {
    input_ += bytes;
    std::string output;
    for (;;) {
      const net::Step step = session_->Advance(input_, output);
      input_.erase(0, step.consumed);
      want_ = step.want;
      if (want_ == net::Want::kWake) {
        EXPECT_TRUE(signal_->Await());
        signal_->Lower();
      } else if (want_ != net::Want::kFlush) {
        return output;
      }
    }
  }
  Response Ask(std::string_view bytes, bool head = false) {
    const std::string output = Feed(bytes);
    std::string_view rest = output;
    const Response response = http::TakeResponse(rest, head);
    EXPECT_TRUE(response.whole);
    EXPECT_EQ(rest, "");
    return response;
  }
  std::uint64_t Hits(const std::string& key) {
    book_.StepForTest();
    return (*book_.Find(key))->hits;
  }

  http::TestServer server_;
  keymill::links::LinkBook book_{{.background = false}};
  std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  std::unique_ptr<LinkService> service_;
  std::unique_ptr<LinkSession> session_;
  std::string input_;
  net::Want want_ = net::Want::kInput;
};

TEST_F(LinkSessionTest, SendsPeopleWhereTheLinkLeads) {
  const std::string key = Make({.url = "https://a.test/x?y=1"});
  for (int i = 0; i < 3; ++i) {  // From the store, from memory, as a repeat.
    const Response response = Ask(Get("/" + key));
    EXPECT_EQ(response.status, 302);
    EXPECT_EQ(response.header("location"), "https://a.test/x?y=1");
    EXPECT_EQ(response.header("cache-control"), "no-store");
    EXPECT_EQ(response.body, "");
  }
  EXPECT_EQ(Hits(key), 3U);
  EXPECT_EQ(Ask(Get("/" + key + "?utm=1")).status, 302) << "what it is called with is nobody's";
}

TEST_F(LinkSessionTest, HeadSaysTheSameAndIsNotCounted) {
  const std::string key = Make({.url = "https://a.test/"});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Ask(Get("/" + key, "HEAD"), true).header("location"), "https://a.test/");
  }
  EXPECT_EQ(Hits(key), 0U);
}

TEST_F(LinkSessionTest, AnswersManyInOneGoInOrder) {
  const std::string one = Make({.url = "https://one.test/"});
  const std::string two = Make({.url = "https://two.test/"});
  std::string requests;
  std::vector<std::string> wanted;
  for (int i = 0; i < 300; ++i) {
    requests += Get("/" + (i < 200 ? one : two));
    wanted.push_back(i < 200 ? "https://one.test/" : "https://two.test/");
  }
  const std::string output = Feed(requests);
  std::string_view rest = output;
  for (const std::string& url : wanted) {
    ASSERT_EQ(http::TakeResponse(rest).header("location"), url);
  }
  EXPECT_EQ(rest, "");
  EXPECT_EQ(Hits(one), 200U);
  EXPECT_EQ(Hits(two), 100U);
}

TEST_F(LinkSessionTest, SplitAnywhereTheAnswerIsTheSame) {
  const std::string key = Make({.url = "https://a.test/"});
  const std::string request = Get("/" + key);
  for (std::size_t at = 1; at < request.size(); ++at) {
    EXPECT_EQ(Feed(request.substr(0, at)), "");
    EXPECT_EQ(Ask(request.substr(at)).header("location"), "https://a.test/") << at;
  }
}

TEST_F(LinkSessionTest, WhatLeadsNowhereIsNotFound) {
  for (const char* const path : {"/", "/abcdefg", "/nothing-here", "/favicon.ico", "/a/b", "/%00",
                                 "/%zz", "//", "/abcdefg/"}) {
    for (int i = 0; i < 2; ++i) {
      const Response response = Ask(Get(path));
      EXPECT_EQ(response.status, 404) << path;
      EXPECT_EQ(response.body, "This link leads nowhere.\n");
    }
  }
  EXPECT_EQ(Ask(Get("/" + std::string(300, 'x'))).status, 404);
}

TEST_F(LinkSessionTest, OrIsSentToTheHomepage) {
  Restart({.homepage = "https://home.test/"});
  for (const char* const path : {"/", "/abcdefg", "/a/b"}) {
    EXPECT_EQ(Ask(Get(path)).header("location"), "https://home.test/") << path;
  }
}

TEST_F(LinkSessionTest, KeysMayBePercentEncoded) {
  Make({.url = "https://a.test/", .alias = "my-talk"});
  EXPECT_EQ(Ask(Get("/my%2Dtalk")).status, 302);
  EXPECT_EQ(Ask(Get("/%6dy-talk")).status, 302);
}

TEST_F(LinkSessionTest, OtherMethodsAreRefused) {
  const Response response = Ask(Get("/abcdefg", "DELETE"));
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.header("allow"), "GET, HEAD");
}

TEST_F(LinkSessionTest, ClosesAfterRubbishAndWhenAsked) {
  const std::string key = Make({.url = "https://a.test/"});
  EXPECT_TRUE(
      Ask(fmt::format("GET /{} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", key)).closes());
  EXPECT_EQ(want_, net::Want::kClose);
  Restart({});
  EXPECT_EQ(Ask("GET / HTTP/1.1\r\nHost: x\r\n bad\r\n\r\n").status, 400);
  EXPECT_EQ(want_, net::Want::kClose);
  Restart({});
  EXPECT_EQ(Ask("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx").status, 413);
  EXPECT_EQ(want_, net::Want::kClose);
}

TEST_F(LinkSessionTest, WhileDrainingTheLastAnswerSaysSo) {
  const std::string key = Make({.url = "https://a.test/"});
  EXPECT_FALSE(Ask(Get("/" + key)).closes());
  session_->OnDrain();
  EXPECT_TRUE(Ask(Get("/" + key)).closes());
  EXPECT_EQ(want_, net::Want::kClose);
}

TEST_F(LinkSessionTest, WithTheStoreAwayOnlyWhatIsKnownIsFollowed) {
  const std::string key = Make({.url = "https://a.test/"});
  EXPECT_EQ(Ask(Get("/" + key)).status, 302);
  book_.SetEngine(nullptr);
  EXPECT_EQ(Ask(Get("/" + key)).status, 302);
  const Response response = Ask(Get("/unknown-one"));
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.header("retry-after"), "");
}

TEST_F(LinkSessionTest, CountsWhatItAnswers) {
  const std::string key = Make({.url = "https://a.test/"});
  Feed(Get("/" + key) + Get("/" + key) + Get("/abcdefg"));
  MetricFamilies families;
  service_->metrics().Collect(families);
  const auto count = [&](const char* status) {
    return families.Value("keymill_requests_total",
                          {{"frontend", "links"}, {"method", "GET"}, {"status", status}});
  };
  EXPECT_EQ(count("3xx"), 2);
  EXPECT_EQ(count("4xx"), 1);
}

}  // namespace
}  // namespace keymill::api::links
