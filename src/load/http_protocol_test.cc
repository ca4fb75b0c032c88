// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/http_protocol.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::load {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Keeps what it is told, as text: keys as they are, answers as "<status>" or "<status close>".
class Recorder : public AnswerSink {
 public:
  void OnKey(std::string_view key) override { events.emplace_back(key); }
  void OnAnswer(int status, bool close) override {
    events.push_back("<" + std::to_string(status) + (close ? " close>" : ">"));
  }
  std::vector<std::string> events;
};

std::vector<std::string> Read(const std::vector<std::string_view>& pieces, bool* fine = nullptr) {
  HttpAnswerReader reader;
  Recorder recorder;
  bool all = true;
  for (const std::string_view piece : pieces) all = all && reader.Consume(piece, recorder);
  if (fine != nullptr) *fine = all;
  return recorder.events;
}

bool Malformed(std::string_view text) {
  bool fine = true;
  Read({text}, &fine);
  return !fine;
}

constexpr std::string_view kBare =
    "HTTP/1.1 200 OK\r\nDate: Mon, 01 Jan 2026 00:00:00 GMT\r\n"
    "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 7\r\n\r\nabcdefg";
constexpr std::string_view kLines =
    "HTTP/1.1 200 OK\r\ncontent-LENGTH:  11 \r\n\r\nk1\nk2\r\n\nk-3";
constexpr std::string_view kChunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    "4\r\na1\nb\r\n6;x=y\r\n2\nc3\nd\r\n0A\r\n4444444444\r\n0\r\nTrailer: t\r\n\r\n";
constexpr std::string_view kError =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nRetry-After: 1\r\n\r\nno\nk";

TEST(HttpAnswerReaderTest, ABareBodyIsOneKey) {
  EXPECT_THAT(Read({kBare}), ElementsAre("abcdefg", "<200>"));
}

TEST(HttpAnswerReaderTest, LinesOfABodyAreKeysAndBlankOnesAreNone) {
  EXPECT_THAT(Read({kLines}), ElementsAre("k1", "k2", "k-3", "<200>"));
}

TEST(HttpAnswerReaderTest, KeysMayBeCutByChunks) {
  EXPECT_THAT(Read({kChunked}), ElementsAre("a1", "b2", "c3", "d4444444444", "<200>"));
}

TEST(HttpAnswerReaderTest, AFailureHasItsStatusAndNoKeys) {
  EXPECT_THAT(Read({kError}), ElementsAre("<503>"));
}

// Whatever the cuts, the answers are the same: all of them at once, cut in two anywhere, and
// byte by byte.
TEST(HttpAnswerReaderTest, AnswersMayBeCutAnywhere) {
  const std::string all = std::string(kBare) + std::string(kBare) + std::string(kLines) +
                          "HTTP/1.1 100 Continue\r\n\r\n" + std::string(kChunked) +
                          std::string(kError) + std::string(kBare);
  const std::vector<std::string> whole = Read({all});
  ASSERT_THAT(whole,
              ElementsAre("abcdefg", "<200>", "abcdefg", "<200>", "k1", "k2", "k-3", "<200>", "a1",
                          "b2", "c3", "d4444444444", "<200>", "<503>", "abcdefg", "<200>"));
  const std::string_view view = all;
  for (std::size_t cut = 1; cut < all.size(); ++cut) {
    EXPECT_EQ(Read({view.substr(0, cut), view.substr(cut)}), whole) << "cut at " << cut;
  }
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < all.size(); ++i) bytes.push_back(view.substr(i, 1));
  EXPECT_EQ(Read(bytes), whole);
}

TEST(HttpAnswerReaderTest, TheEndOfTheConnectionIsAnnounced) {
  EXPECT_THAT(Read({"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n"}),
              ElementsAre("<200 close>"));
  EXPECT_THAT(Read({"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nk"}),
              ElementsAre("k", "<200 close>"));
}

TEST(HttpAnswerReaderTest, AnAnswerWithoutABodyNeedsNoLength) {
  EXPECT_THAT(Read({"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n"}),
              ElementsAre("<204>", "<304>"));
}

TEST(HttpAnswerReaderTest, WhatIsNoAnswerIsRefused) {
  EXPECT_TRUE(Malformed("SSH-2.0-OpenSSH_9.2p1 Debian\r\n\r\n"));
  EXPECT_TRUE(Malformed("HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_TRUE(Malformed("HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n"));
  EXPECT_TRUE(Malformed("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n"));
  EXPECT_TRUE(Malformed("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"));
  EXPECT_TRUE(Malformed("HTTP/1.1 200 OK\r\n\r\n"));
  EXPECT_TRUE(Malformed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"));
  EXPECT_TRUE(Malformed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"));
  EXPECT_TRUE(Malformed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
                        std::string(17, '1') + "\r\n"));
  EXPECT_TRUE(Malformed("HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x')));
}

TEST(HttpAnswerReaderTest, TheLongestKeyPassesAndOneByteMoreIsRefused) {
  const auto answer = [](std::size_t size) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
           std::string(size, 'k');
  };
  EXPECT_FALSE(Malformed(answer(kBenchKeySizeMax)));
  EXPECT_TRUE(Malformed(answer(kBenchKeySizeMax + 1)));
}

TEST(HttpAnswerReaderTest, ANewConnectionForgetsTheRestOfTheOldOne) {
  for (std::size_t cut = 1; cut < kChunked.size(); ++cut) {
    HttpAnswerReader reader;
    Recorder recorder;
    ASSERT_TRUE(reader.Consume(kChunked.substr(0, cut), recorder));
    reader.Reset();
    recorder.events.clear();
    ASSERT_TRUE(reader.Consume(kBare, recorder));
    EXPECT_THAT(recorder.events, ElementsAre("abcdefg", "<200>")) << "cut at " << cut;
  }
}

TEST(HttpProtocolTest, ARequestHasWhatTheServerNeeds) {
  std::string out;
  HttpProtocol("GET", "host:1", "/get-key").AppendRequest(out);
  EXPECT_EQ(out, "GET /get-key HTTP/1.1\r\nHost: host:1\r\n\r\n");
  HttpProtocol("POST", "h", "/k?count=2").AppendRequest(out = "");
  EXPECT_EQ(out,
            "POST /k?count=2 HTTP/1.1\r\nHost: h\r\nAccept: text/plain\r\n"
            "Content-Length: 0\r\n\r\n");
}

}  // namespace
}  // namespace keymill::load
