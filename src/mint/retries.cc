// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/retries.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "keys/content_digest.h"
#include "mint/keyspace.h"

namespace keymill::mint {
namespace {

Status CheckRetry(const Keyspace& keyspace, std::string_view name, std::uint64_t count) {
  if (keyspace.recipe().recycle) {
    // What was noted may be out again by then, to somebody else.
    return {
        Code::kInvalidArgument,
        fmt::format("Idempotency-Key: keyspace {} recycles its keys, and a retry could name one "
                    "that somebody else has by now. Ask without it: keys of an answer that was "
                    "lost come back when they expire",
                    keyspace.name())};
  }
  const bool printable =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (name.empty() || name.size() > kRetryNameSizeMax || !printable) {
    return {Code::kInvalidArgument,
            fmt::format("Idempotency-Key: 1 to {} printable ASCII characters", kRetryNameSizeMax)};
  }
  if (count > kRetryKeysMax) {
    return {
        Code::kInvalidArgument,
        fmt::format("Idempotency-Key: at most {} keys can be asked for with it", kRetryKeysMax)};
  }
  return {};
}

constexpr std::string_view kRowPrefix = "#retry/";

// The name of the row. Names are hashed because they may be longer than a row's.
std::string RowName(std::string_view name) {
  return fmt::format("{}{:02x}", kRowPrefix, fmt::join(keys::IdentifyContent(name, "retry"), ""));
}

// The keys of an answer, which begins with a line that says how many were asked for.
Result<std::string> KeysOf(const KeyRow& row, std::uint64_t count) {
  const std::string head = fmt::format("{}\n", count);
  if (row.note.starts_with(head)) return row.note.substr(head.size());
  return Status(Code::kAlreadyExists,
                fmt::format("Idempotency-Key: it was used for a request for {} keys, not {}; use "
                            "another one for another request",
                            row.note.substr(0, row.note.find('\n')), count));
}

bool IsOver(const KeyRow& row, std::int64_t now_ms) { return row.expires_at_ms <= now_ms; }

}  // namespace

Result<std::string> MintOnce(KeyRegister& keys, const Keyspace& keyspace, std::string_view name,
                             std::uint64_t count,
                             const std::function<Result<std::string>()>& mint) {
  if (Status valid = CheckRetry(keyspace, name, count); !valid.ok()) return valid;
  const std::string row_name = RowName(name);
  const Result<std::optional<KeyRow>> known = keys.Find(keyspace, row_name);
  if (!known.ok()) return known.status();
  if (*known && !IsOver(**known, keys.SurelyPastMs())) return KeysOf(**known, count);
  Result<std::string> fresh = mint();
  if (!fresh.ok()) return fresh;
  const std::int64_t now_ms = keys.NowMs();
  const KeyRow row{
      .key = row_name,
      .state = KeyState::kNote,
      .since_ms = now_ms,
      .instance = keys.instance(),
      .expires_at_ms = now_ms + std::chrono::milliseconds(kRetriesFor + kRetriesMargin).count(),
      .note = fmt::format("{}\n{}", count, *fresh)};
  if (*known) {
    // The old answer makes room, unless somebody was faster.
    const Result<std::vector<KeyRow>> gone =
        keys.Change(keyspace, {.match = {.keys = {row_name},
                                         .state = KeyState::kNote,
                                         .expires_until_ms = keys.SurelyPastMs()}});
    if (!gone.ok()) return gone.status();
  }
  const Result<std::vector<std::optional<KeyRow>>> present = keys.Add(keyspace, {row});
  if (!present.ok()) return present.status();
  // Another call of the same name may have come first. Ours, too, if its answer was lost: then it
  // is the same.
  if (present->front()) return KeysOf(*present->front(), count);
  return fresh;
}

bool IsRetryOver(const KeyRow& row, std::int64_t now_ms) {
  return row.state == KeyState::kNote && row.key.starts_with(kRowPrefix) && IsOver(row, now_ms);
}

Result<std::size_t> ForgetRetries(KeyRegister& keys, const Keyspace& keyspace,
                                  std::uint32_t rows_max) {
  const Result<std::vector<KeyRow>> gone = keys.Change(
      keyspace, {.match = {.state = KeyState::kNote, .expires_until_ms = keys.SurelyPastMs()},
                 .rows_max = rows_max});
  if (!gone.ok()) return gone.status();
  return gone->size();
}

}  // namespace keymill::mint
