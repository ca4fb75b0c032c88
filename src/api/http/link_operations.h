// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Short links over the API: make one, look at one or at all, end one. All of it waits for the
// store. They are followed elsewhere: api/links/session.h.

#pragma once

#include <string>
#include <string_view>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "api/http/reply.h"
#include "api/http/service.h"
#include "links/link_book.h"

namespace keymill::api::http {

// What a request wants to be a link: {"url":"https://…"}, and "alias", "expires_at" (a moment, see
// ParseUtcText) and "dedupe" (true or false) as it likes.
// Errors: kInvalidArgument, naming what is wrong and what to send.
Result<keymill::links::NewLink> ParseNewLink(std::string_view body);

// Which links a list shows: ?limit=100&cursor=…, both optional.
struct LinkListPage {
  std::uint32_t limit = 100;
  std::string cursor;
};
// Errors: kInvalidArgument, naming the parameter and what it may be.
Result<LinkListPage> ParseLinkListPage(std::string_view query);

Reply CreateLink(Service& service, const keymill::links::NewLink& wanted, MonotonicTime deadline);
Reply ShowLink(Service& service, const std::string& key);
Reply ListLinks(Service& service, const LinkListPage& page);
Reply DeleteLink(Service& service, const std::string& key);

}  // namespace keymill::api::http
