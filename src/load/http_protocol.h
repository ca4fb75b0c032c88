// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// HTTP/1.1 as a client of the mint sees it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "load/protocol.h"

namespace keymill::load {

// Asks with one fixed request.
class HttpProtocol : public Protocol {
 public:
  // `authority` is HOST[:PORT]. A POST has an empty body and accepts text/plain.
  HttpProtocol(std::string_view method, std::string_view authority, std::string_view path);

  void AppendRequest(std::string& out) const override { out += request_; }
  [[nodiscard]] std::unique_ptr<AnswerReader> NewReader() const override;

 private:
  std::string request_;
};

// Reads pipelined answers. The lines of a 200 answer's body are its keys, without their LF
// or CRLF; the last line may lack its end, and blank lines are none. Bodies of other answers
// are skipped, as are 1xx answers. An answer whose end cannot be told (no Content-Length and
// not chunked), a head of more than 64 KiB and a key of more than kBenchKeySizeMax are
// malformed.
class HttpAnswerReader : public AnswerReader {
 public:
  bool Consume(std::string_view bytes, AnswerSink& sink) override;
  void Reset() override;

 private:
  enum class State : std::uint8_t {
    kHead,
    kBody,  // `left_` bytes of a body with Content-Length.
    kChunkSize,
    kChunkSizeLine,  // Behind the size: extensions, up to LF.
    kChunkData,      // `left_` bytes of a chunk.
    kChunkEnd,       // CRLF behind a chunk.
    kTrailer,        // Lines up to an empty one.
  };

  // What a head means.
  struct Head {
    int status = 0;
    std::size_t length = 0;
    bool has_length = false;
    bool chunked = false;
    bool close = false;
  };

  // Each takes bytes from the front of `bytes`. False: malformed.
  bool TakeHead(std::string_view& bytes, AnswerSink& sink);
  bool TakeBody(std::string_view& bytes, AnswerSink& sink);
  bool TakeChunkSize(std::string_view& bytes);
  bool TakeFraming(std::string_view& bytes, AnswerSink& sink);

  static bool ParseHead(std::string_view text, Head& head);
  static bool ParseField(std::string_view line, Head& head);
  bool BeginBody(AnswerSink& sink);
  bool TakeKeys(std::string_view text, AnswerSink& sink);
  bool EndAnswer(AnswerSink& sink);

  State state_ = State::kHead;
  Head head_;
  std::size_t left_ = 0;
  int size_digits_ = 0;
  bool line_empty_ = true;  // In kTrailer: nothing but CR on this line so far.
  std::string head_text_;   // A head that is not whole yet.
  std::string key_text_;    // A key that is not whole yet.
  // The head of the last answer. The next one is mostly the same, byte by byte (its date
  // changes once a second), and equal bytes need no second reading.
  std::string last_head_;
};

}  // namespace keymill::load
