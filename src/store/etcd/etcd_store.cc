// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/etcd_store.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/fork.h"
#include "base/random.h"
#include "store/etcd/etcd_client.h"
#include "store/etcd/inspect.h"
#include "store/etcd/layout.h"
#include "store/etcd/mover.h"
#include "store/etcd/reader.h"
#include "store/etcd/timeline.h"
#include "store/etcd/writer.h"
#include "store/rules.h"

namespace keymill::store {
namespace etcd {
namespace {

// Two writes each, so that a transaction holds them and what a reservation itself writes.
constexpr std::size_t kRowsPerChange = 50;
// Of a recovery: two writes for each that is returned, three for each that is lent.
constexpr std::size_t kReturnedPerChange = 30;
constexpr std::size_t kLentPerChange = 15;
// Up to five writes each.
constexpr std::size_t kKeyspacesPerChange = 20;

class EtcdStore final : public Store {
 public:
  EtcdStore(EtcdOptions options, std::shared_ptr<const TlsContext> tls, const Clock& clock)
      : clock_(clock),
        layout_(options.prefix),
        client_(std::move(options), std::move(tls), clock) {}

  // Whether it can be used, or made.
  Status Prepare(bool create, MonotonicTime deadline) {
    const ForkHold no_fork_in_mid_call;
    if (!create) return reader_.LoadStore(deadline).status();
    return reader_.FindStore(deadline).status();
  }

  Result<StoreIdentity> Identity(MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    Result<LoadedStore> loaded = reader_.LoadStore(deadline);
    if (!loaded.ok()) return loaded.status();
    timeline_.CompareLead(loaded->store, loaded->header, deadline);
    return IdentityOf(loaded->store, loaded->header);
  }

  Result<Established> Establish(const EstablishRequest& request, MonotonicTime deadline) override {
    return EstablishAll(request, /*make_store=*/true, deadline);
  }

  Result<std::vector<StoreFinding>> Inspect(MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    return inspector_.Inspect(deadline);
  }

  Result<KeyspaceRecord> CreateKeyspace(const NewKeyspace& keyspace,
                                        MonotonicTime deadline) override {
    Result<Established> made = EstablishAll({.keyspaces = {{keyspace, 0, {}}}, .instance = {}},
                                            /*make_store=*/false, deadline);
    if (!made.ok()) return made.status();
    return std::move(made->keyspaces.at(0).record);
  }

  Result<KeyspaceRecord> FindKeyspace(std::string_view name, MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    Result<Loaded> loaded = reader_.LoadByName(name, deadline);
    if (!loaded.ok()) return loaded.status();
    return std::move(loaded->entry.record);
  }

  Result<std::vector<KeyspaceRecord>> ListKeyspaces(MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    Result<std::vector<KeyspaceRecord>> records = reader_.LoadAll(deadline);
    if (!records.ok()) return records.status();
    std::sort(records->begin(), records->end(),
              [](const auto& left, const auto& right) { return left.name < right.name; });
    return records;
  }

  Result<KeyspaceRecord> RetireKeyspace(std::string_view name, MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    return writer_.Repeat<KeyspaceRecord>(deadline, [&]() -> Attempt<KeyspaceRecord> {
      Result<Loaded> loaded = reader_.LoadByName(name, deadline);
      if (!loaded.ok()) return loaded.status();
      Entry& entry = loaded->entry;
      if (!loaded->store.moved_to.empty()) return Sealed(loaded->store.moved_to);
      if (entry.record.state == KeyspaceState::kRetired) return Done(std::move(entry.record));
      Change change(layout_, loaded->store, std::move(entry));
      change.record().state = KeyspaceState::kRetired;
      const Transaction transaction = change.Finish();  // Moves the record's revision on.
      return writer_.Commit(transaction, change.record(), deadline);
    });
  }

  Result<Block> Reserve(const ReserveRequest& request, MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    ReserveRequest left = request;  // Without the spent blocks that are marked already.
    return writer_.Repeat<Block>(deadline, [&] { return TryReserve(left, deadline); });
  }

  Result<Witness> GiveBack(const GiveBackRequest& request, MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    return writer_.Repeat<Witness>(deadline, [&] { return TryGiveBack(request, deadline); });
  }

  Result<std::optional<LedgerRow>> FindBlock(std::string_view keyspace_id, std::uint64_t number,
                                             MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    Result<Loaded> loaded = reader_.Load(keyspace_id, {}, deadline);
    if (!loaded.ok()) return loaded.status();
    const KeyspaceRecord& record = loaded->entry.record;
    if (number < record.first || number >= record.next) return std::optional<LedgerRow>();
    return reader_.FindRow(keyspace_id, number, deadline);
  }

  Result<std::vector<LedgerRow>> ListLedger(std::string_view keyspace_id, std::uint64_t from,
                                            std::uint32_t rows_max,
                                            MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    if (Result<Loaded> loaded = reader_.Load(keyspace_id, {}, deadline); !loaded.ok()) {
      return loaded.status();
    }
    Result<std::vector<KeyValue>> found =
        reader_.ReadAll(layout_.Rows(keyspace_id, from), rows_max, deadline);
    if (!found.ok()) return found.status();
    std::vector<LedgerRow> rows;
    for (const KeyValue& each : *found) {
      Result<LedgerRow> row = ReadRow(each);
      if (!row.ok()) return row.status();
      rows.push_back(*std::move(row));
    }
    return rows;
  }

  Status Quarantine(std::string_view keyspace_id, std::string_view reason, const Witness& seen,
                    MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    return writer_
        .Repeat<bool>(deadline,
                      [&]() -> Attempt<bool> {
                        Result<Loaded> loaded = reader_.Load(keyspace_id, {}, deadline);
                        if (!loaded.ok()) return loaded.status();
                        return WriteQuarantine(*loaded, reason, seen, deadline);
                      })
        .status();
  }

  Result<RecoverReport> Recover(std::string_view keyspace_id, const Witness& floor,
                                MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    std::uint64_t burned = 0;
    return writer_.Repeat<RecoverReport>(
        deadline, [&] { return TryRecover(keyspace_id, floor, burned, deadline); });
  }

  Status AgreeOnTimeline(std::string_view timeline, MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    return writer_.Repeat<bool>(deadline, [&] { return TryAgree(timeline, deadline); }).status();
  }

  Status Seal(std::string_view moved_to, bool instead, MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    return mover_.Seal(moved_to, instead, deadline);
  }

  Status BeginFill(std::string_view store_id, std::string_view fill,
                   MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    return mover_.BeginFill(store_id, fill, deadline);
  }

  Status FillKeyspace(std::string_view fill, const KeyspaceRecord& record,
                      MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    return mover_.FillKeyspace(fill, record, deadline);
  }

  Status FillLedger(std::string_view fill, std::string_view keyspace_id,
                    const std::vector<LedgerRow>& rows, MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    return mover_.FillLedger(fill, keyspace_id, rows, deadline);
  }

  Status EndFill(std::string_view fill, std::uint64_t keyspaces, std::uint64_t rows,
                 std::uint64_t keys, MonotonicTime deadline) override {
    const ForkHold no_fork_in_mid_call;
    return mover_.EndFill(fill, keyspaces, rows, keys, deadline);
  }

 private:
  Status Gone() const {
    return {Code::kUnavailable,
            fmt::format("use the store: it is gone from under {}/ in this cluster",
                        client_.options().prefix)};
  }

  StoreIdentity IdentityOf(const StoreEntry& store, const Header& header) {
    return {store.id, timeline_.Name(store, header), store.agreed, kSchemaVersion, header.now_ms};
  }

  static std::optional<Header> SinceOf(std::string_view timeline, const Loaded& loaded) {
    return timeline.empty() ? std::nullopt : std::optional<Header>(loaded.header);
  }

  Attempt<bool> TryAgree(std::string_view timeline, MonotonicTime deadline) {
    Result<LoadedStore> loaded = reader_.LoadStore(deadline);
    if (!loaded.ok()) return loaded.status();
    StoreEntry& store = loaded->store;
    if (!store.moved_to.empty()) return Sealed(store.moved_to);
    if (timeline != timeline_.Name(store, loaded->header)) return Done(true);
    if (timeline == store.agreed) return Done(true);
    store.agreed = timeline;
    store.lead = timeline_.Lead(deadline);
    Transaction transaction;
    transaction.unchanged[layout_.Store()] = store.mod_revision;
    transaction.writes[layout_.Store()] = StoreText(store);
    return writer_.Commit(transaction, true, deadline);
  }

  Result<Established> EstablishAll(const EstablishRequest& request, bool make_store,
                                   MonotonicTime deadline) {
    const ForkHold no_fork_in_mid_call;
    // All or nothing: what cannot be is found before anything is changed.
    for (const EstablishRequest::Part& part : request.keyspaces) {
      Result<KeyspaceRecord> record = FirstRecord(part.keyspace, clock_.WallMs());
      if (!record.ok()) return record.status();
    }
    Established established;
    do {
      Result<Established> made =
          writer_.Repeat<Established>(deadline, [&]() -> Attempt<Established> {
            return TryEstablish(request, established.keyspaces.size(), make_store, deadline);
          });
      if (!made.ok()) return made.status();
      established.identity = std::move(made->identity);
      for (Established::Part& part : made->keyspaces) {
        established.keyspaces.push_back(std::move(part));
      }
    } while (established.keyspaces.size() < request.keyspaces.size());
    return established;
  }

  // The keyspaces of `request` from `begin` on, as many as one transaction holds.
  Attempt<Established> TryEstablish(const EstablishRequest& request, std::size_t begin,
                                    bool make_store, MonotonicTime deadline) {
    std::vector<Range> ranges = {{.key = layout_.Store()}};
    std::set<std::string_view> names;
    for (std::size_t i = begin; i < request.keyspaces.size(); ++i) {
      const std::string& name = request.keyspaces[i].keyspace.name;
      if (names.size() == kKeyspacesPerChange || !names.insert(name).second) break;
      ranges.push_back({.key = layout_.Name(name)});
    }
    Result<Reply> reply = client_.Read(std::move(ranges), deadline);
    if (!reply.ok()) return reply.status();
    Transaction transaction;
    StoreEntry store{.id = RandomHex(16), .agreed = Timeline::NewName(reply->header)};
    if (reply->ranges[0].empty()) {
      // S1: one that was there is not replaced by whoever needs a keyspace in it.
      if (!make_store) return Gone();
      store.lead = timeline_.Lead(deadline);
      transaction.writes[layout_.Store()] = StoreText(store);
    } else {
      Result<StoreEntry> found = ReadStore(reply->ranges[0][0]);
      if (!found.ok()) return found.status();
      store = *std::move(found);
      if (!store.fill.empty()) return BeingFilled();
      if (!store.moved_to.empty()) return Sealed(store.moved_to);
      timeline_.CompareLead(store, reply->header, deadline);
    }
    transaction.unchanged[layout_.Store()] = store.mod_revision;
    Established made{IdentityOf(store, reply->header), {}};
    for (std::size_t i = 1; i < reply->ranges.size(); ++i) {
      const EstablishRequest::Part& part = request.keyspaces[begin + i - 1];
      if (reply->ranges[i].empty()) {
        Result<Established::Part> fresh = MakeKeyspace(part, request.instance, store, transaction);
        if (!fresh.ok()) return fresh.status();
        made.keyspaces.push_back(*std::move(fresh));
      } else {
        Result<Loaded> there = reader_.Load(reply->ranges[i][0].value, {}, deadline);
        if (!there.ok()) return there.status();
        made.keyspaces.push_back({std::move(there->entry.record), {}});
      }
    }
    if (transaction.writes.empty()) return Done(std::move(made));
    return writer_.Commit(transaction, std::move(made), deadline);
  }

  // Adds a keyspace that was not there to `transaction`.
  Result<Established::Part> MakeKeyspace(const EstablishRequest::Part& part,
                                         std::string_view instance, const StoreEntry& store,
                                         Transaction& transaction) {
    Result<KeyspaceRecord> record = FirstRecord(part.keyspace, clock_.WallMs());
    if (!record.ok()) return record.status();
    const std::string id = record->id;
    Change change(layout_, store, {.record = *std::move(record), .tail = {}, .mod_revision = 0});
    std::optional<Block> block;
    if (part.count > 0) {
      Result<Block> granted = Grant(change, {}, FirstReserve(part, instance));
      if (!granted.ok()) return granted.status();
      block = *std::move(granted);
    }
    Transaction made = change.Finish(change.record().rev + (block ? 1 : 0));
    made.unchanged[layout_.Name(part.keyspace.name)] = 0;
    made.writes[layout_.Name(part.keyspace.name)] = id;
    transaction.unchanged.merge(made.unchanged);
    transaction.writes.merge(made.writes);
    return Established::Part{change.record(), std::move(block)};
  }

  Attempt<bool> WriteQuarantine(const Loaded& loaded, std::string_view reason, const Witness& seen,
                                MonotonicTime deadline) {
    if (!loaded.store.moved_to.empty()) return Sealed(loaded.store.moved_to);
    Change change(layout_, loaded.store, loaded.entry);
    if (!ApplyQuarantine(change.record(), reason, seen)) return Done(true);
    Transaction transaction = change.Finish();
    transaction.writes[layout_.Store()] = StoreText(loaded.store);  // A seal must notice it.
    return writer_.Commit(transaction, true, deadline);
  }

  // `refused` once the quarantine that it may ask for is written.
  template <typename T>
  Attempt<T> Refuse(const Loaded& loaded, const Status& refused, const Witness& seen,
                    MonotonicTime deadline) {
    if (refused.code() != Code::kQuarantined) return refused;
    Attempt<bool> written = WriteQuarantine(loaded, refused.message(), seen, deadline);
    if (!written.ok()) return written.status();
    if (!written->has_value()) return std::optional<T>();
    return refused;
  }

  Attempt<Block> TryReserve(ReserveRequest& request, MonotonicTime deadline) {
    std::vector<Range> also = {layout_.ReturnedFrom(request.keyspace_id, request.above)};
    also[0].limit = 1;
    const std::size_t spent_count = std::min(request.spent.size(), kRowsPerChange);
    for (std::size_t i = 0; i < spent_count; ++i) {
      also.push_back({.key = layout_.Held(request.keyspace_id, request.spent[i])});
    }
    Result<Loaded> loaded =
        reader_.Load(request.keyspace_id, std::move(also), deadline, request.timeline);
    if (!loaded.ok()) return loaded.status();
    Status usable = CheckReservable(loaded->entry.record, request.recipe_hash, request.witness);
    if (!usable.ok()) return Refuse<Block>(*loaded, usable, request.witness, deadline);

    const auto since = SinceOf(request.timeline, *loaded);
    Change change(layout_, loaded->store, loaded->entry);
    Attempt<bool> marked = MarkSpent(change, *loaded, deadline);
    if (!marked.ok()) return marked.status();
    if (!marked->has_value()) return std::optional<Block>();
    if (request.spent.size() > spent_count) {
      Attempt<bool> written = writer_.Commit(change.Finish(), true, deadline, since);
      if (!written.ok()) return written.status();
      const auto end = request.spent.begin() + static_cast<std::ptrdiff_t>(spent_count);
      if (written->has_value()) request.spent.erase(request.spent.begin(), end);
      return std::optional<Block>();
    }
    std::optional<LedgerRow> returned;
    if (!loaded->also[0].empty()) {
      Result<LedgerRow> row = ReadRow(loaded->also[0][0]);
      if (!row.ok()) return row.status();
      change.Expect(loaded->also[0][0]);
      returned = *std::move(row);
    }
    Result<Block> block = Grant(change, returned, request);
    if (!block.ok()) return block.status();
    return writer_.Commit(change.Finish(), *std::move(block), deadline, since);
  }

  // Marks the held rows that `loaded.also` names, from its second range on.
  Attempt<bool> MarkSpent(Change& change, const Loaded& loaded, MonotonicTime deadline) {
    std::vector<std::uint64_t> firsts;
    for (std::size_t i = 1; i < loaded.also.size(); ++i) {
      if (loaded.also[i].empty()) continue;
      Result<std::uint64_t> first = ReadFirst(loaded.also[i][0]);
      if (!first.ok()) return first.status();
      firsts.push_back(*first);
    }
    if (firsts.empty()) return Done(true);
    auto found = reader_.LoadHeldRows(loaded.entry, firsts, deadline);
    if (!found.ok()) return found.status();
    if (!found->has_value()) return std::optional<bool>();
    for (const KeyValue& each : **found) {
      Result<LedgerRow> row = ReadRow(each);
      if (!row.ok()) return row.status();
      change.Expect(each);
      change.Remove(*row);
      row->state = BlockState::kSpent;
      change.Put(*row);
    }
    return Done(true);
  }

  // Writes down what the request takes.
  // REQUIRES: CheckReservable.
  Result<Block> Grant(Change& change, const std::optional<LedgerRow>& returned,
                      const ReserveRequest& request) {
    Result<store::Grant> grant = DecideGrant(change.record(), returned, request);
    if (!grant.ok()) return grant.status();
    LedgerRow row = GrantedRow(*grant, request, clock_.WallMs());
    if (returned) {
      change.Remove(*returned);
      for (const LedgerRow& left : LeftOver(*returned, *grant)) change.Put(left);
    }
    if (ExtendsRow(change.tail(), *grant, request)) {
      row = *change.tail();
      change.Remove(row);
      row.count += grant->count;
      row.reservation = request.reservation;
    }
    change.Put(row);
    KeyspaceRecord& record = change.record();
    record.next = NextAfter(record, *grant);
    return Block{row.block_id, grant->first, grant->count, {record.rev + 1, record.next}};
  }

  Attempt<Witness> TryGiveBack(const GiveBackRequest& request, MonotonicTime deadline) {
    Result<Loaded> loaded = reader_.Load(
        request.keyspace_id, {{.key = layout_.Held(request.keyspace_id, request.block_id)}},
        deadline, request.timeline);
    if (!loaded.ok()) return loaded.status();
    const KeyspaceRecord& record = loaded->entry.record;
    Status usable = CheckReservable(record, record.recipe_hash, request.witness);
    if (!usable.ok()) return Refuse<Witness>(*loaded, usable, request.witness, deadline);
    if (loaded->also[0].empty()) return NotHeld(request.block_id);
    Result<std::uint64_t> first = ReadFirst(loaded->also[0][0]);
    if (!first.ok()) return first.status();
    auto found = reader_.LoadHeldRows(loaded->entry, {*first}, deadline);
    if (!found.ok()) return found.status();
    if (!found->has_value()) return std::optional<Witness>();
    const KeyValue& held = (*found)->at(0);
    Result<LedgerRow> row = ReadRow(held);
    if (!row.ok()) return row.status();
    Result<std::vector<LedgerRow>> settled = SettleRow(*row, request.first_unused);
    if (!settled.ok()) return settled.status();
    Change change(layout_, loaded->store, loaded->entry);
    change.Expect(loaded->also[0][0]);
    change.Expect(held);
    change.Remove(*row);
    for (const LedgerRow& part : *settled) change.Put(part);
    return writer_.Commit(change.Finish(), Witness{record.rev + 1, record.next}, deadline,
                          SinceOf(request.timeline, *loaded));
  }

  // Burns rows that are returned or lent, many at a time while the keyspace is still quarantined,
  // and opens it together with the last of them.
  Attempt<RecoverReport> TryRecover(std::string_view keyspace_id, const Witness& floor,
                                    std::uint64_t& burned, MonotonicTime deadline) {
    Range returned = layout_.ReturnedFrom(keyspace_id, 0);
    returned.limit = static_cast<std::int64_t>(kReturnedPerChange);
    Range lent = layout_.AllLent(keyspace_id);
    lent.limit = static_cast<std::int64_t>(kLentPerChange);
    Result<Loaded> loaded = reader_.Load(keyspace_id, {returned, lent}, deadline);
    if (!loaded.ok()) return loaded.status();
    if (!loaded->store.moved_to.empty()) return Sealed(loaded->store.moved_to);
    const KeyspaceRecord record = loaded->entry.record;
    if (record.state != KeyspaceState::kQuarantined) {
      return Status(Code::kFailedPrecondition,
                    fmt::format("recover {}: it is not quarantined", record.name));
    }
    Change change(layout_, loaded->store, std::move(loaded->entry));
    std::uint64_t numbers = 0;
    for (const auto& range : loaded->also) {
      for (const KeyValue& found : range) {
        Result<LedgerRow> row = ReadRow(found);
        if (!row.ok()) return row.status();
        change.Expect(found);
        change.Remove(*row);
        if (row->state == BlockState::kReturned) numbers += row->count;
        row->state = BlockState::kBurned;
        change.Put(*row);
      }
    }
    if (loaded->also[0].size() == kReturnedPerChange || loaded->also[1].size() == kLentPerChange) {
      Attempt<bool> written = writer_.Commit(change.Finish(), true, deadline);
      if (!written.ok()) return written.status();
      if (written->has_value()) burned += numbers;
      return std::optional<RecoverReport>();
    }
    const Witness recovered = RecoveredWitness(record, floor);
    if (const auto lost = LostRow(record, recovered, clock_.WallMs())) change.Put(*lost);
    change.record().next = recovered.next;
    change.record().state = KeyspaceState::kOpen;
    change.record().reason.clear();
    change.record().testified = {};
    const RecoverReport report{record.next, recovered.next, burned + numbers, recovered};
    return writer_.Commit(change.Finish(recovered.rev), report, deadline);
  }

  const Clock& clock_;
  const Layout layout_;
  EtcdClient client_;
  Timeline timeline_{client_};
  Reader reader_{layout_, client_, timeline_};
  Writer writer_{client_, clock_};
  Mover mover_{layout_, client_, reader_, writer_, timeline_};
  Inspector inspector_{client_};
};

}  // namespace
}  // namespace etcd

Status CheckEtcdUrl(const StoreUrl& url) { return etcd::ReadOptions(url).status(); }

Result<std::unique_ptr<Store>> OpenEtcdStore(const StoreUrl& url, bool create, const Clock& clock,
                                             MonotonicTime deadline) {
  Result<etcd::EtcdOptions> options = etcd::ReadOptions(url);
  if (!options.ok()) return options.status();
  auto tls = etcd::MakeTlsContext(options->tls);
  if (!tls.ok()) return tls.status();
  auto store = std::make_unique<etcd::EtcdStore>(*std::move(options), *std::move(tls), clock);
  if (Status ready = store->Prepare(create, deadline); !ready.ok()) return ready;
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace keymill::store
