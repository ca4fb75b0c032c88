// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys over RESP, the protocol of Redis, version 2.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "load/protocol.h"

namespace keymill::load {

// Asks with KEYMILL.MINT.
class RespProtocol : public Protocol {
 public:
  // With a count of 1 the answer is a key, and otherwise an array of them.
  RespProtocol(std::string_view keyspace, std::uint64_t count);

  void AppendRequest(std::string& out) const override { out += request_; }
  [[nodiscard]] std::unique_ptr<AnswerReader> NewReader() const override;

 private:
  std::string request_;
};

// Reads pipelined answers: bulk strings, integers, and flat arrays of them are keys. An error is
// an answer with the status that HTTP would have: 404 for NOTFOUND, 503 for UNAVAILABLE, and so
// on. Any other type is malformed, as are lines of more than 64 KiB and keys of more than
// kBenchKeySizeMax.
class RespAnswerReader : public AnswerReader {
 public:
  bool Consume(std::string_view bytes, AnswerSink& sink) override;
  void Reset() override;

 private:
  bool TakeLine(std::string_view& bytes, AnswerSink& sink);
  bool TakeText(std::string_view& bytes, AnswerSink& sink);
  bool OnLine(std::string_view line, AnswerSink& sink);
  void OnItem(int status, AnswerSink& sink);

  bool in_text_ = false;          // Else in a line.
  std::size_t text_left_ = 0;     // Of a bulk string, its CRLF included.
  std::uint64_t items_left_ = 0;  // Of an array; 0: not in one.
  int status_ = 200;              // Of the answer so far.
  std::string kept_;              // A line or a text that is not whole yet.
};

}  // namespace keymill::load
