// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Answers that a retry gets again. Who lost the answer to a request for keys repeats the request
// with the same name, and gets the keys that the first one got.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "keymill/status.h"

#include "mint/key_register.h"

namespace keymill::mint {

class Keyspace;

// How long a retry gets the same keys, and by how much the clocks of instances may differ without
// ending that sooner.
inline constexpr std::chrono::hours kRetriesFor{24};
inline constexpr std::chrono::hours kRetriesMargin{24};
inline constexpr std::size_t kRetryNameSizeMax = 255;
inline constexpr std::uint64_t kRetryKeysMax = 10'000;

// `count` keys, each followed by a newline: those that an earlier call with this name got, or, at
// the first one, those that `mint` gives. Of two at once both get the same; the keys of the other
// are nobody's.
// Errors:
//   kInvalidArgument  a name that is empty, too long or not printable ASCII, or too many keys; or
//                     the keyspace recycles its keys, so that they may be somebody else's by then.
//   kAlreadyExists    the name belongs to a request for another number of keys.
//   those of `mint` and of KeyRegister::Add.
Result<std::string> MintOnce(KeyRegister& keys, const Keyspace& keyspace, std::string_view name,
                             std::uint64_t count, const std::function<Result<std::string>()>& mint);

// Whether a row is an answer that nobody gets again.
bool IsRetryOver(const KeyRow& row, std::int64_t now_ms);

// Forgets up to `rows_max` answers of the keyspace that are too old. How many there were.
Result<std::size_t> ForgetRetries(KeyRegister& keys, const Keyspace& keyspace,
                                  std::uint32_t rows_max);

}  // namespace keymill::mint
