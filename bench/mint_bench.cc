// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What one key costs in process: from the reservoir, and through the library.

#include <array>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "keymill/keymill.h"

#include "keys/codec.h"
#include "mint/counter_keyspace.h"
#include "mint/kinds.h"
#include "mint/random_keyspace.h"

namespace keymill {
namespace {

constexpr std::uint32_t kBlock = 1U << 24;

// A keyspace with more numbers at hand than any run takes.
std::unique_ptr<mint::Keyspace> MakeKeyspace(Kind kind) {
  Recipe recipe = DefaultRecipe(kind);
  if (mint::IsEndless(kind)) {
    return std::make_unique<mint::RandomKeyspace>(
        KeyspaceRecord(), recipe, 1, [] {}, SystemClock());
  }
  recipe.start = 0;
  const std::array<std::uint8_t, keys::kSecretSize> secret = {1, 2, 3};
  const auto used = kind == Kind::kShuffled ? std::span<const std::uint8_t>(secret)
                                            : std::span<const std::uint8_t>();
  auto codec = *keys::Codec::Make(recipe, used);
  KeyspaceRecord record;
  record.end = codec.end();
  record.rev = 1;
  auto keyspace =
      std::make_unique<mint::CounterKeyspace>(record, recipe, std::move(codec), 1, [] {});
  for (std::uint64_t i = 0; i < 2000; ++i) {
    keyspace->AddBlock({"b", i * kBlock, kBlock, {1, (i + 1) * kBlock}}, {});
  }
  return keyspace;
}

void TakeKeys(benchmark::State& state, Kind kind, std::uint32_t count) {
  static std::unique_ptr<mint::Keyspace> shared;
  if (state.thread_index() == 0) shared = MakeKeyspace(kind);
  std::array<char, 32 * keys::kKeySizeMax> keys;
  for (auto _ : state) benchmark::DoNotOptimize(shared->TakeKeys(count, {}, keys.data()));
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK_CAPTURE(TakeKeys, Shuffled, Kind::kShuffled, 1)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK_CAPTURE(TakeKeys, Shuffled32, Kind::kShuffled, 32)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK_CAPTURE(TakeKeys, Sequence, Kind::kSequence, 1)->Threads(1)->Threads(2)->UseRealTime();

BENCHMARK_CAPTURE(TakeKeys, Uuid4, Kind::kUuid4, 1)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK_CAPTURE(TakeKeys, Uuid4x32, Kind::kUuid4, 32)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK_CAPTURE(TakeKeys, Uuid7, Kind::kUuid7, 1)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK_CAPTURE(TakeKeys, Uuid7x32, Kind::kUuid7, 32)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK_CAPTURE(TakeKeys, Ulid, Kind::kUlid, 1)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK_CAPTURE(TakeKeys, Ulid32, Kind::kUlid, 32)->Threads(1)->Threads(2)->UseRealTime();

void Next(benchmark::State& state) {
  static std::unique_ptr<Mill> mill;
  if (state.thread_index() == 0) mill = *Mill::Open({.store = "memory:"});
  for (auto _ : state) benchmark::DoNotOptimize(mill->Next("default"));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Next)->Threads(1)->Threads(2)->UseRealTime();

}  // namespace
}  // namespace keymill
