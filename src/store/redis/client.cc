// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/client.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/check.h"
#include "base/fork.h"
#include "base/hex.h"

namespace keymill::store::redis {
namespace {

std::string Sha1Hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  KEYMILL_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) ==
                1);
  return HexEncode({digest.data(), size});
}

}  // namespace

Script::Script(std::string text, Access access)
    : text_(std::move(text)), sha1_(Sha1Hex(text_)), access_(access) {}

Result<wire::RespValue> Client::Run(const Script& script, std::span<const std::string> keys,
                                    std::span<const std::string> arguments,
                                    MonotonicTime deadline) {
  const std::string key_count = std::to_string(keys.size());
  Command command = {"EVALSHA", script.sha1(), key_count};
  command.insert(command.end(), keys.begin(), keys.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  Result<std::vector<wire::RespValue>> replies = Call({&command, 1}, script.access(), deadline);
  if (replies.ok() && replies->front().is_error() &&
      replies->front().text.starts_with("NOSCRIPT")) {
    // The server was started since, or has never seen it. Nothing has run.
    command[0] = "EVAL";
    command[1] = script.text();
    replies = Call({&command, 1}, script.access(), deadline);
  }
  if (!replies.ok()) return replies.status();
  wire::RespValue& reply = replies->front();
  if (reply.is_error()) return Refused("use", reply);
  if (script.access() == Access::kWrite) admitted_ = true;
  return std::move(reply);
}

Status Client::Refused(std::string_view what, const wire::RespValue& reply) const {
  Status failure = ReplyError(what, settings_.Place(), reply);
  if (failure.code() != Code::kFailedPrecondition) return failure;
  // While serving, kFailedPrecondition would say that a keyspace is gone for good; rights and
  // settings of a server may be put right.
  if (admitted_) return {Code::kUnavailable, failure.message()};
  if (!LacksRight(reply)) return failure;
  return {failure.code(),
          fmt::format("{}; as an administrator: {}", failure.message(), RightsCommand(settings_))};
}

Result<std::vector<wire::RespValue>> Client::Ask(std::span<const Command> commands,
                                                 MonotonicTime deadline) {
  return Call(commands, Access::kRead, deadline);
}

Result<std::vector<wire::RespValue>> Client::Call(std::span<const Command> commands, Access access,
                                                  MonotonicTime deadline) {
  const ForkHold no_child_inherits_a_lock;
  for (;;) {
    bool reused = false;
    Result<std::unique_ptr<Connection>> connection = Acquire(deadline, reused);
    if (!connection.ok()) return connection.status();
    auto replies = (*connection)->Call(commands, access, deadline);
    const bool failed = !replies.ok();
    Release(failed ? nullptr : *std::move(connection));
    // A connection that has lain idle may have been lost since, and nothing was changed.
    const bool again =
        failed && reused && replies.code() == Code::kUnavailable && clock_.Monotonic() < deadline;
    if (!again) return replies;
  }
}

Result<std::unique_ptr<Connection>> Client::Acquire(MonotonicTime deadline, bool& reused) {
  std::unique_ptr<Connection> connection;
  {
    const MutexLock lock(mu_);
    while (in_use_ >= kConnectionsMax) {
      if (!freed_.WaitUntil(mu_, deadline) && in_use_ >= kConnectionsMax) {
        return Status(Code::kUnavailable,
                      fmt::format("use {}: all connections are busy", settings_.Place()));
      }
    }
    ++in_use_;
    while (!idle_.empty() && connection == nullptr) {
      connection = std::move(idle_.back());
      idle_.pop_back();
      if (!connection->Usable()) connection.reset();
    }
  }
  reused = connection != nullptr;
  if (reused) return connection;
  Result<std::unique_ptr<Connection>> fresh = Connect(deadline);
  if (!fresh.ok()) Release(nullptr);
  return fresh;
}

Result<std::unique_ptr<Connection>> Client::Connect(MonotonicTime deadline) {
  Result<std::unique_ptr<Connection>> fresh = Connection::Open(settings_, clock_, deadline);
  if (fresh.ok()) connected_ = true;
  // As in Refused. At the very first connection somebody is there to read it; later on any other
  // code would speak of a keyspace, and whatever is there now may be gone again.
  if (!connected_ || fresh.ok()) return fresh;
  return Status(Code::kUnavailable, fresh.status().message());
}

void Client::Release(std::unique_ptr<Connection> connection) {
  const MutexLock lock(mu_);
  --in_use_;
  if (connection) idle_.push_back(std::move(connection));
  freed_.NotifyOne();
}

}  // namespace keymill::store::redis
