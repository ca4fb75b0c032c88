// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/layout.h"

#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "store/key_rules.h"
#include "store/redis/inspect.h"
#include "store/rules.h"

namespace keymill::store::redis {
namespace {

constexpr std::size_t kRowFields = 6;

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// In the row of a key, 0 takes no room.
template <typename Number>
std::string Short(Number number) {
  return number == 0 ? std::string() : std::to_string(number);
}

template <typename Number>
std::optional<Number> ParseShort(std::string_view text) {
  return text.empty() ? Number{0} : ParseNumber<Number>(text);
}

constexpr std::size_t kKeyParts = 9;
constexpr std::size_t kKeyHeadParts = 5;

std::array<std::string, kKeyParts> KeyParts(const KeyRow& row, std::size_t note_size) {
  return {std::string(KeyStateName(row.state)),
          Short(row.since_ms),
          Short(row.expires_at_ms),
          row.instance,
          row.token,
          Short(row.generation),
          row.owner,
          row.identity,
          Short(note_size)};
}

}  // namespace

void AppendPart(std::string_view part, std::string& text) {
  fmt::format_to(std::back_inserter(text), "{}:{},", part.size(), part);
}

std::optional<std::string_view> TakePart(std::string_view& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const auto size = ParseNumber<std::uint32_t>(text.substr(0, colon));
  if (!size || text.size() - colon - 1 <= *size || text[colon + 1 + *size] != ',') return {};
  const std::string_view part = text.substr(colon + 1, *size);
  text.remove_prefix(colon + *size + 2);
  return part;
}

std::string StoreKey(std::string_view prefix) { return fmt::format("{{{}}}:store", prefix); }
std::string NamesKey(std::string_view prefix) { return fmt::format("{{{}}}:names", prefix); }

KeyspaceKeys KeysOf(std::string_view prefix, std::string_view keyspace_id) {
  const auto key = [&](std::string_view what) {
    return fmt::format("{{{}}}:{}:{}", prefix, what, keyspace_id);
  };
  return {key("keyspace"), key("ledger"), key("rows"), key("returned"), key("held"), key("lent")};
}

KeyTableKeys TableKeysOf(std::string_view prefix, std::string_view keyspace_id) {
  constexpr std::array<std::string_view, 7> kNames = {
      "keys", "notes", "identities", "counts", "available", "reserved", "released"};
  KeyTableKeys keys;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    keys[i] = fmt::format("{{{}}}:{}:{}", prefix, kNames[i], keyspace_id);
  }
  for (std::size_t i = 0; i < kKeyStates; ++i) {
    keys[kNames.size() + i] = fmt::format("{{{}}}:ends:{}:{}", prefix, keyspace_id,
                                          KeyStateName(static_cast<KeyState>(i)));
  }
  return keys;
}

std::string Padded(std::uint64_t number) { return fmt::format("{:020}", number); }

std::vector<std::string> RecordFields(const KeyspaceRecord& record, std::string_view change) {
  return {"name",
          record.name,
          "id",
          record.id,
          "recipe",
          record.recipe,
          "recipe_hash",
          record.recipe_hash,
          "secret",
          record.secret,
          "state",
          std::string(KeyspaceStateName(record.state)),
          "reason",
          record.reason,
          "first",
          std::to_string(record.first),
          "end",
          std::to_string(record.end),
          "next",
          std::to_string(record.next),
          "rev",
          std::to_string(record.rev),
          "created_at_ms",
          std::to_string(record.created_at_ms),
          "testified_rev",
          std::to_string(record.testified.rev),
          "testified_next",
          std::to_string(record.testified.next),
          "change",
          std::string(change)};
}

std::string FieldOf(const wire::RespValue& fields, std::string_view name) {
  for (std::size_t i = 0; i + 1 < fields.items.size(); i += 2) {
    if (fields.items[i].text == name) return fields.items[i + 1].text;
  }
  return {};
}

Result<StoredRecord> ReadRecord(const wire::RespValue& fields) {
  StoredRecord stored;
  KeyspaceRecord& record = stored.record;
  record.name = FieldOf(fields, "name");
  record.id = FieldOf(fields, "id");
  record.recipe = FieldOf(fields, "recipe");
  record.recipe_hash = FieldOf(fields, "recipe_hash");
  record.secret = FieldOf(fields, "secret");
  record.reason = FieldOf(fields, "reason");
  stored.change = FieldOf(fields, "change");
  const auto first = ParseNumber<std::uint64_t>(FieldOf(fields, "first"));
  const auto end = ParseNumber<std::uint64_t>(FieldOf(fields, "end"));
  const auto next = ParseNumber<std::uint64_t>(FieldOf(fields, "next"));
  const auto rev = ParseNumber<std::uint64_t>(FieldOf(fields, "rev"));
  const auto created = ParseNumber<std::int64_t>(FieldOf(fields, "created_at_ms"));
  const auto seen_rev = ParseNumber<std::uint64_t>(FieldOf(fields, "testified_rev"));
  const auto seen_next = ParseNumber<std::uint64_t>(FieldOf(fields, "testified_next"));
  if (!first || !end || !next || !rev || !created || !seen_rev || !seen_next ||
      stored.change.empty()) {
    return Status(Code::kInternal, fmt::format("read keyspace {}: damaged record", record.name));
  }
  record.first = *first;
  record.end = *end;
  record.next = *next;
  record.rev = *rev;
  record.created_at_ms = *created;
  record.testified = {*seen_rev, *seen_next};
  Result<KeyspaceState> state = ParseKeyspaceState(FieldOf(fields, "state"));
  if (!state.ok()) return state.status();
  record.state = *state;
  if (Status sound = CheckRecord(record); !sound.ok()) return sound;
  return stored;
}

std::string TimelineOf(std::string_view server, std::string_view replication) {
  return fmt::format("{}:{}", InfoField(server, "run_id"), InfoField(replication, "master_replid"));
}

std::int64_t ServerTimeMs(std::string_view server) {
  const std::string text = InfoField(server, "server_time_usec");
  std::int64_t microseconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), microseconds);
  return microseconds / 1000;
}

std::string RowText(const LedgerRow& row) {
  std::string text;
  AppendPart(BlockStateName(row.state), text);
  AppendPart(std::to_string(row.count), text);
  AppendPart(std::to_string(row.reserved_at_ms), text);
  AppendPart(row.block_id, text);
  AppendPart(row.reservation, text);
  AppendPart(row.instance, text);
  return text;
}

Result<LedgerRow> ReadRow(std::string_view first, std::string_view text) {
  const Status damaged(Code::kInternal, fmt::format("read the block at {}: damaged row", first));
  std::array<std::string_view, kRowFields> parts;
  for (std::string_view& part : parts) {
    const auto taken = TakePart(text);
    if (!taken) return damaged;
    part = *taken;
  }
  const auto number = ParseNumber<std::uint64_t>(first);
  const auto count = ParseNumber<std::uint64_t>(parts[1]);
  const auto reserved_at_ms = ParseNumber<std::int64_t>(parts[2]);
  if (!text.empty() || !number || !count || *count == 0 || !reserved_at_ms) return damaged;
  Result<BlockState> state = ParseBlockState(parts[0]);
  if (!state.ok()) return state.status();
  return LedgerRow{std::string(parts[3]), *number,         *count, std::string(parts[5]),
                   std::string(parts[4]), *reserved_at_ms, *state};
}

std::string KeyText(const KeyRow& row) { return KeyText(row, row.note.size()); }

std::string KeyText(const KeyRow& row, std::size_t note_size) {
  const std::array<std::string, kKeyParts> parts = KeyParts(row, note_size);
  std::size_t count = parts.size();
  while (parts[count - 1].empty()) --count;  // There always is a state.
  std::string text;
  for (std::size_t i = 0; i < count; ++i) AppendPart(parts[i], text);
  return text;
}

std::string KeyHead(const KeyRow& row) {
  const std::array<std::string, kKeyParts> parts = KeyParts(row, 0);
  std::string text;
  for (std::size_t i = 0; i < kKeyHeadParts; ++i) AppendPart(parts[i], text);
  return text;
}

Result<StoredKey> ReadKey(std::string_view key, std::string_view text) {
  const Status damaged(Code::kInternal, fmt::format("read the key {}: damaged row", key));
  StoredKey stored;
  stored.text = text;
  std::array<std::string_view, kKeyParts> parts;
  for (std::size_t i = 0; i < parts.size() && !text.empty(); ++i) {
    const auto taken = TakePart(text);
    if (!taken) return damaged;
    parts[i] = *taken;
  }
  const auto since = ParseShort<std::int64_t>(parts[1]);
  const auto expires = ParseShort<std::int64_t>(parts[2]);
  const auto generation = ParseShort<std::uint64_t>(parts[5]);
  const auto note_size = ParseShort<std::size_t>(parts[8]);
  if (!text.empty() || !since || !expires || !generation || !note_size) return damaged;
  Result<KeyState> state = ParseKeyState(parts[0]);
  if (!state.ok()) return state.status();
  stored.note_size = *note_size;
  stored.row = {std::string(key),
                *state,
                *since,
                std::string(parts[3]),
                std::string(parts[4]),
                std::string(parts[6]),
                std::string(parts[7]),
                *expires,
                *generation,
                {}};
  return stored;
}

}  // namespace keymill::store::redis
