// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/quote.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace keymill::app {
namespace {

constexpr std::size_t kQuotedSizeMax = 80;
constexpr std::array<std::string_view, 4> kSecretWords = {
    "password=", "passwd=", "secret=", "token="};

std::uint8_t ByteAt(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

std::size_t FindIgnoringCase(std::string_view text, std::string_view lower, std::size_t from) {
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
  const auto found = std::search(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(),
                                 lower.begin(), lower.end(), same);
  return found == text.end() ? std::string_view::npos
                             : static_cast<std::size_t>(found - text.begin());
}

// The C1 controls (U+0080 to U+009F) are escape sequences to a terminal.
bool IsControl(std::string_view text, std::size_t at, std::size_t size) {
  if (size == 1) return ByteAt(text, at) < 0x20 || ByteAt(text, at) == 0x7f;
  return size == 2 && ByteAt(text, at) == 0xc2 && ByteAt(text, at + 1) < 0xa0;
}

}  // namespace

std::size_t Utf8SequenceSize(std::string_view text, std::size_t at) {
  const std::uint8_t lead = ByteAt(text, at);
  if (lead < 0x80) return 1;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() - at < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((ByteAt(text, at + i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what lies beyond U+10FFFF all show in the second byte.
  const std::uint8_t second = ByteAt(text, at + 1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return size;
}

std::string Redact(std::string_view text) {
  std::string result(text);
  // The last @ counts: a password may hold one that nobody escaped.
  if (const std::size_t at = result.rfind('@'); at != std::string::npos) {
    std::size_t begin = 0;
    if (const std::size_t slashes = result.find("://"); slashes < at) {
      begin = slashes + 3;
    } else if (const std::size_t colon = result.find(':'); colon < at) {
      begin = colon + 1;
    }
    result.replace(begin, at - begin, "***");
  }
  for (const std::string_view word : kSecretWords) {
    for (std::size_t at = FindIgnoringCase(result, word, 0); at != std::string::npos;
         at = FindIgnoringCase(result, word, at)) {
      at += word.size();
      const std::size_t end = std::min(result.find_first_of("& ", at), result.size());
      result.replace(at, end - at, "***");
    }
  }
  return result;
}

std::string Printable(std::string_view text, std::size_t size_max) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (result.size() >= size_max) return result + "…";
    const std::size_t size = Utf8SequenceSize(text, at);
    if (size == 0 || IsControl(text, at, size)) {
      result += fmt::format("\\x{:02x}", ByteAt(text, at));
      ++at;
      continue;
    }
    result.append(text, at, size);
    at += size;
  }
  return result;
}

std::string QuoteValue(std::string_view text) {
  return fmt::format("\"{}\"", Printable(Redact(text), kQuotedSizeMax));
}

}  // namespace keymill::app
