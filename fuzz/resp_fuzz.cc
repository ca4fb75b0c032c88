// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Bytes that claim to be RESP, read as a server's replies and as a client's commands. What comes
// of them must not depend on how they were split, and what was read must be written and read
// back as the same.
//
// The first byte of an input seeds the splits.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "wire/resp.h"
#include "wire/resp_command.h"

namespace keymill::wire {
namespace {

constexpr RespLimits kLimits{
    .line_max = 64, .bulk_max = 256, .elements_max = 64, .total_max = 1024, .depth_max = 4};
constexpr RespCommandLimits kCommandLimits{
    .line_max = 64, .words_max = 16, .word_max = 64, .total_max = 256};

struct Reading {
  std::vector<std::string> events;
  bool malformed = false;
};

std::string Written(const RespValue& value) {
  std::string text;
  RespWriter(text).Value(value);
  std::string older;
  RespWriter(older, 2).Value(value);
  KEYMILL_CHECK(!older.empty());
  return text;
}

void OnWhole(RespReader& reader, Reading& reading) {
  reading.events.push_back(Written(reader.Take()));
}

void OnWhole(RespCommandReader& reader, Reading& reading) {
  KEYMILL_CHECK(!reader.words().empty());
  std::string text;
  AppendRespCommand(reader.words(), text);
  reading.events.push_back(std::move(text));
}

// Pieces of at most `step` bytes, each a little longer than the one before; 0: all at once.
template <typename Reader>
Reading Read(Reader reader, std::string_view bytes, std::size_t step) {
  Reading reading;
  std::size_t size = step == 0 ? bytes.size() : 1;
  while (!bytes.empty() && !reading.malformed) {
    const std::string copy(bytes.substr(0, size));  // So that reading on is noticed.
    bytes.remove_prefix(copy.size());
    std::string_view piece = copy;
    while (!piece.empty() && !reading.malformed) {
      const auto outcome = reader.Read(piece);
      if (outcome == Reader::Outcome::kWhole) OnWhole(reader, reading);
      if (outcome == Reader::Outcome::kNeedMore) KEYMILL_CHECK(piece.empty());
      reading.malformed = outcome == Reader::Outcome::kMalformed;
    }
    if (step > 0) size = size % step + 1;
  }
  return reading;
}

template <typename Reader, typename Limits>
void Compare(const Limits& limits, std::string_view bytes, std::size_t step) {
  const Reading whole = Read(Reader(limits), bytes, 0);
  const Reading split = Read(Reader(limits), bytes, step);
  KEYMILL_CHECK(whole.malformed == split.malformed);
  KEYMILL_CHECK(whole.events == split.events);
  for (const std::string& event : whole.events) {
    const Reading again = Read(Reader(), event, step);
    KEYMILL_CHECK(again.events.size() == 1 && again.events.front() == event);
  }
}

}  // namespace
}  // namespace keymill::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t step = std::size_t{data[0]} % 32 + 1;
  using keymill::wire::Compare;
  Compare<keymill::wire::RespReader>(keymill::wire::kLimits, bytes, step);
  Compare<keymill::wire::RespCommandReader>(keymill::wire::kCommandLimits, bytes, step);
  return 0;
}
