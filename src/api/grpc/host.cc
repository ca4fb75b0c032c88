// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/grpc/host.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/failure_log.h"
#include "api/grpc/answers.h"
#include "api/grpc/mint_keys.h"
#include "api/status_map.h"
#include "base/log.h"
#include "mint/aliases.h"
#include "mint/engine.h"

namespace keymill::api::grpc {
namespace {

// google.rpc.Code
constexpr int kInvalidArgument = 3;
constexpr int kNotFound = 5;
constexpr int kFailedPrecondition = 9;
constexpr int kUnimplemented = 12;
constexpr int kUnavailable = 14;

std::string_view DetailFor(const Status& status) {
  static FailureLog failures;
  const std::string_view fixed = PublicDetail(status.code());
  if (fixed.empty()) return status.message();
  if (failures.Admits(status.message(), SystemClock().Monotonic())) {
    keymill::Log(status.code() == Code::kInternal ? LogLevel::kError : LogLevel::kWarn, "grpc",
                 "{}", status.message());
  }
  return fixed;
}

struct ClaimRow {
  mint::ClaimVerdict verdict;
  Code code;
  std::string_view slug;
};
constexpr std::array<ClaimRow, 4> kRefusedClaims = {{
    {mint::ClaimVerdict::kTaken, Code::kAlreadyExists, "alias-taken"},
    {mint::ClaimVerdict::kInvalid, Code::kInvalidArgument, "alias-invalid"},
    {mint::ClaimVerdict::kReserved, Code::kInvalidArgument, "alias-reserved"},
    {mint::ClaimVerdict::kLooksGenerated, Code::kInvalidArgument, "alias-looks-generated"},
}};

// Why the store did not do what was asked for.
Problem StoreProblem(mint::Engine& mill, const std::string& name, const Status& status) {
  if (status.code() != Code::kFailedPrecondition) return ProblemOf(status);
  if (!mill.remembers_keys()) {
    return {kUnimplemented, "not-supported-by-store", status.message(), 0};
  }
  const Result<mint::KeyspaceInfo> info = mill.Describe(name);
  if (!info.ok()) return ProblemOf(info.status());
  return KeysProblem(status, name, info->record.state);
}

// For Backend::Run, as all that follows.
Problem ExplainKey(Backend& backend, const std::string& name, const std::string& key,
                   Explained& answer) {
  const Result<mint::Keyspace*> found = backend.LookUp(name);
  if (!found.ok()) return LookUpProblem(found.status(), name);
  const Result<mint::Explanation> explanation = backend.engine()->Explain(name, key);
  if (explanation.code() == Code::kNotFound) {
    return {kNotFound, "key-not-found", explanation.status().message(), 0};
  }
  if (!explanation.ok()) return ProblemOf(explanation.status());
  answer = Tell(*explanation);
  return {};
}

Problem ClaimKey(Backend& backend, const std::string& name, const std::string& alias,
                 const std::string& owner, Claimed& answer) {
  const Result<mint::Keyspace*> found = backend.LookUp(name);
  if (!found.ok()) return LookUpProblem(found.status(), name);
  mint::Engine& mill = *backend.engine();
  const Result<mint::Claim> claim = mill.ClaimKey(name, alias, owner);
  if (!claim.ok()) return StoreProblem(mill, name, claim.status());
  for (const ClaimRow& row : kRefusedClaims) {
    if (row.verdict != claim->verdict) continue;
    return {MapStatus(row.code).grpc, std::string(row.slug), claim->detail, 0};
  }
  answer = {.keyspace = name, .existing = claim->verdict == mint::ClaimVerdict::kYours};
  return {};
}

Problem DeriveKey(Backend& backend, const std::string& name, const std::string& content,
                  const std::string& salt, Derived& answer) {
  const Result<mint::Keyspace*> found = backend.LookUp(name);
  if (!found.ok()) return LookUpProblem(found.status(), name);
  mint::Engine& mill = *backend.engine();
  const Result<mint::Engine::Derived> derived = mill.Derive(name, content, salt);
  if (!derived.ok()) return StoreProblem(mill, name, derived.status());
  answer = {.keyspace = name, .key = derived->key, .existing = derived->existing};
  return {};
}

Problem ListSome(Backend& backend, std::uint32_t limit, const std::string& after,
                 KeyspacePage& answer) {
  const Result<mint::Engine*> mill = backend.Mill();
  if (!mill.ok()) return ProblemOf(mill.status());
  Result<std::vector<mint::KeyspaceInfo>> all = (*mill)->List();
  if (!all.ok()) return ProblemOf(all.status());
  std::sort(all->begin(), all->end(),
            [](const auto& a, const auto& b) { return a.record.name < b.record.name; });
  for (const mint::KeyspaceInfo& info : *all) {
    if (info.record.name <= after) continue;
    if (answer.rows.size() == limit) {
      answer.next = answer.rows.back().name;
      break;
    }
    answer.rows.push_back(Tell(info));
  }
  return {};
}

// A call that a thread of the backend answers.
template <typename Answer>
class DeferredCall final : public AnswerCall<Answer> {
 public:
  using Work = std::function<Problem(Backend&, Answer&)>;

  DeferredCall(Backend& backend, Queue queue, Work work, Wake wake)
      : backend_(backend),
        queue_(queue),
        work_(std::move(work)),
        wake_(std::move(wake)),
        deadline_(backend.Deadline()) {}

  ~DeferredCall() override {
    if (errand_) errand_->abandoned.store(true, std::memory_order_relaxed);
  }

  Step Continue() override {
    if (!errand_) return Begin();
    if (errand_->done.load(std::memory_order_acquire)) {
      this->problem_ = std::move(errand_->problem);
      this->answer = std::move(errand_->answer);
      return this->problem_.ok() ? Step::kDone : Step::kFailed;
    }
    if (patience() > std::chrono::milliseconds(0)) return Step::kLater;
    this->problem_ = ProblemOf({Code::kDeadlineExceeded, "a request waited for the store in vain"});
    return Step::kFailed;
  }

  [[nodiscard]] std::chrono::milliseconds patience() const override {
    return PatienceUntil(deadline_, backend_.clock());
  }

 private:
  struct Task : Errand {
    Problem problem;
    Answer answer;
  };

  Step Begin() {
    errand_ = std::make_shared<Task>();
    const bool begun = backend_.Run(
        queue_, errand_,
        [&backend = backend_, &task = *errand_, work = std::move(work_)] {
          task.problem = work(backend, task.answer);
        },
        std::move(wake_));
    if (begun) return Step::kLater;
    this->problem_ = ProblemOf({Code::kOverloaded, "too much is waiting for the store"});
    return Step::kFailed;
  }

  Backend& backend_;
  const Queue queue_;
  Work work_;
  Wake wake_;
  const MonotonicTime deadline_;
  std::shared_ptr<Task> errand_;
};

template <typename Answer>
std::unique_ptr<AnswerCall<Answer>> Defer(Backend& backend, Queue queue,
                                          typename DeferredCall<Answer>::Work work, Wake wake) {
  return std::make_unique<DeferredCall<Answer>>(backend, queue, std::move(work), std::move(wake));
}

}  // namespace

Problem ProblemOf(const Status& status) {
  const StatusMapping& row = MapStatus(status.code());
  return {row.grpc, std::string(row.slug), std::string(DetailFor(status)), row.retry_after_seconds};
}

Problem LookUpProblem(const Status& status, const std::string& name) {
  if (status.code() != Code::kNotFound) return ProblemOf(status);
  return ProblemOf(
      {Code::kNotFound, fmt::format("there is no keyspace \"{0}\". To create it: keymill keyspace "
                                    "create {0}, or PUT /v1/keyspaces/{0} over HTTP",
                                    name)});
}

Problem KeysProblem(const Status& verdict, std::string_view name, KeyspaceState state) {
  if (verdict.code() != Code::kFailedPrecondition) return ProblemOf(verdict);
  if (state == KeyspaceState::kRetired) {
    return {kFailedPrecondition, "keyspace-retired", verdict.message(), 0};
  }
  const StatusMapping& row = MapStatus(Code::kUnavailable);
  if (state == KeyspaceState::kSealed) {
    // Nothing changes before somebody starts it anew.
    return {row.grpc, std::string(row.slug),
            fmt::format("keyspace {} was moved to another store, with which this instance has to "
                        "be started; its log says which",
                        name),
            60};
  }
  return ProblemOf({Code::kUnavailable, verdict.message()});
}

std::unique_ptr<MintCall> BackendHost::Mint(std::string keyspace, bool stream, Wake wake) {
  return std::make_unique<MintKeys>(backend_, NameOr(std::move(keyspace)), stream, std::move(wake));
}

std::unique_ptr<AnswerCall<Explained>> BackendHost::Explain(std::string keyspace, std::string key,
                                                            Wake wake) {
  return Defer<Explained>(
      backend_, Queue::kKeys,
      [name = NameOr(std::move(keyspace)), key = std::move(key)](
          Backend& backend, Explained& answer) { return ExplainKey(backend, name, key, answer); },
      std::move(wake));
}

std::unique_ptr<AnswerCall<Claimed>> BackendHost::Claim(std::string keyspace, std::string alias,
                                                        std::string owner, Wake wake) {
  return Defer<Claimed>(
      backend_, Queue::kKeys,
      [name = NameOr(std::move(keyspace)), alias = std::move(alias), owner = std::move(owner)](
          Backend& backend, Claimed& answer) {
        return ClaimKey(backend, name, alias, owner, answer);
      },
      std::move(wake));
}

std::unique_ptr<AnswerCall<Derived>> BackendHost::Derive(std::string keyspace, std::string content,
                                                         std::string salt, Wake wake) {
  return Defer<Derived>(
      backend_, Queue::kKeys,
      [name = NameOr(std::move(keyspace)), content = std::move(content), salt = std::move(salt)](
          Backend& backend, Derived& answer) {
        return DeriveKey(backend, name, content, salt, answer);
      },
      std::move(wake));
}

std::unique_ptr<AnswerCall<KeyspacePage>> BackendHost::ListKeyspaces(std::uint32_t limit,
                                                                     std::string after, Wake wake) {
  return Defer<KeyspacePage>(
      backend_, Queue::kKeyspaces,
      [limit, after = std::move(after)](Backend& backend, KeyspacePage& answer) {
        return ListSome(backend, limit, after, answer);
      },
      std::move(wake));
}

Problem BackendHost::CheckCount(std::string_view field, std::uint64_t value, std::uint64_t max) {
  if (value == 0) {
    return {kInvalidArgument, "bad-request",
            fmt::format("{} is 0: it must be a whole number from 1 on", field), 0};
  }
  if (value > max) {
    return {kInvalidArgument, field == "count" ? "too-many-keys" : "bad-request",
            fmt::format("{} is {}; at most {}", field, value, max), 0};
  }
  return {};
}

Problem BackendHost::Overloaded() {
  return ProblemOf({Code::kOverloaded, "too many calls are under way"});
}

Problem BackendHost::Draining() {
  return {kUnavailable, "draining", "draining: this instance is about to stop", 1};
}

bool BackendHost::Ready() {
  const Result<mint::Engine*> mill = backend_.Mill();
  return mill.ok() && !backend_.draining() && (*mill)->Ready().ok();
}

void BackendHost::Log(Severity severity, std::string_view text) {
  keymill::Log(severity == Severity::kWarning ? LogLevel::kWarn : LogLevel::kDebug, "grpc", "{}",
               text);
}

}  // namespace keymill::api::grpc
