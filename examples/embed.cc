// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keymill inside a C++ program: two threads share one mill and print the keys they got.
//
//   embed_cc DATA_DIR COUNT     prints COUNT keys of the keyspace "codes", one per line
//
// Run it twice with the same DATA_DIR, or twice at once: no key comes again.
// With pkg-config: g++ -std=c++20 embed.cc $(pkg-config --cflags --libs keymill)

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <keymill/keymill.h>

namespace {

constexpr std::uint64_t kPortion = 1000;  // Keys per call: few calls, and not much to hold.

struct Share {
  std::uint64_t count = 0;
  std::vector<std::string> keys;
  keymill::Status failure;
};

// What one thread does. A mill is safe for use by many threads.
void Mint(keymill::Mill& mill, Share& share) {
  while (share.keys.size() < share.count) {
    auto keys = mill.Next("codes", std::min(kPortion, share.count - share.keys.size()));
    if (!keys.ok()) {
      share.failure = keys.status();
      return;
    }
    share.keys.insert(share.keys.end(), keys->begin(), keys->end());
  }
}

int Fail(const keymill::Status& status) {
  std::fprintf(stderr, "embed: %s\n", status.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s DATA_DIR COUNT\n", argv[0]);
    return 2;
  }
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);

  auto mill = keymill::Mill::Open({.data_dir = argv[1]});
  if (!mill.ok()) return Fail(mill.status());

  // Eight symbols that nobody confuses on paper, and a ninth that catches typing errors.
  keymill::Recipe recipe = keymill::DefaultRecipe(keymill::Kind::kShuffled);
  recipe.alphabet = "base32";
  recipe.length = 8;
  recipe.check = keymill::CheckSymbol::kAppended;
  if (auto made = (*mill)->Create("codes", recipe); !made.ok()) return Fail(made);

  std::array<Share, 2> shares;
  shares[0].count = count / 2;
  shares[1].count = count - count / 2;
  std::thread other([&] { Mint(**mill, shares[1]); });
  Mint(**mill, shares[0]);
  other.join();

  for (const Share& share : shares) {
    if (!share.failure.ok()) return Fail(share.failure);
    for (const std::string& key : share.keys) std::puts(key.c_str());
  }
  return 0;
}
