// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The commands that are spoken, as data: what is checked before one runs, what COMMAND tells, and
// what docs/protocols.md says come from one table.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/resp.h"

namespace keymill::api::resp {

// In the order of their names.
enum class Verb : std::uint8_t {
  kAuth,
  kClient,
  kCluster,
  kCommand,
  kConfig,
  kDbSize,
  kDiscard,
  kEcho,
  kExec,
  kHello,
  kIncr,
  kIncrBy,
  kInfo,
  kKeymillClaim,
  kKeymillDerive,
  kKeymillExplain,
  kKeymillList,
  kKeymillMint,
  kLpop,
  kMonitor,
  kMulti,
  kPing,
  kPsubscribe,
  kPublish,
  kPunsubscribe,
  kQuit,
  kReset,
  kSelect,
  kSpop,
  kSubscribe,
  kTime,
  kUnsubscribe,
  kUnwatch,
  kWatch,
};
inline constexpr std::size_t kVerbCount = static_cast<std::size_t>(Verb::kWatch) + 1;

struct Argument {
  std::string_view name;
  std::string_view type;  // key, string, integer
  std::string_view token = {};
  bool optional = false;
  bool multiple = false;
};

struct Command {
  Verb verb = Verb::kAuth;
  std::string_view name;   // In lower case.
  int arity = 0;           // Words, its name included; negative: at least so many.
  std::string_view flags;  // Words, as COMMAND has them.
  int key = 0;             // Which word names a keyspace; 0: none does.
  std::string_view group;
  std::string_view summary;
  std::span<const Argument> arguments = {};

  [[nodiscard]] bool TakesWords(std::size_t words) const;
};

std::span<const Command> Commands();

// By its name in any case; null when there is none.
const Command* FindCommand(std::string_view name);

// What COMMAND, and what COMMAND DOCS, tell of one. Clients check the types closely: texts are bulk
// strings, flags are simple ones.
void WriteInfo(const Command& command, wire::RespWriter& writer);
void WriteDocs(const Command& command, wire::RespWriter& writer);

// Whether the two differ in case only.
bool SameWord(std::string_view a, std::string_view b);

}  // namespace keymill::api::resp
