// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One connection of somebody who follows short links: GET or HEAD /{key} is answered with a
// redirect, right here on the event loop's thread, from memory. A key that memory does not know
// parks the connection until the store has said where it leads.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/http_metrics.h"
#include "api/http/reply.h"
#include "api/links/service.h"
#include "net/session.h"
#include "wire/http_request.h"

namespace keymill::api::links {

class LinkSession final : public net::Session {
 public:
  // `service` outlives the session.
  LinkSession(LinkService& service, net::Waker waker);
  ~LinkSession() override;

  net::Step Advance(std::string_view input, std::string& output) override;
  void OnTimeout(std::string& output) override;
  void OnDrain() override { draining_ = true; }

 private:
  // Answers requests at the beginning of `input` that repeat the one before, if that was
  // redirected. How many bytes they have.
  std::size_t AnswerRepeats(std::string_view input, std::string& output);
  // Answers, or begins with, a new request. False when it has to wait for the store.
  bool Begin(const wire::HttpRequest& request, std::string& output);
  // Goes on with the request that waits. False when it has to go on waiting.
  bool Resume(std::string& output);
  net::Step AwaitStore(std::size_t consumed) const;

  // Redirects as often as `requests` says, if memory knows where `key` leads.
  keymill::links::LinkCache::Found Follow(std::string_view key, std::uint64_t requests,
                                          std::string& output);
  void AnswerNowhere(std::string& output);
  void Answer(const http::Reply& reply, std::string& output);
  void AppendRedirect(std::string_view url, std::string& output) const;
  void Refuse(int status, std::string_view slug, std::string_view detail, std::string& output);
  void Count(http::Ending ending, std::uint64_t requests);
  // How long the requests took that were answered in this call: their answers leave together.
  void RecordTimes();

  LinkService& service_;
  const net::Waker waker_;
  http::HttpCounters& counters_;  // Of the thread that runs the session.
  wire::HttpReader reader_;
  wire::Method method_ = wire::Method::kOther;  // Of the request being answered,
  http::ReplyContext context_;                  // and how it bears on the answer.
  std::string key_;                             // Which it asks for; "" for none that can be.
  bool repeats_ = false;                        // Such a request may be answered by AnswerRepeats.
  MonotonicTime now_;                           // When this call began,
  MonotonicTime began_;                         // and when the request did that waits.
  std::uint64_t answered_ = 0;                  // Requests in this call.

  struct Waiting {
    std::shared_ptr<LinkService::Loading> loading;
    MonotonicTime deadline;
  };
  std::optional<Waiting> waiting_;
  bool draining_ = false;
  bool closing_ = false;  // Nothing more is read.
};

}  // namespace keymill::api::links
