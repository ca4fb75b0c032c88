// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/derived_keyspace.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "keys/canonical_url.h"

namespace keymill::mint {
namespace {

// Candidates that are offered to the store in one call: few at first, as the first is nearly always
// free, then more. One that is full is found so after kCandidatesMax.
constexpr std::size_t kFirstOffer = 2;
constexpr std::size_t kOfferMax = 1024;
constexpr std::size_t kCandidatesMax = 16'384;
// Of a small keyspace every key is among so many times its size, but for odds of e^-16.
constexpr std::uint64_t kCandidatesPerKey = 16;

// By how much the clocks of those who write rows may differ from this one, and of how many younger
// rows it is remembered that the witness has seen them.
constexpr std::int64_t kClocksDifferMs = 600'000;
constexpr std::size_t kRecentMax = 4'096;

// The name of the row that counts how often a content was asked for. No key has a '#' in it.
std::string CounterName(const std::string& identity) { return "#times/" + identity; }

std::string Hex(const keys::ContentId& id) { return fmt::format("{:02x}", fmt::join(id, "")); }

}  // namespace

DerivedKeyspace::DerivedKeyspace(KeyspaceRecord record, Recipe recipe, keys::KeyShape shape,
                                 std::uint32_t waiters_max, LowSignal low_signal)
    : Keyspace(std::move(record), std::move(recipe), shape.size(), /*fixed_key_size=*/true,
               waiters_max, std::move(low_signal)),
      shape_(std::move(shape)) {
  Decline({Code::kInvalidArgument,
           fmt::format("keyspace {0} makes keys from content: use keymill derive {0} CONTENT, or "
                       "POST /v1/keyspaces/{0}/derive with {{\"content\":\"…\"}}",
                       name())});
}

keys::Written DerivedKeyspace::TakeKeys(std::uint32_t /*count*/, std::string_view /*after*/,
                                        char* /*out*/) {
  return {};
}

Result<DerivedKeyspace::Derived> DerivedKeyspace::Derive(KeyRegister& keys,
                                                         std::string_view content,
                                                         std::string_view salt) {
  if (content.size() > kContentSizeMax || salt.size() > kSaltSizeMax) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("derive: a content of {} bytes and a salt of {}; at most {} and {} are "
                    "possible",
                    content.size(), salt.size(), kContentSizeMax, kSaltSizeMax));
  }
  std::string canonical;
  if (recipe().canonical_url) {
    Result<std::string> url = keys::CanonicalUrl(content);
    if (!url.ok()) return url.status();
    canonical = *std::move(url);
    content = canonical;
  }
  std::string nth_content;
  std::string nth;
  if (recipe().distinct) {
    // A content of its own for each time: what it was, and which time it is. The store may forget
    // how many there were, and which keys they got: U1 then rests on the random part, which makes a
    // key come again by chance only.
    nth_content = Hex(keys::IdentifyContent(content, salt));
    const Result<std::uint64_t> times = CountUp(keys, nth_content);
    if (!times.ok()) return times.status();
    nth = fmt::format("{}/{}", *times, RandomHex(16));
    content = nth_content;
    salt = nth;
  }
  keys::ContentCandidates candidates(shape_.alphabet(), shape_.length(), recipe().hash, content,
                                     salt);
  const std::string identity = Hex(candidates.identity());
  if (!recipe().distinct) {
    Result<std::optional<KeyRow>> known = keys.FindIdentity(*this, identity);
    if (!known.ok()) return known.status();
    if (*known && !IsWitnessed(**known)) {
      const std::int64_t looked_ms = keys.NowMs();
      if (Status seen = keys.AttestPresent(*this); !seen.ok()) return seen;
      // Once more: what is there now the witness has seen. A copy that was put back in between may
      // not have it.
      known = keys.FindIdentity(*this, identity);
      if (!known.ok()) return known.status();
      Witnessed(looked_ms);
      if (*known) Remember((*known)->key);
    }
    if (*known) return Derived{(*known)->key, true};
  }
  return Settle(keys, candidates, identity);
}

// Whoever made the row may have died before its witness knew of it, and what leaves here must be
// known to ours: otherwise an older copy goes unnoticed, and gives the key to another content.
// Every audit witnesses all that is older than it, so that only of rows that are young, by clocks
// which need not agree, the revision is read, once for each: known contents cost one look-up, as
// before.
bool DerivedKeyspace::IsWitnessed(const KeyRow& row) {
  if (row.since_ms + kClocksDifferMs < witnessed_ms_) return true;
  const MutexLock lock(recent_mu_);
  return recent_.contains(row.key);
}

void DerivedKeyspace::Remember(const std::string& key) {
  const MutexLock lock(recent_mu_);
  if (recent_.size() >= kRecentMax) recent_.clear();
  recent_.insert(key);
}

Result<DerivedKeyspace::Derived> DerivedKeyspace::Settle(KeyRegister& keys,
                                                         keys::ContentCandidates& candidates,
                                                         const std::string& identity) {
  const auto tries = static_cast<std::size_t>(std::min<std::uint64_t>(
      kCandidatesMax,
      std::min(shape_.capacity(), std::uint64_t{kCandidatesMax}) * kCandidatesPerKey));
  const std::string token = RandomHex(16);  // Tells what a repeated call has added from the rest.
  std::size_t tried = 0;
  for (std::size_t offer = kFirstOffer; tried < tries; offer = std::min(offer * 8, kOfferMax)) {
    // All of them are of one identity, so that the store adds the first that is free and says of
    // those behind it that the content has one.
    std::vector<KeyRow> rows;
    rows.reserve(offer);
    for (; rows.size() < offer && tried < tries; ++tried) {
      std::optional<std::string> key = shape_.Dress(candidates.Next());
      if (!key) continue;
      rows.push_back({.key = *std::move(key),
                      .state = KeyState::kDerived,
                      .since_ms = keys.NowMs(),
                      .instance = keys.instance(),
                      .token = token,
                      .identity = identity});
    }
    if (rows.empty()) break;  // The blocklist leaves none.
    const Result<std::vector<std::optional<KeyRow>>> present = keys.Add(*this, rows);
    if (!present.ok()) return present.status();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::optional<KeyRow>& found = (*present)[i];
      if (!found) {
        made_.fetch_add(1, std::memory_order_relaxed);
        Remember(rows[i].key);
        return Derived{rows[i].key, false};
      }
      if (found->identity == identity) return Derived{found->key, found->token != token};
    }
  }
  return Status(
      Code::kExhausted,
      fmt::format("derive {}: {} keys that this content could have are taken; the keyspace "
                  "is full or nearly so",
                  name(), tried));
}

Result<std::uint64_t> DerivedKeyspace::CountUp(KeyRegister& keys, const std::string& identity) {
  const std::string counter = CounterName(identity);
  const KeyChange next{.match = {.keys = {counter}, .state = KeyState::kNote},
                       .to = KeyState::kNote,
                       .at_ms = keys.NowMs(),
                       .generations = 1};
  for (int look = 0; look < 2; ++look) {
    // Repeated, should the outcome be unknown, it skips a number, and does no harm.
    const Result<std::vector<KeyRow>> counted = keys.Change(*this, next);
    if (!counted.ok()) return counted.status();
    if (!counted->empty()) return counted->front().generation;
    const KeyRow fresh{.key = counter, .state = KeyState::kNote, .since_ms = keys.NowMs()};
    if (const auto added = keys.Add(*this, {fresh}); !added.ok()) return added.status();
  }
  return Status(Code::kInternal,
                fmt::format("derive {}: the store does not keep the note {}", name(), counter));
}

Result<Explanation> DerivedKeyspace::Explain(std::string_view key, WitnessedStore& /*store*/) {
  if (Status shaped = shape_.Check(key); !shaped.ok()) return NotIssued(name(), shaped.message());
  return NotIssued(name(), "no content has it");
}

void DerivedKeyspace::Tell(Stats& stats) {
  stats.issued = made_.load(std::memory_order_relaxed);
  stats.keys = stats.issued;
}

DerivedKeyspace::Refilled DerivedKeyspace::Refill(const Supply& /*supply*/) { return {}; }

DerivedKeyspace::Closed DerivedKeyspace::Close(Closing& /*closing*/) {
  Stop({Code::kUnavailable, fmt::format("mint {}: shutting down", name())});
  return {};
}

}  // namespace keymill::mint
