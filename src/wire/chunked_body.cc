// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "wire/chunked_body.h"

#include <algorithm>

#include "wire/hex_digit.h"

namespace keymill::wire {
namespace {

constexpr int kSizeDigitsMax = 16;
constexpr std::string_view kBodyTooLarge = "the body is too large";

bool IsToken(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool IsControl(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

}  // namespace

ChunkedBody::Outcome ChunkedBody::Read(std::string_view input) {
  while (at_ < input.size() && state_ != State::kWhole) {
    if (at_ >= 2 * size_max_) return TooLarge(kBodyTooLarge);
    if (state_ == State::kData) {
      const std::string_view piece = input.substr(at_, chunk_left_);
      data_.append(piece);
      at_ += piece.size();
      chunk_left_ -= piece.size();
      if (chunk_left_ == 0) state_ = State::kDataEndCr;
      continue;
    }
    const Outcome outcome = OnByte(input[at_]);
    if (outcome != Outcome::kNeedMore) return outcome;
    ++at_;
  }
  return state_ == State::kWhole ? Outcome::kWhole : Outcome::kNeedMore;
}

void ChunkedBody::Clear() {
  state_ = State::kSizeBegin;
  at_ = 0;
  chunk_left_ = 0;
  data_ = {};  // Gives the memory back: bodies are rare, idle connections are many.
}

ChunkedBody::Outcome ChunkedBody::Malformed(std::string_view detail) {
  detail_ = detail;
  return Outcome::kMalformed;
}

ChunkedBody::Outcome ChunkedBody::TooLarge(std::string_view detail) {
  detail_ = detail;
  return Outcome::kTooLarge;
}

ChunkedBody::Outcome ChunkedBody::Expect(char c, char expected, State next) {
  if (c != expected) return Malformed("a line of the chunked body does not end in CRLF");
  state_ = next;
  return Outcome::kNeedMore;
}

ChunkedBody::Outcome ChunkedBody::OnByte(char c) {
  if (state_ >= State::kTrailerBegin) {
    if (const Outcome outcome = CountTrailer(c); outcome != Outcome::kNeedMore) return outcome;
  }
  switch (state_) {
    case State::kSizeBegin:
    case State::kSize:
      return OnSize(c);
    case State::kSizeEnd:
      return Expect(c, '\n', chunk_left_ == 0 ? State::kTrailerBegin : State::kData);
    case State::kDataEndCr:
      return Expect(c, '\r', State::kDataEnd);
    case State::kDataEnd:
      return Expect(c, '\n', State::kSizeBegin);
    case State::kTrailerBegin:
    case State::kTrailerName:
    case State::kTrailerValue:
      return OnTrailer(c);
    case State::kTrailerEnd:
      return Expect(c, '\n', State::kTrailerBegin);
    case State::kEnd:
      return Expect(c, '\n', State::kWhole);
    case State::kData:
    case State::kWhole:
      break;  // Read deals with these.
  }
  return Outcome::kNeedMore;
}

ChunkedBody::Outcome ChunkedBody::OnSize(char c) {
  if (state_ == State::kSizeBegin) {
    chunk_left_ = 0;
    size_digits_ = 0;
    trailers_size_ = trailers_ = 0;  // Not in Clear, which requests without a body call, too.
  }
  const int digit = HexDigit(c);
  if (digit >= 0) {
    if (++size_digits_ > kSizeDigitsMax) return Malformed("a chunk's size has too many digits");
    chunk_left_ = chunk_left_ * 16 + static_cast<std::size_t>(digit);
    if (chunk_left_ > size_max_ - data_.size()) return TooLarge(kBodyTooLarge);
    state_ = State::kSize;
    return Outcome::kNeedMore;
  }
  if (state_ == State::kSizeBegin) return Malformed("a chunk does not begin with its size");
  if (c == ';') return Malformed("chunk extensions are not accepted");
  return Expect(c, '\r', State::kSizeEnd);
}

// They are dropped, but a sender must not keep us busy with what no header may hold.
ChunkedBody::Outcome ChunkedBody::CountTrailer(char c) {
  if (++trailers_size_ > trailer_limits_.size) return TooLarge("the trailers are too large");
  if (state_ != State::kTrailerBegin || c == '\r') return Outcome::kNeedMore;
  return ++trailers_ > trailer_limits_.fields ? TooLarge("too many trailers") : Outcome::kNeedMore;
}

ChunkedBody::Outcome ChunkedBody::OnTrailer(char c) {
  if (state_ == State::kTrailerBegin && c == '\r') return Expect(c, '\r', State::kEnd);
  if (state_ == State::kTrailerValue) {
    if (c == '\r') return Expect(c, '\r', State::kTrailerEnd);
    if (IsControl(c)) return Malformed("a control character in a trailer");
    return Outcome::kNeedMore;
  }
  if (c == ':' && state_ == State::kTrailerName) {
    state_ = State::kTrailerValue;
    return Outcome::kNeedMore;
  }
  if (!IsToken(c)) return Malformed("a trailer is no header field");
  state_ = State::kTrailerName;
  return Outcome::kNeedMore;
}

}  // namespace keymill::wire
