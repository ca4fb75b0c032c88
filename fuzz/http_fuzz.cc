// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Bytes that claim to be HTTP requests. What comes of them must not depend on how they were
// split, and the texts inside them must survive being taken apart.
//
// The first byte of an input seeds the splits.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/keyspace_json.h"
#include "base/check.h"
#include "base/utf8.h"
#include "wire/http_request.h"
#include "wire/percent.h"

namespace keymill {
namespace {

using wire::HttpReader;

// Small, so that the fuzzer finds the limits.
constexpr wire::HttpLimits kLimits{.request_line = 64, .header = 256, .fields = 6, .body = 64};

struct Reading {
  std::vector<std::string> requests;  // Everything about each, as one text.
  int error = 0;
  friend bool operator==(const Reading&, const Reading&) = default;
};

std::string Describe(const HttpReader& reader) {
  const wire::HttpRequest& request = reader.request();
  std::string text;
  for (const std::string_view part :
       {request.path, request.query, request.accept, request.content_type, request.body}) {
    text.append(std::to_string(part.size())).append(":").append(part);
  }
  text += std::to_string(static_cast<int>(request.method)) + (request.keep_alive ? "k" : "c") +
          (request.http10 ? "0" : "1") + std::to_string(reader.consumed());
  return text;
}

// Shows the bytes piece by piece, each time in fresh memory, so that a view that was kept too
// long is noticed. `seed` 0 shows them at once.
Reading Read(std::string_view bytes, std::uint32_t seed) {
  HttpReader reader(kLimits);
  Reading reading;
  std::size_t begin = 0;
  std::size_t end = 0;
  while (end < bytes.size()) {
    seed = seed * 1664525U + (seed == 0 ? 0U : 1013904223U);
    const std::size_t piece = seed == 0 ? bytes.size() : 1 + (seed >> 24) % 16;
    end = std::min(bytes.size(), end + piece);
    while (begin < end) {
      const std::vector<char> seen(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                                   bytes.begin() + static_cast<std::ptrdiff_t>(end));
      const HttpReader::Outcome outcome = reader.Read({seen.data(), seen.size()});
      if (outcome == HttpReader::Outcome::kNeedMore) break;
      if (outcome == HttpReader::Outcome::kError) {
        reading.error = reader.error().status;
        KEYMILL_CHECK(reading.error >= 400 && reading.error < 600);
        return reading;
      }
      KEYMILL_CHECK(reader.consumed() > 0 && reader.consumed() <= seen.size());
      KEYMILL_CHECK(reader.request().path.starts_with('/'));
      KEYMILL_CHECK(reader.request().body.size() <= kLimits.body);
      reading.requests.push_back(Describe(reader));
      begin += reader.consumed();
    }
  }
  return reading;
}

void CheckTexts(std::string_view bytes) {
  for (const bool plus : {false, true}) {
    const Result<std::string> decoded = wire::PercentDecode(bytes, plus);
    if (!decoded.ok()) continue;
    KEYMILL_CHECK(decoded->size() <= bytes.size() && IsUtf8(*decoded));
    KEYMILL_CHECK(std::none_of(decoded->begin(), decoded->end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    }));
  }
  const auto pairs = wire::ParseQuery(bytes);
  if (pairs.ok()) KEYMILL_CHECK(pairs->size() <= bytes.size());
  const auto words = api::http::ParseWords(bytes);
  if (words.ok()) KEYMILL_CHECK(words->size() <= bytes.size());
}

}  // namespace
}  // namespace keymill

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const keymill::Reading whole = keymill::Read(bytes, 0);
  KEYMILL_CHECK(keymill::Read(bytes, 1U + data[0]) == whole);
  keymill::CheckTexts(bytes);
  return 0;
}
