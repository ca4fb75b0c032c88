// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "store/rules.h"

namespace keymill::store::etcd {

namespace {

// In a store that was sealed, what is open is closed.
Entry SeenIn(const StoreEntry& store, Entry entry) {
  if (store.moved_to.empty() || entry.record.state != KeyspaceState::kOpen) return entry;
  entry.record.state = KeyspaceState::kSealed;
  entry.record.reason = store.moved_to;
  return entry;
}

}  // namespace

Result<std::optional<LoadedStore>> Reader::FindStore(MonotonicTime deadline) {
  Result<Reply> reply = client_.Read({{.key = layout_.Store()}}, deadline);
  if (!reply.ok()) return reply.status();
  if (reply->ranges[0].empty()) return std::optional<LoadedStore>();
  Result<StoreEntry> store = ReadStore(reply->ranges[0][0]);
  if (!store.ok()) return store.status();
  return std::optional<LoadedStore>({std::move(reply->header), *std::move(store)});
}

Result<LoadedStore> Reader::LoadStore(MonotonicTime deadline) {
  Result<std::optional<LoadedStore>> found = FindStore(deadline);
  if (!found.ok()) return found.status();
  if (!found->has_value()) {
    return Status(Code::kNotFound,
                  fmt::format("open the store: there is none under {}/ in this cluster",
                              client_.options().prefix));
  }
  if (!(*found)->store.fill.empty()) return BeingFilled();
  return **std::move(found);
}

Result<Loaded> Reader::Load(std::string_view id, std::vector<Range> also, MonotonicTime deadline,
                            std::string_view timeline) {
  also.insert(also.begin(), {Range{.key = layout_.Store()}, Range{.key = layout_.Keyspace(id)}});
  Result<Reply> reply = client_.Read(std::move(also), deadline);
  if (!reply.ok()) return reply.status();
  std::vector<std::vector<KeyValue>>& ranges = reply->ranges;
  const Status not_found(Code::kNotFound, fmt::format("no keyspace has the id {}", id));
  if (ranges[0].empty()) return timeline.empty() ? not_found : TimelineChanged();
  Result<StoreEntry> store = ReadStore(ranges[0][0]);
  if (!store.ok()) return store.status();
  if (!store->fill.empty()) return BeingFilled();
  if (!timeline.empty() && (timeline != store->agreed || !timeline_.Holds(*store, reply->header))) {
    return TimelineChanged();
  }
  if (ranges[1].empty()) return not_found;
  Result<Entry> entry = ReadEntry(ranges[1][0]);
  if (!entry.ok()) return entry.status();
  Entry seen = SeenIn(*store, *std::move(entry));
  ranges.erase(ranges.begin(), ranges.begin() + 2);
  return Loaded{std::move(reply->header), *std::move(store), std::move(seen), std::move(ranges)};
}

Result<Loaded> Reader::LoadByName(std::string_view name, MonotonicTime deadline) {
  Result<Reply> reply =
      client_.Read({{.key = layout_.Name(name)}, {.key = layout_.Store()}}, deadline);
  if (!reply.ok()) return reply.status();
  if (!reply->ranges[0].empty()) return Load(reply->ranges[0][0].value, {}, deadline);
  if (!reply->ranges[1].empty()) {
    Result<StoreEntry> store = ReadStore(reply->ranges[1][0]);
    if (!store.ok()) return store.status();
    if (!store->fill.empty()) return BeingFilled();
  }
  return Status(Code::kNotFound, fmt::format("no keyspace is called {}", name));
}

Result<std::vector<KeyspaceRecord>> Reader::LoadAll(MonotonicTime deadline) {
  Result<LoadedStore> loaded = LoadStore(deadline);
  if (!loaded.ok()) return loaded.status();
  Range all = layout_.AllKeyspaces();
  all.at_revision = loaded->header.revision;
  Result<std::vector<KeyValue>> found = ReadAll(std::move(all), SIZE_MAX, deadline);
  if (!found.ok()) return found.status();
  std::vector<KeyspaceRecord> records;
  for (const KeyValue& each : *found) {
    Result<Entry> entry = ReadEntry(each);
    if (!entry.ok()) return entry.status();
    records.push_back(SeenIn(loaded->store, *std::move(entry)).record);
  }
  return records;
}

Result<std::optional<std::vector<KeyValue>>> Reader::LoadHeldRows(
    const Entry& entry, const std::vector<std::uint64_t>& firsts, MonotonicTime deadline) {
  std::vector<Range> ranges = {{.key = layout_.Keyspace(entry.record.id)}};
  for (const std::uint64_t first : firsts) {
    ranges.push_back({.key = layout_.Row(entry.record.id, first)});
  }
  Result<Reply> reply = client_.Read(std::move(ranges), deadline);
  if (!reply.ok()) return reply.status();
  const std::vector<KeyValue>& keyspace = reply->ranges[0];
  if (keyspace.empty() || keyspace[0].mod_revision != entry.mod_revision) {
    return std::optional<std::vector<KeyValue>>();
  }
  std::vector<KeyValue> rows;
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    std::vector<KeyValue>& found = reply->ranges[i + 1];
    Result<LedgerRow> row = ReadRow(found.empty() ? KeyValue{} : found[0]);
    if (!row.ok() || !CanGiveBack(row->state)) {
      return Status(Code::kInternal, fmt::format("read {}: no held row, against what the store "
                                                 "says elsewhere",
                                                 layout_.Row(entry.record.id, firsts[i])));
    }
    rows.push_back(std::move(found[0]));
  }
  return std::optional<std::vector<KeyValue>>(std::move(rows));
}

Result<std::vector<KeyValue>> Reader::ReadAll(Range range, std::size_t keys_max,
                                              MonotonicTime deadline) {
  constexpr std::size_t kKeysPerPage = 1000;
  std::vector<KeyValue> all;
  while (all.size() < keys_max) {
    const std::size_t wanted = std::min(kKeysPerPage, keys_max - all.size());
    range.limit = static_cast<std::int64_t>(wanted);
    Result<Reply> reply = client_.Read({range}, deadline);
    if (!reply.ok()) return reply.status();
    std::vector<KeyValue>& page = reply->ranges[0];
    std::move(page.begin(), page.end(), std::back_inserter(all));
    if (page.size() < wanted) break;
    if (range.at_revision == 0) range.at_revision = reply->header.revision;
    range.key = all.back().key + '\0';
  }
  return all;
}

Result<std::optional<LedgerRow>> Reader::FindRow(std::string_view id, std::uint64_t number,
                                                 MonotonicTime deadline) {
  using Found = std::optional<LedgerRow>;
  // The rows have no holes, so the nearest at or below holds the number. etcd reads all of a range
  // to tell the last of it: look near the number first, and further away only if a row is long.
  for (std::uint64_t reach = 1U << 12;; reach <<= 8) {
    const bool all = reach > number || reach > (kNumberEnd >> 8);
    Range range = layout_.Rows(id, all ? 0 : number - reach, number);
    range.limit = 1;
    range.descending = true;
    Result<Reply> reply = client_.Read({std::move(range)}, deadline);
    if (!reply.ok()) return reply.status();
    if (reply->ranges[0].empty() && !all) continue;
    if (reply->ranges[0].empty()) return Found();
    Result<LedgerRow> row = ReadRow(reply->ranges[0][0]);
    if (!row.ok()) return row.status();
    if (number >= row->first + row->count) return Found();
    return Found(*std::move(row));
  }
}

}  // namespace keymill::store::etcd
