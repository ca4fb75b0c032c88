// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The session's requests for short links.

#include <string>
#include <utility>

#include "api/http/link_operations.h"
#include "api/http/parameters.h"
#include "api/http/session.h"

namespace keymill::api::http {

Progress HttpSession::BeginLinks(const wire::HttpRequest& request, const Route& route,
                                 std::string& output) {
  switch (route.operation) {
    case Operation::kCreateLink:
      return BeginCreateLink(request, output);
    case Operation::kListLinks: {
      Result<LinkListPage> page = ParseLinkListPage(request.query);
      if (!page.ok()) return Answer(StatusProblem(page.status()), output);
      return AnswerKeyLater(
          [page = *std::move(page)](Service& service) { return ListLinks(service, page); }, output);
    }
    case Operation::kDeleteLink:
      return AnswerKeyLater(
          [key = route.key](Service& service) { return DeleteLink(service, key); }, output);
    default:
      return AnswerKeyLater([key = route.key](Service& service) { return ShowLink(service, key); },
                            output);
  }
}

Progress HttpSession::BeginCreateLink(const wire::HttpRequest& request, std::string& output) {
  if (!MayBeJson(request)) {
    return Answer(WrongType("send the link with Content-Type: application/json"), output);
  }
  Result<keymill::links::NewLink> wanted = ParseNewLink(request.body);
  if (!wanted.ok()) return Answer(StatusProblem(wanted.status()), output);
  // It may have to wait for a block, as minting for a retry does.
  auto deferred = service_.Defer(
      Queue::kRetries,
      [wanted = *std::move(wanted), deadline = service_.Deadline()](Service& service,
                                                                    Service::Deferred& prepared) {
        prepared.reply = CreateLink(service, wanted, deadline);
      },
      waker_);
  return Await(std::move(deferred), "too many requests wait for the store", output, {});
}

}  // namespace keymill::api::http
