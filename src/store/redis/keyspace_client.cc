// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/keyspace_client.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace keymill::store::redis {
namespace {

using wire::RespType;
using wire::RespValue;

Status NoSuchName(std::string_view name) {
  return {Code::kNotFound, fmt::format("no keyspace is called {}", name)};
}

Status Strange(std::string_view place) {
  return {Code::kInternal, fmt::format("use {}: an answer that no script gives", place)};
}

Result<std::vector<LedgerRow>> ReadRows(const RespValue& reply) {
  std::vector<LedgerRow> rows;
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2) {
    Result<LedgerRow> row = ReadRow(reply.items[i].text, reply.items[i + 1].text);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
  }
  return rows;
}

Status OtherSchema(std::string_view place, std::string_view schema) {
  return {Code::kFailedPrecondition,
          fmt::format("open the store in {}: its schema is {}, this program knows {}. Use the "
                      "program that wrote it, or a newer one",
                      place, schema, kSchemaVersion)};
}

Status Gone(const RedisSettings& settings) {
  return {Code::kUnavailable, fmt::format("use {}: the store is gone from under the prefix {}",
                                          settings.Place(), settings.prefix)};
}

// In a store that was sealed, what is open is closed.
KeyspaceRecord SeenIn(std::string_view moved_to, KeyspaceRecord record) {
  if (moved_to.empty() || record.state != KeyspaceState::kOpen) return record;
  record.state = KeyspaceState::kSealed;
  record.reason = moved_to;
  return record;
}

// What the scripts that look at a keyspace take.
std::vector<std::string> ScriptKeys(std::string_view prefix, std::string_view keyspace_id) {
  std::vector<std::string> keys = {StoreKey(prefix)};
  for (std::string& key : KeysOf(prefix, keyspace_id)) keys.push_back(std::move(key));
  return keys;
}

}  // namespace

Status NoSuchId(std::string_view id) {
  return {Code::kNotFound, fmt::format("no keyspace has the id {}", id)};
}

Status RefusalOf(const RespValue& reply, const RedisSettings& settings) {
  constexpr std::string_view kSealed = "sealed ";
  const std::string_view text = reply.text;
  if (text == "timeline") return TimelineChanged();
  if (text == "filling") return BeingFilled();
  if (text.starts_with(kSealed)) return Sealed(text.substr(kSealed.size()));
  if (text == "absent") return Gone(settings);
  if (text == "schema") return OtherSchema(settings.Place(), "another one");
  if (text == "over") return FillIsOver();
  return Strange(settings.Place());
}

Result<std::vector<RespValue>> KeyspaceClient::Ask(std::span<const Command> commands,
                                                   MonotonicTime deadline) {
  Result<std::vector<RespValue>> replies = client_.Ask(commands, deadline);
  if (!replies.ok()) return replies.status();
  for (const RespValue& reply : *replies) {
    if (reply.is_error()) return client_.Refused("read from", reply);
  }
  return replies;
}

Result<StoreIdentity> KeyspaceClient::Identity(MonotonicTime deadline) {
  bool filling = false;
  Result<StoreIdentity> found = FindStore(filling, deadline);
  if (filling) return BeingFilled();
  return found;
}

Status KeyspaceClient::Prepare(MonotonicTime deadline) {
  bool filling = false;
  Result<StoreIdentity> found = FindStore(filling, deadline);
  if (found.code() == Code::kNotFound) return {};
  return found.status();
}

Result<StoreIdentity> KeyspaceClient::FindStore(bool& filling, MonotonicTime deadline) {
  const std::string key = StoreKey(prefix());
  const std::array<Command, 3> commands = {
      {{"HGETALL", key}, {"INFO", "server"}, {"INFO", "replication"}}};
  Result<std::vector<RespValue>> replies = Ask(commands, deadline);
  if (!replies.ok()) return replies.status();
  const std::string schema = FieldOf((*replies)[0], "schema");
  const std::string place = client_.settings().Place();
  if (schema.empty()) {
    return Status(
        Code::kNotFound,
        fmt::format("open the store in {}: nothing is there under the prefix {}", place, prefix()));
  }
  if (schema != std::to_string(kSchemaVersion)) return OtherSchema(place, schema);
  filling = !FieldOf((*replies)[0], "fill").empty();
  return StoreIdentity{
      FieldOf((*replies)[0], "store_id"), TimelineOf((*replies)[1].text, (*replies)[2].text),
      FieldOf((*replies)[0], "agreed_timeline"), kSchemaVersion, ServerTimeMs((*replies)[1].text)};
}

Result<std::vector<Established::Part>> KeyspaceClient::Establish(std::span<const NewPart> parts,
                                                                 std::string_view store_id,
                                                                 std::int64_t wall_ms,
                                                                 MonotonicTime deadline) {
  std::vector<std::string> keys = {StoreKey(prefix()), NamesKey(prefix())};
  std::vector<std::string> words = {std::to_string(kSchemaVersion), std::string(store_id),
                                    std::to_string(wall_ms), std::to_string(parts.size())};
  for (const NewPart& part : parts) {
    const KeyspaceRecord& record = part.made.record;
    for (std::string& key : KeysOf(prefix(), record.id)) keys.push_back(std::move(key));
    const std::vector<std::string>& orders = part.orders.words();
    words.insert(words.end(), {record.name, record.id, std::to_string(orders.size())});
    words.insert(words.end(), orders.begin(), orders.end());
  }
  Result<RespValue> reply = client_.Run(EstablishScript(), keys, words, deadline);
  if (!reply.ok()) return reply.status();
  if (reply->items.size() != 1 + 2 * parts.size()) return RefusalOf(*reply, client_.settings());
  std::vector<Established::Part> established;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (reply->items[1 + 2 * i].integer == 1) {
      established.push_back(parts[i].made);
      continue;
    }
    Result<Snapshot> found = Look({reply->items[2 + 2 * i].text}, {}, deadline);
    // Others may have been made, and their blocks would be lost.
    if (!found.ok()) return Status(Code::kUnknownOutcome, found.status().message());
    established.push_back({std::move(found->stored.record), {}});
  }
  return established;
}

Result<std::string> KeyspaceClient::FindId(std::string_view name, MonotonicTime deadline) {
  const std::string store = StoreKey(prefix());
  const std::string names = NamesKey(prefix());
  const std::array<Command, 2> commands = {{{"HEXISTS", store, "fill"}, {"HGET", names, name}}};
  Result<std::vector<RespValue>> replies = Ask(commands, deadline);
  if (!replies.ok()) return replies.status();
  if ((*replies)[0].integer != 0) return BeingFilled();
  if ((*replies)[1].type == RespType::kNull) return NoSuchName(name);
  return std::move((*replies)[1].text);
}

Result<Snapshot> KeyspaceClient::Look(const Target& target, std::span<const Question> questions,
                                      MonotonicTime deadline) {
  std::vector<std::string> words = {std::string(target.timeline)};
  for (const Question& question : questions) {
    words.emplace_back(question.about);
    words.push_back(question.value);
    words.push_back(std::to_string(question.rows_max));
  }
  Result<RespValue> reply =
      client_.Run(LookScript(), ScriptKeys(prefix(), target.keyspace_id), words, deadline);
  if (!reply.ok()) return reply.status();
  if (reply->items.size() != 2 + questions.size()) return RefusalOf(*reply, client_.settings());
  if (reply->items[1].items.empty()) return NoSuchId(target.keyspace_id);
  Result<StoredRecord> stored = ReadRecord(reply->items[1]);
  if (!stored.ok()) return stored.status();
  Snapshot seen{std::move(reply->items[0].text), *std::move(stored), {}};
  seen.stored.record = SeenIn(seen.moved_to, std::move(seen.stored.record));
  for (std::size_t i = 2; i < reply->items.size(); ++i) {
    Result<std::vector<LedgerRow>> rows = ReadRows(reply->items[i]);
    if (!rows.ok()) return rows.status();
    seen.answers.push_back(*std::move(rows));
  }
  return seen;
}

Result<std::vector<KeyspaceRecord>> KeyspaceClient::List(MonotonicTime deadline) {
  const std::string store = StoreKey(prefix());
  const std::string names = NamesKey(prefix());
  const std::array<Command, 2> first = {{{"HGETALL", store}, {"HVALS", names}}};
  Result<std::vector<RespValue>> found = Ask(first, deadline);
  if (!found.ok()) return found.status();
  if (!FieldOf((*found)[0], "fill").empty()) return BeingFilled();
  const std::string moved_to = FieldOf((*found)[0], "moved_to");
  const std::vector<RespValue>& ids = (*found)[1].items;
  std::vector<std::string> keys;
  keys.reserve(ids.size());
  for (const RespValue& id : ids) keys.push_back(KeysOf(prefix(), id.text)[0]);
  std::vector<Command> commands;
  commands.reserve(keys.size());
  for (const std::string& key : keys) commands.push_back({"HGETALL", key});
  std::vector<KeyspaceRecord> records;
  if (commands.empty()) return records;
  Result<std::vector<RespValue>> replies = Ask(commands, deadline);
  if (!replies.ok()) return replies.status();
  for (const RespValue& reply : *replies) {
    Result<StoredRecord> stored = ReadRecord(reply);
    if (!stored.ok()) return stored.status();
    records.push_back(SeenIn(moved_to, std::move(stored->record)));
  }
  std::sort(records.begin(), records.end(),
            [](const KeyspaceRecord& a, const KeyspaceRecord& b) { return a.name < b.name; });
  return records;
}

Result<bool> KeyspaceClient::Apply(const Target& target, const Token& before, const Orders& orders,
                                   MonotonicTime deadline) {
  std::vector<std::string> words = {std::string(target.timeline), std::to_string(before.rev),
                                    before.change};
  words.insert(words.end(), orders.words().begin(), orders.words().end());
  Result<RespValue> reply =
      client_.Run(ApplyScript(), ScriptKeys(prefix(), target.keyspace_id), words, deadline);
  if (!reply.ok()) return reply.status();
  if (reply->text == "done") return true;
  if (reply->text == "changed") return false;
  return RefusalOf(*reply, client_.settings());
}

Status KeyspaceClient::Agree(std::string_view timeline, MonotonicTime deadline) {
  const std::array<std::string, 1> keys = {StoreKey(prefix())};
  const std::array<std::string, 1> words = {std::string(timeline)};
  Result<RespValue> reply = client_.Run(AgreeScript(), keys, words, deadline);
  if (!reply.ok()) return reply.status();
  return reply->text == "done" ? Status() : RefusalOf(*reply, client_.settings());
}

Status KeyspaceClient::TooBusy(std::string_view keyspace_id) const {
  return {Code::kUnavailable,
          fmt::format("change keyspace {} in {}: others were faster until the deadline",
                      keyspace_id, client_.settings().Place())};
}

}  // namespace keymill::store::redis
