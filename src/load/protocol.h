// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the load generator must know of a protocol: the bytes of a request, and how bytes
// become answers. HTTP is one (http_protocol.h); another one is another class here.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace keymill::load {

// The longest key that is accepted, in bytes.
inline constexpr std::size_t kBenchKeySizeMax = 4096;

// Takes what an AnswerReader finds, in the order of the bytes.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;

  // A key of the answer that is being read. The view is valid during the call only.
  virtual void OnKey(std::string_view key) = 0;
  // An answer is whole. `status` is 200 for a success and the protocol's number for the
  // failure otherwise; `close` says that nothing more will come on this connection.
  virtual void OnAnswer(int status, bool close) = 0;
};

// The incoming half of one connection. Not safe for concurrent use.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;

  // Reads the bytes that came next, cut anywhere. Allocates nothing once its buffers have
  // grown to what the answers need. False when they are no answer of this protocol: the
  // connection is of no use any more.
  virtual bool Consume(std::string_view bytes, AnswerSink& sink) = 0;

  // A new connection begins.
  virtual void Reset() = 0;
};

// How to ask one server for keys. Immutable, so safe for concurrent use.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // Appends one request. All requests of a Protocol are equal, byte by byte.
  virtual void AppendRequest(std::string& out) const = 0;
  [[nodiscard]] virtual std::unique_ptr<AnswerReader> NewReader() const = 0;
};

}  // namespace keymill::load
