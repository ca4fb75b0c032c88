// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The session's commands about the connection and the server: what clients of Redis ask before they
// trust it.

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <unistd.h>

#include "api/resp/errors.h"
#include "api/resp/session.h"

namespace keymill::api::resp {
namespace {

// The version of Redis whose commands are spoken. Clients decide by it what to send.
constexpr std::string_view kRedisVersion = "7.0.0";

constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

// What CONFIG GET tells: what clients ask for, as a Redis that keeps nothing would answer.
struct Parameter {
  std::string_view name;
  std::string_view value;
};
constexpr std::array<Parameter, 9> kParameters = {{
    {"appendonly", "no"},
    {"databases", "1"},
    {"maxmemory", "0"},
    {"maxmemory-policy", "noeviction"},
    {"proto-max-bulk-len", "65536"},
    {"replica-read-only", "no"},
    {"save", ""},
    {"tcp-keepalive", "300"},
    {"timeout", "0"},
}};

// "*" and "?" stand for what they always do. Patterns are short: kCommandLimits bounds them, and
// names are shorter still.
bool Matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t behind = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      behind = t;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' || SameWord(pattern.substr(p, 1), text.substr(t, 1)))) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++behind;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool IsPlainWord(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

Progress RespSession::Help(std::span<const std::string_view> lines, std::string& output) {
  wire::RespWriter writer = Writer(output);
  writer.Array(lines.size());
  for (const std::string_view line : lines) writer.Simple(line);
  return Progress::kDone;
}

Progress RespSession::Hello(Words words, std::string& output) {
  int version = version_;
  std::size_t at = 1;
  if (words.size() > 1) {
    const std::string_view text = words[at++];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
    if (error != std::errc() || end != text.data() + text.size()) {
      return Error("ERR Protocol version is not an integer or out of range", output);
    }
    if (version != 2 && version != 3) {
      return Error("NOPROTO unsupported protocol version", output);
    }
  }
  std::string_view name = name_;
  while (at < words.size()) {
    const std::size_t left = words.size() - at;
    if (left >= 3 && SameWord(words[at], "AUTH")) {
      if (words[at + 1] != "default") return Error(kWrongPassword, output);
      at += 3;
    } else if (left >= 2 && SameWord(words[at], "SETNAME")) {
      name = words[at + 1];
      if (!IsPlainWord(name)) return SetName(name, output);
      at += 2;
    } else {
      return Error(fmt::format("ERR Syntax error in HELLO option '{}'", words[at].substr(0, 128)),
                   output);
    }
  }
  name_ = std::string(name);
  version_ = version;
  wire::RespWriter writer = Writer(output);
  writer.Map(7);
  writer.Bulk("server");
  writer.Bulk("keymill");
  writer.Bulk("version");
  writer.Bulk(kRedisVersion);
  writer.Bulk("proto");
  writer.Integer(version_);
  writer.Bulk("id");
  writer.Integer(static_cast<std::int64_t>(id_));
  writer.Bulk("mode");
  writer.Bulk("standalone");
  writer.Bulk("role");
  writer.Bulk("master");
  writer.Bulk("modules");
  writer.Array(0);
  return Progress::kDone;
}

Progress RespSession::Auth(Words words, std::string& output) {
  if (words.size() > 3) return Error(kSyntaxError, output);
  if (words.size() == 2) {
    return Error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?",
        output);
  }
  return words[1] == "default" ? Ok(output) : Error(kWrongPassword, output);
}

std::string RespSession::ClientLine() const {
  return fmt::format("id={} name={} db=0 resp={} lib-name={} lib-ver={}\n", id_, name_, version_,
                     library_, library_version_);
}

Progress RespSession::SetName(std::string_view name, std::string& output) {
  if (!IsPlainWord(name)) {
    return Error("ERR Client names cannot contain spaces, newlines or special characters.", output);
  }
  name_ = std::string(name);
  return Ok(output);
}

Progress RespSession::SetInfo(Words words, std::string& output) {
  const bool name = SameWord(words[2], "LIB-NAME");
  if (!name && !SameWord(words[2], "LIB-VER")) {
    return Error(fmt::format("ERR Unrecognized option '{}'", words[2].substr(0, 128)), output);
  }
  if (!IsPlainWord(words[3])) {
    return Error(fmt::format("ERR {} cannot contain spaces, newlines or special characters.",
                             name ? "lib-name" : "lib-ver"),
                 output);
  }
  (name ? library_ : library_version_) = std::string(words[3]);
  return Ok(output);
}

Progress RespSession::Client(Words words, std::string& output) {
  static constexpr std::array<std::string_view, 12> kLines = {
      "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "GETNAME",
      "    The name of this connection.",
      "ID",
      "    Its number.",
      "INFO, LIST",
      "    What is known of this connection. Others are not told of.",
      "SETINFO <LIB-NAME | LIB-VER> <value>",
      "    Says which library speaks.",
      "SETNAME <name>",
      "    Names this connection.",
      "NO-EVICT | NO-TOUCH | REPLY ON: accepted, and without effect.",
  };
  const std::string_view what = words[1];
  const auto arity = [&](std::string_view name, std::size_t count) {
    return words.size() == count ? Progress::kDone
                                 : Error(WrongArity(fmt::format("client|{}", name)), output);
  };
  // Whether it is this one; a wrong number of words is answered here.
  bool refused = false;
  const auto is = [&](std::string_view name, std::size_t count) {
    if (!SameWord(what, name)) return false;
    arity(name, count);
    refused = words.size() != count;
    return true;
  };
  if (is("setname", 3)) return refused ? Progress::kDone : SetName(words[2], output);
  if (is("setinfo", 4)) return refused ? Progress::kDone : SetInfo(words, output);
  if (is("getname", 2)) {
    if (refused) return Progress::kDone;
    name_.empty() ? Writer(output).Null() : Writer(output).Bulk(name_);
    return Progress::kDone;
  }
  if (is("id", 2)) {
    if (!refused) Writer(output).Integer(static_cast<std::int64_t>(id_));
    return Progress::kDone;
  }
  if (is("info", 2)) {
    if (!refused) Writer(output).Verbatim("txt:" + ClientLine());
    return Progress::kDone;
  }
  if (SameWord(what, "list")) {
    Writer(output).Verbatim("txt:" + ClientLine());
    return Progress::kDone;
  }
  if (is("no-evict", 3)) return refused ? Progress::kDone : Ok(output);
  if (is("no-touch", 3)) return refused ? Progress::kDone : Ok(output);
  if (is("reply", 3)) {
    if (refused) return Progress::kDone;
    return SameWord(words[2], "ON")
               ? Ok(output)
               : Error("ERR CLIENT REPLY OFF and SKIP are not supported here", output);
  }
  if (SameWord(what, "tracking")) {
    return Error("ERR CLIENT TRACKING is not supported here: no key is ever read", output);
  }
  if (SameWord(what, "help")) return Help(kLines, output);
  return Error(UnknownSubcommand("client", what), output);
}

Progress RespSession::TellCommands(Words words, std::string& output) {
  static constexpr std::array<std::string_view, 11> kLines = {
      "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "(no subcommand)",
      "    Details of all commands.",
      "COUNT",
      "    How many there are.",
      "DOCS [<command-name> ...]",
      "    What they are for.",
      "GETKEYS <full-command>",
      "    The keyspace that a command names.",
      "INFO [<command-name> ...], LIST",
      "    Details, and names.",
  };
  wire::RespWriter writer = Writer(output);
  const std::span<const Command> all = Commands();
  if (words.size() == 1 || (words.size() == 2 && SameWord(words[1], "INFO"))) {
    writer.Array(all.size());
    for (const Command& command : all) WriteInfo(command, writer);
    return Progress::kDone;
  }
  const Words names = words.subspan(2);
  if (SameWord(words[1], "COUNT")) {
    if (!names.empty()) return Error(WrongArity("command|count"), output);
    writer.Integer(static_cast<std::int64_t>(all.size()));
  } else if (SameWord(words[1], "LIST")) {
    if (!names.empty()) return Error(kSyntaxError, output);
    writer.Array(all.size());
    for (const Command& command : all) writer.Bulk(command.name);
  } else if (SameWord(words[1], "INFO")) {
    writer.Array(names.size());
    for (const std::string_view name : names) {
      const Command* const command = FindCommand(name);
      command == nullptr ? writer.Null() : WriteInfo(*command, writer);
    }
  } else if (SameWord(words[1], "DOCS")) {
    std::vector<const Command*> found;
    for (const std::string_view name : names) {
      if (const Command* const command = FindCommand(name)) found.push_back(command);
    }
    if (names.empty()) {
      for (const Command& command : all) found.push_back(&command);
    }
    writer.Map(found.size());
    for (const Command* const command : found) {
      writer.Bulk(command->name);
      WriteDocs(*command, writer);
    }
  } else if (SameWord(words[1], "GETKEYS")) {
    return GetKeys(words, output);
  } else if (SameWord(words[1], "HELP")) {
    return Help(kLines, output);
  } else {
    return Error(UnknownSubcommand("command", words[1]), output);
  }
  return Progress::kDone;
}

Progress RespSession::GetKeys(Words words, std::string& output) {
  if (words.size() < 3) return Error(WrongArity("command|getkeys"), output);
  const Words asked = words.subspan(2);
  const Command* const command = FindCommand(asked.front());
  if (command == nullptr) return Error("ERR Invalid command specified", output);
  if (command->key == 0) return Error("ERR The command has no key arguments", output);
  if (!command->TakesWords(asked.size())) {
    return Error("ERR Invalid number of arguments specified for command", output);
  }
  wire::RespWriter writer = Writer(output);
  writer.Array(1);
  writer.Bulk(asked[static_cast<std::size_t>(command->key)]);
  return Progress::kDone;
}

Progress RespSession::Config(Words words, std::string& output) {
  if (SameWord(words[1], "SET") || SameWord(words[1], "REWRITE") ||
      SameWord(words[1], "RESETSTAT")) {
    return Error(
        "ERR nothing can be configured over RESP; `keymill config show` lists the settings",
        output);
  }
  if (!SameWord(words[1], "GET")) return Error(UnknownSubcommand("config", words[1]), output);
  if (words.size() < 3) return Error(WrongArity("config|get"), output);
  const Words patterns = words.subspan(2);
  std::vector<Parameter> found;
  for (const Parameter& parameter : kParameters) {
    const bool wanted = std::any_of(patterns.begin(), patterns.end(), [&](std::string_view each) {
      return Matches(each, parameter.name);
    });
    if (wanted) found.push_back(parameter);
  }
  wire::RespWriter writer = Writer(output);
  writer.Map(found.size());
  for (const Parameter& parameter : found) {
    writer.Bulk(parameter.name);
    writer.Bulk(parameter.value);
  }
  return Progress::kDone;
}

Progress RespSession::Info(Words words, std::string& output) {
  const auto wanted = [&](std::string_view section) {
    if (words.size() == 1) return true;
    return std::any_of(words.begin() + 1, words.end(), [&](std::string_view each) {
      return SameWord(each, section) || SameWord(each, "all") || SameWord(each, "default") ||
             SameWord(each, "everything");
    });
  };
  const mint::Engine* const mill = service_.engine();
  std::string text = "txt:";
  const auto add = [&](std::string_view section, std::string_view lines) {
    if (!wanted(section)) return;
    if (text.size() > 4) text += "\r\n";
    text += fmt::format("# {}\r\n{}", section, lines);
  };
  const auto up = std::chrono::duration_cast<std::chrono::seconds>(service_.clock().Monotonic() -
                                                                   service_.born());
  add("Server", fmt::format("redis_version:{}\r\nredis_mode:standalone\r\nprocess_id:{}\r\n"
                            "uptime_in_seconds:{}\r\n",
                            kRedisVersion, ::getpid(), up.count()));
  add("Clients", fmt::format("connected_clients:{}\r\n", service_.clients()));
  add("Persistence", "loading:0\r\n");
  add("Replication", "role:master\r\nconnected_slaves:0\r\n");
  add("Keymill",
      fmt::format("keymill_version:{}\r\nstore_up:{}\r\nkeyspaces:{}\r\ndraining:{}\r\n",
                  service_.options().version, mill != nullptr && mill->store_up() ? 1 : 0,
                  mill == nullptr ? 0 : mill->Known().size(),
                  service_.backend().draining() ? 1 : 0));
  Writer(output).Verbatim(text);
  return Progress::kDone;
}

Progress RespSession::Ping(Words words, std::string& output) {
  if (words.size() > 2) return Error(WrongArity("ping"), output);
  if (words.size() == 2) {
    Writer(output).Bulk(words[1]);
  } else {
    output += "+PONG\r\n";
  }
  return Progress::kDone;
}

Progress RespSession::Select(std::string_view index, std::string& output) {
  int number = 0;
  const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), number);
  if (error != std::errc() || end != index.data() + index.size()) {
    return Error(kNotAnInteger, output);
  }
  return number == 0 ? Ok(output) : Error("ERR DB index is out of range", output);
}

Progress RespSession::Time(std::string& output) {
  const std::int64_t ms = service_.clock().WallMs();
  wire::RespWriter writer = Writer(output);
  writer.Array(2);
  writer.Bulk(fmt::to_string(ms / 1000));
  writer.Bulk(fmt::to_string(ms % 1000 * 1000));
  return Progress::kDone;
}

Progress RespSession::Reset(std::string& output) {
  DropQueue();
  version_ = 2;
  name_.clear();
  Writer(output).Simple("RESET");
  return Progress::kDone;
}

}  // namespace keymill::api::resp
