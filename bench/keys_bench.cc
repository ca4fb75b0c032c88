// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a key costs, next to what the machine can do at best: memset for moving bytes, AES
// blocks for permuting.

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "keys/aes.h"
#include "keys/codec.h"

namespace keymill::keys {
namespace {

constexpr std::size_t kBufferSize = 64 << 20;

const std::array<std::uint8_t, kSecretSize> kSecret = {1, 2, 3, 4, 5, 6, 7, 8};

Codec MakeCodec(Kind kind, std::uint32_t length, const std::string& alphabet) {
  Recipe recipe = DefaultRecipe(kind);
  recipe.alphabet = alphabet;
  recipe.length = length;
  if (kind == Kind::kTicket) {
    recipe.stride = 2;
    recipe.offset = 2;
  }
  const bool secret = HasSecret(recipe);
  return *Codec::Make(
      recipe, secret ? std::span<const std::uint8_t>(kSecret) : std::span<const std::uint8_t>());
}

void Memset(benchmark::State& state) {
  std::vector<char> buffer(kBufferSize);
  int value = 0;
  for (auto _ : state) {
    std::memset(buffer.data(), ++value, buffer.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * buffer.size()));
}
BENCHMARK(Memset);

void Bulk(benchmark::State& state, Kind kind, std::uint32_t length, const char* alphabet) {
  const Codec codec = MakeCodec(kind, length, alphabet);
  std::vector<char> buffer(kBufferSize);
  const std::size_t stride = codec.size_max() + 1;
  constexpr std::uint32_t kChunk = 4096;
  std::uint64_t number = codec.begin();
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
  std::size_t at = 0;
  for (auto _ : state) {
    if (at + kChunk * stride > buffer.size()) at = 0;
    const auto written = codec.Encode(number, kChunk, "\n", buffer.data() + at);
    benchmark::ClobberMemory();
    at += written.bytes;
    bytes += written.bytes;
    keys += written.keys;
    number += kChunk;
    if (number + kChunk >= codec.end()) number = codec.begin();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(keys));
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK_CAPTURE(Bulk, SequenceBase62x7, Kind::kSequence, 7, "base62");
BENCHMARK_CAPTURE(Bulk, SequenceDecimalGrowing, Kind::kSequence, 0, "decimal");
BENCHMARK_CAPTURE(Bulk, TicketBase62x7, Kind::kTicket, 7, "base62");
BENCHMARK_CAPTURE(Bulk, TicketDecimalGrowing, Kind::kTicket, 0, "decimal");
BENCHMARK_CAPTURE(Bulk, ShuffledBase62x7, Kind::kShuffled, 7, "base62");
BENCHMARK_CAPTURE(Bulk, ShuffledBase58x11, Kind::kShuffled, 11, "base58");
BENCHMARK_CAPTURE(Bulk, ShuffledBase62x20, Kind::kShuffled, 20, "base62");

void AesBlocks(benchmark::State& state) {
  const AesEncryptor aes = *AesEncryptor::Make(kSecret, AesPath::kHardware);
  std::array<AesEncryptor::Block, 8> blocks{};
  for (auto _ : state) {
    aes.EncryptBlocks(blocks);
    benchmark::DoNotOptimize(blocks);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * blocks.size()));
}
BENCHMARK(AesBlocks);

}  // namespace
}  // namespace keymill::keys
