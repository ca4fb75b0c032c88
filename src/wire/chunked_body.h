// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A chunked body, put together as it arrives. Every byte is looked at once, however slowly
// the bytes come.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace keymill::wire {

// Strict: no chunk extensions, no bare line ends, no folded trailers. Trailers are checked
// and dropped.
class ChunkedBody {
 public:
  struct TrailerLimits {
    std::size_t size;  // Of all of them, line ends and the last, empty line included.
    std::size_t fields;
  };
  // `size_max` limits what was put together; twice as much may arrive in all, framing and
  // trailers included: nobody needs more of those than of body.
  ChunkedBody(std::size_t size_max, TrailerLimits trailers)
      : size_max_(size_max), trailer_limits_(trailers) {}

  enum class Outcome : std::uint8_t { kWhole, kNeedMore, kMalformed, kTooLarge };

  // Reads on in `input`, which begins where the body does: the bytes of the last call and
  // more behind them.
  Outcome Read(std::string_view input);

  [[nodiscard]] std::size_t consumed() const { return at_; }  // Bytes of the input.
  [[nodiscard]] std::string_view data() const { return data_; }
  [[nodiscard]] std::string_view detail() const { return detail_; }  // Why it is refused.

  // From now on, and for this body as well.
  void set_size_max(std::size_t size_max) { size_max_ = size_max; }

  // Forgets the body; the next one begins.
  void Clear();

 private:
  enum class State : std::uint8_t {
    kSizeBegin,  // At the first digit of a chunk's size.
    kSize,
    kSizeEnd,  // At the LF behind a size.
    kData,
    kDataEndCr,
    kDataEnd,       // At the LF behind a chunk.
    kTrailerBegin,  // At the first byte of a trailer, or of the end.
    kTrailerName,
    kTrailerValue,
    kTrailerEnd,  // At the LF behind a trailer.
    kEnd,         // At the last LF.
    kWhole,
  };

  Outcome Malformed(std::string_view detail);
  Outcome TooLarge(std::string_view detail);
  Outcome OnByte(char c);
  Outcome OnSize(char c);
  Outcome OnTrailer(char c);
  // Counts a byte of the trailers, whatever it is for.
  Outcome CountTrailer(char c);
  Outcome Expect(char c, char expected, State next);

  std::size_t size_max_;
  const TrailerLimits trailer_limits_;
  State state_ = State::kSizeBegin;
  std::size_t at_ = 0;
  std::size_t chunk_left_ = 0;
  int size_digits_ = 0;
  std::size_t trailers_size_ = 0;
  std::size_t trailers_ = 0;
  std::string data_;
  std::string_view detail_;
};

}  // namespace keymill::wire
