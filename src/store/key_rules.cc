// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/key_rules.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"
#include "store/rules.h"

namespace keymill {

namespace {
constexpr std::array<std::string_view, kKeyStates> kStateNames = {
    "available", "reserved", "used", "released", "alias", "derived", "note", "link"};
}  // namespace

std::string_view KeyStateName(KeyState state) {
  return kStateNames.at(static_cast<std::size_t>(state));
}

namespace store {
namespace {

constexpr std::size_t kIdentitySize = 64;

// What is kept beside the key itself: such a row stays what it is, and may go.
bool HasNote(KeyState state) { return state == KeyState::kNote || state == KeyState::kLink; }

bool IsKey(std::string_view key) {
  return !key.empty() && key.size() <= kStoredKeySizeMax &&
         std::all_of(key.begin(), key.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool IsIdentity(std::string_view identity) {
  return identity.size() == kIdentitySize &&
         identity.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Some databases have texts that no zero byte can be in.
bool IsText(std::string_view text, std::size_t size_max) {
  return text.size() <= size_max && text.find('\0') == std::string_view::npos && IsUtf8(text);
}

Status Refused(std::string_view what, std::string_view why) {
  return {Code::kInvalidArgument, fmt::format("{}: {}", what, why)};
}

Status CheckRowsMax(std::string_view what, std::size_t rows, std::size_t rows_max) {
  if (rows >= 1 && rows <= rows_max) return {};
  return Refused(what, fmt::format("{} rows; 1 to {} are possible", rows, rows_max));
}

Status CheckKeyRows(const std::vector<KeyRow>& rows) {
  for (const KeyRow& row : rows) {
    if (Status sound = CheckKeyRow(row); !sound.ok()) return sound;
  }
  return {};
}

}  // namespace

Result<KeyState> ParseKeyState(std::string_view name) {
  const auto* const found = std::find(kStateNames.begin(), kStateNames.end(), name);
  if (found == kStateNames.end()) {
    return Status(Code::kInternal, fmt::format("read key state: the store says \"{}\"", name));
  }
  return static_cast<KeyState>(found - kStateNames.begin());
}

Status CheckKeyRow(const KeyRow& row) {
  if (!IsKey(row.key)) {
    return Refused("remember a key", fmt::format("it has {} bytes, or one that is not printable "
                                                 "ASCII; 1 to {} are possible",
                                                 row.key.size(), kStoredKeySizeMax));
  }
  const std::string what = "remember the key " + row.key;
  if (!row.identity.empty() && !IsIdentity(row.identity)) {
    return Refused(what, "an identity is 64 hex digits in lower case");
  }
  if (!IsText(row.owner, kKeyOwnerSizeMax)) {
    return Refused(what, fmt::format("an owner is at most {} bytes of UTF-8", kKeyOwnerSizeMax));
  }
  if (!IsText(row.instance, kKeyInstanceSizeMax) || !IsText(row.token, kKeyTokenSizeMax)) {
    return Refused(what, fmt::format("an instance is at most {} bytes of UTF-8, a token {}",
                                     kKeyInstanceSizeMax, kKeyTokenSizeMax));
  }
  if (row.note.size() > kKeyNoteSizeMax || (!row.note.empty() && !HasNote(row.state))) {
    return Refused(
        what, fmt::format("only a note or a link has one, of at most {} bytes", kKeyNoteSizeMax));
  }
  if (row.since_ms < 0 || row.expires_at_ms < 0 || row.generation >= kNumberEnd) {
    return Refused(what, "a time is negative, or a generation too high");
  }
  return {};
}

Status CheckAdd(const std::vector<KeyRow>& rows) {
  if (Status few = CheckRowsMax("add keys", rows.size(), KeyTable::kKeysMax); !few.ok()) return few;
  return CheckKeyRows(rows);
}

Status CheckTake(const KeyTable::TakeRequest& request) {
  if (Status few = CheckRowsMax("take keys", request.count, KeyTable::kKeysMax); !few.ok()) {
    return few;
  }
  if (request.to != KeyState::kUsed && request.to != KeyState::kReserved) {
    return Refused("take keys", "they can become used or reserved");
  }
  if (request.token.empty()) return Refused("take keys", "say a token");
  return CheckKeyRow(TakenRow({.key = "k"}, request));
}

Status CheckChange(const KeyChange& change) {
  if (Status few = CheckRowsMax("change keys", change.rows_max, KeyTable::kKeysMax); !few.ok()) {
    return few;
  }
  if (change.match.keys.size() > KeyTable::kKeysMax) {
    return Refused("change keys", fmt::format("{} are named; at most {} are possible",
                                              change.match.keys.size(), KeyTable::kKeysMax));
  }
  const KeyState from = change.match.state;
  if (!change.to && !HasNote(from)) return Refused("remove keys", "only notes and links can go");
  if (change.to && *change.to != from && (HasNote(from) || HasNote(*change.to))) {
    return Refused("change keys", "a note stays a note, a link a link, and nothing becomes one");
  }
  if (change.at_ms < 0 || change.expires_at_ms.value_or(0) < 0 ||
      change.match.generation >= kNumberEnd) {
    return Refused("change keys", "a time is negative, or a generation too high");
  }
  return {};
}

Status CheckQuery(const KeyTable::Query& query) {
  return CheckRowsMax("list keys", query.rows_max, KeyTable::kKeysMax);
}

Status CheckFillRows(const std::vector<KeyRow>& rows) {
  if (rows.size() > Store::kFillRowsMax) {
    return Refused("fill the store", fmt::format("{} keys at once; at most {} are possible",
                                                 rows.size(), Store::kFillRowsMax));
  }
  return CheckKeyRows(rows);
}

Status CheckGuard(const KeyspaceRecord& record, const KeyGuard& guard) {
  if (!guard.recovering) return CheckReservable(record, guard.recipe_hash, guard.witness);
  if (record.state != KeyspaceState::kQuarantined) {
    return {Code::kFailedPrecondition,
            fmt::format("recover {}: it is not quarantined", record.name)};
  }
  if (record.recipe_hash == guard.recipe_hash) return {};
  return {Code::kFailedPrecondition,
          fmt::format("keyspace {}: the recipe in the store is another one", record.name)};
}

AddPlan DecideAdd(const std::vector<KeyRow>& rows, const std::vector<KeyRow>& there) {
  std::unordered_map<std::string_view, const KeyRow*> by_key;
  std::unordered_map<std::string_view, const KeyRow*> by_identity;
  const auto remember = [&](const KeyRow& row) {
    by_key.emplace(row.key, &row);
    if (!row.identity.empty()) by_identity.emplace(row.identity, &row);
  };
  for (const KeyRow& row : there) remember(row);
  AddPlan plan;
  plan.present.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const KeyRow& row = rows[i];
    const auto twin = row.identity.empty() ? by_identity.end() : by_identity.find(row.identity);
    const auto same = by_key.find(row.key);
    if (twin != by_identity.end()) {
      plan.present[i] = *twin->second;
    } else if (same != by_key.end()) {
      plan.present[i] = *same->second;
    } else {
      plan.added.push_back(i);
      remember(row);
    }
  }
  return plan;
}

Status NoKeyAvailable(std::string_view keyspace) {
  return {Code::kExhausted,
          fmt::format("keyspace {} is exhausted: no key is available in its pool", keyspace)};
}

KeyRow TakenRow(KeyRow row, const KeyTable::TakeRequest& request) {
  row.state = request.to;
  row.since_ms = request.at_ms;
  row.instance = request.instance;
  row.token = request.token;
  row.expires_at_ms = request.expires_at_ms;
  return row;
}

bool Matches(const KeyRow& row, const KeyMatch& match) {
  return row.state == match.state && (match.token.empty() || row.token == match.token) &&
         (!match.generation || row.generation == *match.generation) &&
         (match.since_until_ms == 0 || row.since_ms <= match.since_until_ms) &&
         (match.expires_until_ms == 0 ||
          (row.expires_at_ms != 0 && row.expires_at_ms <= match.expires_until_ms));
}

KeyRow ChangedRow(KeyRow row, const KeyChange& change) {
  if (!change.to) return row;
  row.state = *change.to;
  row.since_ms = change.at_ms;
  row.expires_at_ms = change.expires_at_ms.value_or(row.expires_at_ms);
  row.generation += change.generations;
  if (row.state == KeyState::kAvailable) {
    row.instance.clear();
    row.token.clear();
    row.owner.clear();
  }
  return row;
}

bool IsAsked(const KeyRow& row, const KeyTable::Query& query) {
  return (!query.state || row.state == *query.state) && row.since_ms >= query.since_ms &&
         (query.until_ms == 0 || row.since_ms < query.until_ms) &&
         (query.instance.empty() || row.instance == query.instance);
}

}  // namespace store
}  // namespace keymill
