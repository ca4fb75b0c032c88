// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Bytes that claim to be a URL. A canonical spelling must be its own canonical spelling, hold
// nothing but printable ASCII, and be found again from the twin that is percent-encoded as a whole.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "keys/canonical_url.h"

namespace keymill::keys {
namespace {

std::string EncodedWhole(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

void Check(std::string_view text) {
  const Result<std::string> url = CanonicalUrl(text);
  if (!url.ok()) {
    KEYMILL_CHECK(url.code() == Code::kInvalidArgument && !url.status().message().empty());
    return;
  }
  KEYMILL_CHECK(url->size() <= kCanonicalUrlSizeMax);
  for (const char c : *url) KEYMILL_CHECK(c > 0x20 && c < 0x7F);
  const Result<std::string> again = CanonicalUrl(*url);
  KEYMILL_CHECK(again.ok() && *again == *url);
  const Result<std::string> twin = CanonicalUrl(EncodedWhole(*url));
  KEYMILL_CHECK(twin.ok() && *twin == *url);
}

}  // namespace
}  // namespace keymill::keys

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  keymill::keys::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
