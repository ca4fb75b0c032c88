// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/links/service.h"

#include <utility>

#include "api/links/session.h"

namespace keymill::api::links {

LinkService::LinkService(LinkServiceOptions options, Backend& backend,
                         keymill::links::LinkBook& book)
    : options_(std::move(options)), backend_(backend), book_(book) {}

net::SessionFactory LinkService::Sessions() {
  return [this](net::Waker waker) -> std::unique_ptr<net::Session> {
    return std::make_unique<LinkSession>(*this, std::move(waker));
  };
}

std::shared_ptr<LinkService::Loading> LinkService::Load(std::string key, std::uint64_t hits,
                                                        net::Waker wake) {
  auto loading = std::make_shared<Loading>();
  const bool begun = backend_.Run(
      Queue::kKeys, loading,
      [&book = book_, key = std::move(key), hits, loading] { loading->url = book.Load(key, hits); },
      std::move(wake));
  return begun ? loading : nullptr;
}

}  // namespace keymill::api::links
