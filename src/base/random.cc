// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/random.h"

#include <cerrno>
#include <vector>

#include <sys/random.h>

#include "base/check.h"
#include "base/hex.h"

namespace keymill {

void RandomBytes(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = getrandom(out.data() + done, out.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    KEYMILL_CHECK(got > 0);
    done += static_cast<std::size_t>(got);
  }
}

std::string RandomHex(std::size_t bytes) {
  std::vector<std::uint8_t> raw(bytes);
  RandomBytes(raw);
  return HexEncode(raw);
}

}  // namespace keymill
