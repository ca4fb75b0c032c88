// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/memory/memory_keys.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "store/key_rules.h"

namespace keymill::store {

const KeyRow* MemoryKeys::Find(const std::string& key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : &found->second;
}

const KeyRow* MemoryKeys::FindIdentity(const std::string& identity) const {
  const auto found = keys_.find(identity);
  return found == keys_.end() ? nullptr : Find(found->second);
}

void MemoryKeys::Put(KeyRow row) {
  Remove(row.key);
  by_state_.at(static_cast<std::size_t>(row.state)).insert(row.key);
  if (!row.identity.empty()) keys_[row.identity] = row.key;
  rows_[row.key] = std::move(row);
}

void MemoryKeys::Remove(const std::string& key) {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return;
  by_state_.at(static_cast<std::size_t>(found->second.state)).erase(key);
  keys_.erase(found->second.identity);
  rows_.erase(found);
}

namespace {

AddPlan AddTo(MemoryKeys& keys, const std::vector<KeyRow>& rows) {
  std::vector<KeyRow> there;
  for (const KeyRow& row : rows) {
    if (const KeyRow* const twin = keys.FindIdentity(row.identity)) there.push_back(*twin);
    if (const KeyRow* const same = keys.Find(row.key)) there.push_back(*same);
  }
  AddPlan plan = DecideAdd(rows, there);
  for (const std::size_t i : plan.added) keys.Put(rows[i]);
  return plan;
}

// Of the rows that `change` asks for, as many as it may change.
std::vector<KeyRow> Matching(const MemoryKeys& keys, const KeyChange& change) {
  std::vector<KeyRow> matching;
  const auto consider = [&](const std::string& key) {
    const KeyRow* const row = keys.Find(key);
    if (row == nullptr || matching.size() >= change.rows_max) return;
    if (Matches(*row, change.match)) matching.push_back(*row);
  };
  if (change.match.keys.empty()) {
    for (const std::string& key : keys.InState(change.match.state)) consider(key);
  }
  const std::set<std::string> named(change.match.keys.begin(), change.match.keys.end());
  for (const std::string& key : named) consider(key);
  return matching;
}

Witness MoveOn(KeyspaceRecord& record) { return {++record.rev, record.next}; }

class MemoryKeyTable final : public KeyTable {
 public:
  explicit MemoryKeyTable(MemoryKeyspaces& keyspaces) : keyspaces_(keyspaces) {}

  Result<Added> AddKeys(const KeyGuard& guard, const std::vector<KeyRow>& rows,
                        MonotonicTime /*deadline*/) override {
    if (Status sound = CheckAdd(rows); !sound.ok()) return sound;
    Added added;
    Status done =
        keyspaces_.ChangeKeyspace(guard, [&](KeyspaceRecord& record, MemoryKeys& keys) -> Status {
          AddPlan plan = AddTo(keys, rows);
          added.seen = plan.added.empty() ? Witness{record.rev, record.next} : MoveOn(record);
          added.present = std::move(plan.present);
          return {};
        });
    if (!done.ok()) return done;
    return added;
  }

  Result<Taken> TakeKeys(const KeyGuard& guard, const TakeRequest& request,
                         MonotonicTime /*deadline*/) override {
    if (Status sound = CheckTake(request); !sound.ok()) return sound;
    Taken taken;
    Status done =
        keyspaces_.ChangeKeyspace(guard, [&](KeyspaceRecord& record, MemoryKeys& keys) -> Status {
          for (const std::string& key : keys.InState(KeyState::kAvailable)) {
            if (taken.keys.size() == request.count) break;
            taken.keys.push_back(key);
          }
          if (taken.keys.empty()) return NoKeyAvailable(record.name);
          for (const std::string& key : taken.keys) keys.Put(TakenRow(*keys.Find(key), request));
          taken.seen = MoveOn(record);
          return {};
        });
    if (!done.ok()) return done;
    return taken;
  }

  Result<Changed> ChangeKeys(const KeyGuard& guard, const KeyChange& change,
                             MonotonicTime /*deadline*/) override {
    if (Status sound = CheckChange(change); !sound.ok()) return sound;
    Changed changed;
    Status done =
        keyspaces_.ChangeKeyspace(guard, [&](KeyspaceRecord& record, MemoryKeys& keys) -> Status {
          for (KeyRow& row : Matching(keys, change)) {
            changed.rows.push_back(ChangedRow(std::move(row), change));
            const KeyRow& now = changed.rows.back();
            change.to ? keys.Put(now) : keys.Remove(now.key);
          }
          if (!changed.rows.empty()) changed.seen = MoveOn(record);
          return {};
        });
    if (!done.ok()) return done;
    return changed;
  }

  Result<std::optional<KeyRow>> FindKey(std::string_view keyspace_id, std::string_view key,
                                        MonotonicTime /*deadline*/) override {
    return FindBy(keyspace_id, [&](const MemoryKeys& keys) { return keys.Find(std::string(key)); });
  }

  Result<std::optional<KeyRow>> FindIdentity(std::string_view keyspace_id,
                                             std::string_view identity,
                                             MonotonicTime /*deadline*/) override {
    return FindBy(keyspace_id,
                  [&](const MemoryKeys& keys) { return keys.FindIdentity(std::string(identity)); });
  }

  Result<Page> ListKeys(std::string_view keyspace_id, const Query& query,
                        MonotonicTime /*deadline*/) override {
    if (Status sound = CheckQuery(query); !sound.ok()) return sound;
    Page page;
    Status done = keyspaces_.ReadKeyspace(keyspace_id, [&](const MemoryKeys& keys) -> Status {
      auto at = keys.rows().upper_bound(query.cursor);
      for (; at != keys.rows().end() && page.rows.size() < query.rows_max; ++at) {
        if (IsAsked(at->second, query)) page.rows.push_back(at->second);
      }
      if (at != keys.rows().end()) page.cursor = std::prev(at)->first;
      return {};
    });
    if (!done.ok()) return done;
    return page;
  }

  Result<Counts> CountKeys(std::string_view keyspace_id, MonotonicTime /*deadline*/) override {
    Counts counts{};
    Status done = keyspaces_.ReadKeyspace(keyspace_id, [&](const MemoryKeys& keys) -> Status {
      for (std::size_t i = 0; i < kKeyStates; ++i) {
        counts[i] = keys.InState(static_cast<KeyState>(i)).size();
      }
      return {};
    });
    if (!done.ok()) return done;
    return counts;
  }

  Status FillKeys(std::string_view fill, std::string_view keyspace_id,
                  const std::vector<KeyRow>& rows, MonotonicTime /*deadline*/) override {
    if (Status sound = CheckFillRows(rows); !sound.ok()) return sound;
    return keyspaces_.FillKeyspaceKeys(fill, keyspace_id,
                                       [&](KeyspaceRecord& /*record*/, MemoryKeys& keys) -> Status {
                                         AddTo(keys, rows);
                                         return {};
                                       });
  }

 private:
  template <typename Find>
  Result<std::optional<KeyRow>> FindBy(std::string_view keyspace_id, Find find) {
    std::optional<KeyRow> row;
    Status done = keyspaces_.ReadKeyspace(keyspace_id, [&](const MemoryKeys& keys) -> Status {
      if (const KeyRow* const found = find(keys)) row = *found;
      return {};
    });
    if (!done.ok()) return done;
    return row;
  }

  MemoryKeyspaces& keyspaces_;
};

}  // namespace

std::unique_ptr<KeyTable> MakeMemoryKeyTable(MemoryKeyspaces& keyspaces) {
  return std::make_unique<MemoryKeyTable>(keyspaces);
}

}  // namespace keymill::store
