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
  HttpSession(Service& service, net::Waker waker);
  ~HttpSession() override;

  net::Step Advance(std::string_view input, std::string& output) override;
  void OnTimeout(std::string& output) override;
  void OnDrain() override { draining_ = true; }

 private:
  enum class Format : std::uint8_t { kBare, kText, kJson, kStream };

  // A mint request that is being answered.
  struct Job {
    std::string keyspace_name;
    mint::Keyspace* keyspace = nullptr;  // Null until it was looked up.
    Format format = Format::kJson;
    std::uint64_t left = 0;
    bool started = false;  // kStream: the header has left, so an error can only cut it off.
    MonotonicTime deadline;
    std::uint64_t waiter = 0;
    std::string body;
  };

  // What became of a piece of work.
  enum class Progress : std::uint8_t { kDone, kParked, kFlush, kCut };

  Progress Dispatch(const wire::HttpRequest& request, std::string& output);
  Progress BeginMint(const wire::HttpRequest& request, std::string name, Format format,
                     std::uint64_t count, std::string& output);
  Progress BeginMintOnV1(const wire::HttpRequest& request, const Route& route, std::string& output);
  Progress ContinueJob(std::string& output);
  Progress ContinueDeferred(std::string& output);
  Progress Stream(Job& job, std::string& output);
  Progress FillBody(Job& job, std::string& output);
  enum class Wait : std::uint8_t { kParked, kRetry, kOver };
  // The reservoir is empty: waits for a block, or says in `verdict` why that is no use.
  Wait AwaitBlock(Job& job, Status& verdict);
  static void AppendChunk(const keys::Codec& codec, const mint::Reservoir::Run& run,
                          std::uint64_t& left, std::string& output);
  // The answer when no further key can be had: an error, or the keys that there are.
  Progress Conclude(Job& job, const Status& verdict, std::string& output);
  Progress FinishBody(Job& job, std::string& output);
  Progress Answer(const Reply& reply, std::string& output);
  Progress DeferReply(std::function<Reply()> work, std::string& output);
  Progress BeginCreate(const wire::HttpRequest& request, const Route& route, std::string& output);
  Reply MintProblem(const Job& job, const Status& verdict) const;
  net::Step StepFor(Progress progress, std::size_t consumed);

  Service& service_;
  const net::Waker waker_;
  wire::HttpReader reader_;
  ReplyContext context_;  // Of the request being answered.
  std::optional<Job> job_;
  std::shared_ptr<Service::Deferred> deferred_;
  bool draining_ = false;
  bool closing_ = false;  // Nothing more is read; what was begun is finished.
};

}  // namespace keymill::api::http
