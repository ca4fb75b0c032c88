// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The server, its limits, and the door through which `keymill` comes in.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include "api/grpc/module.h"
#include "api/grpc/server/bell.h"
#include "api/grpc/server/reflection.h"
#include "api/grpc/server/service.h"
#include "base/mutex.h"

namespace keymill::api::grpc {
namespace {

// A content of 64 KiB with its salt and names.
constexpr int kMessageMax = 72 * 1024;
constexpr int kMetadataMax = 8 * 1024;
constexpr int kStreamsPerConnectionMax = 128;
// What gRPC may hold in its buffers before it turns connections away.
constexpr std::size_t kBufferMax = 128 * 1024 * 1024;
// A peer that is gone without a word is noticed; one that pings without need is cut off.
constexpr int kPingEveryMs = 60'000;
constexpr int kPingTimeoutMs = 20'000;
constexpr int kPingsApartMs = 10'000;
constexpr int kPingStrikesMax = 2;
constexpr int kIdleMaxMs = 600'000;
constexpr std::chrono::milliseconds kHealthEvery{500};
// For answers that are written, but have not left yet.
constexpr std::chrono::milliseconds kLastBytes{100};

// Where gRPC's own messages go. It has one log for the whole process.
std::atomic<Host*> log_host{nullptr};

void PassLog(gpr_log_func_args* message) {
  Host* const host = log_host.load(std::memory_order_acquire);
  if (host == nullptr) return;
  host->Log(message->severity == GPR_LOG_SEVERITY_ERROR ? Severity::kWarning : Severity::kDebug,
            message->message);
}

// Tells gRPC's health service now and then whether the mint can mint.
class HealthReporter {
 public:
  HealthReporter(Host& host, ::grpc::HealthCheckServiceInterface& health)
      : host_(host), health_(health) {
    Report();
  }
  ~HealthReporter() {
    const MutexLock lock(mu_);
    stop_ = true;
    bell_.Ring();
    while (!stopped_) changed_.Wait(mu_);
  }
  HealthReporter(const HealthReporter&) = delete;
  HealthReporter& operator=(const HealthReporter&) = delete;

 private:
  void Report() {
    const MutexLock lock(mu_);
    // A ring that comes before the sleep is noticed: the loop sees `stop_`.
    while (!stop_) {
      bell_.Hush();
      health_.SetServingStatus(host_.Ready());
      if (bell_.Sleep(kHealthEvery, [this] { Report(); })) return;
    }
    stopped_ = true;
    changed_.NotifyAll();
  }

  Host& host_;
  ::grpc::HealthCheckServiceInterface& health_;
  Bell bell_;
  Mutex mu_;
  CondVar changed_;
  bool stop_ KEYMILL_GUARDED_BY(mu_) = false;
  bool stopped_ KEYMILL_GUARDED_BY(mu_) = false;
};

class RunningServer final : public Server {
 public:
  explicit RunningServer(Host& host) : calls_(host) {}
  ~RunningServer() override {
    health_.reset();
    server_.reset();  // Waits for what is under way.
    log_host.store(nullptr, std::memory_order_release);
  }

  bool Start(const char* address) {
    gpr_set_log_function(PassLog);
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    log_host.store(&calls_.host(), std::memory_order_release);
    ::grpc::EnableDefaultHealthCheckService(true);
    ::grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, ::grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    builder.RegisterService(&reflection_v1_);
    builder.RegisterService(&reflection_v1alpha_);
    Limit(builder);
    server_ = builder.BuildAndStart();
    if (!server_ || port == 0) return false;
    port_ = static_cast<std::uint16_t>(port);
    health_ = std::make_unique<HealthReporter>(calls_.host(), *server_->GetHealthCheckService());
    return true;
  }

  [[nodiscard]] std::uint16_t port() const override { return port_; }

  bool Stop(std::chrono::steady_clock::time_point deadline) override {
    calls_.SetStopping();
    health_.reset();
    server_->GetHealthCheckService()->Shutdown();
    const bool done = calls_.AwaitNone(deadline);
    // gRPC would wait for clients that are idle, too, and these need not even notice.
    server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                   gpr_time_from_millis(kLastBytes.count(), GPR_TIMESPAN)));
    return done;
  }

 private:
  static void Limit(::grpc::ServerBuilder& builder) {
    // Two servers on one port would share its connections without a word.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(kMessageMax);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataMax);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnectionMax);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingEveryMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               kPingsApartMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, kPingStrikesMax);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMaxMs);
    // A few bytes that become megabytes: requests are too small to be worth it.
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    ::grpc::ResourceQuota quota("keymill");
    quota.Resize(kBufferMax);
    builder.SetResourceQuota(quota);
  }

  Calls calls_;
  KeymillService service_{calls_};
  ReflectionService reflection_v1_{kReflectionV1};
  ReflectionService reflection_v1alpha_{kReflectionV1Alpha};
  std::unique_ptr<::grpc::Server> server_;
  std::unique_ptr<HealthReporter> health_;
  std::uint16_t port_ = 0;
};

}  // namespace
}  // namespace keymill::api::grpc

extern "C" {

__attribute__((visibility("default"))) const char* keymill_grpc_build() {
  static const std::string build =
      "keymill " KEYMILL_VERSION ", interface " + std::to_string(keymill::api::grpc::kInterface);
  return build.c_str();
}

__attribute__((visibility("default"))) keymill::api::grpc::Server* keymill_grpc_start(
    const char* address, keymill::api::grpc::Host* host) {
  auto server = std::make_unique<keymill::api::grpc::RunningServer>(*host);
  return server->Start(address) ? server.release() : nullptr;
}
}
