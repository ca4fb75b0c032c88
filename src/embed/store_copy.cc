// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "embed/store_copy.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "keymill/key_table.h"

#include "base/random.h"
#include "embed/stores.h"
#include "mint/engine.h"
#include "mint/retries.h"
#include "mint/store_safety.h"
#include "mint/witness_file.h"

namespace keymill::embed {
namespace {

// Each call moves at most a page: longer than that, and nobody is there.
constexpr std::chrono::seconds kCallTimeout{30};
// For those that count or empty whole tables, which may have a hundred million rows.
constexpr std::chrono::minutes kTableTimeout{5};

// How often a store is looked at on which not everybody agrees yet.
constexpr std::chrono::milliseconds kLook{100};

class Copy {
 public:
  Copy(const CopyOptions& options, const Clock& clock,
       const std::function<void(const std::string&, double)>& progress)
      : options_(options), clock_(clock), progress_(progress) {}

  Result<CopyReport> Run() {
    if (Status found = Open(); !found.ok()) return found;
    if (Status listed = List(); !listed.ok()) return listed;
    const Result<StoreIdentity> there = to_->Identity(Deadline());
    if (there.ok() && there->store_id == identity_.store_id) return WasDone();
    if (Status agreed = AwaitAgreement(); !agreed.ok()) return agreed;
    if (Status sound = CheckSource(); !sound.ok()) return sound;
    if (Status safe = CheckTarget(); !safe.ok()) return safe;
    if (Status held = CheckKeys(); !held.ok()) return held;
    const std::string fill = RandomHex(16);
    // Before the seal: a target that cannot be had must not cost the source.
    if (Status begun = to_->BeginFill(identity_.store_id, fill, TableDeadline()); !begun.ok()) {
      return begun;
    }
    if (Status sealed = from_->Seal(to_place_.location, options_.instead, Deadline());
        !sealed.ok()) {
      return sealed;
    }
    // Once more: what was there before the seal may have changed.
    Status filled = List();
    if (filled.ok()) filled = CheckKeys();
    // Somebody has added a key meanwhile that this target cannot keep, however often it is tried.
    if (filled.code() == Code::kFailedPrecondition) return filled;
    if (filled.ok()) filled = Fill(fill);
    if (lost_) return filled;  // To do the same again would be to take it from who has it now.
    if (!filled.ok()) {
      return Status(filled.code(),
                    fmt::format("{}. {} is sealed and {} is not complete: run the same command "
                                "again",
                                filled.message(), report_.from, report_.to));
    }
    return report_;
  }

 private:
  [[nodiscard]] MonotonicTime Deadline() const { return clock_.Monotonic() + kCallTimeout; }
  [[nodiscard]] MonotonicTime TableDeadline() const { return clock_.Monotonic() + kTableTimeout; }

  Status Open() {
    std::error_code ignored;
    const std::filesystem::path data_dir = std::filesystem::absolute(options_.data_dir, ignored);
    Result<StorePlace> from_place = FindStore(options_.from, data_dir);
    if (!from_place.ok()) return from_place.status();
    Result<StorePlace> to_place = FindStore(options_.to, data_dir);
    if (!to_place.ok()) return to_place.status();
    if (!from_place->remembers || !to_place->remembers) {
      return {Code::kInvalidArgument, "a store in memory ends with its process: name another"};
    }
    if (from_place->location == to_place->location) {
      return {Code::kInvalidArgument,
              fmt::format("{} cannot be copied to itself", from_place->location)};
    }
    to_place_ = *std::move(to_place);
    report_.from = from_place->location;
    report_.to = to_place_.location;
    auto from = OpenStore(*from_place, /*create=*/false, clock_, Deadline());
    if (!from.ok()) return from.status();
    from_ = *std::move(from);
    if (to_place_.location.starts_with("sqlite:")) {
      // A file lies in the directory of its witness, which is made as for a first start.
      if (auto witness = mint::WitnessFile::Open(data_dir); !witness.ok()) return witness.status();
    }
    auto to = OpenStore(to_place_, /*create=*/true, clock_, Deadline());
    if (!to.ok()) return to.status();
    to_ = *std::move(to);
    return {};
  }

  // What is at `from`.
  Status List() {
    Result<StoreIdentity> identity = from_->Identity(Deadline());
    if (!identity.ok()) return identity.status();
    identity_ = *std::move(identity);
    Result<std::vector<KeyspaceRecord>> records = from_->ListKeyspaces(Deadline());
    if (!records.ok()) return records.status();
    records_ = *std::move(records);
    return {};
  }

  [[nodiscard]] bool InUse() const {
    return std::any_of(records_.begin(), records_.end(), [](const KeyspaceRecord& record) {
      return record.state == KeyspaceState::kOpen || record.state == KeyspaceState::kQuarantined;
    });
  }

  // S4: as for a reservation. What was put in its place may be an old copy, and once that is sealed
  // nobody who knows better can object any more.
  Status AwaitAgreement() {
    const std::chrono::milliseconds grace = mint::EngineOptions().timeline_grace;
    const MonotonicTime end = clock_.Monotonic() + grace;
    bool told = false;
    while (InUse() && identity_.timeline != identity_.agreed_timeline && clock_.Monotonic() < end) {
      if (!std::exchange(told, true) && options_.on_wait) options_.on_wait(grace);
      std::this_thread::sleep_for(kLook);
      if (Status listed = List(); !listed.ok()) return listed;
    }
    return {};
  }

  // What a store has lost would be lost in the other one, too, and nobody would notice there.
  Status CheckSource() {
    // The witness before the store, which goes on meanwhile.
    Result<mint::WitnessFile::View> witness = mint::WitnessFile::Peek(options_.data_dir);
    if (!witness.ok()) return witness.status();
    if (Status listed = List(); !listed.ok()) return listed;
    for (const KeyspaceRecord& record : records_) {
      if (record.state == KeyspaceState::kQuarantined) {
        return {
            Code::kFailedPrecondition,
            fmt::format("keyspace {} of {} is quarantined. Run `keymill recover {} --store URL` "
                        "first, with the URL of that store",
                        record.name, report_.from, record.name)};
      }
      if (record.state != KeyspaceState::kSealed || options_.instead) continue;
      if (record.reason == report_.to) continue;
      return {Code::kFailedPrecondition,
              fmt::format("{} was sealed before, and everything in it goes to {}: use that one. If "
                          "it was never used and never will be, add --instead",
                          report_.from, record.reason)};
    }
    for (const mint::WitnessFile::View::Seen& known : witness->keyspaces) {
      if (known.store_id != identity_.store_id) continue;
      const auto record =
          std::find_if(records_.begin(), records_.end(),
                       [&](const KeyspaceRecord& each) { return each.id == known.keyspace_id; });
      if (record == records_.end()) {
        return {Code::kFailedPrecondition,
                fmt::format("keyspace {} was in {} before and is gone: the store went back to an "
                            "older copy. Put the newer one back",
                            known.name, report_.from)};
      }
      const bool sealed = record->state == KeyspaceState::kSealed;
      const std::uint64_t rev = record->rev + (sealed ? 1 : 0);  // As instances see a seal.
      if (rev >= known.seen.rev && record->next >= known.seen.next) continue;
      if (sealed) {
        return {
            Code::kFailedPrecondition,
            fmt::format("{} was sealed before, and numbers of keyspace {} have been reserved in "
                        "{} since: use that one",
                        report_.from, known.name, record->reason)};
      }
      return {Code::kFailedPrecondition,
              fmt::format("keyspace {} is behind what {} has seen of it: the store went back to an "
                          "older copy. Run `keymill recover {} --store URL` first, with the URL "
                          "of the source",
                          known.name, (options_.data_dir / "witness").string(), known.name)};
    }
    return {};
  }

  // Whether no keyspace in it is open, and those that were have gone to `target`.
  Result<bool> IsSealedFor(Store& store, const std::string& target) {
    Result<std::vector<KeyspaceRecord>> records = store.ListKeyspaces(Deadline());
    if (!records.ok()) return records.status();
    return std::all_of(records->begin(), records->end(), [&](const KeyspaceRecord& record) {
      return record.state == KeyspaceState::kRetired ||
             (record.state == KeyspaceState::kSealed && record.reason == target);
    });
  }

  // The same store is there already: by an earlier call that came to its end, or as a clone.
  Result<CopyReport> WasDone() {
    Result<bool> sealed = IsSealedFor(*from_, report_.to);
    if (!sealed.ok()) return sealed.status();
    Result<std::vector<KeyspaceRecord>> there = to_->ListKeyspaces(Deadline());
    if (!there.ok()) return there.status();
    const bool in_use = std::none_of(there->begin(), there->end(), [](const KeyspaceRecord& each) {
      return each.state == KeyspaceState::kSealed;
    });
    if (!*sealed || !in_use) {
      return Status(
          Code::kFailedPrecondition,
          fmt::format("{} holds the same store as {}, and not because of a copy by this "
                      "command: it is another name of it, a clone, or where it came from. "
                      "Both would hand out the same keys; name an empty place",
                      report_.to, report_.from));
    }
    report_.was_done = true;
    return report_;
  }

  Status CheckTarget() {
    const Result<std::vector<StoreFinding>> found = to_->Inspect(Deadline());
    if (!found.ok()) return found.status();
    return mint::StoreSafety(options_.accept_unsafe_store).Judge(*found);
  }

  // Answers to retries that nobody gets again are not taken along. As of one moment, so that they
  // can be counted before; and by the slower of two clocks, because one that is wrong must not end
  // those that still count.
  [[nodiscard]] bool IsOver(const KeyRow& row) const {
    const std::int64_t store_ms = identity_.now_ms;
    return mint::IsRetryOver(row, store_ms == 0 ? begun_ms_ : std::min(begun_ms_, store_ms));
  }

  // How many keys of a keyspace are to be copied; none if the source has no key table.
  Result<std::uint64_t> CountKeys(const KeyspaceRecord& record) {
    KeyTable* const keys = from_->key_table();
    if (keys == nullptr) return std::uint64_t{0};
    Result<KeyTable::Counts> counts = keys->CountKeys(record.id, TableDeadline());
    if (!counts.ok()) return counts.status();
    std::set<std::string> over;  // A row may come twice.
    KeyTable::Query query{.state = KeyState::kNote, .rows_max = Store::kFillRowsMax};
    const bool notes = counts->at(static_cast<std::size_t>(KeyState::kNote)) > 0;
    while (notes) {
      Result<KeyTable::Page> page = keys->ListKeys(record.id, query, Deadline());
      if (!page.ok()) return page.status();
      for (const KeyRow& row : page->rows) {
        if (IsOver(row)) over.insert(row.key);
      }
      query.cursor = std::move(page->cursor);
      if (query.cursor.empty()) break;
    }
    const auto all = std::accumulate(counts->begin(), counts->end(), std::uint64_t{0});
    return all - std::min<std::uint64_t>(all, over.size());
  }

  // Whether the target can keep all of them.
  Status CheckKeys() {
    if (to_->key_table() != nullptr) return {};
    const bool sealed = std::any_of(
        records_.begin(), records_.end(),
        [](const KeyspaceRecord& record) { return record.state == KeyspaceState::kSealed; });
    for (const KeyspaceRecord& record : records_) {
      const Result<std::uint64_t> count = CountKeys(record);
      if (!count.ok()) return count.status();
      if (*count == 0) continue;
      return {
          Code::kFailedPrecondition,
          fmt::format(
              "keyspace {} of {} has {} keys that are remembered one by one, and {} cannot "
              "keep such keys: copy to SQLite, PostgreSQL, MariaDB or Redis{}",
              record.name, report_.from, *count, report_.to,
              sealed ? fmt::format(", with --instead: {} is sealed by now", report_.from) : "")};
    }
    return {};
  }

  Status Fill(const std::string& fill) {
    for (KeyspaceRecord& record : records_) {
      // So that whoever has seen the seal finds the source without it behind, and this one not.
      if (record.state == KeyspaceState::kSealed) ++record.rev;
      if (Status done = to_->FillKeyspace(fill, record, Deadline()); !done.ok()) return done;
      const Result<std::uint64_t> keys = CountKeys(record);
      if (!keys.ok()) return keys.status();
      if (Status done = FillLedger(fill, record, /*is_all=*/*keys == 0); !done.ok()) return done;
      if (Status done = FillKeys(fill, record, *keys); !done.ok()) return done;
      ++report_.keyspaces;
    }
    // Somebody may have sealed it for another target while this process stood still, or while
    // everything is counted.
    if (Status ours = CheckOurs(); !ours.ok()) return ours;
    const Status ended =
        to_->EndFill(fill, report_.keyspaces, report_.rows, report_.keys, TableDeadline());
    // It may be complete all the same where the reply was lost.
    if (!ended.ok() && ended.code() != Code::kUnknownOutcome) return ended;
    const Status ours = CheckOurs();
    if (ours.ok()) return ended;
    if (ours.code() != Code::kFailedPrecondition) return ended.ok() ? ours : ended;
    // U1: there must not be two of them. One that is not complete cannot be used anyhow, and says
    // that it cannot be sealed either.
    const Status closed = to_->Seal(report_.from, /*instead=*/false, Deadline());
    return closed.ok() || closed.code() == Code::kFailedPrecondition ? ours : closed;
  }

  Status CheckOurs() {
    const Result<bool> ours = IsSealedFor(*from_, report_.to);
    if (!ours.ok()) return ours.status();
    if (*ours || report_.keyspaces == 0) return {};
    lost_ = true;
    return {Code::kFailedPrecondition,
            fmt::format("{} was sealed for another target meanwhile: use that one, and throw {} "
                        "away",
                        report_.from, report_.to)};
  }

  // `is_all`: whether nothing of the keyspace follows.
  Status FillLedger(const std::string& fill, const KeyspaceRecord& record, bool is_all) {
    std::uint64_t from = record.first;
    for (;;) {
      Result<std::vector<LedgerRow>> rows =
          from_->ListLedger(record.id, from, Store::kFillRowsMax, Deadline());
      if (!rows.ok()) return rows.status();
      if (!rows->empty()) {
        if (Status done = to_->FillLedger(fill, record.id, *rows, Deadline()); !done.ok()) {
          return done;
        }
        report_.rows += rows->size();
        from = rows->back().first + rows->back().count;
      }
      const bool last = rows->size() < Store::kFillRowsMax;
      const auto all = static_cast<double>(std::max<std::uint64_t>(1, record.next - record.first));
      const double share = last ? 1 : static_cast<double>(from - record.first) / all;
      if (is_all) progress_(record.name, share);
      if (last) return {};
    }
  }

  Status FillKeys(const std::string& fill, const KeyspaceRecord& record, std::uint64_t count) {
    if (count == 0) return {};
    KeyTable::Query query{.rows_max = Store::kFillRowsMax};
    std::uint64_t copied = 0;
    do {
      Result<KeyTable::Page> page = from_->key_table()->ListKeys(record.id, query, Deadline());
      if (!page.ok()) return page.status();
      std::erase_if(page->rows, [&](const KeyRow& row) { return IsOver(row); });
      if (Status done = to_->key_table()->FillKeys(fill, record.id, page->rows, Deadline());
          !done.ok()) {
        return done;
      }
      copied += page->rows.size();
      query.cursor = std::move(page->cursor);
      const double share = static_cast<double>(copied) / static_cast<double>(count);
      progress_(record.name, query.cursor.empty() ? 1 : std::min(share, 1.0));
    } while (!query.cursor.empty());
    report_.keys += count;
    if (copied >= count) return {};  // A row may come twice.
    return {Code::kInternal, fmt::format("keyspace {} has {} keys, of which {} lists {}",
                                         record.name, count, report_.from, copied)};
  }

  const CopyOptions& options_;
  const Clock& clock_;
  const std::function<void(const std::string&, double)>& progress_;
  const std::int64_t begun_ms_ = clock_.WallMs();
  StorePlace to_place_;
  std::unique_ptr<Store> from_;
  std::unique_ptr<Store> to_;
  StoreIdentity identity_;
  std::vector<KeyspaceRecord> records_;
  CopyReport report_;
  bool lost_ = false;  // The source was sealed for another target meanwhile.
};

}  // namespace

Result<CopyReport> CopyStore(const CopyOptions& options, const Clock& clock,
                             const std::function<void(const std::string&, double)>& progress) {
  return Copy(options, clock, progress).Run();
}

}  // namespace keymill::embed
