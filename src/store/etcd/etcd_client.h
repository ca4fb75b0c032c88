// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A cluster as one thing that takes transactions: finds a member that answers, goes to the next
// when one does not, authenticates, and tells what has happened from what may have.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "base/mutex.h"
#include "store/etcd/channel.h"
#include "store/etcd/etcd_options.h"
#include "store/etcd/socket.h"
#include "store/etcd/txn.h"

namespace keymill::store::etcd {

// Safe for concurrent use by multiple threads. Errors of every call:
//   kUnavailable         no member could answer; nothing happened.
//   kFailedPrecondition  user, password, rights or certificate are refused; nothing happened. Only
//                        until a first call of Read or Commit has succeeded: afterwards, when what
//                        was right may be right again, this is kUnavailable.
//   kInternal            the answer makes no sense, or the cluster says that its data is damaged.
class EtcdClient {
 public:
  // REQUIRES: `clock` outlives the client.
  EtcdClient(EtcdOptions options, std::shared_ptr<const TlsContext> tls, const Clock& clock)
      : options_(std::move(options)), tls_(std::move(tls)), clock_(clock) {}

  // The keys in these ranges, all as of one moment that is not before this call (a linearizable
  // read). There is one known exception, stale answers of members that were paused (etcd #20418):
  // decide by it what to write, but only with Commit, which compares.
  Result<Reply> Read(std::vector<Range> ranges, MonotonicTime deadline);

  // Writes, if the comparisons hold; Reply::succeeded says whether they did. Never sent twice.
  // Errors: also kUnknownOutcome.
  // REQUIRES: at most kOperationsMax comparisons and as many writes.
  Result<Reply> Commit(const Transaction& transaction, MonotonicTime deadline);

  // One question to one member, for looking at it. `body` "": GET.
  // Errors: also kUnauthenticated when the token has expired.
  // REQUIRES: member < options().members.size()
  Result<HttpAnswer> AskMember(std::size_t member, std::string_view path, std::string_view body,
                               MonotonicTime deadline);

  // When to give up on member number `member`, so that those after it have time as well.
  [[nodiscard]] MonotonicTime ShareOf(MonotonicTime deadline, std::size_t member) const;

  // The member that answered last, and is asked first.
  [[nodiscard]] std::size_t preferred() const { return preferred_ % options_.members.size(); }

  [[nodiscard]] const EtcdOptions& options() const { return options_; }

 private:
  enum class Access : std::uint8_t { kRead, kWrite };

  Result<Reply> Run(const Transaction& transaction, Access access, MonotonicTime deadline);
  Result<HttpAnswer> AskAny(std::string_view path, std::string_view body, Access access,
                            MonotonicTime deadline);
  [[nodiscard]] Status Passing(Status failure) const;
  Result<HttpAnswer> AskWithin(std::size_t member, std::string_view path, std::string_view body,
                               MonotonicTime connect_end, MonotonicTime deadline, bool& there);
  Result<HttpAnswer> Exchange(std::size_t member, const HttpAsk& ask, MonotonicTime connect_end,
                              MonotonicTime deadline);
  Result<std::unique_ptr<Channel>> TakeChannel(std::size_t member, MonotonicTime deadline);
  void KeepChannel(std::size_t member, std::unique_ptr<Channel> channel);
  Result<std::string> Token(std::size_t member, MonotonicTime deadline);
  void ForgetToken(std::string_view token);
  Status TakeTurn(MonotonicTime deadline);
  void EndTurn();
  void Pause(MonotonicTime deadline);
  bool SeeRevision(Header& header, std::int64_t seen_before, bool last_look);
  void Raise(std::int64_t revision);

  struct Idle {
    std::size_t member = 0;
    std::uint64_t fork_generation = 0;
    std::unique_ptr<Channel> channel;
  };

  const EtcdOptions options_;
  const std::shared_ptr<const TlsContext> tls_;
  const Clock& clock_;
  std::atomic<std::size_t> preferred_{0};  // Modulo members: the one that answered last.
  std::atomic<std::int64_t> revision_{0};  // The highest that was seen.
  std::atomic<std::uint64_t> falls_{0};
  std::atomic<bool> served_{false};  // A transaction was answered once.
  Mutex mu_;
  CondVar changed_;
  CondVar never_;  // Nobody signals it: for pauses.
  std::uint32_t turns_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::vector<Idle> idle_ KEYMILL_GUARDED_BY(mu_);
  std::string token_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::store::etcd
