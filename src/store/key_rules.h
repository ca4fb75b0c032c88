// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What every store decides in the same way about the keys that it remembers one by one, as pure
// functions; see rules.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "keymill/key_table.h"

namespace keymill::store {

inline constexpr std::size_t kKeyInstanceSizeMax = 255;
inline constexpr std::size_t kKeyTokenSizeMax = 64;
inline constexpr std::size_t kKeyOwnerSizeMax = 200;
inline constexpr std::size_t kKeyNoteSizeMax = std::size_t{1} << 20;

// The name that stores keep. kInternal when the text is none of them.
Result<KeyState> ParseKeyState(std::string_view name);

// Whether a store takes this row. kInvalidArgument names what is wrong with it.
Status CheckKeyRow(const KeyRow& row);

// Whether each of these is what key_table.h requires. kInvalidArgument.
Status CheckAdd(const std::vector<KeyRow>& rows);
Status CheckTake(const KeyTable::TakeRequest& request);
Status CheckChange(const KeyChange& change);
Status CheckQuery(const KeyTable::Query& query);
Status CheckFillRows(const std::vector<KeyRow>& rows);

// Whether whoever has this guard may change keys of the keyspace; as CheckReservable, except for
// whoever recovers it.
Status CheckGuard(const KeyspaceRecord& record, const KeyGuard& guard);

// What AddKeys does when `there` is every row of the keyspace that has a key or an identity of
// `rows`.
struct AddPlan {
  std::vector<std::optional<KeyRow>> present;  // See KeyTable::Added.
  std::vector<std::size_t> added;              // Of `rows`, the others.
};
AddPlan DecideAdd(const std::vector<KeyRow>& rows, const std::vector<KeyRow>& there);

// Why TakeKeys takes nothing. kExhausted.
Status NoKeyAvailable(std::string_view keyspace);

// A row that was available and is taken.
KeyRow TakenRow(KeyRow row, const KeyTable::TakeRequest& request);

// Whether a row is one of those that `match` asks for. Does not look at match.keys.
bool Matches(const KeyRow& row, const KeyMatch& match);

// A row that matches and is changed; as it was if it goes. What is available has neither an owner
// nor somebody who took it.
KeyRow ChangedRow(KeyRow row, const KeyChange& change);

// Whether a row is on the list, wherever the cursor is.
bool IsAsked(const KeyRow& row, const KeyTable::Query& query);

}  // namespace keymill::store
