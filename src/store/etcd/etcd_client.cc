// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/etcd_client.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/fork.h"
#include "store/etcd/etcd_error.h"

namespace keymill::store::etcd {
namespace {

constexpr std::string_view kTransactionPath = "/v3/kv/txn";
constexpr std::size_t kIdleMax = 4;
constexpr std::chrono::milliseconds kRoundPause{50};
constexpr std::chrono::milliseconds kAttemptLeast{100};
constexpr std::chrono::milliseconds kRoundTrip{20};

// "Mon, 16 Nov 2026 00:28:55 GMT" in milliseconds since 1970; 0 when it is no such text.
std::int64_t HttpDateMs(const std::string& date) {
  std::tm parts{};
  const char* const end = strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return end != nullptr && *end == '\0' ? std::int64_t{timegm(&parts)} * 1000 : 0;
}

}  // namespace

Result<Reply> EtcdClient::Read(std::vector<Range> ranges, MonotonicTime deadline) {
  return Run({.ranges = std::move(ranges), .unchanged = {}, .writes = {}}, Access::kRead, deadline);
}

Result<Reply> EtcdClient::Commit(const Transaction& transaction, MonotonicTime deadline) {
  KEYMILL_CHECK(transaction.unchanged.size() <= kOperationsMax &&
                transaction.ranges.size() + transaction.writes.size() +
                        transaction.deletes.size() <=
                    kOperationsMax);
  return Run(transaction, Access::kWrite, deadline);
}

Result<Reply> EtcdClient::Run(const Transaction& transaction, Access access,
                              MonotonicTime deadline) {
  if (Status turn = TakeTurn(deadline); !turn.ok()) return turn;
  const std::string body = TransactionText(transaction);
  Result<Reply> reply = Status(Code::kInternal, "ask etcd: nobody was asked");
  // Once more for each member while what they say is older than what was seen.
  for (std::size_t look = 0; look <= options_.members.size(); ++look) {
    const std::int64_t seen_before = revision_;
    const std::uint64_t falls_before = falls_;
    Result<HttpAnswer> answer = AskAny(kTransactionPath, body, access, deadline);
    reply = answer.ok() ? ReadReply(answer->body, transaction) : Result<Reply>(answer.status());
    if (!reply.ok()) break;
    served_ = true;
    reply->header.falls = falls_before;
    reply->header.now_ms = HttpDateMs(answer->date);
    if (access == Access::kWrite) {
      Raise(reply->header.revision);
      break;
    }
    if (SeeRevision(reply->header, seen_before, look == options_.members.size())) break;
    ++preferred_;
  }
  EndTurn();
  return reply;
}

// False when a read should be repeated, because it is older than what was seen before it began.
bool EtcdClient::SeeRevision(Header& header, std::int64_t seen_before, bool last_look) {
  const std::int64_t revision = header.revision;
  if (revision < seen_before && !last_look) return false;
  if (revision < seen_before) {
    header.falls = ++falls_;
    revision_ = revision;
    return true;
  }
  Raise(revision);
  return true;
}

void EtcdClient::Raise(std::int64_t revision) {
  std::int64_t highest = revision_;
  while (highest < revision && !revision_.compare_exchange_weak(highest, revision)) {
  }
}

// Asks one member after the other until one answers.
Result<HttpAnswer> EtcdClient::AskAny(std::string_view path, std::string_view body, Access access,
                                      MonotonicTime deadline) {
  const std::size_t members = options_.members.size();
  bool any_there = false;
  for (std::size_t attempt = 0;; ++attempt) {
    std::size_t choice = preferred_;
    // An answer to a write may take all the time there is, because it must not be sent twice.
    const MonotonicTime end = ShareOf(deadline, attempt % members);
    Result<HttpAnswer> answer = AskWithin(choice % members, path, body, end,
                                          access == Access::kWrite ? deadline : end, any_there);
    if (answer.ok()) return answer;
    Code code = answer.code();
    if (code == Code::kUnauthenticated) {
      code = Code::kUnavailable;  // The next attempt brings a new token.
    } else {
      // Unless somebody else has gone on meanwhile.
      preferred_.compare_exchange_strong(choice, choice + 1);
    }
    if (code == Code::kUnknownOutcome && access == Access::kRead) code = Code::kUnavailable;
    const bool refused = code == Code::kFailedPrecondition;
    const Status failed = Passing({code, answer.status().message()});
    if (failed.code() != Code::kUnavailable || clock_.Monotonic() >= deadline) return failed;
    if ((attempt + 1) % members != 0) continue;
    if (refused) return failed;  // By the last one as well: that takes longer than an election.
    // Nobody is there at all: whoever asked knows better when to try again.
    if (!any_there) return failed;
    Pause(deadline);
    // What is sent too late to be answered only makes an unknown outcome of a known one.
    if (deadline - clock_.Monotonic() < kRoundTrip) return failed;
  }
}

// Above, kFailedPrecondition says that a keyspace is gone for good. But rights, passwords and
// proxies that were right once may be put right again.
Status EtcdClient::Passing(Status failure) const {
  if (failure.code() != Code::kFailedPrecondition || !served_) return failure;
  return {Code::kUnavailable, failure.message()};
}

MonotonicTime EtcdClient::ShareOf(MonotonicTime deadline, std::size_t member) const {
  const MonotonicTime now = clock_.Monotonic();
  const auto share = (deadline - now) / static_cast<std::int64_t>(options_.members.size() - member);
  return std::min(deadline, now + std::max<MonotonicTime::duration>(share, kAttemptLeast));
}

Result<HttpAnswer> EtcdClient::AskMember(std::size_t member, std::string_view path,
                                         std::string_view body, MonotonicTime deadline) {
  bool there = false;
  Result<HttpAnswer> answer = AskWithin(member, path, body, deadline, deadline, there);
  if (!answer.ok()) return Passing(answer.status());
  return answer;
}

// Sets `there` when the member has said anything at all.
Result<HttpAnswer> EtcdClient::AskWithin(std::size_t member, std::string_view path,
                                         std::string_view body, MonotonicTime connect_end,
                                         MonotonicTime deadline, bool& there) {
  Result<std::string> token = Token(member, connect_end);
  if (!token.ok()) return token.status();
  Result<HttpAnswer> answer =
      Exchange(member, {.path = path, .body = body, .token = *token}, connect_end, deadline);
  there = there || answer.ok() || answer.code() == Code::kUnknownOutcome;
  if (!answer.ok() || answer->status == 200) return answer;
  Status failed = EtcdError(MemberText(options_.members[member]), *answer);
  if (failed.code() == Code::kUnauthenticated) ForgetToken(*token);
  return failed;
}

Result<HttpAnswer> EtcdClient::Exchange(std::size_t member, const HttpAsk& ask,
                                        MonotonicTime connect_end, MonotonicTime deadline) {
  Result<std::unique_ptr<Channel>> channel = TakeChannel(member, connect_end);
  if (!channel.ok()) return channel.status();
  Result<HttpAnswer> answer = (*channel)->Ask(ask, deadline);
  if (answer.ok()) KeepChannel(member, *std::move(channel));
  return answer;
}

Result<std::unique_ptr<Channel>> EtcdClient::TakeChannel(std::size_t member,
                                                         MonotonicTime deadline) {
  {
    const MutexLock lock(mu_);
    // What a parent process has opened is the parent's.
    std::erase_if(idle_, [](const Idle& idle) {
      return idle.fork_generation != ForkGeneration() || !idle.channel->usable();
    });
    for (auto at = idle_.begin(); at != idle_.end(); ++at) {
      if (at->member != member) continue;
      std::unique_ptr<Channel> channel = std::move(at->channel);
      idle_.erase(at);
      return channel;
    }
  }
  const HostPort& to = options_.members[member];
  Result<std::unique_ptr<Socket>> socket = Connect(to, tls_, clock_, deadline);
  if (!socket.ok()) return socket.status();
  return std::make_unique<Channel>(to, *std::move(socket));
}

void EtcdClient::KeepChannel(std::size_t member, std::unique_ptr<Channel> channel) {
  const MutexLock lock(mu_);
  if (idle_.size() >= kIdleMax) idle_.erase(idle_.begin());
  idle_.push_back({member, ForkGeneration(), std::move(channel)});
}

Result<std::string> EtcdClient::Token(std::size_t member, MonotonicTime deadline) {
  if (options_.user.empty()) return std::string();
  {
    const MutexLock lock(mu_);
    if (!token_.empty()) return token_;
  }
  const std::string body =
      nlohmann::json{{"name", options_.user}, {"password", options_.password}}.dump(
          -1, ' ', false, nlohmann::json::error_handler_t::replace);
  Result<HttpAnswer> answer = Exchange(
      member, {.path = "/v3/auth/authenticate", .body = body, .token = {}}, deadline, deadline);
  // Whatever became of it, nothing was written yet.
  if (!answer.ok() && answer.code() == Code::kUnknownOutcome) {
    return Status(Code::kUnavailable, answer.status().message());
  }
  if (!answer.ok()) return answer.status();
  if (answer->status != 200) {
    if (SaysAuthIsOff(*answer)) return std::string();
    Status failed = EtcdError(MemberText(options_.members[member]), *answer);
    if (failed.code() != Code::kUnknownOutcome) return failed;
    return Status(Code::kUnavailable, failed.message());
  }
  const auto json = nlohmann::json::parse(answer->body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("token") || !json["token"].is_string()) {
    return Status(Code::kInternal, "authenticate with etcd: the answer has no token");
  }
  const MutexLock lock(mu_);
  token_ = json["token"].get<std::string>();
  return token_;
}

void EtcdClient::ForgetToken(std::string_view token) {
  const MutexLock lock(mu_);
  if (token_ == token) token_.clear();
}

Status EtcdClient::TakeTurn(MonotonicTime deadline) {
  const MutexLock lock(mu_);
  while (turns_ >= options_.connections_max) {
    if (!changed_.WaitUntil(mu_, deadline) && turns_ >= options_.connections_max) {
      return {Code::kUnavailable, "use etcd: all connections are busy"};
    }
  }
  ++turns_;
  return {};
}

void EtcdClient::EndTurn() {
  const MutexLock lock(mu_);
  --turns_;
  changed_.NotifyOne();
}

void EtcdClient::Pause(MonotonicTime deadline) {
  const MonotonicTime end = std::min(deadline, clock_.Monotonic() + kRoundPause);
  const MutexLock lock(mu_);
  while (clock_.Monotonic() < end && never_.WaitUntil(mu_, end)) {
  }
}

}  // namespace keymill::store::etcd
