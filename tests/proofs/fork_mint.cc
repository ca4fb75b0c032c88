// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A forked child never repeats a key of its parent or its siblings. The library is warmed
// up, so that the parent holds blocks, forked with them, and then used by all at once.
//
// Usage: fork_mint --data-dir DIR --out DIR [--children 8] [--keys 100000] [--length 0]
// Writes one file of keys per process and keyspace: DIR/KEYSPACE.0 is the parent's. A length
// for the keys of `counted` makes it small, and so its blocks: there are many reservations.
// Exits with 1 when a key cannot be had.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "keymill/keymill.h"

namespace {

using keymill::Mill;

constexpr std::uint64_t kWarmUpKeys = 100;
constexpr std::uint64_t kPortion = 250;  // Keys per call: less than a block, so all interleave.
const std::vector<std::string> kKeyspaces = {"default", "counted"};

struct Options {
  std::string data_dir;
  std::string out;
  int children = 8;
  std::uint64_t keys = 100'000;
  std::uint32_t length = 0;
};

int Complain(const keymill::Status& status) {
  std::fprintf(stderr, "fork_mint: %s\n", status.message().c_str());
  return 1;
}

// Mints `count` keys of `keyspace` into `file`.
bool MintTo(Mill& mill, const std::string& keyspace, std::uint64_t count, std::FILE* file) {
  while (count > 0) {
    const auto keys = mill.Next(keyspace, count < kPortion ? count : kPortion);
    if (!keys.ok()) {
      // Many processes share one file; waiting longer than a call may is no failure.
      const keymill::Code code = keys.status().code();
      if (code == keymill::Code::kUnavailable || code == keymill::Code::kDeadlineExceeded) continue;
      Complain(keys.status());
      return false;
    }
    for (const std::string& key : *keys) std::fprintf(file, "%s\n", key.c_str());
    count -= keys->size();
  }
  return true;
}

// What each process does after the fork. Its keys go to files of its own.
int MintAll(Mill& mill, const Options& options, int process) {
  for (const std::string& keyspace : kKeyspaces) {
    const std::string path = options.out + "/" + keyspace + "." + std::to_string(process);
    std::FILE* const file = std::fopen(path.c_str(), "ab");
    if (file == nullptr) return 1;
    const bool minted = MintTo(mill, keyspace, options.keys, file);
    if (std::fclose(file) != 0 || !minted) return 1;
  }
  return 0;
}

// What the parent takes before the fork, so that there is something to inherit.
int WarmUp(Mill& mill, const Options& options) {
  keymill::Recipe counted = keymill::DefaultRecipe(keymill::Kind::kSequence);
  counted.length = options.length;
  if (const auto made = mill.Create("counted", counted); !made.ok()) return Complain(made);
  for (const std::string& keyspace : kKeyspaces) {
    const std::string path = options.out + "/" + keyspace + ".0";
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) return 1;
    const bool minted = MintTo(mill, keyspace, kWarmUpKeys, file);
    if (std::fclose(file) != 0 || !minted) return 1;
  }
  return 0;
}

int Run(const Options& options) {
  auto opened = Mill::Open({.data_dir = options.data_dir});
  if (!opened.ok()) return Complain(opened.status());
  std::unique_ptr<Mill> mill = *std::move(opened);
  if (WarmUp(*mill, options) != 0) return 1;

  std::vector<pid_t> children;
  for (int process = 1; process <= options.children; ++process) {
    const pid_t child = ::fork();
    if (child < 0) return 1;
    if (child == 0) {
      const int outcome = MintAll(*mill, options, process);
      mill.reset();
      std::exit(outcome);
    }
    children.push_back(child);
  }
  int failed = MintAll(*mill, options, 0);
  for (const pid_t child : children) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      std::fprintf(stderr, "fork_mint: child %d ended with status %d\n", child, status);
      failed = 1;
    }
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const char* const value = argv[i + 1];
    if (flag == "--data-dir") options.data_dir = value;
    if (flag == "--out") options.out = value;
    if (flag == "--children") options.children = std::atoi(value);
    if (flag == "--keys") options.keys = std::strtoull(value, nullptr, 10);
    if (flag == "--length") {
      options.length = static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
    }
  }
  if (options.data_dir.empty() || options.out.empty()) {
    std::fprintf(stderr,
                 "usage: fork_mint --data-dir DIR --out DIR [--children N] [--keys N] "
                 "[--length N]\n");
    return 2;
  }
  return Run(options);
}
