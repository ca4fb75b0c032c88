// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Transactions of etcd as its JSON gateway takes and tells them: bytes in base 64, 64-bit numbers
// as text, what is zero left out.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

namespace keymill::store::etcd {

struct KeyValue {
  std::string key;
  std::string value{};
  std::int64_t mod_revision = 0;
};

// One key, or those in [key, end).
struct Range {
  std::string key;
  std::string end{};             // "": the key alone.
  std::int64_t limit = 0;        // 0: all.
  bool descending = false;       // The last first. etcd reads the whole range for it.
  std::int64_t at_revision = 0;  // 0: the newest.
  bool keys_only = false;        // Without the values,
  bool count_only = false;       // or with nothing but Reply::counts.
};

// etcd's limit on the parts of a transaction, as it comes.
inline constexpr std::size_t kOperationsMax = 128;

// Reads when it has only ranges; otherwise it writes, if each key in `unchanged` still has that
// mod_revision. 0 stands for a key that is not there.
struct Transaction {
  std::vector<Range> ranges;
  std::map<std::string, std::int64_t> unchanged;
  std::map<std::string, std::optional<std::string>> writes;  // No value: delete.
  std::vector<Range> deletes = {};                           // All keys in each.
};

// Where an answer comes from.
struct Header {
  std::string cluster_id;
  std::int64_t term = 0;      // Moves on at every election, so also when all members were started.
  std::int64_t revision = 0;  // Moves on at every change.
  std::uint64_t falls = 0;    // How often this process had seen the revision fall by then.
  std::int64_t now_ms = 0;    // By the clock of the member that answered; 0 when it does not tell.
};

struct Reply {
  Header header;
  bool succeeded = false;  // Whether the comparisons held.
  std::vector<std::vector<KeyValue>> ranges;
  std::vector<std::uint64_t> counts;  // How many keys each range has, whatever its limit.
};

std::string Base64(std::string_view bytes);
// Errors: kInternal.
Result<std::string> FromBase64(std::string_view text);

// The body of /v3/kv/txn.
std::string TransactionText(const Transaction& transaction);

// Errors: kInternal when it is none.
Result<Reply> ReadReply(std::string_view body, const Transaction& transaction);

// The first key after all that begin with `prefix`.
std::string PrefixEnd(std::string prefix);

}  // namespace keymill::store::etcd
