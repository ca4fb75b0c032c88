// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/explanation.h"

#include <array>

#include <fmt/format.h>

namespace keymill::mint {

std::string_view ExplanationStateName(Explanation::State state) {
  static constexpr std::array<std::string_view, 4> kNames = {"issued", "reserved", "unknown",
                                                             "alias"};
  return kNames.at(static_cast<std::size_t>(state));
}

Result<Explanation> ExplainRow(std::string_view keyspace, Kind kind, const KeyRow& row) {
  using State = Explanation::State;
  Explanation explanation{.keyspace = std::string(keyspace), .kind = kind, .record = row};
  switch (row.state) {
    case KeyState::kAvailable:
      if (row.generation == 0) return NotIssued(keyspace, "it is still in the pool");
      explanation.state = State::kIssued;  // In an earlier life.
      return explanation;
    case KeyState::kReserved:
      explanation.state = State::kReserved;
      return explanation;
    case KeyState::kUsed:
    case KeyState::kReleased:
    case KeyState::kDerived:
      explanation.state = State::kIssued;
      return explanation;
    case KeyState::kAlias:
    case KeyState::kLink:  // Asked for only where the keyspace cannot have made it.
      explanation.state = State::kAlias;
      return explanation;
    case KeyState::kNote:
      break;
  }
  return NotIssued(keyspace, "it is no key");
}

Status NotIssued(std::string_view keyspace, std::string_view why) {
  static constexpr std::string_view kKey = "key: ";
  if (why.starts_with(kKey)) {
    return NotIssued(keyspace, fmt::format("it {}", why.substr(kKey.size())));
  }
  return {Code::kNotFound,
          fmt::format("keyspace {} cannot have issued this key: {}", keyspace, why)};
}

}  // namespace keymill::mint
