// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a keyspace is: a named stream of keys with one recipe.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

namespace keymill {

// Numbers behind keys lie in [0, kNumberEnd). They fit a signed 64-bit column in every store.
inline constexpr std::uint64_t kNumberEnd = (std::uint64_t{1} << 63) - 1;

// How a keyspace turns a counter into text. The order is a promise: do not change
// existing entries.
enum class Kind : std::uint8_t {
  kSequence = 0,   // The counter itself, as digits of the alphabet.
  kShuffled = 1,   // The counter through a keyed permutation, then digits.
  kTicket = 2,     // One of the above, but only every stride-th number.
  kSnowflake = 3,  // Time, worker and sequence in one number, as digits of the alphabet.
  kUuid4 = 4,      // RFC 9562, random.
  kUuid7 = 5,      // RFC 9562, by time, then random.
  kUlid = 6,       // Time and random bits in Crockford's base32.
  kPool = 7,       // Random digits, made ahead and kept in the store until somebody gets them.
  kDerived = 8,    // Digits of a digest of content that the caller brings.
};
inline constexpr std::size_t kKinds = 9;

// When a key of a pool is marked as used.
enum class Audit : std::uint8_t {
  kBatch = 0,  // As it is loaded into memory, with many others: fast, but a crash burns them.
  kKey = 1,    // Just before it is handed out: slower, and the record tells exactly who got it.
};

// Which digest the first digits of a derived key are taken from.
enum class DigestName : std::uint8_t {
  kSha256 = 0,  // The identity of the content itself.
  kMd5 = 1,     // MD5 over the same bytes, for those who want it. Identity stays SHA-256.
};

enum class CheckSymbol : std::uint8_t {
  kNone = 0,
  kAppended = 1,  // One symbol after the body: catches every single error and most swaps.
};

// The bits of an id: those of a signed 64-bit number without its sign.
inline constexpr std::uint32_t kSnowflakeBitsMax = 63;

// 2025-01-01T00:00:00Z
inline constexpr std::int64_t kSnowflakeEpochMs = 1'735'689'600'000;

// Which bits of a snowflake id hold what: 0 | time, in units since the epoch | worker | sequence
struct SnowflakeLayout {
  // How long ids last: 2^time_bits units after the epoch there are no more. 41 bits of
  // milliseconds are 69 years. Range: [1, 48].
  std::uint32_t time_bits = 41;

  // How many workers can make ids at a time. Range: [1, 31].
  std::uint32_t worker_bits = 10;

  // How many ids a worker can make in one unit of time. Range: [1, 31].
  std::uint32_t sequence_bits = 12;

  // The moment that has the time 0, in milliseconds since 1970. Later is better: what lies before
  // it is wasted. Range: 1970 to 2100.
  std::int64_t epoch_ms = kSnowflakeEpochMs;

  // Milliseconds in a unit of time. A larger one lasts longer, and orders ids less finely.
  // Range: [1, 1000].
  std::uint32_t unit_ms = 1;

  friend bool operator==(const SnowflakeLayout&, const SnowflakeLayout&) = default;
};

// How a keyspace makes keys. Fixed for ever when the keyspace is created: a keyspace
// whose recipe could change could not promise that its keys differ.
struct Recipe {
  Kind kind = Kind::kShuffled;

  // base62, base64url, base58, base36, base32 (Crockford), hex, decimal, or the symbols
  // themselves (2 to 94 different printable ASCII characters).
  std::string alphabet = "base62";

  // Symbols in the body of a key; counts neither prefix nor check symbol. 0: as many as
  // the number needs, without leading zeros (sequence only). Range: [0, 32].
  std::uint32_t length = 0;

  // Text in front of every key: [A-Za-z0-9_.-]{0,16}.
  std::string prefix;

  CheckSymbol check = CheckSymbol::kNone;

  // The first number, of a ticket the first index. Range: [0, capacity of the format).
  std::uint64_t start = 0;

  // Words that no key may spell, in any case. Numbers whose key would are skipped.
  // Up to 1000 words of 3 to 16 symbols.
  std::vector<std::string> blocklist;

  // Of a shuffled keyspace that takes over from another service: which list of codes that were in
  // use before it skips. `keymill import` makes the list and this name of it; "" for none.
  std::string taken = {};

  // ---- Of a ticket: number = index * stride + offset, and the store counts indices. Authorities
  // that never talk to each other have one stride and different offsets, and never meet. ----
  Kind counter = Kind::kSequence;  // Or kShuffled.
  std::uint32_t stride = 1;        // Range: [1, 1'000'000].
  std::uint32_t offset = 1;        // Range: [1, stride].

  // ---- Of a snowflake. ----
  SnowflakeLayout layout = {};
  // Worker ids that each instance takes, as long as enough are free. Range: [1, 64].
  std::uint32_t workers = 1;

  // ---- Of a pool. ----
  Audit audit = Audit::kBatch;
  // How long a key is used, in seconds; 0: for ever. Range: [0, 100 years].
  std::uint64_t expires_s = 0;
  // Whether keys that expired or were released become available again, and how many seconds
  // they rest before that. Range: [60, 100 years].
  bool recycle = false;
  std::uint64_t quarantine_s = 86'400;

  // ---- Of a derived keyspace. ----
  DigestName hash = DigestName::kSha256;
  bool canonical_url = false;  // Content is a URL, and all spellings of it are one.
  bool distinct = false;       // The same content gets another key each time.

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

// The recipe that a kind has when nothing else is said: shuffled keys are 7 symbols
// long and start at number 0; a sequence grows and starts at 1; snowflakes are decimal; keys of a
// pool and derived ones are 7 symbols long.
Recipe DefaultRecipe(Kind kind);

// "sequence", "shuffled", … ParseKind gives kInvalidArgument, naming the kinds that exist.
std::string_view KindName(Kind kind);
Result<Kind> ParseKind(std::string_view name);

inline constexpr std::size_t kKeyspaceNameSizeMax = 64;

// [A-Za-z0-9][A-Za-z0-9_.-]{0,63}. Names compare as bytes.
Status CheckKeyspaceName(std::string_view name);

}  // namespace keymill
