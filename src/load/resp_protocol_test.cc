// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/resp_protocol.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::load {
namespace {

using testing::ElementsAre;

// Keeps what it is told, as text: keys as they are, answers as "<status>".
class Recorder : public AnswerSink {
 public:
  void OnKey(std::string_view key) override { events.emplace_back(key); }
  void OnAnswer(int status, bool close) override {
    events.push_back("<" + std::to_string(status) + (close ? " close>" : ">"));
  }
  std::vector<std::string> events;
};

constexpr std::string_view kAnswers =
    "$7\r\nabcdefg\r\n:42\r\n*2\r\n$2\r\nk1\r\n$3\r\nk\r\n\r\n*0\r\n-NOTFOUND no such\r\n"
    "-UNAVAILABLE later\r\n-ERR what\r\n*2\r\n$1\r\na\r\n-EXHAUSTED x\r\n$0\r\n\r\n";

TEST(RespProtocolTest, AsksForOneKeyOrMany) {
  std::string one;
  RespProtocol("orders", 1).AppendRequest(one);
  EXPECT_EQ(one, "*2\r\n$12\r\nKEYMILL.MINT\r\n$6\r\norders\r\n");
  std::string many;
  RespProtocol("k", 100).AppendRequest(many);
  EXPECT_EQ(many, "*4\r\n$12\r\nKEYMILL.MINT\r\n$1\r\nk\r\n$5\r\nCOUNT\r\n$3\r\n100\r\n");
}

TEST(RespProtocolTest, ReadsAnswersHoweverTheyAreSplit) {
  for (std::size_t size = 1; size <= kAnswers.size(); ++size) {
    RespAnswerReader reader;
    Recorder recorder;
    for (std::size_t at = 0; at < kAnswers.size(); at += size) {
      ASSERT_TRUE(reader.Consume(kAnswers.substr(at, size), recorder)) << size;
    }
    ASSERT_THAT(recorder.events,
                ElementsAre("abcdefg", "<200>", "42", "<200>", "k1", "k\r\n", "<200>", "<200>",
                            "<404>", "<503>", "<400>", "a", "<507>", "", "<200>"))
        << size;
  }
}

TEST(RespProtocolTest, RefusesWhatIsNoAnswer) {
  for (const char* const wrong : {"x\r\n", "\r\n", "$x\r\n", "$-1\r\n", "$5000\r\n", "$1\r\nabc",
                                  "*-1\r\n", ":x\r\n", ":1\n", "*1\r\n*1\r\n", "%1\r\n"}) {
    RespAnswerReader reader;
    Recorder recorder;
    EXPECT_FALSE(reader.Consume(wrong, recorder)) << wrong;
  }
  RespAnswerReader reader;
  Recorder recorder;
  EXPECT_FALSE(reader.Consume(std::string(65 * 1024, '-'), recorder));
  reader.Reset();
  EXPECT_TRUE(reader.Consume("$1\r\na\r\n", recorder)) << "a new connection begins";
}

}  // namespace
}  // namespace keymill::load
