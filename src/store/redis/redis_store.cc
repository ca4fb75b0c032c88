// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/redis_store.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/random.h"
#include "store/redis/client.h"
#include "store/redis/inspect.h"
#include "store/redis/keyspace_client.h"
#include "store/redis/layout.h"
#include "store/redis/mover.h"
#include "store/redis/orders.h"
#include "store/redis/redis_keys.h"
#include "store/rules.h"

namespace keymill::store {
namespace redis {
namespace {

// A recovery burns rows so many at a time, so that no script holds others up.
constexpr std::uint32_t kBurnedPerChange = 1'000;
constexpr std::uint32_t kPageRows = 10'000;

std::optional<LedgerRow> FirstOf(std::vector<LedgerRow>& rows) {
  if (rows.empty()) return {};
  return std::move(rows.front());
}

// Orders the ledger row of a grant and returns its block id.
std::string OrderGrant(const Grant& grant, std::optional<LedgerRow> last,
                       const std::optional<LedgerRow>& returned, const ReserveRequest& request,
                       std::int64_t wall_ms, Orders& orders) {
  if (returned) {
    orders.Drop(*returned);
    for (const LedgerRow& row : LeftOver(*returned, grant)) orders.Put(row);
  }
  if (ExtendsRow(last, grant, request)) {
    last->count += grant.count;
    last->reservation = request.reservation;
    orders.Put(*last);
    return last->block_id;
  }
  orders.Put(GrantedRow(grant, request, wall_ms));
  return request.reservation;
}

class RedisStore final : public Store {
 public:
  RedisStore(RedisSettings settings, const Clock& clock)
      : clock_(clock), client_(std::move(settings), clock) {}

  Status Prepare(bool create, MonotonicTime deadline) {
    return create ? client_.Prepare(deadline) : client_.Identity(deadline).status();
  }

  Result<StoreIdentity> Identity(MonotonicTime deadline) override {
    return client_.Identity(deadline);
  }

  Result<std::vector<StoreFinding>> Inspect(MonotonicTime deadline) override {
    return inspector_.Inspect(deadline);
  }

  Result<Established> Establish(const EstablishRequest& request, MonotonicTime deadline) override {
    Established established;
    Result<std::vector<Established::Part>> parts = EstablishParts(request, RandomHex(16), deadline);
    if (!parts.ok()) return parts.status();
    Result<StoreIdentity> identity = client_.Identity(deadline);
    // What was made stays made, but the caller cannot be told of its blocks.
    if (!identity.ok()) return Status(Code::kUnknownOutcome, identity.status().message());
    return Established{*std::move(identity), *std::move(parts)};
  }

  Result<KeyspaceRecord> CreateKeyspace(const NewKeyspace& keyspace,
                                        MonotonicTime deadline) override {
    Result<std::vector<Established::Part>> parts =
        EstablishParts({.keyspaces = {{keyspace, 0, {}}}, .instance = {}}, "", deadline);
    if (!parts.ok()) return parts.status();
    return std::move(parts->front().record);
  }

  Result<KeyspaceRecord> FindKeyspace(std::string_view name, MonotonicTime deadline) override {
    Result<std::string> id = client_.FindId(name, deadline);
    if (!id.ok()) return id.status();
    Result<Snapshot> found = client_.Look({*id}, {}, deadline);
    if (!found.ok()) return found.status();
    return std::move(found->stored.record);
  }

  Result<std::vector<KeyspaceRecord>> ListKeyspaces(MonotonicTime deadline) override {
    return client_.List(deadline);
  }

  Result<KeyspaceRecord> RetireKeyspace(std::string_view name, MonotonicTime deadline) override {
    Result<std::string> id = client_.FindId(name, deadline);
    if (!id.ok()) return id.status();
    return client_.Change<KeyspaceRecord>(
        {*id}, {}, deadline, [](Snapshot& seen, Orders& orders) -> Result<KeyspaceRecord> {
          KeyspaceRecord& record = seen.stored.record;
          if (record.state == KeyspaceState::kRetired) return record;
          record.state = KeyspaceState::kRetired;
          ++record.rev;
          orders.Update(record);
          return record;
        });
  }

  Result<Block> Reserve(const ReserveRequest& request, MonotonicTime deadline) override {
    std::vector<Question> questions = {{"returned", Padded(request.above)},
                                       {"below", Padded(kNumberEnd)}};
    const std::set<std::string> spent(request.spent.begin(), request.spent.end());
    for (const std::string& block : spent) questions.push_back({"held", block});
    return client_.Change<Block>(
        {request.keyspace_id, request.timeline}, questions, deadline,
        [&](Snapshot& seen, Orders& orders) -> Result<Block> {
          const KeyspaceRecord& record = seen.stored.record;
          if (Status usable = CheckReservable(record, request.recipe_hash, request.witness);
              !usable.ok()) {
            if (usable.code() == Code::kQuarantined) {
              orders.Quarantine(record, usable.message(), request.witness);
            }
            return usable;
          }
          return DecideReserve(seen, request, spent, orders);
        });
  }

  Result<Witness> GiveBack(const GiveBackRequest& request, MonotonicTime deadline) override {
    const std::vector<Question> questions = {{"held", request.block_id}};
    return client_.Change<Witness>(
        {request.keyspace_id, request.timeline}, questions, deadline,
        [&](Snapshot& seen, Orders& orders) -> Result<Witness> {
          KeyspaceRecord& record = seen.stored.record;
          if (Status usable = CheckReservable(record, record.recipe_hash, request.witness);
              !usable.ok()) {
            if (usable.code() == Code::kQuarantined) {
              orders.Quarantine(record, usable.message(), request.witness);
            }
            return usable;
          }
          const auto row = FirstOf(seen.answers[0]);
          if (!row) return NotHeld(request.block_id);
          Result<std::vector<LedgerRow>> settled = SettleRow(*row, request.first_unused);
          if (!settled.ok()) return settled.status();
          ++record.rev;
          orders.Update(record);
          orders.Drop(*row);
          for (const LedgerRow& part : *settled) orders.Put(part);
          return Witness{record.rev, record.next};
        });
  }

  Result<std::optional<LedgerRow>> FindBlock(std::string_view keyspace_id, std::uint64_t number,
                                             MonotonicTime deadline) override {
    using Found = std::optional<LedgerRow>;
    const std::vector<Question> questions = {{"below", Padded(number)}};
    Result<Snapshot> seen = client_.Look({keyspace_id}, questions, deadline);
    if (!seen.ok()) return seen.status();
    Found row = FirstOf(seen->answers[0]);
    if (row && number >= row->first + row->count) return Found();
    return row;
  }

  Result<std::vector<LedgerRow>> ListLedger(std::string_view keyspace_id, std::uint64_t from,
                                            std::uint32_t rows_max,
                                            MonotonicTime deadline) override {
    std::vector<LedgerRow> rows;
    for (;;) {
      const auto left = rows_max - static_cast<std::uint32_t>(rows.size());
      const std::uint32_t page = std::min(left, kPageRows);
      const std::vector<Question> questions = {{"from", Padded(from), page}};
      Result<Snapshot> seen = client_.Look({keyspace_id}, questions, deadline);
      if (!seen.ok()) return seen.status();
      std::vector<LedgerRow>& more = seen->answers[0];
      const bool last = more.size() < page || left == page;
      if (!more.empty()) from = more.back().first + 1;
      std::move(more.begin(), more.end(), std::back_inserter(rows));
      if (last) return rows;
    }
  }

  Status Quarantine(std::string_view keyspace_id, std::string_view reason, const Witness& seen,
                    MonotonicTime deadline) override {
    return client_
        .Change<std::monostate>({keyspace_id}, {}, deadline,
                                [&](Snapshot& found, Orders& orders) -> Result<std::monostate> {
                                  orders.Quarantine(found.stored.record, reason, seen);
                                  return std::monostate();
                                })
        .status();
  }

  Result<RecoverReport> Recover(std::string_view keyspace_id, const Witness& floor,
                                MonotonicTime deadline) override {
    const std::vector<Question> questions = {{"returned", Padded(0), kBurnedPerChange},
                                             {"lent", Padded(0), kBurnedPerChange}};
    std::uint64_t burned = 0;
    for (;;) {
      Result<RecoverStep> step = client_.Change<RecoverStep>(
          {keyspace_id}, questions, deadline,
          [&](Snapshot& seen, Orders& orders) { return DecideRecover(seen, floor, orders); });
      if (!step.ok()) return step.status();
      burned += step->burned;
      if (!step->report) continue;
      step->report->returned_burned = burned;
      return *std::move(step->report);
    }
  }

  Status AgreeOnTimeline(std::string_view timeline, MonotonicTime deadline) override {
    return client_.Agree(timeline, deadline);
  }

  Status Seal(std::string_view moved_to, bool instead, MonotonicTime deadline) override {
    return mover_.Seal(moved_to, instead, deadline);
  }

  Status BeginFill(std::string_view store_id, std::string_view fill,
                   MonotonicTime deadline) override {
    return mover_.BeginFill(store_id, fill, clock_.WallMs(), deadline);
  }

  Status FillKeyspace(std::string_view fill, const KeyspaceRecord& record,
                      MonotonicTime deadline) override {
    return mover_.FillKeyspace(fill, record, deadline);
  }

  Status FillLedger(std::string_view fill, std::string_view keyspace_id,
                    const std::vector<LedgerRow>& rows, MonotonicTime deadline) override {
    return mover_.FillLedger(fill, keyspace_id, rows, deadline);
  }

  Status EndFill(std::string_view fill, std::uint64_t keyspaces, std::uint64_t rows,
                 std::uint64_t keys, MonotonicTime deadline) override {
    return mover_.EndFill(fill, keyspaces, rows, keys, deadline);
  }

  KeyTable* key_table() override { return &keys_; }

 private:
  // REQUIRES: the keyspace is CheckReservable; the answers are those to Reserve's questions.
  Result<Block> DecideReserve(Snapshot& seen, const ReserveRequest& request,
                              const std::set<std::string>& spent, Orders& orders) {
    KeyspaceRecord& record = seen.stored.record;
    const auto returned = FirstOf(seen.answers[0]);
    auto last = FirstOf(seen.answers[1]);
    Result<Grant> grant = DecideGrant(record, returned, request);
    if (!grant.ok()) return grant.status();
    record.next = NextAfter(record, *grant);
    ++record.rev;
    orders.Update(record);
    for (std::size_t i = 2; i < seen.answers.size(); ++i) {
      for (LedgerRow& row : seen.answers[i]) {
        row.state = BlockState::kSpent;
        orders.Put(row);
      }
    }
    // What was marked just now is no longer held, and cannot grow.
    if (last && last->state == BlockState::kHeld && spent.contains(last->block_id)) {
      last->state = BlockState::kSpent;
    }
    std::string block_id =
        OrderGrant(*grant, std::move(last), returned, request, clock_.WallMs(), orders);
    return Block{std::move(block_id), grant->first, grant->count, {record.rev, record.next}};
  }

  struct RecoverStep {
    std::uint64_t burned = 0;             // Numbers in returned rows.
    std::optional<RecoverReport> report;  // Of the last one.
  };

  // Burns rows that are returned or lent while the keyspace is still quarantined, and opens it
  // together with the last of them.
  Result<RecoverStep> DecideRecover(Snapshot& seen, const Witness& floor, Orders& orders) {
    KeyspaceRecord& record = seen.stored.record;
    std::vector<LedgerRow>& returned = seen.answers[0];
    std::vector<LedgerRow>& lent = seen.answers[1];
    if (record.state != KeyspaceState::kQuarantined) {
      return Status(Code::kFailedPrecondition,
                    fmt::format("recover {}: it is not quarantined", record.name));
    }
    RecoverStep step;
    std::optional<LedgerRow> lost;
    if (returned.size() < kBurnedPerChange && lent.size() < kBurnedPerChange) {
      const Witness recovered = RecoveredWitness(record, floor);
      step.report = RecoverReport{record.next, recovered.next, 0, recovered};
      lost = LostRow(record, recovered, clock_.WallMs());
      record.next = recovered.next;
      record.rev = recovered.rev;
      record.state = KeyspaceState::kOpen;
      record.reason.clear();
      record.testified = {};
    } else {
      ++record.rev;
    }
    orders.Update(record);
    for (LedgerRow& row : returned) {
      step.burned += row.count;
      row.state = BlockState::kBurned;
      orders.Put(row);
    }
    for (LedgerRow& row : lent) {
      row.state = BlockState::kBurned;
      orders.Put(row);
    }
    if (lost) orders.Put(*lost);
    return step;
  }

  // `store_id` is for a store that is not there yet; "": it must be.
  Result<std::vector<Established::Part>> EstablishParts(const EstablishRequest& request,
                                                        std::string_view store_id,
                                                        MonotonicTime deadline) {
    std::vector<NewPart> parts;
    for (const EstablishRequest::Part& wanted : request.keyspaces) {
      Result<NewPart> part = DecidePart(wanted, request.instance);
      if (!part.ok()) return part.status();
      parts.push_back(*std::move(part));
    }
    return client_.Establish(parts, store_id, clock_.WallMs(), deadline);
  }

  // A keyspace as it will be if nobody has made it before.
  Result<NewPart> DecidePart(const EstablishRequest::Part& wanted, std::string_view instance) {
    Result<KeyspaceRecord> record = FirstRecord(wanted.keyspace, clock_.WallMs());
    if (!record.ok()) return record.status();
    NewPart part{{*std::move(record), {}}, {}};
    if (wanted.count == 0) {
      part.orders.Create(part.made.record);
      return part;
    }
    const ReserveRequest first = FirstReserve(wanted, instance);
    Result<Grant> grant = DecideGrant(part.made.record, {}, first);
    if (!grant.ok()) return grant.status();
    part.made.record.next += grant->count;
    ++part.made.record.rev;
    part.orders.Create(part.made.record);
    std::string id = OrderGrant(*grant, {}, {}, first, clock_.WallMs(), part.orders);
    part.made.block = Block{
        std::move(id), grant->first, grant->count, {part.made.record.rev, part.made.record.next}};
    return part;
  }

  const Clock& clock_;
  KeyspaceClient client_;
  Inspector inspector_{client_.client(), clock_};
  Mover mover_{client_};
  RedisKeys keys_{client_};
};

}  // namespace
}  // namespace redis

Status CheckRedisUrl(const StoreUrl& url) { return redis::ReadSettings(url).status(); }

Result<std::unique_ptr<Store>> OpenRedisStore(const StoreUrl& url, bool create, const Clock& clock,
                                              MonotonicTime deadline) {
  Result<redis::RedisSettings> settings = redis::ReadSettings(url);
  if (!settings.ok()) return settings.status();
  auto opened = std::make_unique<redis::RedisStore>(*std::move(settings), clock);
  if (Status ready = opened->Prepare(create, deadline); !ready.ok()) return ready;
  return std::unique_ptr<Store>(std::move(opened));
}

}  // namespace keymill::store
