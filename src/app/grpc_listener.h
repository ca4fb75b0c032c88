// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// gRPC, where it is configured: loaded, listening, and drained.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "api/backend.h"
#include "api/grpc/host.h"
#include "api/grpc/module_loader.h"
#include "base/metrics.h"

namespace keymill::app {

// One thread at a time, except metrics.
class GrpcListener {
 public:
  // `backend` outlives it.
  explicit GrpcListener(api::Backend& backend) : host_(backend) {}
  ~GrpcListener();
  GrpcListener(const GrpcListener&) = delete;
  GrpcListener& operator=(const GrpcListener&) = delete;

  // Loads the module, unless `listen` is "": before anything is made or opened.
  // Errors: kFailedPrecondition.
  Status Load(const std::string& listen);

  // Listens, if it is loaded.
  // Errors: kAlreadyExists when the port is taken; kFailedPrecondition.
  Status Listen(const std::string& listen);

  // Begins to stop: calls may take until `deadline`. AwaitStop ends it.
  void BeginStop(MonotonicTime deadline);
  void AwaitStop();

  // Where it listens: 0 and "" when it does not.
  [[nodiscard]] std::uint16_t port() const { return server_ ? server_->port() : 0; }
  [[nodiscard]] const std::string& address() const { return address_; }

  // Adds what was counted, if it is loaded.
  void Collect(MetricFamilies& families) const;

 private:
  api::grpc::BackendHost host_;
  std::optional<api::grpc::Module> module_;
  std::unique_ptr<api::grpc::Server> server_;
  std::string address_;
  std::thread stopper_;
};

}  // namespace keymill::app
