// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "wire/http_request.h"

#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace keymill::wire {
namespace {

using Outcome = HttpReader::Outcome;

// A request with its views copied, so that results of different readers can be compared.
struct Copy {
  Method method = Method::kOther;
  std::string path, query, host, accept, content_type, origin, sec_fetch_site, if_none_match, body;
  std::optional<std::string> idempotency_key, if_match;
  bool keep_alive = false;
  bool http10 = false;
  std::size_t consumed = 0;
  friend bool operator==(const Copy&, const Copy&) = default;
};

// What became of some bytes: an error's status, or requests.
struct Reading {
  std::vector<Copy> requests;
  int error = 0;  // 0: the rest is incomplete, or there is none.
  friend bool operator==(const Reading&, const Reading&) = default;
};

std::ostream& operator<<(std::ostream& out, const Reading& reading) {
  out << reading.requests.size() << " requests, error " << reading.error;
  for (const Copy& request : reading.requests) {
    out << "\n  " << request.path << " ? " << request.query << " body " << request.body.size()
        << " consumed " << request.consumed;
  }
  return out;
}

Copy Take(const HttpReader& reader) {
  const HttpRequest& request = reader.request();
  return {.method = request.method,
          .path = std::string(request.path),
          .query = std::string(request.query),
          .host = std::string(request.host),
          .accept = std::string(request.accept),
          .content_type = std::string(request.content_type),
          .origin = std::string(request.origin),
          .sec_fetch_site = std::string(request.sec_fetch_site),
          .if_none_match = std::string(request.if_none_match),
          .body = std::string(request.body),
          .idempotency_key = std::optional<std::string>(request.idempotency_key),
          .if_match = std::optional<std::string>(request.if_match),
          .keep_alive = request.keep_alive,
          .http10 = request.http10,
          .consumed = reader.consumed()};
}

// Shows `bytes` to the reader as they would arrive when the first `first` come at once and
// the others in pieces of `step`. Every call gets a fresh copy: nothing may be kept of the
// old one.
Reading ReadInPieces(std::string_view bytes, std::size_t first, std::size_t step,
                     const HttpLimits& limits = {}) {
  HttpReader reader(limits);
  Reading reading;
  std::size_t begin = 0;
  std::size_t end = std::min(first, bytes.size());
  for (;;) {
    const std::string seen(bytes.substr(begin, end - begin));
    switch (reader.Read(seen)) {
      case Outcome::kRequest:
        reading.requests.push_back(Take(reader));
        begin += reader.consumed();
        if (begin < end) continue;
        break;
      case Outcome::kError:
        reading.error = reader.error().status;
        EXPECT_FALSE(reader.error().detail.empty());
        return reading;
      case Outcome::kNeedMore:
        break;
    }
    if (end == bytes.size()) return reading;
    end = std::min(end + step, bytes.size());
  }
}

Reading ReadWhole(std::string_view bytes, const HttpLimits& limits = {}) {
  return ReadInPieces(bytes, bytes.size(), 1, limits);
}

// The result, which must not depend on how the bytes arrive.
Reading ReadEveryWay(std::string_view bytes, const HttpLimits& limits = {}) {
  const Reading whole = ReadWhole(bytes, limits);
  EXPECT_EQ(ReadInPieces(bytes, 1, 1, limits), whole) << "byte by byte:\n" << bytes;
  EXPECT_EQ(ReadInPieces(bytes, 1, 7, limits), whole) << "7 bytes at a time:\n" << bytes;
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    const Reading split = ReadInPieces(bytes, at, bytes.size(), limits);
    EXPECT_EQ(split, whole) << "split at " << at << ":\n" << bytes;
    if (split != whole) break;
  }
  return whole;
}

int ErrorOf(std::string_view bytes, const HttpLimits& limits = {}) {
  const Reading reading = ReadEveryWay(bytes, limits);
  EXPECT_TRUE(reading.requests.empty()) << bytes;
  return reading.error;
}

std::string Get(std::string_view fields) {
  return "GET /x HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

std::string Post(std::string_view fields, std::string_view body) {
  return "POST /x HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

Copy ReadOne(std::string_view bytes, const HttpLimits& limits = {}) {
  const Reading reading = ReadEveryWay(bytes, limits);
  EXPECT_EQ(reading.error, 0) << bytes;
  EXPECT_EQ(reading.requests.size(), 1U) << bytes;
  return reading.requests.empty() ? Copy{} : reading.requests.front();
}

std::string Chunked(std::string_view body) { return Post("Transfer-Encoding: chunked\r\n", body); }

TEST(HttpRequestTest, ReadsTheSimplestRequest) {
  const Copy request = ReadOne("GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n");
  EXPECT_EQ(request.method, Method::kGet);
  EXPECT_EQ(request.path, "/");
  EXPECT_EQ(request.query, "");
  EXPECT_EQ(request.body, "");
  EXPECT_TRUE(request.keep_alive);
  EXPECT_FALSE(request.http10);
}

TEST(HttpRequestTest, ReadsWhatAMintRequestHas) {
  const Copy request = ReadOne(
      "POST /v1/keyspaces/links/keys?count=5&x HTTP/1.1\r\n"
      "hOsT: [::1]:8080\r\n"
      "Accept: text/plain, */*\r\n"
      "CONTENT-TYPE:application/json;charset=utf-8 \r\n"
      "Content-Length: 11\r\n"
      "\r\n"
      "{\"count\":5}");
  EXPECT_EQ(request.method, Method::kPost);
  EXPECT_EQ(request.path, "/v1/keyspaces/links/keys");
  EXPECT_EQ(request.query, "count=5&x");
  EXPECT_EQ(request.accept, "text/plain, */*");
  EXPECT_EQ(request.content_type, "application/json;charset=utf-8");
  EXPECT_EQ(request.body, "{\"count\":5}");
}

TEST(HttpRequestTest, KnowsTheMethods) {
  const std::vector<std::pair<std::string, Method>> methods = {
      {"GET", Method::kGet},     {"HEAD", Method::kHead},     {"POST", Method::kPost},
      {"PUT", Method::kPut},     {"DELETE", Method::kDelete}, {"OPTIONS", Method::kOptions},
      {"PATCH", Method::kOther}, {"TRACE", Method::kOther}};
  for (const auto& [name, method] : methods) {
    EXPECT_EQ(ReadOne(name + " / HTTP/1.1\r\nHost: a\r\n\r\n").method, method) << name;
  }
}

TEST(HttpRequestTest, ReadsPipelinedRequestsOneByOne) {
  std::string bytes;
  for (int i = 0; i < 5; ++i) {
    bytes += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
    bytes += Post("Content-Length: 3\r\n", "abc");
    bytes += Chunked("2\r\nde\r\n0\r\n\r\n");
  }
  const Reading reading = ReadEveryWay(bytes);
  EXPECT_EQ(reading.error, 0);
  ASSERT_EQ(reading.requests.size(), 15U);
  std::size_t consumed = 0;
  for (std::size_t i = 0; i < 15; i += 3) {
    EXPECT_EQ(reading.requests[i].path, "/" + std::to_string(i / 3));
    EXPECT_EQ(reading.requests[i].body, "");
    EXPECT_EQ(reading.requests[i + 1].body, "abc");
    EXPECT_EQ(reading.requests[i + 2].body, "de");
    for (std::size_t j = 0; j < 3; ++j) consumed += reading.requests[i + j].consumed;
  }
  EXPECT_EQ(consumed, bytes.size());
}

TEST(HttpRequestTest, StopsAtTheFirstErrorOfAPipeline) {
  const Reading reading = ReadEveryWay(Get("") + "NONSENSE\r\n\r\n" + Get(""));
  EXPECT_EQ(reading.requests.size(), 1U);
  EXPECT_EQ(reading.error, 400);
}

TEST(HttpRequestTest, ReadsAbsoluteForm) {
  const auto read = [](const std::string& target) {
    return ReadOne("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
  };
  EXPECT_EQ(read("http://example.com/a/b?c=d").path, "/a/b");
  EXPECT_EQ(read("http://example.com/a/b?c=d").query, "c=d");
  EXPECT_EQ(read("https://example.com:8443/a").path, "/a");
  EXPECT_EQ(read("HTTP://EXAMPLE.com/a").path, "/a");
  EXPECT_EQ(read("http://example.com").path, "/");
  EXPECT_EQ(read("//example.com/a").path, "//example.com/a");
}

TEST(HttpRequestTest, RefusesOtherTargets) {
  for (const std::string target :
       {"a", "example.com:80", "http://", "http:///a", "http://?a", "http://h?a", "ftp://h/a", "*",
        "/a#b", "/a?b#c", "?a", "http:/a"}) {
    EXPECT_EQ(ErrorOf("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n"), 400) << target;
  }
  EXPECT_EQ(ErrorOf("GET  HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(ErrorOf("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(ErrorOf("GET / / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(ErrorOf(" GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(ReadOne("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").path, "/");
}

// RFC 9112, 2.2: older clients send an empty line behind a body.
TEST(HttpRequestTest, SkipsAFewEmptyLinesBeforeARequest) {
  const std::string request = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
  std::string lines;
  for (std::size_t i = 1; i <= kEmptyLinesMax; ++i) {
    lines += "\r\n";
    const Copy read = ReadOne(lines + request);
    EXPECT_EQ(read.path, "/x");
    EXPECT_EQ(read.consumed, lines.size() + request.size());
    EXPECT_EQ(EmptyLines(lines + request), lines.size());
    EXPECT_EQ(EmptyLines(lines + "\r"), lines.size());
  }
  EXPECT_EQ(ErrorOf(lines + "\r\n" + request), 400);
  EXPECT_EQ(ErrorOf("\r\n \r\n" + request), 400);
  EXPECT_EQ(ErrorOf("\n" + request), 400);
  EXPECT_EQ(ErrorOf("\r\n\n" + request), 400);
  EXPECT_EQ(ErrorOf("\r" + request), 400);
  EXPECT_EQ(EmptyLines("\rG"), 0U);
  const std::string post = Post("Content-Length: 3\r\n", "abc");
  const Reading reading =
      ReadEveryWay("\r\n" + post + "\r\n" + post + "\r\n" + Chunked("0\r\n\r\n"));
  EXPECT_EQ(reading.requests.size(), 3U);
  EXPECT_EQ(reading.error, 0);
}

TEST(HttpRequestTest, KeepsTheConnectionAsTheVersionSays) {
  const auto keeps = [](const std::string& rest) {
    return ReadOne("GET / HTTP/1." + rest + "\r\n\r\n").keep_alive;
  };
  EXPECT_TRUE(keeps("1\r\nHost: a"));
  EXPECT_TRUE(keeps("1\r\nHost: a\r\nConnection: keep-alive"));
  EXPECT_FALSE(keeps("1\r\nHost: a\r\nConnection: close"));
  EXPECT_FALSE(keeps("1\r\nHost: a\r\nConnection: TE, Close"));
  EXPECT_FALSE(keeps("0"));
  EXPECT_TRUE(keeps("0\r\nConnection: Keep-Alive"));
  EXPECT_FALSE(keeps("0\r\nConnection: close"));
  EXPECT_TRUE(ReadOne("GET / HTTP/1.0\r\n\r\n").http10);
}

// H1
TEST(HttpRequestTest, RefusesLengthAndEncodingTogether) {
  const std::string length = "Content-Length: 5\r\n";
  const std::string encoding = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(ErrorOf(Post(length + encoding, "0\r\n\r\n")), 400);
  EXPECT_EQ(ErrorOf(Post(encoding + length, "0\r\n\r\n")), 400);
}

// H2
TEST(HttpRequestTest, RefusesOddContentLengths) {
  for (const std::string value : {" 5,5", " 5, 6", " +5", " 0x5", " -1", "  +5", " 5 5", " 5;", "",
                                  " ", " five", " 99999999999999999999", " 18446744073709551616",
                                  " 18446744073709551615", " 00000000000000000005"}) {
    EXPECT_EQ(ErrorOf(Post("Content-Length:" + value + "\r\n", "12345")), 400) << value;
  }
  EXPECT_EQ(ErrorOf(Post("Content-Length: 5\r\nContent-Length: 5\r\n", "12345")), 400);
  EXPECT_EQ(ErrorOf(Post("Content-Length: 5\r\nContent-Length: 6\r\n", "12345")), 400);
  EXPECT_EQ(ErrorOf(Post("Content-Length: 5\r\ncontent-length: 5\r\n", "12345")), 400);
  EXPECT_EQ(ReadOne(Post("Content-Length:5\r\n", "12345")).body, "12345");
  EXPECT_EQ(ReadOne(Post("Content-Length: 5 \r\n", "12345")).body, "12345");
  EXPECT_EQ(ReadOne(Post("Content-Length:  5\r\n", "12345")).body, "12345");
  EXPECT_EQ(ReadOne(Post("Content-Length:\t 5\t\r\n", "12345")).body, "12345");
  EXPECT_EQ(ReadOne(Post("Content-Length: 0\r\n", "")).body, "");
}

// H3
TEST(HttpRequestTest, RefusesOddTransferEncodings) {
  const std::vector<std::pair<std::string, int>> rows = {
      {"Transfer-Encoding: chunked, chunked\r\n", 400},
      {"Transfer-Encoding: gzip, chunked\r\n", 400},
      {"Transfer-Encoding: chunked,\r\n", 400},
      {"Transfer-Encoding: identity\r\n", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: xchunked\r\n", 501},
      {"Transfer-Encoding: gzip\r\n", 501},
      {"Transfer-Encoding: \"chunked\"\r\n", 501},
      {"Transfer-Encoding:\r\n", 501},
      {"Transfer-Encoding : chunked\r\n", 400},
      {"Transfer-Encoding: chun\tked\r\n", 501},
      {"Transfer-Encoding: chunked\x0b\r\n", 400}};
  for (const auto& [fields, status] : rows) {
    EXPECT_EQ(ErrorOf(Post(fields, "0\r\n\r\n")), status) << fields;
  }
  EXPECT_EQ(ErrorOf("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(ReadOne(Post("Transfer-Encoding: CHUNKED\r\n", "1\r\na\r\n0\r\n\r\n")).body, "a");
}

// H4
TEST(HttpRequestTest, RefusesMalformedHeaderLines) {
  using namespace std::string_literals;
  for (const std::string& fields : {"X:\r\n b\r\n"s,
                                    "X:\r\n \r\n"s,
                                    "X: a\r\n \r\n"s,
                                    "X: a\r\n b\r\n"s,
                                    "X: a\r\n\tb\r\n"s,
                                    "X : a\r\n"s,
                                    "X\t: a\r\n"s,
                                    " X: a\r\n"s,
                                    ": a\r\n"s,
                                    "X\r\n"s,
                                    "X a\r\n"s,
                                    "X: a\rb\r\n"s,
                                    "X: a\r\r\n"s,
                                    "X: a\nY: b\r\n"s,
                                    "X: a\n"s,
                                    "X: a\0b\r\n"s,
                                    "X: a\x01\r\n"s,
                                    "X: a\x7f\r\n"s,
                                    "X\0: a\r\n"s,
                                    "X(: a\r\n"s,
                                    "X\xc3\xa9: a\r\n"s,
                                    "X: a\x0b\r\n"s,
                                    "\n"s,
                                    "X: a\r\n\n"s,
                                    "X: a\r\n\r"s}) {
    EXPECT_EQ(ErrorOf(Get(fields)), 400) << fields;
  }
  EXPECT_EQ(ErrorOf("GET / HTTP/1.1\nHost: a\n\n"), 400);
  EXPECT_EQ(ErrorOf("GET / HTTP/1.1\r\nHost: a\n\n"), 400);
  EXPECT_EQ(ErrorOf("GET / HTTP/1.1\rHost: a\r\r"), 400);
  EXPECT_EQ(ErrorOf("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"s), 400);
  EXPECT_EQ(ErrorOf("GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(ErrorOf("GET /\t HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(ErrorOf("GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(ReadOne(Get("X:\r\nY:  \t b \t\r\nZ: \xc3\xa9\r\n")).path, "/x");
}

// A sender of another protocol waits for an answer to its first words: it gets one although
// no header will ever come.
TEST(HttpRequestTest, RefusesOtherProtocolsWithoutWaitingForAHeader) {
  using namespace std::string_literals;
  EXPECT_EQ(ErrorOf("\x16\x03\x01\x02\x00\x01"s), 400);  // TLS
  EXPECT_EQ(ErrorOf("*1\r\n$4\r\nPING\r\n"), 400);       // RESP
  EXPECT_EQ(ErrorOf("PING\r\n"), 400);
  EXPECT_EQ(ErrorOf("SSH-2.0-OpenSSH_9.2\r\n"), 400);
  EXPECT_EQ(ErrorOf("GET /\r\n"), 400);  // HTTP/0.9
  EXPECT_EQ(ErrorOf("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
}

// H5
TEST(HttpRequestTest, ReadsChunkedBodies) {
  EXPECT_EQ(ReadOne(Chunked("0\r\n\r\n")).body, "");
  EXPECT_EQ(ReadOne(Chunked("5\r\nhello\r\n0\r\n\r\n")).body, "hello");
  EXPECT_EQ(ReadOne(Chunked("1\r\nh\r\n00a\r\nello world\r\n000\r\n\r\n")).body, "hello world");
  EXPECT_EQ(ReadOne(Chunked("A\r\n\r\n\r\n0\r\n\r\n\r\r\n0\r\n\r\n")).body, "\r\n\r\n0\r\n\r\n\r");
  EXPECT_EQ(ReadOne(Chunked("1\r\na\r\n0\r\nX: y\r\nContent-Length: 9\r\n\r\n")).body, "a");
}

TEST(HttpRequestTest, RefusesMalformedChunks) {
  using namespace std::string_literals;
  for (const std::string& body : {"0x10\r\n"s,
                                  "g\r\n"s,
                                  "\r\n"s,
                                  "-1\r\n"s,
                                  "+1\r\n"s,
                                  " 1\r\n"s,
                                  "1 \r\n"s,
                                  "1\n"s,
                                  "1\rx"s,
                                  "1\r\nab\r\n"s,
                                  "1\r\na\n"s,
                                  "1\r\na0\r\n"s,
                                  "1;a=b\r\n"s,
                                  "1;\r\n"s,
                                  "0;x\r\n"s,
                                  "00000000000000000\r\n"s,
                                  "0\r\nX\r\n\r\n"s,
                                  "0\r\n: y\r\n\r\n"s,
                                  "0\r\nX : y\r\n\r\n"s,
                                  "0\r\nX: a\r\n b\r\n\r\n"s,
                                  "0\r\nX: a\0\r\n\r\n"s,
                                  "0\r\nX: a\n\r\n"s,
                                  "0\r\n\rx"s,
                                  "0\r\nX: a\rb\r\n\r\n"s}) {
    EXPECT_EQ(ErrorOf(Chunked(body)), 400) << body;
  }
  EXPECT_EQ(ErrorOf(Chunked("1;" + std::string(1024, 'x'))), 400);
  EXPECT_EQ(ErrorOf(Chunked("FFFFFFFFFFFFFFFF\r\n")), 413);
  EXPECT_EQ(ErrorOf(Chunked("7FFFFFFFFFFFFFFF\r\n")), 413);
}

// H6
TEST(HttpRequestTest, InsistsOnOneHost) {
  EXPECT_EQ(ErrorOf("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(ErrorOf("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(ErrorOf("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  for (const std::string host :
       {"a@b", "a/b", "a b", "a\\b", "a?b", "a#b", "<a>", "a\"", "\xc3\xa9"}) {
    EXPECT_EQ(ErrorOf("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"), 400) << host;
  }
  for (const std::string host : {"", "a", "a.b:80", "[::1]:80", "127.0.0.1", "xn--bcher-kva.de"}) {
    EXPECT_EQ(ReadOne("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n").path, "/") << host;
  }
  EXPECT_EQ(ReadOne("GET / HTTP/1.0\r\n\r\n").path, "/");
}

TEST(HttpRequestTest, ReadsWhatABrowserSaysOfItself) {
  const Copy request =
      ReadOne(Get("Origin: https://example.com\r\nSEC-Fetch-Site: cross-site\r\n"));
  EXPECT_EQ(request.host, "a");
  EXPECT_EQ(request.origin, "https://example.com");
  EXPECT_EQ(request.sec_fetch_site, "cross-site");
  EXPECT_EQ(ErrorOf(Get("Origin: http://a\r\nOrigin: http://b\r\n")), 400);
}

TEST(HttpRequestTest, KeepsWhatARepeatedRequestIsKnownBy) {
  const Copy request = ReadOne(Get("iDempotency-key:  a b \r\nIF-MATCH: \"3\"\r\n"));
  EXPECT_EQ(request.idempotency_key, "a b");
  EXPECT_EQ(request.if_match, "\"3\"");
  const Copy empty = ReadOne(Get("Idempotency-Key:\r\nIf-Match: \r\n"));
  EXPECT_EQ(empty.idempotency_key, "") << "not the same as none";
  EXPECT_EQ(empty.if_match, "");
  const Copy none = ReadOne(Get("Idempotency-Keys: a\r\nX-Idempotency-Key: a\r\n"));
  EXPECT_EQ(none.idempotency_key, std::nullopt);
  EXPECT_EQ(none.if_match, std::nullopt);
  EXPECT_EQ(none.if_none_match, "");
  EXPECT_EQ(ReadOne(Get("if-none-match: \"a\", W/\"b\"\r\n")).if_none_match, "\"a\", W/\"b\"");
  EXPECT_EQ(ErrorOf(Get("Idempotency-Key: a\r\nIdempotency-Key: a\r\n")), 400);
  EXPECT_EQ(ErrorOf(Get("If-Match: \"3\"\r\nIf-Match: \"3\"\r\n")), 400);
}

// H7
TEST(HttpRequestTest, RefusesOddRequestLines) {
  const auto error = [](const std::string& line) { return ErrorOf(line + "\r\nHost: a\r\n\r\n"); };
  EXPECT_EQ(error("GE\tT / HTTP/1.1"), 400);
  EXPECT_EQ(error(std::string(300, 'M') + " / HTTP/1.1"), 501);
  EXPECT_EQ(error("get / HTTP/1.1"), 501);
  EXPECT_EQ(error("GET / HTTP/1.2"), 505);
  EXPECT_EQ(error("GET / HTTP/2.0"), 505);
  EXPECT_EQ(error("GET / HTTP/3.0"), 505);
  EXPECT_EQ(error("GET / HTTP/0.9"), 400);
  EXPECT_EQ(error("GET / \nGET / HTTP/2.0"), 400);
  EXPECT_EQ(error("GET / HTTP/1"), 400);
  EXPECT_EQ(error("GET / HTTP/11"), 400);
  EXPECT_EQ(error("GET / HTTP/1.10"), 400);
  EXPECT_EQ(error("GET / http/1.1"), 400);
  EXPECT_EQ(error("GET / HTTP/1.1 "), 400);
  EXPECT_EQ(error("GET / "), 400);
  EXPECT_EQ(ErrorOf("GET / H\r\n\r\n"), 400);
  EXPECT_EQ(ErrorOf("GET / HTTP\r\n\r\n"), 400);
  EXPECT_EQ(error("GET"), 400);
  EXPECT_EQ(error(""), 400);
}

constexpr HttpLimits kSmall{.request_line = 40, .header = 100, .fields = 3, .body = 20};

TEST(HttpRequestTest, LimitsTheRequestLine) {
  const auto line = [](std::size_t size) {
    return "GET /" + std::string(size - std::string_view("GET / HTTP/1.1").size(), 'a') +
           " HTTP/1.1\r\nHost: a\r\n\r\n";
  };
  EXPECT_EQ(ReadOne(line(40), kSmall).method, Method::kGet);
  EXPECT_EQ(ErrorOf(line(41), kSmall), 414);
  EXPECT_EQ(ErrorOf(line(400), kSmall), 414);
  EXPECT_EQ(ErrorOf("GET /" + std::string(60, 'a'), kSmall), 414);  // It never ends.
  EXPECT_EQ(ErrorOf("G\x01T /" + std::string(60, 'a'), kSmall), 400);
  EXPECT_EQ(ErrorOf("GET /" + std::string(31, 'a') + " \rHTTP/1.1\r\n", kSmall), 400);
  EXPECT_EQ(ErrorOf(std::string(200, 'A') + "\r\n\r\n", kSmall), 414);
  EXPECT_EQ(ReadWhole(line(8192)).error, 0);
  EXPECT_EQ(ReadWhole(line(8193)).error, 414);
  EXPECT_EQ(ReadWhole(line(9 * 1024)).error, 414);
}

// H8
TEST(HttpRequestTest, LimitsTheHeader) {
  const auto header = [](std::size_t size, std::string_view start) {
    return std::string(start) + std::string(size - start.size() - 4, 'a') + "\r\n\r\n";
  };
  const std::string_view start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  EXPECT_EQ(ReadOne(header(100, start), kSmall).method, Method::kGet);
  EXPECT_EQ(ErrorOf(header(101, start), kSmall), 431);
  EXPECT_EQ(ErrorOf(header(400, start), kSmall), 431);
  EXPECT_EQ(ErrorOf(std::string(start) + std::string(200, 'a'), kSmall), 431);  // It never ends.
  EXPECT_EQ(ReadWhole(header(32 * 1024, start)).error, 0);
  EXPECT_EQ(ReadWhole(header(32 * 1024 + 1, start)).error, 431);
  EXPECT_EQ(ReadWhole(header(34 * 1024, start)).error, 431);
}

TEST(HttpRequestTest, SomeRequestsMayHaveALargerBody) {
  constexpr HttpLimits kTwo{.body = 20, .body_of = [](const HttpRequest& request) -> std::size_t {
                              return request.path == "/large" ? 40 : 20;
                            }};
  const auto error = [&](std::string_view path, std::size_t size, bool chunked) {
    const std::string body(size, 'a');
    const std::string head = fmt::format("POST {} HTTP/1.1\r\nHost: a\r\n", path);
    return ReadEveryWay(chunked ? fmt::format("{}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n"
                                              "0\r\n\r\n",
                                              head, size, body)
                                : fmt::format("{}Content-Length: {}\r\n\r\n{}", head, size, body),
                        kTwo)
        .error;
  };
  for (const bool chunked : {false, true}) {
    EXPECT_EQ(error("/x", 20, chunked), 0);
    EXPECT_EQ(error("/x", 21, chunked), 413);
    EXPECT_EQ(error("/large", 40, chunked), 0);
    EXPECT_EQ(error("/large", 41, chunked), 413);
  }
}

TEST(HttpRequestTest, LimitsTheNumberOfFields) {
  EXPECT_EQ(ReadOne(Get("A: 1\r\nB: 2\r\n"), kSmall).path, "/x");
  EXPECT_EQ(ErrorOf(Get("A: 1\r\nB: 2\r\nC: 3\r\n"), kSmall), 431);
  EXPECT_EQ(ErrorOf(Get("A: 1\r\nB: 2\r\nC: 3\r\nD: 4\n"), kSmall), 431);
  std::string fields;
  for (int i = 0; i < 99; ++i) fields += "X: y\r\n";
  EXPECT_EQ(ReadWhole(Get(fields)).error, 0);
  EXPECT_EQ(ReadWhole(Get(fields + "X: y\r\n")).error, 431);
}

// H9
TEST(HttpRequestTest, LimitsTheBody) {
  const std::string body(21, 'b');
  EXPECT_EQ(ReadOne(Post("Content-Length: 20\r\n", body.substr(1)), kSmall).body, body.substr(1));
  EXPECT_EQ(ErrorOf(Post("Content-Length: 21\r\n", body), kSmall), 413);
  EXPECT_EQ(ErrorOf(Post("Content-Length: 21\r\n", ""), kSmall), 413);  // Before it is sent.
  EXPECT_EQ(ErrorOf(Post("Content-Length: 9223372036854775807\r\n", ""), kSmall), 413);

  EXPECT_EQ(ReadOne(Chunked("14\r\n" + body.substr(1) + "\r\n0\r\n\r\n"), kSmall).body,
            body.substr(1));
  EXPECT_EQ(ErrorOf(Chunked("15\r\n"), kSmall), 413);
  EXPECT_EQ(ErrorOf(Chunked("A\r\n0123456789\r\nB\r\n"), kSmall), 413);
  EXPECT_EQ(ReadWhole(Post("Content-Length: 65536\r\n", std::string(65536, 'b'))).error, 0);
  EXPECT_EQ(ReadWhole(Post("Content-Length: 65537\r\n", std::string(65537, 'b'))).error, 413);
}

TEST(HttpRequestTest, LimitsTheFramingOfChunks) {
  // 40 bytes in all may arrive for a body of up to 20.
  const std::string trailer = "0\r\nX: " + std::string(40 - 6 - 4, 'y') + "\r\n\r\n";
  ASSERT_EQ(trailer.size(), 40U);
  EXPECT_EQ(ReadOne(Chunked(trailer), kSmall).body, "");
  EXPECT_EQ(ErrorOf(Chunked("0" + trailer), kSmall), 413);
  std::string crumbs;
  for (int i = 0; i < 10; ++i) crumbs += "1\r\na\r\n";
  EXPECT_EQ(ErrorOf(Chunked(crumbs + "0\r\n\r\n"), kSmall), 413);
}

// H5
TEST(HttpRequestTest, LimitsTrailersAsHeaders) {
  constexpr HttpLimits kTight{.request_line = 40, .header = 80, .fields = 3, .body = 1000};
  const auto trailers = [](std::size_t fields, std::size_t size) {
    std::string lines;
    for (std::size_t i = 1; i < fields; ++i) lines += "X: y\r\n";
    lines += "X: " + std::string(size - lines.size() - std::string_view("X: \r\n\r\n").size(), 'y');
    return Chunked("1\r\na\r\n0\r\n" + lines + "\r\n\r\n");
  };
  EXPECT_EQ(ReadOne(trailers(1, 80), kTight).body, "a");
  EXPECT_EQ(ErrorOf(trailers(1, 81), kTight), 413);
  EXPECT_EQ(ReadOne(trailers(3, 80), kTight).body, "a");
  EXPECT_EQ(ErrorOf(trailers(4, 60), kTight), 413);
  EXPECT_EQ(ErrorOf(Chunked("0\r\nX: " + std::string(200, 'y')), kTight), 413);  // It never ends.
  const std::string bytes = trailers(3, 80);
  EXPECT_EQ(ReadEveryWay(bytes + bytes, kTight).requests.size(), 2U);  // Each has its own.

  EXPECT_EQ(ReadWhole(trailers(100, 32 * 1024)).error, 0);
  EXPECT_EQ(ReadWhole(trailers(101, 1024)).error, 413);
  EXPECT_EQ(ReadWhole(trailers(300, 2048)).error, 413);
  EXPECT_EQ(ReadWhole(trailers(1, 32 * 1024 + 1)).error, 413);
  EXPECT_EQ(ReadWhole(trailers(1, 70'000)).error, 413);
}

TEST(HttpRequestTest, AsksForTheBodyOnceWhenTheSenderWaits) {
  HttpReader reader;
  const std::string header = Post("Content-Length: 3\r\nExpect: 100-Continue\r\n", "");
  ASSERT_EQ(reader.Read(header), Outcome::kNeedMore);
  EXPECT_TRUE(reader.TakeExpectation());
  EXPECT_FALSE(reader.TakeExpectation());
  ASSERT_EQ(reader.Read(header + "a"), Outcome::kNeedMore);
  EXPECT_FALSE(reader.TakeExpectation());
  const std::string whole = header + "abc";
  ASSERT_EQ(reader.Read(whole), Outcome::kRequest);
  EXPECT_EQ(reader.request().body, "abc");
  EXPECT_FALSE(reader.TakeExpectation());

  ASSERT_EQ(reader.Read(header), Outcome::kNeedMore);  // The next request asks again.
  EXPECT_TRUE(reader.TakeExpectation());
}

TEST(HttpRequestTest, AsksForNoBodyThatItWouldRefuse) {
  EXPECT_EQ(ErrorOf(Post("Content-Length: 99\r\nExpect: 100-continue\r\n", ""), kSmall), 413);
  EXPECT_EQ(ErrorOf(Post("Content-Length: 3\r\nExpect: a-pony\r\n", "abc")), 417);
  HttpReader reader;
  ASSERT_EQ(reader.Read("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"),
            Outcome::kNeedMore);
  EXPECT_FALSE(reader.TakeExpectation());
}

TEST(HttpRequestTest, NeedMoreConsumesNothing) {
  const std::string bytes = Post("Content-Length: 5\r\n", "hello");
  HttpReader reader;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(reader.Read(bytes.substr(0, size)), Outcome::kNeedMore) << size;
  }
  ASSERT_EQ(reader.Read(bytes + "GET"), Outcome::kRequest);
  EXPECT_EQ(reader.consumed(), bytes.size());
}

// A sender that drips its bytes makes us look at each of them a few times, not at all of
// them for each.
TEST(HttpRequestTest, ADripOfHeaderBytesCostsLittle) {
  std::string header = "GET /" + std::string(8000, 'p') + " HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 98; ++i) header += "X: " + std::string(200, 'v') + "\r\n";
  header.resize(32 * 1024 - 8, 'v');
  header += "\r\n\r\n";
  HttpReader reader;
  Outcome outcome = Outcome::kNeedMore;
  for (std::size_t size = 1; size <= header.size() && outcome == Outcome::kNeedMore; ++size) {
    outcome = reader.Read(std::string_view(header).substr(0, size));
  }
  ASSERT_EQ(outcome, Outcome::kError);  // The last field is no field.
  EXPECT_LE(reader.bytes_parsed(), 3 * header.size());
}

TEST(HttpRequestTest, ADripOfFoldedLinesCostsLittle) {
  std::string header = "GET / HTTP/1.1\r\nHost: a\r\nX: y";
  while (header.size() < 30'000) header += "\r\n y";
  HttpReader reader;
  Outcome outcome = Outcome::kNeedMore;
  for (std::size_t size = 1; size <= header.size() && outcome == Outcome::kNeedMore; ++size) {
    outcome = reader.Read(std::string_view(header).substr(0, size));
  }
  ASSERT_EQ(outcome, Outcome::kError);
  EXPECT_LE(reader.bytes_parsed(), 200U);
}

TEST(HttpRequestTest, ADripOfChunksCostsLittle) {
  // Every pair of bytes looks like the end of a header.
  std::string body = "10000\r\n";
  while (body.size() < 65536 + 7) body += "\r\n";
  body.resize(65536 + 7);
  body += "\r\n0\r\n\r\n";
  const std::string bytes = Chunked(body);
  HttpReader reader;
  Outcome outcome = Outcome::kNeedMore;
  for (std::size_t size = 1; size <= bytes.size() && outcome == Outcome::kNeedMore; ++size) {
    outcome = reader.Read(std::string_view(bytes).substr(0, size));
  }
  ASSERT_EQ(outcome, Outcome::kRequest);
  EXPECT_EQ(reader.request().body.size(), 65536U);
  EXPECT_LE(reader.bytes_parsed(), 3 * (bytes.size() - body.size()));
}

TEST(HttpReaderTest, RequestsThatRepeatTheOneBeforeAreCounted) {
  const std::string request =
      "GET /a?b=c HTTP/1.1\r\nHost: h\r\nAccept: text/plain\r\nOrigin: http://o\r\n\r\n";
  HttpReader reader;
  EXPECT_EQ(reader.CountRepeats(request, 9), 0U) << "there is none before";
  ASSERT_EQ(reader.Read(request), Outcome::kRequest);
  EXPECT_EQ(reader.repeat_size(), request.size());
  const std::uint64_t parsed = reader.bytes_parsed();
  EXPECT_EQ(reader.CountRepeats(request, 9), 1U);
  EXPECT_EQ(reader.CountRepeats(request, 0), 0U);
  EXPECT_EQ(reader.CountRepeats(request + request + request, 9), 3U);
  EXPECT_EQ(reader.CountRepeats(request + request + request, 2), 2U);
  EXPECT_EQ(reader.CountRepeats(request + request + "GET /other", 9), 2U);
  EXPECT_EQ(reader.CountRepeats(request + request.substr(0, request.size() - 1), 9), 1U);
  EXPECT_EQ(reader.CountRepeats("GET /other" + request, 9), 0U);
  EXPECT_EQ(reader.CountRepeats("\r\n" + request, 9), 0U) << "an empty line is for Read";
  EXPECT_EQ(reader.bytes_parsed(), parsed);
}

TEST(HttpReaderTest, OnlyTheVeryRequestBeforeCanBeRepeated) {
  HttpReader reader;
  const std::string plain = "POST /a HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string longer = "POST /a HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n";
  const std::string with_body = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab";
  const std::string chunked =
      "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  const std::string huge = "GET /a HTTP/1.1\r\nHost: h\r\nX: " + std::string(600, 'x') + "\r\n\r\n";
  for (const std::string& before : {longer, with_body, chunked, huge}) {
    ASSERT_EQ(reader.Read(plain), Outcome::kRequest);
    reader.Release();
    ASSERT_EQ(reader.Read(before), Outcome::kRequest) << before;
    reader.Release();
    EXPECT_EQ(reader.CountRepeats(plain, 9), 0U) << "behind " << before;
    const bool repeatable = before == longer;  // Bodies may differ; others are too long to keep.
    EXPECT_EQ(reader.CountRepeats(before, 9), repeatable ? 1U : 0U) << before;
  }
  // One that has begun to arrive is read on, even if it turns out to be the same.
  ASSERT_EQ(reader.Read(plain), Outcome::kRequest);
  reader.Release();
  ASSERT_EQ(reader.Read(plain.substr(0, 10)), Outcome::kNeedMore);
  EXPECT_EQ(reader.CountRepeats(plain, 9), 0U);
  ASSERT_EQ(reader.Read(plain), Outcome::kRequest);
  EXPECT_EQ(reader.CountRepeats(plain, 9), 1U);
}

}  // namespace
}  // namespace keymill::wire
