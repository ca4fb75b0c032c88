// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Two numbers never give the same key. Shown in parts, each with its figure:
//   control     a mix of the counter mod 62^7, which is no permutation: the count that the
//               next part relies on must find its duplicates
//   keys        10^8 numbers from 0 and 10^8 from a random offset, shuffled base62 of length
//               7, one random secret; all keys are sorted and compared
//   domains     every domain radix^length up to 2^16, and 64 between 2^16 and 2^24, in full
//   samples     NIST's FF1 samples, on each AES path
//   round trips 10^6 numbers under random recipes, to their key and back
//
// Usage: permutation [--keys N]. N scales the first part; it takes 16 N bytes of memory.
// Exits with 1 when any part fails.

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "keys/codec.h"
#include "keys/ff1_samples.h"

namespace keymill::keys {
namespace {

constexpr std::uint64_t kDomain = 3'521'614'606'208;  // 62^7
constexpr std::uint64_t kKeysMin = 1000;
constexpr std::uint64_t kKeysMax = 150'000'000;
constexpr std::uint64_t kSmallDomainMax = 1U << 16;
constexpr std::uint64_t kLargeDomainMax = 1U << 24;
constexpr std::size_t kLargeDomains = 64;
constexpr int kRecipes = 10'000;
constexpr int kNumbersPerRecipe = 100;

std::uint64_t RandomNumber() {
  std::array<std::uint8_t, 8> bytes{};
  RandomBytes(bytes);
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), bytes.size());
  return number;
}

std::array<std::uint8_t, kSecretSize> RandomSecret() {
  std::array<std::uint8_t, kSecretSize> secret{};
  RandomBytes(secret);
  return secret;
}

// Runs `job` on two threads and waits for both.
template <typename Job>
void OnTwoThreads(const Job& job) {
  std::thread other([&] { job(1); });
  job(0);
  other.join();
}

class Report {
 public:
  void Line(std::string_view part, bool passed, const std::string& figure) {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - began_).count();
    fmt::print("permutation: {:<11} {} in {:.1f} s: {}\n", part, figure, seconds,
               passed ? "PASS" : "FAIL");
    std::fflush(stdout);
    began_ = now;
    if (!passed) failed_ = true;
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool failed_ = false;
};

// Writes what the keys of [first, first + values.size()) say, read here digit by digit so
// that a mistake in Decode cannot hide one in Encode. False when a text is no key.
bool KeyValues(const Codec& codec, std::uint64_t first, std::span<std::uint64_t> values) {
  constexpr std::string_view kSymbols =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::array<std::uint8_t, 256> digits;
  digits.fill(255);
  for (std::size_t i = 0; i < kSymbols.size(); ++i) {
    digits[static_cast<unsigned char>(kSymbols[i])] = static_cast<std::uint8_t>(i);
  }
  constexpr std::uint32_t kChunk = 4096;
  std::string text(std::size_t{kChunk} * 7, '\0');
  for (std::size_t done = 0; done < values.size();) {
    const auto count =
        static_cast<std::uint32_t>(std::min<std::size_t>(kChunk, values.size() - done));
    if (codec.Encode(first + done, count, "", text.data()).bytes != std::size_t{count} * 7) {
      return false;
    }
    const char* key = text.data();
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint64_t value = 0;
      for (int at = 0; at < 7; ++at) {
        const std::uint8_t digit = digits[static_cast<unsigned char>(*key++)];
        if (digit == 255) return false;
        value = value * 62 + digit;
      }
      values[done++] = value;
    }
  }
  return true;
}

// How many elements of two sorted lists equal one before them.
std::uint64_t CountDuplicates(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  std::uint64_t duplicates = 0;
  std::uint64_t last = ~std::uint64_t{0};  // No key has this value.
  while (!a.empty() || !b.empty()) {
    std::span<const std::uint64_t>& next =
        b.empty() || (!a.empty() && a.front() <= b.front()) ? a : b;
    if (next.front() == last) ++duplicates;
    last = next.front();
    next = next.subspan(1);
  }
  return duplicates;
}

void ProveControl(Report& report) {
  constexpr std::uint64_t kHalf = 5'000'000;
  std::array<std::vector<std::uint64_t>, 2> values;
  OnTwoThreads([&](std::size_t thread) {
    for (std::uint64_t i = 0; i < kHalf; ++i) {
      std::uint64_t x = thread * kHalf + i;
      x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
      x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
      values[thread].push_back((x ^ (x >> 31)) % kDomain);
    }
    std::sort(values[thread].begin(), values[thread].end());
  });
  const std::uint64_t duplicates = CountDuplicates(values[0], values[1]);
  report.Line(
      "control", duplicates > 0,
      fmt::format("{} counters mixed mod 62^7, {} duplicates found", 2 * kHalf, duplicates));
}

void ProveKeys(std::uint64_t keys, Report& report) {
  const Codec codec = *Codec::Make(DefaultRecipe(Kind::kShuffled), RandomSecret());
  const std::array<std::uint64_t, 2> first = {0, keys + RandomNumber() % (kDomain - 2 * keys + 1)};
  std::array<std::vector<std::uint64_t>, 2> values;
  std::array<bool, 2> written{};
  OnTwoThreads([&](std::size_t thread) {
    values[thread].resize(keys);
    written[thread] = KeyValues(codec, first[thread], values[thread]);
    std::sort(values[thread].begin(), values[thread].end());
  });
  const std::uint64_t duplicates = CountDuplicates(values[0], values[1]);
  const bool in_domain = values[0].back() < kDomain && values[1].back() < kDomain;
  report.Line("keys", written[0] && written[1] && in_domain && duplicates == 0,
              fmt::format("{} keys of base62 length 7 (from 0 and from {}), {} duplicates",
                          2 * keys, first[1], duplicates));
}

struct Domain {
  std::uint32_t radix = 0;
  std::uint32_t length = 0;
  std::uint64_t size = 0;
};

// All domains with size in (above, up_to], by radix.
std::vector<Domain> Domains(std::uint64_t above, std::uint64_t up_to) {
  std::vector<Domain> domains;
  for (std::uint32_t radix = 2; radix <= 256; ++radix) {
    std::uint64_t size = std::uint64_t{radix} * radix;
    for (std::uint32_t length = 2; size <= up_to; ++length, size *= radix) {
      if (size > above) domains.push_back({radix, length, size});
    }
  }
  return domains;
}

// Whether each string of `domain` is reached, which by counting means exactly once, and
// Decrypt leads back from it.
bool IsPermutation(const Domain& domain, AesPath path) {
  const auto secret = RandomSecret();
  const Ff1 ff1 = *Ff1::Make(
      {.radix = domain.radix, .length = domain.length, .key = secret, .tweak = {}, .path = path});
  std::vector<bool> seen(domain.size);
  std::uint64_t reached = 0;
  std::vector<Ff1::Halves> plain;
  for (std::uint64_t done = 0; done < domain.size;) {
    plain.clear();
    while (plain.size() < 4096 && done < domain.size) {
      plain.push_back({done / ff1.right_size(), done % ff1.right_size()});
      ++done;
    }
    std::vector<Ff1::Halves> strings = plain;
    ff1.Encrypt(strings);
    for (const Ff1::Halves& halves : strings) {
      if (halves.left >= ff1.left_size() || halves.right >= ff1.right_size()) return false;
      const std::uint64_t value = halves.left * ff1.right_size() + halves.right;
      if (!seen[value]) ++reached;
      seen[value] = true;
    }
    ff1.Decrypt(strings);
    if (strings != plain) return false;
  }
  return reached == domain.size;
}

std::uint64_t CountPermutations(const std::vector<Domain>& domains, AesPath path) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> permutations{0};
  OnTwoThreads([&](std::size_t) {
    for (std::size_t i = next++; i < domains.size(); i = next++) {
      if (IsPermutation(domains[i], path)) ++permutations;
    }
  });
  return permutations;
}

void ProveDomains(Report& report) {
  const std::vector<Domain> small = Domains(0, kSmallDomainMax);
  const std::uint64_t small_automatic = CountPermutations(small, AesPath::kAuto);
  const std::uint64_t small_portable = CountPermutations(small, AesPath::kPortable);
  report.Line("domains", small_automatic == small.size() && small_portable == small.size(),
              fmt::format("{} and {} (portable AES) of all {} domains up to 2^16 are permuted",
                          small_automatic, small_portable, small.size()));

  // Spread over the list, so that small and large radices both have their share.
  const std::vector<Domain> all = Domains(kSmallDomainMax, kLargeDomainMax);
  std::vector<Domain> large;
  std::uint64_t strings = 0;
  for (std::size_t i = 0; i < kLargeDomains; ++i) {
    large.push_back(all[i * (all.size() - 1) / (kLargeDomains - 1)]);
    strings += large.back().size;
  }
  const std::uint64_t permutations = CountPermutations(large, AesPath::kAuto);
  report.Line("domains", permutations == large.size(),
              fmt::format("{} of {} domains in (2^16, 2^24] are permuted, {} strings", permutations,
                          large.size(), strings));
}

void ProveSamples(Report& report) {
  std::vector<AesPath> paths = {AesPath::kPortable};
  if (HaveHardwareAes()) paths.push_back(AesPath::kHardware);
  if (HaveVectorAes()) paths.push_back(AesPath::kVector);
  std::size_t held = 0;
  for (const AesPath path : paths) {
    for (const Ff1Sample& sample : kFf1Samples) held += SampleHolds(sample, path) ? 1 : 0;
  }
  const std::size_t samples = paths.size() * kFf1Samples.size();
  report.Line("samples", held == samples,
              fmt::format("{} of {} NIST samples on {} AES path(s)", held, samples, paths.size()));
}

std::string RandomAlphabet(std::mt19937_64& random) {
  const std::size_t named = random() % (2 * Alphabet::Names().size());
  if (named < Alphabet::Names().size()) return std::string(Alphabet::Names()[named]);
  std::string symbols;
  for (char c = '!'; c <= '~'; ++c) {
    if (std::string_view("\"\\/?#%").find(c) == std::string_view::npos) symbols.push_back(c);
  }
  std::shuffle(symbols.begin(), symbols.end(), random);
  return symbols.substr(0, 2 + random() % (symbols.size() - 1));
}

Recipe RandomRecipe(std::mt19937_64& random) {
  constexpr std::array<std::string_view, 4> kPrefixes = {"", "ord_", "A-b.c", "sixteen.symbols_"};
  Recipe recipe;
  do {
    recipe = DefaultRecipe(random() % 2 == 0 ? Kind::kSequence : Kind::kShuffled);
    recipe.alphabet = RandomAlphabet(random);
    recipe.length = static_cast<std::uint32_t>(random() % 33);
    recipe.prefix = kPrefixes[random() % kPrefixes.size()];
    recipe.check = random() % 2 == 0 ? CheckSymbol::kNone : CheckSymbol::kAppended;
    recipe.start = random() % 3;
  } while (!Codec::Validate(recipe).ok());
  return recipe;
}

void ProveRoundTrips(Report& report) {
  const std::uint64_t seed = RandomNumber();
  std::mt19937_64 random(seed);
  std::uint64_t trips = 0;
  std::uint64_t wrong = 0;
  for (int i = 0; i < kRecipes; ++i) {
    const Recipe recipe = RandomRecipe(random);
    const auto secret = RandomSecret();
    const std::size_t secret_size = recipe.kind == Kind::kShuffled ? kSecretSize : 0;
    const Codec codec = *Codec::Make(recipe, std::span(secret).first(secret_size));
    for (int j = 0; j < kNumbersPerRecipe; ++j) {
      // Small numbers as often as large ones: the shift spreads the magnitudes.
      const std::uint64_t number =
          codec.begin() + (random() >> random() % 64) % (codec.end() - codec.begin());
      std::array<char, kKeySizeMax> key;
      const Written written = codec.Encode(number, 1, "", key.data());
      const Result<std::uint64_t> back = codec.Decode({key.data(), written.bytes});
      ++trips;
      if (written.keys != 1 || !back.ok() || *back != number) ++wrong;
    }
  }
  report.Line("round trips", wrong == 0,
              fmt::format("{} numbers under {} random recipes (seed {}), {} wrong", trips, kRecipes,
                          seed, wrong));
}

int Main(std::span<char* const> args) {
  std::uint64_t keys = 100'000'000;
  if (args.size() != 1) {
    const std::string_view text = args.size() == 3 ? args[2] : "";
    const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), keys);
    if (text.empty() || std::string_view(args[1]) != "--keys" || error != std::errc() ||
        stopped != text.data() + text.size() || keys < kKeysMin || keys > kKeysMax) {
      fmt::print(stderr, "usage: permutation [--keys N], N from {} to {}\n", kKeysMin, kKeysMax);
      return 2;
    }
  }
  Report report;
  ProveControl(report);
  ProveKeys(keys, report);
  ProveDomains(report);
  ProveSamples(report);
  ProveRoundTrips(report);
  return report.failed() ? 1 : 0;
}

}  // namespace
}  // namespace keymill::keys

int main(int argc, char** argv) {
  return keymill::keys::Main({argv, static_cast<std::size_t>(argc)});
}
