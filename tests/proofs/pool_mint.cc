// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the checks of pools need beside the servers: fills a pool, lists it whatever store it is in,
// and measures what marking each key costs.
//
// Usage: pool_mint fill --store URL --data-dir DIR --keys N [--audit batch|key] [--length DIGITS]
//        pool_mint list --store URL --data-dir DIR
//        pool_mint race --store URL --data-dir DIR --keys N [--threads 64] [--group 10000]
//
// All of them use the keyspace `codes`, and only those that must make it: of base36 where there is
// a length. `fill` prints how many keys were added and met; `list` a line for each key, its state
// in front; `race` has `threads` ask for one key at a time, marked in groups of up to `group`, and
// prints how long it took.

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "keymill/key_table.h"
#include "keymill/keyspace.h"

#include "embed/open.h"

namespace {

using Flags = std::map<std::string, std::string>;
using Steady = std::chrono::steady_clock;

int Complain(std::string_view text) {
  std::fprintf(stderr, "pool_mint: %.*s\n", static_cast<int>(text.size()), text.data());
  return 1;
}

std::uint64_t NumberOf(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

keymill::Result<keymill::embed::Opened> Open(Flags& flags) {
  keymill::Recipe recipe = keymill::DefaultRecipe(keymill::Kind::kPool);
  if (flags["--audit"] == "key") recipe.audit = keymill::Audit::kKey;
  if (const std::uint64_t length = NumberOf(flags["--length"]); length > 0) {
    recipe.alphabet = "base36";
    recipe.length = static_cast<std::uint32_t>(length);
  }
  keymill::mint::EngineOptions engine;
  engine.pool.low = 0;
  engine.pool.group_max = static_cast<std::uint32_t>(NumberOf(flags["--group"]));
  engine.store_timeout = std::chrono::seconds(10);
  if (flags["--make"] == "yes") engine.keyspaces = {{"codes", recipe}};
  auto opened = keymill::embed::OpenEngine({.data_dir = flags["--data-dir"],
                                            .store = flags["--store"],
                                            .create = true,
                                            .engine = std::move(engine)});
  if (opened.ok()) opened->engine->AwaitSettled();
  return opened;
}

int Fill(Flags& flags) {
  flags["--make"] = "yes";
  auto opened = Open(flags);
  if (!opened.ok()) return Complain(opened.status().message());
  const auto filled = opened->engine->FillPool("codes", NumberOf(flags["--keys"]), {});
  if (!filled.ok()) return Complain(filled.status().message());
  std::printf("{\"added\":%llu,\"met\":%llu}\n", static_cast<unsigned long long>(filled->added),
              static_cast<unsigned long long>(filled->met));
  return 0;
}

int List(Flags& flags) {
  auto opened = Open(flags);
  if (!opened.ok()) return Complain(opened.status().message());
  keymill::KeyTable::Query query{.rows_max = 5'000};
  do {
    const auto page = opened->engine->ListKeys("codes", query);
    if (!page.ok()) return Complain(page.status().message());
    for (const keymill::KeyRow& row : page->rows) {
      const std::string_view state = keymill::KeyStateName(row.state);
      std::printf("%.*s %s\n", static_cast<int>(state.size()), state.data(), row.key.c_str());
    }
    query.cursor = page->cursor;
  } while (!query.cursor.empty());
  return 0;
}

int Race(Flags& flags) {
  const std::uint64_t keys = NumberOf(flags["--keys"]);
  const std::uint64_t threads = NumberOf(flags["--threads"]);
  flags["--make"] = "yes";
  flags["--audit"] = "key";
  auto opened = Open(flags);
  if (!opened.ok()) return Complain(opened.status().message());
  keymill::mint::Engine& mill = *opened->engine;
  keymill::mint::Keyspace& codes = *mill.Find("codes");
  const auto filled = mill.FillPool("codes", keys + 5'000, {});
  if (!filled.ok()) return Complain(filled.status().message());
  mill.WarmUp(codes);
  std::atomic<std::uint64_t> left{keys};
  std::atomic<int> failed{0};
  std::vector<std::thread> running;
  const Steady::time_point began = Steady::now();
  for (std::uint64_t i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      // Wraps below 0 at the end, for each thread once.
      while (left.fetch_sub(1) - 1 < keys) {
        const auto minted =
            mill.Mint(codes, 1, Steady::now() + std::chrono::minutes(1), [](std::string_view) {});
        if (!minted.ok()) {
          Complain(minted.message());
          ++failed;
          return;
        }
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  const double seconds = std::chrono::duration<double>(Steady::now() - began).count();
  std::printf("{\"keys\":%llu,\"seconds\":%.3f}\n", static_cast<unsigned long long>(keys), seconds);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  Flags flags = {{"--group", "10000"}, {"--threads", "64"}};
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) flags[words[i]] = words[i + 1];
  if (!words.empty() && words[0] == "fill") return Fill(flags);
  if (!words.empty() && words[0] == "list") return List(flags);
  if (!words.empty() && words[0] == "race") return Race(flags);
  return Complain("say fill, list or race; the top of pool_mint.cc says what follows");
}
