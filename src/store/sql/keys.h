// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The statements about single keys: see rows.h. Many rows go into one statement, so that a pool of
// millions is filled in minutes; none becomes so long that a server refuses it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/key_table.h"

#include "store/sql/connection.h"

namespace keymill::store::sql {

// `column` is "key_text" or "identity".
Result<std::optional<KeyRow>> SelectKey(Connection& db, std::string_view keyspace_id,
                                        std::string_view column, std::string_view value);

// Every row that has a key or an identity of `rows`; some may come twice.
Result<std::vector<KeyRow>> SelectPresent(Connection& db, std::string_view keyspace_id,
                                          const std::vector<KeyRow>& rows);
Status InsertKeys(Connection& db, std::string_view keyspace_id,
                  const std::vector<const KeyRow*>& rows);

// Up to `count` keys that are available, those first that have been for longest.
Result<std::vector<std::string>> SelectAvailable(Connection& db, std::string_view keyspace_id,
                                                 std::uint32_t count);
// REQUIRES: all are available.
Status UpdateTaken(Connection& db, std::string_view keyspace_id,
                   const std::vector<std::string>& keys, const KeyTable::TakeRequest& request);

Result<std::vector<KeyRow>> SelectMatching(Connection& db, std::string_view keyspace_id,
                                           const KeyMatch& match, std::uint32_t rows_max);
// As ChangedRow does. REQUIRES: all match.
Status UpdateChanged(Connection& db, std::string_view keyspace_id,
                     const std::vector<std::string>& keys, const KeyChange& change);
// REQUIRES: all are notes or links.
Status DeleteKeys(Connection& db, std::string_view keyspace_id,
                  const std::vector<std::string>& keys);

// State after state, each by time, so that every filter but that of the instance goes by an index.
// kInvalidArgument when the cursor is none of ours.
Result<KeyTable::Page> SelectPage(Connection& db, std::string_view keyspace_id,
                                  const KeyTable::Query& query);
Result<KeyTable::Counts> CountByState(Connection& db, std::string_view keyspace_id);

}  // namespace keymill::store::sql
