// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys one by one in Redis. Adding and taking are one script each. A change of rows compares and
// then writes, like those of keyspaces, but compares the rows: whoever takes other keys meanwhile
// is not in its way.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/key_table.h"

#include "store/redis/client.h"
#include "store/redis/keyspace_client.h"
#include "store/redis/layout.h"

namespace keymill::store::redis {

// REQUIRES: `keyspaces` outlives it.
class RedisKeys final : public KeyTable {
 public:
  explicit RedisKeys(KeyspaceClient& keyspaces)
      : keyspaces_(keyspaces), client_(keyspaces.client()) {}

  // Also kInvalidArgument when the rows have more notes than kNotesSizeMax, in bytes.
  Result<Added> AddKeys(const KeyGuard& guard, const std::vector<KeyRow>& rows,
                        MonotonicTime deadline) override;
  Result<Taken> TakeKeys(const KeyGuard& guard, const TakeRequest& request,
                         MonotonicTime deadline) override;
  // As for AddKeys if keys are named; otherwise it changes no more rows than that.
  Result<Changed> ChangeKeys(const KeyGuard& guard, const KeyChange& change,
                             MonotonicTime deadline) override;
  Result<std::optional<KeyRow>> FindKey(std::string_view keyspace_id, std::string_view key,
                                        MonotonicTime deadline) override;
  Result<std::optional<KeyRow>> FindIdentity(std::string_view keyspace_id,
                                             std::string_view identity,
                                             MonotonicTime deadline) override;
  Result<Page> ListKeys(std::string_view keyspace_id, const Query& query,
                        MonotonicTime deadline) override;
  Result<Counts> CountKeys(std::string_view keyspace_id, MonotonicTime deadline) override;
  Status FillKeys(std::string_view fill, std::string_view keyspace_id,
                  const std::vector<KeyRow>& rows, MonotonicTime deadline) override;

  // No command or reply is larger than a server or this program takes.
  static constexpr std::size_t kNotesSizeMax = std::size_t{32} << 20;

 private:
  // Runs a script that has a guard; `words` are those behind it. The reply is none that says
  // "unusable".
  Result<wire::RespValue> RunGuarded(const Script& script, const KeyGuard& guard,
                                     std::span<const std::string> words, MonotonicTime deadline);
  // Runs one that only reads. Errors: kNotFound.
  Result<wire::RespValue> Read(const Script& script, std::string_view keyspace_id,
                               std::span<const std::string> words, MonotonicTime deadline);
  // Why the keyspace cannot be used; OK when it can by now. Quarantines one that went back.
  Status Examine(const KeyGuard& guard, MonotonicTime deadline);
  // Rows that match, without their notes.
  Result<std::vector<StoredKey>> Pick(const KeyGuard& guard, const KeyChange& change,
                                      MonotonicTime deadline);
  // Nothing when they are no longer as they were.
  Result<std::optional<Changed>> Apply(const KeyGuard& guard, const KeyChange& change,
                                       const std::vector<StoredKey>& found, MonotonicTime deadline);
  Result<std::optional<KeyRow>> FindBy(std::string_view what, std::string_view keyspace_id,
                                       std::string_view value, MonotonicTime deadline);
  [[nodiscard]] std::vector<std::string> ScriptKeys(std::string_view keyspace_id) const;

  KeyspaceClient& keyspaces_;
  Client& client_;
};

}  // namespace keymill::store::redis
