// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/connection.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/fork.h"

namespace keymill::store::redis {
namespace {

constexpr std::string_view kNoRight = "NOPERM";
// It says so before anything was asked, and hangs up.
constexpr std::string_view kTooMany = "ERR max number of clients";

constexpr std::size_t kTextMax = 200;

struct KnownError {
  std::string_view word;  // The first of the reply.
  Code code;
  std::string_view advice;
};

constexpr std::array<KnownError, 17> kKnownErrors = {{
    {kTooMany, Code::kUnavailable,
     "others hold all connections: close idle clients, or raise maxclients in redis.conf and "
     "restart the server"},
    {"LOADING", Code::kUnavailable, "wait until it has loaded its data"},
    {"BUSY", Code::kUnavailable, "somebody's script runs there; redis-cli SCRIPT KILL ends it"},
    {"OOM", Code::kUnavailable, "give it more memory: redis-cli CONFIG SET maxmemory"},
    {"MISCONF", Code::kUnavailable, "it cannot write to its disk; its log says why"},
    {"READONLY", Code::kUnavailable, "this is a replica; name the master"},
    {"MASTERDOWN", Code::kUnavailable, "this is a replica; name the master"},
    {"NOREPLICAS", Code::kUnavailable, "it wants more replicas than it has"},
    {"TRYAGAIN", Code::kUnavailable, "the cluster is moving its slots"},
    {"CLUSTERDOWN", Code::kUnavailable, "the cluster is down"},
    {"MOVED", Code::kFailedPrecondition, "a Redis Cluster cannot be the store"},
    {"ASK", Code::kFailedPrecondition, "a Redis Cluster cannot be the store"},
    {"NOAUTH", Code::kFailedPrecondition, "write redis://USER:PASSWORD@HOST or :PASSWORD@HOST"},
    {"WRONGPASS", Code::kFailedPrecondition, "user or password are wrong"},
    {kNoRight, Code::kFailedPrecondition, "the user needs more rights"},
    {"DENIED", Code::kFailedPrecondition,
     "set a password there, requirepass in redis.conf, and give it in the URL; protected-mode no "
     "only where nobody else reaches the port"},
    {"NOPROTO", Code::kFailedPrecondition, "the server is too old"},
}};

// Redis before version 7 puts the error of a command of a script into one of its own:
// "ERR Error running script (…): @user_script: 3: -OOM command not allowed".
// And before version 7.2 it has no word for a command that the user may not run:
// "ERR The user executing the script can't run this command or subcommand script: …".
bool Says(std::string_view text, std::string_view word) {
  if (word == kNoRight && text.starts_with("ERR The user executing the script can't ")) return true;
  if (word == kTooMany) return text.starts_with(word);
  if (text.starts_with(word)) return text.size() == word.size() || text[word.size()] == ' ';
  return text.starts_with("ERR") && text.find(fmt::format(" -{} ", word)) != std::string::npos;
}

bool IsUnknownCommand(const wire::RespValue& reply) {
  return reply.is_error() &&
         (reply.text.starts_with("ERR unknown command") || reply.text.starts_with("NOPROTO"));
}

}  // namespace

bool LacksRight(const wire::RespValue& reply) {
  return reply.is_error() && Says(reply.text, kNoRight);
}

Status ReplyError(std::string_view what, std::string_view place, const wire::RespValue& reply) {
  // Some servers repeat the arguments of what they do not know: a password may be among them.
  const std::string_view text =
      std::string_view(reply.text).substr(0, reply.text.find(", with args"));
  // Some explain themselves at length; what they mean may stand further back.
  const std::string_view shown = text.size() > kTextMax ? text.substr(0, text.find(". ")) : text;
  for (const KnownError& known : kKnownErrors) {
    if (!Says(text, known.word)) continue;
    return {known.code, fmt::format("{} {}: {} ({})", what, place, shown, known.advice)};
  }
  return {Code::kInternal, fmt::format("{} {}: {}", what, place, shown)};
}

Connection::Connection(std::unique_ptr<Link> link, std::string place)
    : link_(std::move(link)), place_(std::move(place)), fork_generation_(ForkGeneration()) {}

Result<std::unique_ptr<Connection>> Connection::Open(const RedisSettings& settings,
                                                     const Clock& clock, MonotonicTime deadline) {
  Result<std::unique_ptr<Link>> link = Link::Connect(settings, clock, deadline);
  if (!link.ok()) return link.status();
  std::unique_ptr<Connection> made(new Connection(*std::move(link), settings.Place()));
  if (Status shaken = made->ShakeHands(settings, deadline); !shaken.ok()) return shaken;
  made->shaken_ = true;
  return made;
}

Status Connection::ShakeHands(const RedisSettings& settings, MonotonicTime deadline) {
  const std::string user = settings.user.empty() ? "default" : settings.user;
  Command hello = {"HELLO", "3"};
  if (!settings.password.empty()) {
    hello.insert(hello.end(), {"AUTH", user, settings.password});
  }
  Result<wire::RespValue> reply = CallOne(hello, deadline);
  if (!reply.ok()) return reply.status();
  if (IsUnknownCommand(*reply)) {
    // Before version 6: the old protocol, and one user.
    reply = wire::RespValue();
    if (!settings.password.empty()) reply = CallOne({"AUTH", settings.password}, deadline);
    if (!reply.ok()) return reply.status();
  }
  if (reply->is_error()) return ReplyError("log in to", place_, *reply);
  if (settings.database == 0) return {};
  const std::string database = std::to_string(settings.database);
  reply = CallOne({"SELECT", database}, deadline);
  if (!reply.ok()) return reply.status();
  if (!reply->is_error()) return {};
  const Status failure = ReplyError("select a database of", place_, *reply);
  return {failure.code() == Code::kInternal ? Code::kFailedPrecondition : failure.code(),
          failure.message()};
}

Result<wire::RespValue> Connection::CallOne(const Command& command, MonotonicTime deadline) {
  Result<std::vector<wire::RespValue>> replies = Call({&command, 1}, Access::kRead, deadline);
  if (!replies.ok()) return replies.status();
  return std::move(replies->front());
}

Result<std::vector<wire::RespValue>> Connection::Call(std::span<const Command> commands,
                                                      Access access, MonotonicTime deadline) {
  std::string request;
  for (const Command& command : commands) wire::AppendRespCommand(command, request);
  bool sent = false;
  Status failure = link_->Send(request, deadline, sent);
  std::vector<wire::RespValue> replies;
  while (failure.ok() && replies.size() < commands.size()) {
    Result<wire::RespValue> reply = ReadReply(deadline);
    if (reply.ok()) {
      replies.push_back(*std::move(reply));
    } else {
      failure = reply.status();
    }
  }
  if (failure.ok()) return replies;
  // The commands may be on their way, or done: only those who look again will know.
  if (access == Access::kWrite && sent) return Status(Code::kUnknownOutcome, failure.message());
  return failure;
}

Result<wire::RespValue> Connection::ReadReply(MonotonicTime deadline) {
  for (;;) {
    std::string_view input = received_;
    const wire::RespReader::Outcome outcome = reader_.Read(input);
    received_.erase(0, received_.size() - input.size());
    if (outcome == wire::RespReader::Outcome::kMalformed) {
      return Status(shaken_ ? Code::kUnavailable : Code::kFailedPrecondition,
                    fmt::format("read from {}: this is not Redis, or it wants TLS (rediss://): {}",
                                place_, reader_.detail()));
    }
    if (outcome == wire::RespReader::Outcome::kWhole) {
      wire::RespValue value = reader_.Take();
      if (value.type == wire::RespType::kPush) continue;  // Nobody asked for it.
      return value;
    }
    if (Status received = link_->Receive(received_, deadline); !received.ok()) return received;
  }
}

bool Connection::Usable() const {
  return fork_generation_ == ForkGeneration() && received_.empty() && link_->Quiet();
}

}  // namespace keymill::store::redis
