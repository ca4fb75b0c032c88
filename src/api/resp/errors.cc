// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/resp/errors.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "api/details.h"
#include "api/status_map.h"

namespace keymill::api::resp {
namespace {

// So much of what a client has sent is sent back at most.
constexpr std::size_t kEchoMax = 128;

// Its beginning, without bytes that would do something to a terminal or a log.
std::string Echo(std::string_view text, std::size_t max = kEchoMax) {
  std::string echo(text.substr(0, max));
  std::replace_if(
      echo.begin(), echo.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, '?');
  return echo;
}

}  // namespace

std::string ErrorOf(const Status& status) {
  return fmt::format("{} {}", MapStatus(status.code()).resp, ClientDetail(status, "resp"));
}

std::string NoSuchKeyspace(std::string_view name) {
  return ErrorOf({Code::kNotFound, NoKeyspaceDetail(Echo(name))});
}

std::string NoKeys(const Status& verdict, mint::Keyspace& keyspace) {
  if (verdict.code() != Code::kFailedPrecondition) return ErrorOf(verdict);
  const KeyspaceState state = keyspace.stats().state;
  if (state == KeyspaceState::kRetired) return ErrorOf(verdict);
  const std::string_view prefix = MapStatus(Code::kUnavailable).resp;
  if (state == KeyspaceState::kSealed) {
    return fmt::format("{} {}", prefix, MovedDetail(keyspace.name()));
  }
  // The instance's own trouble, such as a damaged witness: its log says more.
  return ErrorOf({Code::kUnavailable, verdict.message()});
}

std::string UnknownCommand(std::span<const std::string_view> words) {
  std::string arguments;
  for (const std::string_view word : words.subspan(1)) {
    if (arguments.size() >= kEchoMax) break;
    arguments += fmt::format("'{}' ", Echo(word, kEchoMax - arguments.size()));
  }
  return fmt::format("ERR unknown command '{}', with args beginning with: {}", Echo(words.front()),
                     arguments);
}

std::string UnknownSubcommand(std::string_view command, std::string_view subcommand) {
  std::string upper(command);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format("ERR unknown subcommand '{}'. Try {} HELP.", Echo(subcommand), upper);
}

std::string WrongArity(std::string_view command) {
  return fmt::format("ERR wrong number of arguments for '{}' command", command);
}

}  // namespace keymill::api::resp
