// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/random.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

#include <sys/random.h>

#include "base/check.h"
#include "base/fork.h"
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

void RandomBytesAhead(std::span<std::uint8_t> out) {
  struct Ahead {
    std::array<std::uint8_t, 4096> bytes;
    std::size_t used = sizeof bytes;
    std::uint64_t generation = 0;
  };
  thread_local Ahead ahead;
  if (out.size() > ahead.bytes.size() / 2) {
    RandomBytes(out);
    return;
  }
  if (ahead.generation != ForkGeneration() || ahead.bytes.size() - ahead.used < out.size()) {
    RandomBytes(ahead.bytes);
    ahead.used = 0;
    ahead.generation = ForkGeneration();
  }
  std::copy_n(ahead.bytes.begin() + static_cast<std::ptrdiff_t>(ahead.used), out.size(),
              out.begin());
  ahead.used += out.size();
}

std::string RandomHex(std::size_t bytes) {
  std::vector<std::uint8_t> raw(bytes);
  RandomBytes(raw);
  return HexEncode(raw);
}

}  // namespace keymill
