// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/mover.h"

#include <utility>

#include <fmt/format.h>

#include "store/fill_errors.h"
#include "store/rules.h"

namespace keymill::store::etcd {
namespace {

// Beside the keyspace and the store.
constexpr std::size_t kRowWritesMax = kOperationsMax - 2;
// Well below etcd's limit on a request, which is 1.5 MiB as it comes.
constexpr std::size_t kBytesMax = 512 * 1024;
constexpr std::int64_t kKeysPerDelete = 1000;

// Every step of a fill writes the store's entry, so that none can land after the fill's end.
void Touch(const Layout& layout, const StoreEntry& store, Transaction& transaction) {
  transaction.unchanged[layout.Store()] = store.mod_revision;
  transaction.writes[layout.Store()] = StoreText(store);
}

}  // namespace

Status Mover::Seal(std::string_view moved_to, bool instead, MonotonicTime deadline) {
  return writer_.Repeat<bool>(deadline, [&] { return TrySeal(moved_to, instead, deadline); })
      .status();
}

Attempt<bool> Mover::TrySeal(std::string_view moved_to, bool instead, MonotonicTime deadline) {
  Result<LoadedStore> loaded = reader_.LoadStore(deadline);
  if (!loaded.ok()) return loaded.status();
  StoreEntry& store = loaded->store;
  if (Status can = CheckSealTarget(store.moved_to, moved_to, instead); !can.ok()) return can;
  if (store.moved_to == moved_to) return Done(true);
  if (store.moved_to.empty()) {
    // One that is quarantined after this was read has changed the store's entry as well.
    Result<std::vector<KeyspaceRecord>> records = reader_.LoadAll(deadline);
    if (!records.ok()) return records.status();
    for (const KeyspaceRecord& record : *records) {
      if (Status movable = CheckSealable(record); !movable.ok()) return movable;
    }
  }
  store.moved_to = moved_to;
  Transaction transaction;
  Touch(layout_, store, transaction);
  return writer_.Commit(transaction, true, deadline);
}

Status Mover::BeginFill(std::string_view store_id, std::string_view fill, MonotonicTime deadline) {
  Result<bool> begun =
      writer_.Repeat<bool>(deadline, [&] { return TryBegin(store_id, fill, deadline); });
  if (!begun.ok()) return begun.status();
  Result<std::optional<LoadedStore>> found = reader_.FindStore(deadline);
  if (!found.ok()) return found.status();
  if (!found->has_value() || (*found)->store.fill != fill) return FillIsOver();
  if (!(*found)->store.clearing) return {};
  return Clear(std::move((*found)->store), deadline);
}

Attempt<bool> Mover::TryBegin(std::string_view store_id, std::string_view fill,
                              MonotonicTime deadline) {
  Range others = layout_.Everything();
  others.count_only = true;
  Result<Reply> reply = client_.Read({{.key = layout_.Store()}, others}, deadline);
  if (!reply.ok()) return reply.status();
  StoreEntry store{.id = std::string(store_id)};
  if (!reply->ranges[0].empty()) {
    Result<StoreEntry> found = ReadStore(reply->ranges[0][0]);
    if (!found.ok()) return found.status();
    store = *std::move(found);
    if (Status can = CheckFillable(store.id, store.fill, store_id); !can.ok()) return can;
    store.clearing = true;
  } else if (reply->counts[1] != 0) {
    return Status(Code::kFailedPrecondition,
                  fmt::format("fill the store: there are keys under {0}/ that belong to no store. "
                              "Choose another prefix, or: etcdctl del --prefix {0}/",
                              client_.options().prefix));
  }
  store.fill = fill;
  Transaction transaction;
  Touch(layout_, store, transaction);
  return writer_.Commit(transaction, true, deadline);
}

// Deletes what an earlier fill has left, a piece at a time: whoever begins anew after a crash goes
// on with it.
Status Mover::Clear(StoreEntry store, MonotonicTime deadline) {
  for (;;) {
    Range left = layout_.Everything();
    left.keys_only = true;
    left.limit = kKeysPerDelete;
    Result<Reply> reply = client_.Read({left}, deadline);
    if (!reply.ok()) return reply.status();
    Transaction transaction;
    const std::vector<KeyValue>& keys = reply->ranges[0];
    if (keys.empty()) {
      store.clearing = false;
      Touch(layout_, store, transaction);
    } else {
      transaction.unchanged[layout_.Store()] = store.mod_revision;
      transaction.deletes.push_back({.key = keys.front().key, .end = keys.back().key + '\0'});
    }
    Attempt<bool> done = writer_.Commit(transaction, true, deadline);
    if (!done.ok()) return done.status();
    if (!done->has_value()) return FillIsOver();
    if (keys.empty()) return {};
  }
}

Result<StoreEntry> Mover::LoadFill(std::string_view fill, std::vector<Range> ranges, Reply& reply,
                                   MonotonicTime deadline) {
  ranges.push_back({.key = layout_.Store()});
  Result<Reply> read = client_.Read(std::move(ranges), deadline);
  if (!read.ok()) return read.status();
  reply = *std::move(read);
  if (reply.ranges.back().empty()) return FillIsOver();
  Result<StoreEntry> store = ReadStore(reply.ranges.back()[0]);
  if (!store.ok()) return store.status();
  if (fill.empty() || store->fill != fill || store->clearing) return FillIsOver();
  return store;
}

Status Mover::FillKeyspace(std::string_view fill, const KeyspaceRecord& record,
                           MonotonicTime deadline) {
  if (Status sound = CheckRecord(record); !sound.ok()) return sound;
  return writer_.Repeat<bool>(deadline, [&] { return TryKeyspace(fill, record, deadline); })
      .status();
}

Attempt<bool> Mover::TryKeyspace(std::string_view fill, const KeyspaceRecord& record,
                                 MonotonicTime deadline) {
  const std::string name = layout_.Name(record.name);
  const std::string keyspace = layout_.Keyspace(record.id);
  Reply reply;
  Result<StoreEntry> store = LoadFill(fill, {{.key = name}, {.key = keyspace}}, reply, deadline);
  if (!store.ok()) return store.status();
  if (!reply.ranges[0].empty() || !reply.ranges[1].empty()) {
    return FilledTwice(record.name);
  }
  const Entry entry{.record = Refilled(record), .tail = {}, .mod_revision = 0};
  Transaction transaction;
  Touch(layout_, *store, transaction);
  transaction.unchanged[name] = transaction.unchanged[keyspace] = 0;
  transaction.writes[name] = record.id;
  transaction.writes[keyspace] = EntryText(entry);
  return writer_.Commit(transaction, true, deadline);
}

Status Mover::FillLedger(std::string_view fill, std::string_view keyspace_id,
                         const std::vector<LedgerRow>& rows, MonotonicTime deadline) {
  std::span<const LedgerRow> left = rows;
  do {
    Transaction tried;
    Result<std::size_t> written = writer_.Repeat<std::size_t>(
        deadline, [&] { return TryRows(fill, keyspace_id, left, tried, deadline); });
    if (!written.ok()) return written.status();
    left = left.subspan(*written);
  } while (!left.empty());
  return {};
}

// As many of `rows` as one transaction takes; their number. `tried` is that of the latest try.
Attempt<std::size_t> Mover::TryRows(std::string_view fill, std::string_view keyspace_id,
                                    std::span<const LedgerRow> rows, Transaction& tried,
                                    MonotonicTime deadline) {
  Reply reply;
  Result<StoreEntry> store =
      LoadFill(fill, {{.key = layout_.Keyspace(keyspace_id)}}, reply, deadline);
  if (!store.ok()) return store.status();
  if (rows.empty()) return Done(rows.size());
  if (reply.ranges[0].empty()) return RowsBeforeKeyspace(keyspace_id);
  Result<Entry> entry = ReadEntry(reply.ranges[0][0]);
  if (!entry.ok()) return entry.status();
  const std::uint64_t rev = entry->record.rev;
  Change change(layout_, *store, *std::move(entry));
  std::size_t count = 0;
  std::size_t writes = 0;
  std::size_t bytes = 0;
  for (const LedgerRow& row : rows) {
    const bool lent = row.state == BlockState::kLent;
    const bool indexed =
        lent || row.state == BlockState::kHeld || row.state == BlockState::kReturned;
    writes += lent ? 3 : indexed ? 2 : 1;
    bytes += 2 * RowText(row).size();
    if (count > 0 && (writes > kRowWritesMax || bytes > kBytesMax)) break;
    change.Put(row);
    ++count;
  }
  Transaction transaction = change.Finish(rev);
  Touch(layout_, *store, transaction);
  // Nobody else has changed anything since the last try: so it is the rows.
  if (transaction.unchanged == tried.unchanged) return FilledTwice(keyspace_id);
  tried = transaction;
  return writer_.Commit(transaction, count, deadline);
}

Status Mover::EndFill(std::string_view fill, std::uint64_t keyspaces, std::uint64_t rows,
                      std::uint64_t keys, MonotonicTime deadline) {
  return writer_
      .Repeat<bool>(deadline,
                    [&] {
                      return TryEnd(fill, {keyspaces, rows, keys}, deadline);
                    })
      .status();
}

Attempt<bool> Mover::TryEnd(std::string_view fill, const FillCounts& expected,
                            MonotonicTime deadline) {
  std::vector<Range> counted = {layout_.AllNames(), layout_.AllKeyspaces(), layout_.AllRows()};
  for (Range& range : counted) range.count_only = true;
  Reply reply;
  Result<StoreEntry> store = LoadFill(fill, std::move(counted), reply, deadline);
  if (!store.ok()) return store.status();
  const FillCounts found{reply.counts[1], reply.counts[2], /*keys=*/0};
  if (found != expected || reply.counts[0] != expected.keyspaces) {
    return FillMiscounted(found, expected);
  }
  store->fill.clear();
  // Nobody has used it yet who could know better.
  store->agreed = Timeline::NewName(reply.header);
  store->lead = timeline_.Lead(deadline);
  Transaction transaction;
  Touch(layout_, *store, transaction);
  return writer_.Commit(transaction, true, deadline);
}

}  // namespace keymill::store::etcd
