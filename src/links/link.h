// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A key that leads to a URL, and the row that the store keeps of it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keymill/key_table.h"
#include "keymill/status.h"

namespace keymill::links {

inline constexpr std::size_t kUrlSizeMax = 2048;

struct Link {
  std::string key;
  std::string url;
  bool alias = false;  // Somebody chose the key.
  std::int64_t created_at_ms = 0;
  std::int64_t expires_at_ms = 0;  // 0 for never.
  // How often it was followed, and when that was written down last; it is not at once.
  std::uint64_t hits = 0;
  std::int64_t counted_at_ms = 0;  // 0 when it was never followed.

  friend bool operator==(const Link&, const Link&) = default;
};

// Whether it leads nowhere any more.
inline bool HasEnded(const Link& link, std::int64_t now_ms) {
  return link.expires_at_ms != 0 && link.expires_at_ms <= now_ms;
}

// The token of links whose keys were minted. Those are of no use to anybody once the link is gone,
// for the keyspace hands none out twice. An alias stays taken, and has a random token.
inline constexpr std::string_view kMintedToken = "minted";

// The row of a link that is made now.
KeyRow RowOf(const Link& link, std::string instance, std::string token);

// kInternal when the row is no link.
Result<Link> LinkOf(const KeyRow& row);

// Where a link may lead: an absolute http or https URL of up to kUrlSizeMax bytes, spelt so that it
// can stand in a header.
struct Target {
  std::string url;        // As it was sent, wherever that is possible.
  std::string canonical;  // The same for all spellings.
};
// Errors: kInvalidArgument, naming what is wrong with it.
Result<Target> CheckTarget(std::string_view url);

}  // namespace keymill::links
