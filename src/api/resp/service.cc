// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/resp/service.h"

#include <utility>

#include "api/resp/session.h"

namespace keymill::api::resp {

RespService::RespService(RespOptions options, Backend& backend)
    : options_(std::move(options)), backend_(backend), born_(backend.clock().Monotonic()) {}

net::SessionFactory RespService::Sessions() {
  return
      [this](net::Waker waker) { return std::make_unique<RespSession>(*this, std::move(waker)); };
}

std::shared_ptr<RespService::Deferred> RespService::Defer(Queue queue, Work work, net::Waker wake) {
  auto deferred = std::make_shared<Deferred>();
  const bool begun = backend_.Run(
      queue, deferred,
      [&backend = backend_, &answer = *deferred, work = std::move(work)] { work(backend, answer); },
      std::move(wake));
  return begun ? deferred : nullptr;
}

}  // namespace keymill::api::resp
