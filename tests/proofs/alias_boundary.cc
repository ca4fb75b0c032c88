// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Whether an alias can ever be a key that its keyspace hands out. Keys of many recipes, and what
// lies next to them (a symbol more, less or another one, another case, another zero in front), are
// judged as aliases: no key may be accepted, and nothing else refused for looking like one. Small
// keyspaces know all their keys beforehand; of large ones the codec tells. A key is one wherever
// the keyspace starts: what lies before was another service's. Of a ticket, the keys of the other
// offsets must not be accepted either; what else of that form is refused does not count. Where keys
// are kept one by one, any key may become an alias first: tests/support/scenario_claims.py shows
// that none becomes both.
//
// Usage: alias_boundary [--tries 1000000]
//
// Prints a line for each recipe; exits with 1 when anything was judged wrongly.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "keymill/keyspace.h"
#include "keymill/store.h"

#include "keys/codec.h"
#include "mint/aliases.h"
#include "mint/engine.h"
#include "store/memory/memory_store.h"

namespace {

using keymill::DefaultRecipe;
using keymill::Kind;
using keymill::Recipe;
using keymill::keys::Codec;

constexpr std::string_view kAliasSymbols =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-";

struct Case {
  std::string name;
  Recipe recipe;
  bool small = false;  // All its keys fit in memory.
};

Recipe Make(Kind kind, std::string alphabet, std::uint32_t length, std::string prefix = "",
            keymill::CheckSymbol check = keymill::CheckSymbol::kNone) {
  Recipe recipe = DefaultRecipe(kind);
  recipe.alphabet = std::move(alphabet);
  recipe.length = length;
  recipe.prefix = std::move(prefix);
  recipe.check = check;
  return recipe;
}

Recipe Ticket(Kind counter, std::string alphabet, std::uint32_t length, std::uint32_t stride,
              std::uint32_t offset) {
  Recipe recipe = Make(Kind::kTicket, std::move(alphabet), length);
  recipe.counter = counter;
  recipe.stride = stride;
  recipe.offset = offset;
  return recipe;
}

std::vector<Case> Cases() {
  Recipe later = Make(Kind::kSequence, "decimal", 5);
  later.start = 40'000;
  return {
      {"sequence-decimal-5", Make(Kind::kSequence, "decimal", 5), true},
      {"sequence-from-40000", later, true},
      {"sequence-base36-3-checked",
       Make(Kind::kSequence, "base36", 3, "", keymill::CheckSymbol::kAppended), true},
      {"sequence-base62", Make(Kind::kSequence, "base62", 0)},
      {"sequence-decimal", Make(Kind::kSequence, "decimal", 0)},
      {"sequence-prefixed", Make(Kind::kSequence, "decimal", 8, "ord_")},
      {"shuffled-decimal-6", Make(Kind::kShuffled, "decimal", 6), true},
      {"shuffled-base62-7", Make(Kind::kShuffled, "base62", 7)},
      {"shuffled-base32-8-checked",
       Make(Kind::kShuffled, "base32", 8, "", keymill::CheckSymbol::kAppended)},
      {"shuffled-base64url-9", Make(Kind::kShuffled, "base64url", 9, "k-")},
      {"ticket-decimal-5-of-3", Ticket(Kind::kSequence, "decimal", 5, 3, 2), true},
      {"ticket-base36", Ticket(Kind::kSequence, "base36", 0, 7, 7)},
      {"ticket-shuffled", Ticket(Kind::kShuffled, "base62", 6, 2, 1)},
      {"snowflake-base62", Make(Kind::kSnowflake, "base62", 0)},
      {"snowflake-base36", Make(Kind::kSnowflake, "base36", 13)},
      {"snowflake-decimal", Make(Kind::kSnowflake, "decimal", 0)},
  };
}

class Neighbours {
 public:
  explicit Neighbours(std::uint64_t seed) : random_(seed) {}

  std::uint64_t Below(std::uint64_t end) {
    return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_);
  }

  // A number of the codec's: near its beginning, its end or a power of two, or any.
  std::uint64_t Number(const Codec& codec) {
    const std::uint64_t span = codec.end() - codec.begin();
    const std::uint64_t step = Below(std::min<std::uint64_t>(span, 50));
    switch (Below(4)) {
      case 0:
        return codec.begin() + step;
      case 1:
        return codec.end() - 1 - step;
      case 2: {
        const std::uint64_t power = std::uint64_t{1} << Below(63);
        return codec.begin() + (power + step) % span;
      }
      default:
        return codec.begin() + Below(span);
    }
  }

  // `key` as it is, or with one or two things about it changed.
  std::string Of(std::string key) {
    for (std::uint64_t changes = Below(3); changes > 0; --changes) Change(key);
    return key;
  }

 private:
  char Symbol() { return kAliasSymbols[Below(kAliasSymbols.size())]; }

  void Change(std::string& key) {
    if (key.empty()) key.push_back('0');
    const std::size_t at = Below(key.size());
    switch (Below(8)) {
      case 0:
        key[at] = Symbol();
        return;
      case 1:
        key.erase(at, 1);
        return;
      case 2:
        key.insert(at, 1, Symbol());
        return;
      case 3:
        key.push_back(Symbol());
        return;
      case 4:
        key.insert(0, 1, '0');
        return;
      case 5:
        std::swap(key[at], key[key.size() - 1 - at]);
        return;
      case 6:
        if ((key[at] | 0x20) >= 'a' && (key[at] | 0x20) <= 'z') {
          key[at] = static_cast<char>(key[at] ^ 0x20);
        }
        return;
      default:
        if (key.front() == '0') key.erase(0, 1);
        return;
    }
  }

  std::mt19937_64 random_;
};

std::string KeyOf(const Codec& codec, std::uint64_t number) {
  std::string key(codec.size_max(), '\0');
  key.resize(codec.Encode(number, 1, "", key.data()).bytes);
  return key;
}

// How many judgements were wrong; -1 when there were none to be made.
std::int64_t Try(keymill::mint::Engine& engine, keymill::Store& store, const Case& each,
                 std::uint64_t tries, std::uint64_t seed) {
  const auto created = engine.Create(each.name, each.recipe);
  const auto record = store.FindKeyspace(each.name, keymill::MonotonicTime::max());
  if (!created.ok() || !record.ok()) {
    std::printf("alias_boundary: %s: %s\n", each.name.c_str(), created.status().message().c_str());
    return -1;
  }
  const std::string& secret = record->secret;
  const auto codec = Codec::Make(
      each.recipe, {reinterpret_cast<const std::uint8_t*>(secret.data()), secret.size()});
  Recipe from_zero = each.recipe;
  from_zero.start = 0;
  const auto whole =
      Codec::Make(from_zero, {reinterpret_cast<const std::uint8_t*>(secret.data()), secret.size()});
  if (!codec.ok() || !whole.ok()) return -1;
  std::unordered_set<std::string> all;
  if (each.small) {
    for (std::uint64_t n = 0; n < whole->end(); ++n) all.insert(KeyOf(*whole, n));
  }
  const bool ticket = each.recipe.kind == keymill::Kind::kTicket;
  std::vector<Codec> siblings;
  for (std::uint32_t offset = 1; ticket && offset <= each.recipe.stride; ++offset) {
    keymill::Recipe sibling = each.recipe;
    sibling.offset = offset;
    auto made =
        Codec::Make(sibling, {reinterpret_cast<const std::uint8_t*>(secret.data()), secret.size()});
    if (!made.ok()) return -1;
    siblings.push_back(*std::move(made));
  }
  Neighbours neighbours(seed);
  std::uint64_t accepted = 0;
  std::uint64_t keys = 0;
  std::int64_t wrong = 0;
  for (std::uint64_t i = 0; i < tries; ++i) {
    const std::string key = KeyOf(*codec, neighbours.Number(*codec));
    const std::string alias = neighbours.Of(key);
    const bool is_key =
        alias == key || (each.small ? all.contains(alias) : whole->Decode(alias).ok());
    const auto claim = keymill::mint::JudgeAlias(*created->keyspace, alias);
    const bool taken = claim.verdict == keymill::mint::ClaimVerdict::kClaimed;
    keys += is_key ? 1 : 0;
    accepted += taken ? 1 : 0;
    const bool denied = claim.verdict == keymill::mint::ClaimVerdict::kLooksGenerated;
    const bool of_sibling =
        std::any_of(siblings.begin(), siblings.end(),
                    [&](const Codec& sibling) { return sibling.Decode(alias).ok(); });
    if ((taken && (is_key || of_sibling)) || (denied && !is_key && !ticket)) {
      if (++wrong <= 3) std::printf("  %s: \"%s\"\n", each.name.c_str(), alias.c_str());
    }
  }
  std::printf("alias_boundary: %s: %llu tries, %llu keys, %llu accepted, %lld wrong\n",
              each.name.c_str(), static_cast<unsigned long long>(tries),
              static_cast<unsigned long long>(keys), static_cast<unsigned long long>(accepted),
              static_cast<long long>(wrong));
  // One that refuses, or accepts, everything has shown nothing.
  return keys == 0 || accepted == 0 ? -1 : wrong;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t tries = 1'000'000;
  if (argc == 3 && std::string_view(argv[1]) == "--tries") {
    const std::string_view text = argv[2];
    std::from_chars(text.data(), text.data() + text.size(), tries);
  }
  auto memory = keymill::store::OpenMemoryStore();
  keymill::Store& store = *memory;
  keymill::mint::EngineOptions options;
  options.background = false;
  auto engine = keymill::mint::Engine::Open(std::move(options), std::move(memory), nullptr);
  if (!engine.ok()) return 1;
  const std::vector<Case> cases = Cases();
  bool good = true;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (Try(**engine, store, cases[i], tries / cases.size() + 1, i + 1) != 0) good = false;
  }
  return good ? 0 : 1;
}
