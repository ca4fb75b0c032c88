// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/grpc_listener.h"

#include <utility>

#include <fmt/format.h>

#include "app/config/listen_address.h"
#include "base/log.h"

namespace keymill::app {

GrpcListener::~GrpcListener() { AwaitStop(); }

Status GrpcListener::Load(const std::string& listen) {
  if (listen.empty()) return {};
  Result<api::grpc::Module> module = api::grpc::Module::Load(api::grpc::ModulePaths());
  if (!module.ok()) {
    return {Code::kFailedPrecondition, fmt::format("listen.grpc is {}, but {}; or set it to \"\"",
                                                   listen, module.status().message())};
  }
  module_ = *std::move(module);
  return {};
}

Status GrpcListener::Listen(const std::string& listen) {
  if (!module_) return {};
  const Result<ListenAddress> address = ParseListenAddress(listen);
  if (!address.ok()) return {Code::kFailedPrecondition, address.status().message()};
  const Result<std::string> host = ResolveHost(address->host);
  if (!host.ok()) {
    return {Code::kFailedPrecondition,
            fmt::format("listen on {}: {}", listen, host.status().message())};
  }
  Result<std::unique_ptr<api::grpc::Server>> server = module_->Start(*host, address->port, host_);
  if (server.code() == Code::kAlreadyExists) {
    return {Code::kAlreadyExists, fmt::format("{}; choose another with --listen-grpc HOST:PORT",
                                              server.status().message())};
  }
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  const bool v6 = host->find(':') != std::string::npos;
  address_ = fmt::format("{}{}{}:{}", v6 ? "[" : "", *host, v6 ? "]" : "", server_->port());
  return {};
}

void GrpcListener::BeginStop(MonotonicTime deadline) {
  if (!server_ || stopper_.joinable()) return;
  stopper_ = std::thread([this, deadline] {
    if (!server_->Stop(deadline)) {
      Log(LogLevel::kWarn, "serve", "gRPC calls were cut off");
    }
  });
}

void GrpcListener::AwaitStop() {
  if (stopper_.joinable()) stopper_.join();
  server_.reset();
}

void GrpcListener::Collect(MetricFamilies& families) const {
  if (module_) host_.metrics().Collect(families);
}

}  // namespace keymill::app
