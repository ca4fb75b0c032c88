// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/key_register.h"

#include <utility>

#include <fmt/format.h>

#include "mint/keyspace.h"
#include "mint/patience.h"

namespace keymill::mint {
namespace {

// How often a call whose outcome is unknown is made in all.
constexpr int kAttempts = 3;

Status NoKeyTable() {
  return {Code::kFailedPrecondition,
          "this store remembers numbers only: aliases, links, keys of kind pool and derived, and "
          "Idempotency-Key need SQLite, PostgreSQL, MariaDB or Redis"};
}

template <typename Call>
auto Repeat(int attempts, Call call) {
  auto done = call();
  for (int i = 1; i < attempts && done.code() == Code::kUnknownOutcome; ++i) done = call();
  return done;
}

}  // namespace

Status KeyRegister::CheckPossible() const {
  return store_.store().key_table() == nullptr ? NoKeyTable() : Status();
}

Result<KeyGuard> KeyRegister::Guard(const Keyspace& keyspace) {
  if (Status possible = CheckPossible(); !possible.ok()) return possible;
  Result<std::string> timeline = permit_();
  if (!timeline.ok()) return timeline.status();
  Result<Witness> floor = store_.Witnessed(keyspace.id());
  if (!floor.ok()) return floor.status();
  return KeyGuard{.keyspace_id = keyspace.id(),
                  .recipe_hash = keyspace.recipe_hash(),
                  .witness = *floor,
                  .timeline = *std::move(timeline),
                  .recovering = recovering_};
}

Status KeyRegister::Attest(const Keyspace& keyspace, const Witness& seen) {
  return store_.Record(keyspace.id(), keyspace.name(), seen);
}

Status KeyRegister::AttestPresent(const Keyspace& keyspace) {
  const Result<KeyspaceRecord> now =
      store_.store().FindKeyspace(keyspace.name(), store_.Deadline());
  if (!now.ok()) return now.status();
  if (now->id != keyspace.id()) {
    return {Code::kUnavailable,
            fmt::format("keyspace {} is another one in the store now", keyspace.name())};
  }
  return Attest(keyspace, {now->rev, now->next});
}

Result<std::vector<std::optional<KeyRow>>> KeyRegister::Add(const Keyspace& keyspace,
                                                            const std::vector<KeyRow>& rows,
                                                            bool* repeated) {
  const Result<KeyGuard> guard = Guard(keyspace);
  if (!guard.ok()) return guard.status();
  int calls = 0;
  Result<KeyTable::Added> added = Repeat(kAttempts, [&] {
    if (++calls > 1 && repeated != nullptr) *repeated = true;
    return store_.store().key_table()->AddKeys(*guard, rows, store_.Deadline());
  });
  if (!added.ok()) return added.status();
  if (Status kept = Attest(keyspace, added->seen); !kept.ok()) return kept;
  return std::move(added->present);
}

Result<std::vector<std::optional<KeyRow>>> KeyRegister::AddPatiently(
    const Keyspace& keyspace, const std::vector<KeyRow>& rows, bool* repeated) {
  auto present = Add(keyspace, rows, repeated);
  for (int i = 1; i < kPatientAttempts && present.code() == Code::kUnavailable; ++i) {
    present = Add(keyspace, rows, repeated);
  }
  return present;
}

Result<KeyTable::Taken> KeyRegister::Take(const Keyspace& keyspace, KeyTable::TakeRequest request) {
  const Result<KeyGuard> guard = Guard(keyspace);
  if (!guard.ok()) return guard.status();
  request.instance = instance();
  request.at_ms = NowMs();
  return store_.store().key_table()->TakeKeys(*guard, request, store_.Deadline());
}

Result<KeyTable::Changed> KeyRegister::Mark(const Keyspace& keyspace, const KeyChange& change) {
  const Result<KeyGuard> guard = Guard(keyspace);
  if (!guard.ok()) return guard.status();
  return store_.store().key_table()->ChangeKeys(*guard, change, store_.Deadline());
}

Result<std::vector<KeyRow>> KeyRegister::Change(const Keyspace& keyspace, const KeyChange& change,
                                                bool repeats) {
  const Result<KeyGuard> guard = Guard(keyspace);
  if (!guard.ok()) return guard.status();
  Result<KeyTable::Changed> changed = Repeat(repeats ? kAttempts : 1, [&] {
    return store_.store().key_table()->ChangeKeys(*guard, change, store_.Deadline());
  });
  if (!changed.ok()) return changed.status();
  if (!changed->rows.empty()) {
    if (Status kept = Attest(keyspace, changed->seen); !kept.ok()) return kept;
  }
  return std::move(changed->rows);
}

Result<std::optional<KeyRow>> KeyRegister::Find(const Keyspace& keyspace, std::string_view key) {
  if (Status possible = CheckPossible(); !possible.ok()) return possible;
  return store_.store().key_table()->FindKey(keyspace.id(), key, store_.Deadline());
}

Result<std::optional<KeyRow>> KeyRegister::FindIdentity(const Keyspace& keyspace,
                                                        std::string_view identity) {
  if (Status possible = CheckPossible(); !possible.ok()) return possible;
  return store_.store().key_table()->FindIdentity(keyspace.id(), identity, store_.Deadline());
}

Result<KeyTable::Page> KeyRegister::List(const Keyspace& keyspace, const KeyTable::Query& query) {
  if (Status possible = CheckPossible(); !possible.ok()) return possible;
  return store_.store().key_table()->ListKeys(keyspace.id(), query, store_.Deadline());
}

Result<KeyTable::Counts> KeyRegister::Count(const Keyspace& keyspace) {
  if (Status possible = CheckPossible(); !possible.ok()) return possible;
  return store_.store().key_table()->CountKeys(keyspace.id(), store_.Deadline());
}

}  // namespace keymill::mint
