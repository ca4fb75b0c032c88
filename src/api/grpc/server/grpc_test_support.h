// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A gRPC server on the loopback, over a memory store that can be made to fail, and a client.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "api/grpc/host.h"
#include "api/grpc/module.h"
#include "api/http/http_test_support.h"
#include "support/fake_clock.h"
#include <keymill/v1/keymill.grpc.pb.h>

extern "C" keymill::api::grpc::Server* keymill_grpc_start(const char* address,
                                                          keymill::api::grpc::Host* host);

namespace keymill::api::grpc {

namespace v1 = keymill::v1;

// The mint and its keyspaces are those of api::http::TestServer.
class GrpcWorld {
 public:
  GrpcWorld() { Start(); }
  // Only mint.Refill() refills.
  explicit GrpcWorld(const FakeClock& clock) : mint(clock) { Start(); }
  ~GrpcWorld() {
    if (server) server->Stop(SystemClock().Monotonic());
  }
  GrpcWorld(const GrpcWorld&) = delete;
  GrpcWorld& operator=(const GrpcWorld&) = delete;

  // How often a method has ended like this.
  [[nodiscard]] double Answered(const char* method, const char* status) const {
    MetricFamilies families;
    host.metrics().Collect(families);
    return families.Value("keymill_requests_total",
                          {{"frontend", "grpc"}, {"method", method}, {"status", status}});
  }
  mint::Keyspace& Of(const char* name) { return *mint.engine().Find(name); }
  // Comes back when so many requests wait for keys.
  void AwaitWaiting(const char* keyspace, std::uint64_t count) {
    while (Of(keyspace).stats().waiting < count) std::this_thread::yield();
  }

  http::TestServer mint;
  BackendHost host{mint.service().backend()};
  std::unique_ptr<Server> server;
  std::unique_ptr<v1::Keymill::Stub> stub;

 private:
  void Start() {
    server.reset(keymill_grpc_start("127.0.0.1:0", &host));
    ASSERT_TRUE(server);
    stub = v1::Keymill::NewStub(::grpc::CreateChannel(fmt::format("127.0.0.1:{}", server->port()),
                                                      ::grpc::InsecureChannelCredentials()));
  }
};

// One call, with a deadline that only a test that hangs ever meets.
struct Context : ::grpc::ClientContext {
  explicit Context(std::chrono::milliseconds deadline = std::chrono::seconds(60)) {
    const gpr_timespec span = gpr_time_from_millis(deadline.count(), GPR_TIMESPAN);
    set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), span));
  }
};

}  // namespace keymill::api::grpc
