// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/mover.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "store/fill_errors.h"
#include "store/redis/layout.h"
#include "store/redis/orders.h"
#include "store/rules.h"

namespace keymill::store::redis {
namespace {

using wire::RespValue;

// So that no script holds others up.
constexpr std::size_t kClearedPerScript = 100;

std::uint64_t NumberOf(const RespValue& value) {
  std::uint64_t number = 0;
  std::from_chars(value.text.data(), value.text.data() + value.text.size(), number);
  return number;
}

void AppendKeys(std::string_view prefix, std::string_view keyspace_id,
                std::vector<std::string>& keys) {
  for (std::string& key : KeysOf(prefix, keyspace_id)) keys.push_back(std::move(key));
}

}  // namespace

Result<std::vector<std::string>> Mover::Names(MonotonicTime deadline) {
  const std::string key = NamesKey(prefix());
  const Command command = {"HGETALL", key};
  Result<std::vector<RespValue>> replies = client_.Ask({&command, 1}, deadline);
  if (!replies.ok()) return replies.status();
  RespValue& reply = replies->front();
  if (reply.is_error()) return client_.Refused("read from", reply);
  std::vector<std::string> names;
  names.reserve(reply.items.size());
  for (RespValue& item : reply.items) names.push_back(std::move(item.text));
  return names;
}

Status Mover::Seal(std::string_view moved_to, bool instead, MonotonicTime deadline) {
  if (Status can = CheckSealTarget("", moved_to, instead); !can.ok()) return can;
  const std::vector<std::string> keys = {StoreKey(prefix())};
  for (;;) {
    // The mark first: whatever is quarantined after the keyspaces were read has changed it.
    const Command command = {"HGET", keys[0], "quarantine"};
    Result<std::vector<RespValue>> mark = client_.Ask({&command, 1}, deadline);
    if (!mark.ok()) return mark.status();
    Result<std::vector<KeyspaceRecord>> records = keyspaces_.List(deadline);
    if (!records.ok()) return records.status();
    for (const KeyspaceRecord& record : *records) {
      if (Status movable = CheckSealable(record); !movable.ok()) return movable;
    }
    const std::vector<std::string> words = {std::string(moved_to), instead ? "1" : "",
                                            mark->front().text};
    Result<RespValue> reply = client_.Run(SealScript(), keys, words, deadline);
    if (!reply.ok()) return reply.status();
    if (reply->text == "done") return {};
    if (reply->text != "changed") return RefusalOf(*reply, client_.settings());
  }
}

Status Mover::BeginFill(std::string_view store_id, std::string_view fill, std::int64_t wall_ms,
                        MonotonicTime deadline) {
  KEYMILL_CHECK(!store_id.empty() && !fill.empty());
  const std::vector<std::string> keys = {StoreKey(prefix()), NamesKey(prefix())};
  const std::vector<std::string> words = {std::to_string(kSchemaVersion), std::string(store_id),
                                          std::string(fill), std::to_string(wall_ms)};
  Result<RespValue> reply = client_.Run(BeginFillScript(), keys, words, deadline);
  if (!reply.ok()) return reply.status();
  if (reply->text == "done") return {};
  if (reply->text == "clear") return Clear(fill, deadline);
  if (reply->items.size() == 2) {
    return CheckFillable(reply->items[0].text, reply->items[1].text, store_id);
  }
  if (reply->text != "strange") return RefusalOf(*reply, client_.settings());
  return {
      Code::kFailedPrecondition,
      fmt::format("fill the store: {} belongs to no store. Choose another prefix, or delete what "
                  "begins with {{{}}}:",
                  NamesKey(prefix()), prefix())};
}

// Deletes what an earlier fill has left, a piece at a time: whoever begins anew after a crash goes
// on with it.
Status Mover::Clear(std::string_view fill, MonotonicTime deadline) {
  Result<std::vector<std::string>> names = Names(deadline);
  if (!names.ok()) return names.status();
  std::size_t at = 0;
  do {
    std::vector<std::string> keys = {StoreKey(prefix()), NamesKey(prefix())};
    std::vector<std::string> words = {std::string(fill)};
    const std::size_t end = std::min(names->size(), at + 2 * kClearedPerScript);
    for (; at + 1 < end; at += 2) {
      AppendKeys(prefix(), (*names)[at + 1], keys);
      for (std::string& key : TableKeysOf(prefix(), (*names)[at + 1]))
        keys.push_back(std::move(key));
      words.push_back(std::move((*names)[at]));
    }
    Result<RespValue> reply = client_.Run(ClearScript(), keys, words, deadline);
    if (!reply.ok()) return reply.status();
    if (reply->text != "done") return RefusalOf(*reply, client_.settings());
  } while (at < names->size());
  return {};
}

Status Mover::FillKeyspace(std::string_view fill, const KeyspaceRecord& record,
                           MonotonicTime deadline) {
  if (Status sound = CheckRecord(record); !sound.ok()) return sound;
  std::vector<std::string> keys = {StoreKey(prefix()), NamesKey(prefix())};
  AppendKeys(prefix(), record.id, keys);
  Orders orders;
  orders.Create(Refilled(record));
  std::vector<std::string> words = {std::string(fill), record.name, record.id};
  words.insert(words.end(), orders.words().begin(), orders.words().end());
  Result<RespValue> reply = client_.Run(FillKeyspaceScript(), keys, words, deadline);
  if (!reply.ok()) return reply.status();
  if (reply->text == "done") return {};
  if (reply->text == "twice") return FilledTwice(record.name);
  return RefusalOf(*reply, client_.settings());
}

Status Mover::FillLedger(std::string_view fill, std::string_view keyspace_id,
                         const std::vector<LedgerRow>& rows, MonotonicTime deadline) {
  std::vector<std::string> keys = {StoreKey(prefix())};
  AppendKeys(prefix(), keyspace_id, keys);
  Orders orders;
  for (const LedgerRow& row : rows) orders.Put(row);
  std::vector<std::string> words = {std::string(fill), std::to_string(rows.size())};
  words.insert(words.end(), orders.words().begin(), orders.words().end());
  Result<RespValue> reply = client_.Run(FillLedgerScript(), keys, words, deadline);
  if (!reply.ok()) return reply.status();
  if (reply->text == "done") return {};
  if (reply->text == "early") return RowsBeforeKeyspace(keyspace_id);
  if (reply->text == "twice") return FilledTwice(keyspace_id);
  return RefusalOf(*reply, client_.settings());
}

Status Mover::EndFill(std::string_view fill, std::uint64_t keyspaces, std::uint64_t rows,
                      std::uint64_t keys, MonotonicTime deadline) {
  const std::vector<std::string> names = {StoreKey(prefix()), NamesKey(prefix())};
  const std::vector<std::string> words = {std::string(fill), std::to_string(keyspaces),
                                          std::to_string(rows), std::to_string(keys)};
  Result<RespValue> reply = client_.Run(EndFillScript(), names, words, deadline);
  if (!reply.ok()) return reply.status();
  if (reply->text == "done") return {};
  const std::vector<RespValue>& found = reply->items;
  if (found.size() != 3) return RefusalOf(*reply, client_.settings());
  return FillMiscounted({NumberOf(found[0]), NumberOf(found[1]), NumberOf(found[2])},
                        {keyspaces, rows, keys});
}

}  // namespace keymill::store::redis
