// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Bytes that claim to be HTTP answers, as the load generator reads them. What comes of them
// must not depend on how they were split.
//
// The first byte of an input seeds the splits.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "load/http_protocol.h"

namespace keymill::load {
namespace {

struct Reading : AnswerSink {
  void OnKey(std::string_view key) override {
    KEYMILL_CHECK(!key.empty() && key.size() <= kBenchKeySizeMax);
    KEYMILL_CHECK(key.find('\n') == std::string_view::npos);
    events.emplace_back(key);
  }
  void OnAnswer(int status, bool close) override {
    events.push_back("\n" + std::to_string(status) + (close ? " close" : ""));
  }
  std::vector<std::string> events;
  bool malformed = false;
};

// Pieces of at most `step` bytes, each a little longer than the one before; 0: all at once.
Reading Read(std::string_view bytes, std::size_t step) {
  Reading reading;
  HttpAnswerReader reader;
  std::size_t size = step == 0 ? bytes.size() : 1;
  while (!bytes.empty() && !reading.malformed) {
    const std::string piece(bytes.substr(0, size));  // A copy, so that reading on is noticed.
    reading.malformed = !reader.Consume(piece, reading);
    bytes.remove_prefix(piece.size());
    if (step > 0) size = size % step + 1;
  }
  return reading;
}

}  // namespace
}  // namespace keymill::load

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using keymill::load::Read;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = Read(bytes, 0);
  const auto split = Read(bytes, std::size_t{data[0]} % 32 + 1);
  KEYMILL_CHECK(whole.malformed == split.malformed);
  KEYMILL_CHECK(whole.events == split.events);
  return 0;
}
