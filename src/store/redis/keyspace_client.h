// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keyspaces in a Redis server: looking at one, and changing one that nobody else changes
// meanwhile.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keymill/clock.h"
#include "keymill/store.h"

#include "store/redis/client.h"
#include "store/redis/layout.h"
#include "store/redis/orders.h"
#include "store/redis/scripts.h"
#include "store/rules.h"

namespace keymill::store::redis {

// A keyspace at one moment.
struct Snapshot {
  std::string moved_to;  // Where the store was moved to; "" when it was not.
  StoredRecord stored;
  std::vector<std::vector<LedgerRow>> answers;  // One for each question.
};

// Which keyspace, and in which timeline of the server; "" for any.
struct Target {
  std::string_view keyspace_id;
  std::string_view timeline = {};
};

// A keyspace that is made unless its name exists.
struct NewPart {
  Established::Part made;  // As it will be then.
  Orders orders;
};

// Why a script has written nothing, from its reply. kInternal when no script says so.
Status RefusalOf(const wire::RespValue& reply, const RedisSettings& settings);

// kNotFound: no keyspace has this id.
Status NoSuchId(std::string_view id);

// Safe for concurrent use by multiple threads.
class KeyspaceClient {
 public:
  KeyspaceClient(RedisSettings settings, const Clock& clock)
      : clock_(clock), client_(std::move(settings), clock) {}

  Client& client() { return client_; }

  // Errors: kNotFound; kFailedPrecondition when the store is newer than this program, or being
  // filled.
  Result<StoreIdentity> Identity(MonotonicTime deadline);
  // Whether it can be used or made: OK also when there is none, or it is being filled.
  Status Prepare(MonotonicTime deadline);

  // All at once or nothing. See EstablishScript for `store_id`.
  Result<std::vector<Established::Part>> Establish(std::span<const NewPart> parts,
                                                   std::string_view store_id, std::int64_t wall_ms,
                                                   MonotonicTime deadline);

  // Errors of these: kFailedPrecondition when the store is being filled; kNotFound.
  Result<std::string> FindId(std::string_view name, MonotonicTime deadline);
  // Errors: also kUnavailable when the timeline is another. In a store that was sealed, an open one
  // is told as sealed.
  Result<Snapshot> Look(const Target& target, std::span<const Question> questions,
                        MonotonicTime deadline);
  Result<std::vector<KeyspaceRecord>> List(MonotonicTime deadline);

  // Looks, lets `decide(Snapshot&, Orders&) -> Result<T>` say what to do, and does it; begins anew
  // when the keyspace was changed meanwhile. Orders are carried out also when the decision is an
  // error: a refusal may have to be written down.
  // Errors: kFailedPrecondition when the store was sealed.
  template <typename T, typename Decide>
  Result<T> Change(const Target& target, std::span<const Question> questions,
                   MonotonicTime deadline, Decide decide) {
    for (;;) {
      Result<Snapshot> seen = Look(target, questions, deadline);
      if (!seen.ok()) return seen.status();
      if (!seen->moved_to.empty()) return Sealed(seen->moved_to);
      const Token before{seen->stored.record.rev, seen->stored.change};
      Orders orders;
      Result<T> outcome = decide(*seen, orders);
      if (orders.empty()) return outcome;
      Result<bool> applied = Apply(target, before, orders, deadline);
      if (!applied.ok()) return applied.status();
      if (*applied) return outcome;
      if (clock_.Monotonic() >= deadline) return TooBusy(target.keyspace_id);
    }
  }

  // Why a change that always found the keyspace changed was given up. kUnavailable.
  [[nodiscard]] Status TooBusy(std::string_view keyspace_id) const;
  [[nodiscard]] const Clock& clock() const { return clock_; }

  // See Store::AgreeOnTimeline.
  Status Agree(std::string_view timeline, MonotonicTime deadline);

 private:
  // What a keyspace must be like for orders to be carried out.
  struct Token {
    std::uint64_t rev = 0;
    std::string change;
  };

  // False when the keyspace is no longer as it was; nothing was written then.
  Result<bool> Apply(const Target& target, const Token& before, const Orders& orders,
                     MonotonicTime deadline);
  // Its identity if there is a store of this schema; `filling` says whether it is being filled.
  Result<StoreIdentity> FindStore(bool& filling, MonotonicTime deadline);
  // Replies of which none is an error.
  Result<std::vector<wire::RespValue>> Ask(std::span<const Command> commands,
                                           MonotonicTime deadline);
  [[nodiscard]] const std::string& prefix() const { return client_.settings().prefix; }

  const Clock& clock_;
  Client client_;
};

}  // namespace keymill::store::redis
