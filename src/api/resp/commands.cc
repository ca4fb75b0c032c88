// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/resp/commands.h"

#include <algorithm>
#include <array>

namespace keymill::api::resp {
namespace {

constexpr std::string_view kSince = "0.1.0";  // All came with the first version.

constexpr Argument kKeyspace = {"keyspace", "key"};
constexpr std::array<Argument, 2> kAuthArguments = {
    {{"username", "string", {}, true}, {"password", "string"}}};
constexpr std::array<Argument, 2> kSubcommand = {
    {{"subcommand", "string"}, {"argument", "string", {}, true, true}}};
constexpr std::array<Argument, 2> kMaybeSubcommand = {
    {{"subcommand", "string", {}, true}, {"argument", "string", {}, true, true}}};
constexpr std::array<Argument, 1> kMessage = {{{"message", "string"}}};
constexpr std::array<Argument, 1> kMaybeMessage = {{{"message", "string", {}, true}}};
constexpr std::array<Argument, 3> kHelloArguments = {{{"protover", "integer", {}, true},
                                                      {"auth", "string", "AUTH", true},
                                                      {"clientname", "string", "SETNAME", true}}};
constexpr std::array<Argument, 1> kJustKeyspace = {{kKeyspace}};
constexpr std::array<Argument, 2> kIncrByArguments = {{kKeyspace, {"increment", "integer"}}};
constexpr std::array<Argument, 1> kSections = {{{"section", "string", {}, true, true}}};
constexpr std::array<Argument, 3> kClaimArguments = {
    {kKeyspace, {"alias", "string"}, {"owner", "string", "OWNER", true}}};
constexpr std::array<Argument, 3> kDeriveArguments = {
    {kKeyspace, {"content", "string"}, {"salt", "string", "SALT", true}}};
constexpr std::array<Argument, 2> kExplainArguments = {
    {{"keyspace", "key", {}, true}, {"key", "string"}}};
constexpr std::array<Argument, 2> kMintArguments = {
    {kKeyspace, {"count", "integer", "COUNT", true}}};
constexpr std::array<Argument, 2> kPopArguments = {{kKeyspace, {"count", "integer", {}, true}}};
constexpr std::array<Argument, 1> kChannels = {{{"channel", "string", {}, false, true}}};
constexpr std::array<Argument, 1> kMaybeChannels = {{{"channel", "string", {}, true, true}}};
constexpr std::array<Argument, 2> kPublishArguments = {
    {{"channel", "string"}, {"message", "string"}}};
constexpr std::array<Argument, 1> kIndex = {{{"index", "integer"}}};
constexpr std::array<Argument, 1> kKeys = {{{"key", "key", {}, false, true}}};

// Those that mint are `write`: no proxy may send them to a replica or keep their answer.
constexpr std::array<Command, kVerbCount> kCommands = {{
    {Verb::kAuth, "auth", -2, "noscript loading stale fast no_auth", 0, "connection",
     "Shows a password. None is configured.", kAuthArguments},
    {Verb::kClient, "client", -2, "noscript loading stale", 0, "connection",
     "About this connection: SETNAME, GETNAME, SETINFO, ID, INFO, LIST.", kSubcommand},
    {Verb::kCluster, "cluster", -2, "loading stale", 0, "cluster",
     "Refused: all instances are alike, and any answers for all keyspaces.", kSubcommand},
    {Verb::kCommand, "command", -1, "loading stale", 0, "server",
     "The commands that are spoken here: COUNT, DOCS, GETKEYS, INFO, LIST.", kMaybeSubcommand},
    {Verb::kConfig, "config", -2, "admin noscript loading stale", 0, "server",
     "GET tells what clients ask for at connect. Nothing can be set.", kSubcommand},
    {Verb::kDbSize, "dbsize", 1, "readonly fast", 0, "server",
     "How many keyspaces this instance has used."},
    {Verb::kDiscard, "discard", 1, "noscript loading stale fast", 0, "transactions",
     "Drops the commands that MULTI has collected."},
    {Verb::kEcho, "echo", 2, "loading stale fast", 0, "connection", "Answers the message.",
     kMessage},
    {Verb::kExec, "exec", 1, "noscript loading stale", 0, "transactions",
     "Runs the commands that MULTI has collected. One that fails does not stop the others."},
    {Verb::kHello, "hello", -1, "noscript loading stale fast no_auth", 0, "connection",
     "Chooses RESP2 or RESP3.", kHelloArguments},
    {Verb::kIncr, "incr", 2, "write fast", 1, "keymill",
     "The next number of a sequence, as an integer; refused above 2^53.", kJustKeyspace},
    {Verb::kIncrBy, "incrby", 3, "write fast", 1, "keymill",
     "Takes a run of consecutive numbers of a sequence and answers the last one.",
     kIncrByArguments},
    {Verb::kInfo, "info", -1, "loading stale", 0, "server", "Facts about the server.", kSections},
    {Verb::kKeymillClaim, "keymill.claim", -3, "write", 1, "keymill",
     "Claims an alias. With an owner it can be repeated.", kClaimArguments},
    {Verb::kKeymillDerive, "keymill.derive", -3, "write", 1, "keymill",
     "The key of a content: the same content, the same key.", kDeriveArguments},
    {Verb::kKeymillExplain, "keymill.explain", -2, "readonly", 1, "keymill",
     "What is known of a key.", kExplainArguments},
    {Verb::kKeymillList, "keymill.list", 1, "readonly", 0, "keymill", "The keyspaces."},
    {Verb::kKeymillMint, "keymill.mint", -2, "write fast", 1, "keymill",
     "A new key; with COUNT an array of up to 10000.", kMintArguments},
    {Verb::kLpop, "lpop", -2, "write fast", 1, "keymill",
     "As KEYMILL.MINT, for clients that know Redis only.", kPopArguments},
    {Verb::kMonitor, "monitor", 1, "admin noscript loading stale", 0, "server",
     "Refused: nobody may watch the keys of others."},
    {Verb::kMulti, "multi", 1, "noscript loading stale fast", 0, "transactions",
     "Collects commands until EXEC."},
    {Verb::kPing, "ping", -1, "fast", 0, "connection", "Answers PONG, or the message.",
     kMaybeMessage},
    {Verb::kPsubscribe, "psubscribe", -2, "pubsub noscript loading stale", 0, "pubsub",
     "Refused: there are no channels.", kChannels},
    {Verb::kPublish, "publish", 3, "pubsub loading stale fast", 0, "pubsub",
     "Refused: there are no channels.", kPublishArguments},
    {Verb::kPunsubscribe, "punsubscribe", -1, "pubsub noscript loading stale", 0, "pubsub",
     "Refused: there are no channels.", kMaybeChannels},
    {Verb::kQuit, "quit", -1, "noscript loading stale fast no_auth", 0, "connection",
     "Closes the connection."},
    {Verb::kReset, "reset", 1, "noscript loading stale fast no_auth", 0, "connection",
     "Makes the connection as it was when it was opened."},
    {Verb::kSelect, "select", 2, "loading stale fast", 0, "connection",
     "Database 0; there is no other.", kIndex},
    {Verb::kSpop, "spop", -2, "write fast", 1, "keymill",
     "As KEYMILL.MINT, for clients that know Redis only.", kPopArguments},
    {Verb::kSubscribe, "subscribe", -2, "pubsub noscript loading stale", 0, "pubsub",
     "Refused: there are no channels.", kChannels},
    {Verb::kTime, "time", 1, "loading stale fast", 0, "server",
     "The server's clock: seconds and microseconds."},
    {Verb::kUnsubscribe, "unsubscribe", -1, "pubsub noscript loading stale", 0, "pubsub",
     "Refused: there are no channels.", kMaybeChannels},
    {Verb::kUnwatch, "unwatch", 1, "noscript loading stale fast", 0, "transactions",
     "Does nothing: there is nothing to watch."},
    {Verb::kWatch, "watch", -2, "noscript loading stale fast", 0, "transactions",
     "Does nothing: no key ever changes.", kKeys},
}};

constexpr bool InOrder() {
  for (std::size_t i = 0; i < kCommands.size(); ++i) {
    if (static_cast<std::size_t>(kCommands[i].verb) != i) return false;
    if (i > 0 && kCommands[i - 1].name >= kCommands[i].name) return false;
  }
  return true;
}
static_assert(InOrder());

constexpr char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

std::size_t CountWords(std::string_view words) {
  if (words.empty()) return 0;
  return 1 + static_cast<std::size_t>(std::count(words.begin(), words.end(), ' '));
}

void WriteWords(std::string_view words, std::string_view before, wire::RespWriter& writer) {
  writer.Set(CountWords(words));
  std::string word;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    word.assign(before).append(words.substr(0, end));
    writer.Simple(word);
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

void WriteKeySpecs(const Command& command, wire::RespWriter& writer) {
  writer.Array(command.key == 0 ? 0 : 1);
  if (command.key == 0) return;
  writer.Map(3);
  writer.Bulk("flags");
  WriteWords(command.flags.starts_with("write") ? "RW ACCESS UPDATE" : "RO ACCESS", "", writer);
  writer.Bulk("begin_search");
  writer.Map(2);
  writer.Bulk("type");
  writer.Bulk("index");
  writer.Bulk("spec");
  writer.Map(1);
  writer.Bulk("index");
  writer.Integer(command.key);
  writer.Bulk("find_keys");
  writer.Map(2);
  writer.Bulk("type");
  writer.Bulk("range");
  writer.Bulk("spec");
  writer.Map(3);
  writer.Bulk("lastkey");
  writer.Integer(0);
  writer.Bulk("keystep");
  writer.Integer(1);
  writer.Bulk("limit");
  writer.Integer(0);
}

void WriteArgument(const Argument& argument, wire::RespWriter& writer) {
  const bool flags = argument.optional || argument.multiple;
  writer.Map(2 + (argument.type == "key" ? 1 : 0) + (argument.token.empty() ? 0 : 1) +
             (flags ? 1 : 0));
  writer.Bulk("name");
  writer.Bulk(argument.name);
  writer.Bulk("type");
  writer.Bulk(argument.type);
  if (argument.type == "key") {
    writer.Bulk("key_spec_index");
    writer.Integer(0);
  }
  if (!argument.token.empty()) {
    writer.Bulk("token");
    writer.Bulk(argument.token);
  }
  if (!flags) return;
  writer.Bulk("flags");
  writer.Array((argument.optional ? 1 : 0) + (argument.multiple ? 1 : 0));
  if (argument.optional) writer.Simple("optional");
  if (argument.multiple) writer.Simple("multiple");
}

}  // namespace

bool Command::TakesWords(std::size_t words) const {
  const auto least = static_cast<std::size_t>(arity < 0 ? -arity : arity);
  return arity < 0 ? words >= least : words == least;
}

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::span<const Command> Commands() { return kCommands; }

const Command* FindCommand(std::string_view name) {
  constexpr std::size_t kNameMax = 16;
  std::array<char, kNameMax> lower;
  if (name.size() > lower.size()) return nullptr;
  std::transform(name.begin(), name.end(), lower.begin(), Lower);
  const std::string_view wanted(lower.data(), name.size());
  const auto found =
      std::lower_bound(kCommands.begin(), kCommands.end(), wanted,
                       [](const Command& each, std::string_view of) { return each.name < of; });
  return found == kCommands.end() || found->name != wanted ? nullptr : &*found;
}

void WriteInfo(const Command& command, wire::RespWriter& writer) {
  writer.Array(10);
  writer.Bulk(command.name);
  writer.Integer(command.arity);
  WriteWords(command.flags, "", writer);
  writer.Integer(command.key);
  writer.Integer(command.key);
  writer.Integer(command.key == 0 ? 0 : 1);
  std::string category(command.group);
  if (command.group == "keymill" && command.flags.starts_with("write")) category += " write";
  WriteWords(category, "@", writer);
  writer.Array(0);  // Tips.
  WriteKeySpecs(command, writer);
  writer.Array(0);  // Subcommands.
}

void WriteDocs(const Command& command, wire::RespWriter& writer) {
  writer.Map(command.arguments.empty() ? 3 : 4);
  writer.Bulk("summary");
  writer.Bulk(command.summary);
  writer.Bulk("since");
  writer.Bulk(kSince);
  writer.Bulk("group");
  writer.Bulk(command.group);
  if (command.arguments.empty()) return;
  writer.Bulk("arguments");
  writer.Array(command.arguments.size());
  for (const Argument& argument : command.arguments) WriteArgument(argument, writer);
}

}  // namespace keymill::api::resp
