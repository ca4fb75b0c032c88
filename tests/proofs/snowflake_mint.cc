// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Makes snowflake ids in one process, as fast as they can be had, and looks for ids that came
// twice.
//
// Usage: snowflake_mint mint --store URL --data-dir DIR [--threads 8] [--keys 1000000]
//                            [--workers 1] [--out FILE]
//        snowflake_mint check FILE …
//
// `mint` writes the ids as 64-bit numbers to FILE, if there is one, and prints how long it took:
// keys, seconds from the first to the last, and how many ids the format had for that time. `check`
// prints how many ids the files hold and how many of them are there more than once; it exits with 1
// when there are any.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "keymill/keyspace.h"

#include "embed/open.h"

namespace {

using Steady = std::chrono::steady_clock;

int Complain(std::string_view text) {
  std::fprintf(stderr, "snowflake_mint: %.*s\n", static_cast<int>(text.size()), text.data());
  return 1;
}

std::uint64_t NumberOf(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void AppendIds(std::string_view lines, std::vector<std::uint64_t>& ids) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    ids.push_back(NumberOf(lines.substr(0, end)));
    lines.remove_prefix(end + 1);
  }
}

int Mint(std::map<std::string, std::string>& flags) {
  const std::uint64_t threads = NumberOf(flags["--threads"]);
  const std::uint64_t keys = NumberOf(flags["--keys"]);
  const std::string out = flags["--out"];
  keymill::Recipe recipe = keymill::DefaultRecipe(keymill::Kind::kSnowflake);
  recipe.workers = static_cast<std::uint32_t>(NumberOf(flags["--workers"]));
  keymill::mint::EngineOptions engine;
  engine.keyspaces = {{"ids", recipe}};
  auto opened = keymill::embed::OpenEngine({.data_dir = flags["--data-dir"],
                                            .store = flags["--store"],
                                            .create = true,
                                            .engine = std::move(engine)});
  if (!opened.ok()) return Complain(opened.status().message());
  keymill::mint::Engine& mill = *opened->engine;
  keymill::mint::Keyspace& ids = *mill.Find("ids");
  mill.WarmUp(ids);
  // All that it takes is warm before the clock runs: the first ids wait for a block.
  const auto deadline = [] { return Steady::now() + std::chrono::seconds(30); };
  if (const auto first = mill.Mint(ids, 1, deadline(), [](std::string_view) {}); !first.ok()) {
    return Complain(first.message());
  }
  std::vector<std::vector<std::uint64_t>> taken(threads);
  std::vector<keymill::Status> outcomes(threads);
  std::vector<std::thread> running;
  const Steady::time_point began = Steady::now();
  for (std::uint64_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      const std::uint64_t share = keys / threads + (i < keys % threads ? 1 : 0);
      if (!out.empty()) taken[i].reserve(share);
      outcomes[i] = mill.Mint(ids, share, Steady::now() + std::chrono::minutes(10),
                              [&](std::string_view lines) {
                                if (!out.empty()) AppendIds(lines, taken[i]);
                              });
    });
  }
  for (std::thread& thread : running) thread.join();
  const double seconds = std::chrono::duration<double>(Steady::now() - began).count();
  for (const keymill::Status& outcome : outcomes) {
    if (!outcome.ok()) return Complain(outcome.message());
  }
  if (!out.empty()) {
    std::FILE* const file = std::fopen(out.c_str(), "ab");
    if (file == nullptr) return Complain("cannot write " + out);
    for (const auto& part : taken) std::fwrite(part.data(), sizeof(part[0]), part.size(), file);
    if (std::fclose(file) != 0) return Complain("cannot write " + out);
  }
  const double limit = seconds * 1000 * 4096 * recipe.workers;
  std::printf("{\"keys\":%llu,\"seconds\":%.3f,\"limit\":%.0f}\n",
              static_cast<unsigned long long>(keys), seconds, limit);
  return 0;
}

int Check(const std::vector<std::string>& files) {
  std::vector<std::uint64_t> ids;
  for (const std::string& path : files) {
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return Complain("cannot read " + path);
    std::vector<std::uint64_t> piece(1U << 20);
    for (std::size_t got = 0;
         (got = std::fread(piece.data(), sizeof(piece[0]), piece.size(), file)) > 0;) {
      ids.insert(ids.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    }
    std::fclose(file);
  }
  std::sort(ids.begin(), ids.end());
  std::uint64_t repeated = 0;
  for (std::size_t i = 1; i < ids.size(); ++i) repeated += ids[i] == ids[i - 1] ? 1U : 0U;
  std::set<std::uint64_t> workers;
  for (const std::uint64_t id : ids) workers.insert(id >> 12 & 1023);
  std::printf("{\"ids\":%zu,\"workers\":%zu,\"repeated\":%llu}\n", ids.size(), workers.size(),
              static_cast<unsigned long long>(repeated));
  return repeated == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() > 1 && words[0] == "check") return Check({words.begin() + 1, words.end()});
  if (words.empty() || words[0] != "mint" || words.size() % 2 == 0) {
    return Complain("say mint or check; the top of snowflake_mint.cc says what follows");
  }
  std::map<std::string, std::string> flags = {
      {"--threads", "8"}, {"--keys", "1000000"}, {"--workers", "1"}};
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) flags[words[i]] = words[i + 1];
  return Mint(flags);
}
