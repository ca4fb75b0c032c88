// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One HTTP connection: reads requests in order, answers them in order. Minting happens right
// here, on the event loop's thread, straight from the reservoir into the output. Whatever has
// to wait (an empty reservoir, anything that asks the store) parks the connection.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/mint_job.h"
#include "api/http/reply.h"
#include "api/http/router.h"
#include "api/http/service.h"
#include "net/session.h"
#include "wire/http_request.h"

namespace keymill::api::http {

inline constexpr std::uint64_t kJsonKeysMax = 10'000;
inline constexpr std::uint64_t kTextKeysMax = 100'000'000;

class HttpSession final : public net::Session {
 public:
  // `service` outlives the session.
  HttpSession(Service& service, net::Waker waker);
  ~HttpSession() override;

  net::Step Advance(std::string_view input, std::string& output) override;
  void OnTimeout(std::string& output) override;
  void OnDrain() override { draining_ = true; }

 private:
  // Something that the service's worker does for the request being answered.
  struct Errand {
    std::shared_ptr<Service::Deferred> deferred;
    MonotonicTime deadline;
    MintWish wish = {};  // What to mint when the errand has found the keyspace.
  };

  // What to do with requests that repeat the one before.
  struct Repeat {
    mint::Keyspace* keyspace = nullptr;  // Null: nothing that can be repeated.
    MintWish wish;
    wire::Method method = wire::Method::kOther;
  };
  // Answers, or begins with, requests at the beginning of `input` that repeat the one before;
  // `size` becomes the size of these requests.
  Progress AnswerRepeats(std::string_view input, std::size_t& size, std::string& output);
  // Answers up to `requests` of them that want one key each, as far as there are keys right now.
  // Returns how many.
  std::size_t AnswerAtOnce(std::size_t requests, std::string& output);

  // Answers what it can; see net::Session::Advance.
  net::Step Work(std::string_view input, std::string& output);
  // Requests of method_ that were answered in this call.
  void Count(Ending ending, std::uint64_t requests = 1);

  // The input behind `consumed` is no whole request yet.
  net::Step AwaitRest(std::string_view input, std::size_t consumed, std::string& output);
  // A new request. `last` when nothing follows it in the input.
  Progress Begin(const wire::HttpRequest& request, bool last, std::string& output);
  // The request that was parked, or had to wait for its output to leave.
  Progress Resume(bool last, std::string& output);
  Progress ResumeErrand(std::string& output);
  Progress ContinueJob(std::string& output);
  [[nodiscard]] bool busy() const { return errand_ || job_; }

  Progress Dispatch(const wire::HttpRequest& request, std::string& output);
  // What has nothing to do with keys.
  Progress DispatchPage(const wire::HttpRequest& request, const Route& route, std::string& output);
  Reply ReadyReply(std::string_view name, const wire::HttpRequest& request, std::string_view only);
  Progress BeginList(const wire::HttpRequest& request, std::string& output);
  Progress BeginBounds(const wire::HttpRequest& request, std::string name, std::string& output);
  Progress BeginCreate(const wire::HttpRequest& request, std::string name, std::string& output);
  Progress BeginMintOnV1(const wire::HttpRequest& request, std::string_view name,
                         std::string& output);
  Progress BeginMint(std::string_view name, const MintWish& wish, std::string& output);
  Progress RunJob(mint::Keyspace& keyspace, const MintWish& wish, MonotonicTime deadline,
                  std::string& output);
  // A mint request that a retry may repeat.
  Progress BeginMintOnce(std::string_view name, std::string_view retry, const MintWish& wish,
                         std::string& output);
  Progress BeginClaim(const wire::HttpRequest& request, const Route& route, std::string& output);
  Progress BeginRelease(const wire::HttpRequest& request, const Route& route, std::string& output);
  Progress BeginDerive(const wire::HttpRequest& request, const Route& route, std::string& output);
  Progress BeginLend(const wire::HttpRequest& request, const Route& route, std::string& output);
  Progress BeginTakeBack(const wire::HttpRequest& request, const Route& route, std::string& output);
  Progress BeginLinks(const wire::HttpRequest& request, const Route& route, std::string& output);
  Progress BeginCreateLink(const wire::HttpRequest& request, std::string& output);
  Progress BeginPeer(const wire::HttpRequest& request, const Route& route, std::string& output);
  Progress BeginMetrics(std::string& output);
  // Waits for an answer that another thread prepares; null is answered with `refusal`.
  Progress Await(std::shared_ptr<Service::Deferred> deferred, std::string_view refusal,
                 std::string& output, const MintWish& wish);
  Progress RunErrand(Service::Work work, std::string& output, const MintWish& wish = {});
  // Lets the worker prepare the answer.
  Progress AnswerLater(std::function<Reply(Service&)> work, std::string& output);
  // The same for work on a key.
  Progress AnswerKeyLater(std::function<Reply(Service&)> work, std::string& output);
  Progress Answer(const Reply& reply, std::string& output);

  void RefuseInput(int status, std::string_view detail, std::string& output);
  // The answer that comes next is the connection's last.
  void CloseAfterThis();
  [[nodiscard]] net::Step StepFor(Progress progress, std::size_t consumed);

  Service& service_;
  const net::Waker waker_;
  HttpCounters& counters_;  // Of the thread that runs the session.
  wire::HttpReader reader_;
  wire::Method method_ = wire::Method::kOther;  // Of the request being answered,
  ReplyContext context_;                        // and how it bears on the answer.
  MonotonicTime began_;                         // When it was read, if it had to wait.
  std::uint64_t answered_ = 0;  // Requests that were read and answered in this call.
  Repeat repeat_;               // Of the request before.
  std::optional<MintJob> job_;
  std::optional<Errand> errand_;
  bool parked_ = false;
  bool draining_ = false;
  bool closing_ = false;  // Nothing more is read; what was begun is finished.
};

}  // namespace keymill::api::http
