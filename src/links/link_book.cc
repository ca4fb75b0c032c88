// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "links/link_book.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "base/hex.h"
#include "base/log.h"
#include "base/random.h"
#include "mint/keyspace.h"
#include "mint/kinds.h"

namespace keymill::links {
namespace {

// How often another key is tried when one turns out to be somebody's.
constexpr int kMintAttempts = 3;
// Pages of ended links, or of other keys, that are passed over in one call.
constexpr int kPagesPerList = 8;
// Rows that are forgotten in one transaction.
constexpr std::uint32_t kForgetRows = 1'000;
// Clocks of instances may differ by this much without a link being forgotten before its end.
constexpr std::chrono::hours kForgetAfter{24};

// What links with the same target and the same end have in common. Nothing that a content is called
// by looks like it (keys/content_digest.h): those begin with a size.
std::string IdentityOf(const Target& target, std::int64_t expires_at_ms) {
  return Sha256Hex(fmt::format("link\n{}\n{}", expires_at_ms, target.canonical));
}

MonotonicTime EndOf(const Link& link, std::int64_t now_ms, MonotonicTime now) {
  // Beyond what any cache keeps, an end is as good as none.
  constexpr std::int64_t kFarMs = 86'400'000;
  if (link.expires_at_ms == 0 || link.expires_at_ms - now_ms > kFarMs) return MonotonicTime::max();
  return now + std::chrono::milliseconds(link.expires_at_ms - now_ms);
}

// Whether the key can be that of a link at all: others are not asked for, so that whoever tries
// words keeps no database busy.
bool MayBeLink(const mint::Keyspace& keyspace, std::string_view key) {
  return keyspace.CouldIssue(key) ||
         mint::JudgeAlias(keyspace, key).verdict == mint::ClaimVerdict::kClaimed;
}

}  // namespace

LinkBook::LinkBook(LinkOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      cache_(options_.cache),
      public_url_(options_.public_url) {}

LinkBook::~LinkBook() { Stop(); }

void LinkBook::SetEngine(mint::Engine* engine) {
  engine_.store(engine, std::memory_order_release);
  const MutexLock lock(mu_);
  if (engine == nullptr || stop_ || !options_.background || thread_.joinable()) return;
  thread_ = std::thread([this] { Run(); });
}

void LinkBook::SetPublicUrl(std::string url) {
  const MutexLock lock(mu_);
  if (options_.public_url.empty()) public_url_ = std::move(url);
}

std::string LinkBook::PublicUrl(std::string_view key) const {
  const MutexLock lock(mu_);
  if (public_url_.empty()) return {};
  return fmt::format("{}{}{}", public_url_, public_url_.ends_with('/') ? "" : "/", key);
}

void LinkBook::Stop() {
  {
    const MutexLock lock(mu_);
    if (stop_) return;
    stop_ = true;
    bell_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  CountHits();
  engine_.store(nullptr, std::memory_order_release);
}

void LinkBook::Run() {
  MonotonicTime forget_at = clock_.Monotonic() + options_.forget_interval;
  while (true) {
    {
      const MutexLock lock(mu_);
      const MonotonicTime count_at = clock_.Monotonic() + options_.count_interval;
      while (!stop_ && bell_.WaitUntil(mu_, count_at)) {
      }
      if (stop_) return;
    }
    CountHits();
    if (clock_.Monotonic() < forget_at) continue;
    ForgetEnded();
    forget_at = clock_.Monotonic() + options_.forget_interval;
  }
}

Result<LinkBook::Place> LinkBook::Open() {
  mint::Engine* const mill = engine_.load(std::memory_order_acquire);
  if (mill == nullptr) return Status(Code::kUnavailable, "the store has not been reached yet");
  Result<mint::Keyspace*> keyspace = mill->Lookup(options_.keyspace);
  if (keyspace.code() == Code::kNotFound) {
    return Status(Code::kNotFound,
                  fmt::format("keyspace {}, where links get their keys, does not exist; create it, "
                              "or name another with links_keyspace",
                              options_.keyspace));
  }
  if (!keyspace.ok()) return keyspace.status();
  const Kind kind = (*keyspace)->recipe().kind;
  if (mint::IsStoredByKey(kind)) {
    return Status(Code::kInvalidArgument,
                  fmt::format("links cannot get their keys from keyspace {}: it is of kind {}, "
                              "whose keys the store keeps already; name another with "
                              "links_keyspace",
                              options_.keyspace, KindName(kind)));
  }
  return Place{*mill, **keyspace};
}

Result<Creation> LinkBook::Create(const NewLink& wanted, MonotonicTime deadline) {
  Result<Target> target = CheckTarget(wanted.url);
  if (!target.ok()) return target.status();
  const std::int64_t now_ms = clock_.WallMs();
  if (wanted.expires_at_ms != 0 && wanted.expires_at_ms <= now_ms) {
    return Status(Code::kInvalidArgument, "expires_at: that moment has passed");
  }
  if (!wanted.alias.empty() && wanted.dedupe) {
    return Status(Code::kInvalidArgument,
                  "dedupe: the link that is there already has another key than the alias; send one "
                  "of them");
  }
  Result<Place> place = Open();
  if (!place.ok()) return place.status();
  Link link{.key = wanted.alias,
            .url = std::move(target->url),
            .alias = !wanted.alias.empty(),
            .created_at_ms = now_ms,
            .expires_at_ms = wanted.expires_at_ms};
  Result<Creation> made =
      link.alias
          ? CreateAlias(*place, wanted, std::move(link))
          : CreateMinted(*place, std::move(link),
                         wanted.dedupe ? IdentityOf(*target, wanted.expires_at_ms) : "", deadline);
  if (!made.ok()) return made;
  cache_.Drop(made->link.key);  // Somebody may have asked for it before.
  if (!made->existing) made_.fetch_add(1, std::memory_order_relaxed);
  return made;
}

Result<Creation> LinkBook::CreateAlias(Place place, const NewLink& wanted, Link link) {
  mint::Claim judged = mint::JudgeAlias(place.keyspace, wanted.alias);
  if (judged.verdict != mint::ClaimVerdict::kClaimed) return Creation{.claim = std::move(judged)};
  mint::KeyRegister& keys = place.mill.keys();
  // The token tells this link, added again for want of an answer, from anybody else's.
  const KeyRow row = RowOf(link, keys.instance(), RandomHex(16));
  const Result<std::vector<std::optional<KeyRow>>> present = keys.Add(place.keyspace, {row});
  if (!present.ok()) return present.status();
  const std::optional<KeyRow>& found = present->front();
  if (!found || found->token == row.token) return Creation{.link = std::move(link)};
  if (found->state == KeyState::kLink) {
    Result<Link> other = LinkOf(*found);
    if (!other.ok()) return other.status();
    const bool same = other->url == link.url && other->expires_at_ms == link.expires_at_ms;
    if (same) return Creation{.link = *std::move(other), .existing = true};
  }
  return Creation{.claim = {mint::ClaimVerdict::kTaken,
                            fmt::format("\"{}\" is taken; choose another alias", wanted.alias)}};
}

Result<Creation> LinkBook::CreateMinted(Place place, Link link, const std::string& identity,
                                        MonotonicTime deadline) {
  mint::KeyRegister& keys = place.mill.keys();
  if (!identity.empty()) {
    const Result<std::optional<KeyRow>> known = keys.FindIdentity(place.keyspace, identity);
    if (!known.ok()) return known.status();
    if (*known) {
      Result<Link> there = LinkOf(**known);
      if (!there.ok()) return there.status();
      return Creation{.link = *std::move(there), .existing = true};
    }
  }
  // A key is not taken out for a link that no store would keep.
  if (Status possible = keys.CheckPossible(); !possible.ok()) return possible;
  for (int attempt = 0; attempt < kMintAttempts; ++attempt) {
    link.key.clear();
    Status minted = place.mill.Mint(place.keyspace, 1, deadline,
                                    [&](std::string_view line) { link.key = line; });
    if (!minted.ok()) return minted;
    link.key.pop_back();  // The end of its line.
    KeyRow row = RowOf(link, keys.instance(), std::string(kMintedToken));
    row.identity = identity;
    const Result<std::vector<std::optional<KeyRow>>> present = keys.Add(place.keyspace, {row});
    if (!present.ok()) return present.status();
    const std::optional<KeyRow>& found = present->front();
    // Added again for want of an answer, it is ours: nobody else has this key.
    if (!found || *found == row) return Creation{.link = std::move(link)};
    if (found->key == row.key) continue;  // Somebody's since before the keyspace could mint it.
    Result<Link> there = LinkOf(*found);  // Somebody was faster.
    if (!there.ok()) return there.status();
    return Creation{.link = *std::move(there), .existing = true};
  }
  return Status(Code::kInternal, fmt::format("keyspace {} mints keys that are in the store already",
                                             options_.keyspace));
}

Result<std::optional<KeyRow>> LinkBook::FindRow(Place place, std::string_view key) {
  if (!MayBeLink(place.keyspace, key)) return std::optional<KeyRow>();
  mint::KeyRegister& keys = place.mill.keys();
  Result<std::optional<KeyRow>> row = keys.Find(place.keyspace, key);
  if (!row.ok() || !*row) return row;
  const bool ended = (*row)->expires_at_ms != 0 && (*row)->expires_at_ms <= keys.NowMs();
  if ((*row)->state != KeyState::kLink || ended) return std::optional<KeyRow>();
  return row;
}

Result<std::optional<Link>> LinkBook::Find(std::string_view key) {
  Result<Place> place = Open();
  if (!place.ok()) return place.status();
  const Result<std::optional<KeyRow>> row = FindRow(*place, key);
  if (!row.ok()) return row.status();
  if (!*row) return std::optional<Link>();
  Result<Link> link = LinkOf(**row);
  if (!link.ok()) return link.status();
  return std::optional<Link>(*std::move(link));
}

Result<LinkPage> LinkBook::List(std::string_view cursor, std::uint32_t rows_max) {
  Result<Place> place = Open();
  if (!place.ok()) return place.status();
  LinkPage page{.links = {}, .cursor = std::string(cursor)};
  for (int pages = 0; pages < kPagesPerList && page.links.empty(); ++pages) {
    Result<KeyTable::Page> rows = place->mill.keys().List(
        place->keyspace,
        {.state = KeyState::kLink, .cursor = std::move(page.cursor), .rows_max = rows_max});
    if (!rows.ok()) return rows.status();
    for (const KeyRow& row : rows->rows) {
      Result<Link> link = LinkOf(row);
      if (!link.ok()) return link.status();
      if (!HasEnded(*link, clock_.WallMs())) page.links.push_back(*std::move(link));
    }
    page.cursor = std::move(rows->cursor);
    if (page.cursor.empty()) break;
  }
  return page;
}

Result<bool> LinkBook::Delete(std::string_view key) {
  Result<Place> place = Open();
  if (!place.ok()) return place.status();
  const Result<std::optional<KeyRow>> row = FindRow(*place, key);
  if (!row.ok()) return row.status();
  if (!*row) return false;
  KeyChange change{
      .match = {.keys = {(*row)->key}, .state = KeyState::kLink, .token = (*row)->token}};
  if ((*row)->token != kMintedToken) {
    change.to = KeyState::kLink;
    change.at_ms = (*row)->since_ms;
    change.expires_at_ms = 1;  // Over by every clock, also one that is behind this one.
  }
  // Should it be gone by now, somebody has deleted it: we, if an answer was lost.
  const Result<std::vector<KeyRow>> gone = place->mill.keys().Change(place->keyspace, change);
  if (!gone.ok()) return gone.status();
  cache_.Drop(key);
  return true;
}

Result<std::string> LinkBook::Load(std::string_view key, std::uint64_t hits) {
  loaded_.fetch_add(1, std::memory_order_relaxed);
  const Result<std::optional<Link>> link = Find(key);
  const MonotonicTime now = clock_.Monotonic();
  if (!link.ok()) {
    std::string url;
    const bool known =
        cache_.LookStale(key, now, hits, [&](std::string_view old) { url = std::string(old); });
    if (known) return url;
    return link.status();
  }
  if (!*link) {
    cache_.Put(key, "", now, MonotonicTime::max(), 0);
    return std::string();
  }
  cache_.Put(key, (*link)->url, now, EndOf(**link, clock_.WallMs(), now), hits);
  return (*link)->url;
}

// Sums go into the store by their binary digits: all links whose sum has a certain one, in one
// transaction. So thousands of links with as many different sums take a dozen.
void LinkBook::CountHits() {
  Hits hits = cache_.TakeHits();
  if (hits.empty()) return;
  Result<Place> place = Open();
  if (!place.ok()) return cache_.ReturnHits(std::move(hits));
  Hits kept;
  bool away = false;  // Then nothing more is tried: a stop must not wait for each digit.
  constexpr std::uint64_t kHitsMax = std::uint64_t{1} << 31;
  for (std::uint64_t digit = 1; digit <= kHitsMax; digit <<= 1) {
    KeyChange change{.match = {.state = KeyState::kLink},
                     .to = KeyState::kLink,
                     .at_ms = clock_.WallMs(),
                     .expires_at_ms = std::nullopt,
                     .generations = static_cast<std::uint32_t>(digit),
                     .rows_max = KeyTable::kKeysMax};
    auto at = hits.begin();
    while (at != hits.end()) {
      change.match.keys.clear();
      for (; at != hits.end() && change.match.keys.size() < KeyTable::kKeysMax; ++at) {
        if ((at->second & digit) != 0) change.match.keys.push_back(at->first);
      }
      if (change.match.keys.empty()) break;
      if (away) {
        for (const std::string& key : change.match.keys) kept[key] += digit;
        continue;
      }
      const Result<std::vector<KeyRow>> counted =
          place->mill.keys().Change(place->keyspace, change, /*repeats=*/false);
      if (counted.ok()) continue;
      // What may have been counted is not counted again.
      if (counted.code() == Code::kUnknownOutcome) {
        hits_lost_.fetch_add(digit * change.match.keys.size(), std::memory_order_relaxed);
      } else {
        for (const std::string& key : change.match.keys) kept[key] += digit;
      }
      away = true;
    }
  }
  cache_.ReturnHits(std::move(kept));
}

void LinkBook::ForgetEnded() {
  Result<Place> place = Open();
  if (!place.ok()) return;
  mint::KeyRegister& keys = place->mill.keys();
  const std::int64_t until_ms =
      keys.SurelyPastMs() - std::chrono::milliseconds(kForgetAfter).count();
  const Result<std::vector<KeyRow>> gone = keys.Change(
      place->keyspace, {.match = {.state = KeyState::kLink,
                                  .token = std::string(kMintedToken),
                                  .expires_until_ms = std::max<std::int64_t>(1, until_ms)},
                        .rows_max = kForgetRows});
  if (gone.ok() && !gone->empty()) {
    Log(LogLevel::kDebug, "links", "{} links that ended a day ago were forgotten", gone->size());
  }
}

}  // namespace keymill::links
