// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Minting for one request: takes what the reservoir has, and waits for a block when it is empty,
// before it has taken anything.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "keymill/clock.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "api/backend.h"
#include "api/grpc/module.h"
#include "mint/keyspace.h"

namespace keymill::api::grpc {

// How long it is until `deadline`, at least nothing. Rounded up, so that it has passed afterwards.
std::chrono::milliseconds PatienceUntil(MonotonicTime deadline, const Clock& clock);

class MintKeys final : public MintCall {
 public:
  MintKeys(Backend& backend, std::string keyspace, bool stream, Wake wake);
  ~MintKeys() override;

  Step Continue() override;
  [[nodiscard]] std::chrono::milliseconds patience() const override;

 private:
  struct LookUp : Errand {
    Status status;
    mint::Keyspace* keyspace = nullptr;
  };

  // Finds keyspace_: kDone when it is there.
  Step Find();
  // The reservoir is empty. kDone when it is worth trying again at once.
  Step AwaitBlock();
  Step Fail(Problem problem);
  void StopWaiting();

  Backend& backend_;
  const std::string name_;
  const bool stream_;
  const Wake wake_;
  MonotonicTime deadline_;
  mint::Keyspace* keyspace_ = nullptr;
  std::shared_ptr<LookUp> look_up_;
  std::uint64_t waiter_ = 0;  // 0: does not wait for a block.
};

}  // namespace keymill::api::grpc
