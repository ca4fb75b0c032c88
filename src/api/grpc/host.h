// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The mint for gRPC: what libkeymill_grpc.so asks for, answered by the program that has loaded it.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "keymill/status.h"
#include "keymill/store.h"

#include "api/backend.h"
#include "api/grpc/module.h"
#include "base/metrics.h"

namespace keymill::api::grpc {

// What `status` is in gRPC, by the one table. What clients should not see of it goes to the log.
Problem ProblemOf(const Status& status);

// The same for what finding the keyspace has said, and for why one in this state gave no key.
Problem LookUpProblem(const Status& status, const std::string& name);
Problem KeysProblem(const Status& verdict, std::string_view name, KeyspaceState state);

// How often each method ended how. google.rpc.Code has 17 values.
class Metrics final : public MetricSource {
 public:
  void Count(Method method, int code);
  void Collect(MetricFamilies& families) const override;

 private:
  static constexpr std::size_t kCodes = 17;
  std::array<std::array<std::atomic<std::uint64_t>, kCodes>, kMethodCount> counts_{};
};

// The work that it gives to `backend` does not refer to it: it may go before the backend stops.
class BackendHost final : public Host {
 public:
  // `backend` outlives it.
  explicit BackendHost(Backend& backend, std::string default_keyspace = "default")
      : backend_(backend), default_keyspace_(std::move(default_keyspace)) {}

  std::unique_ptr<MintCall> Mint(std::string keyspace, bool stream, Wake wake) override;
  std::unique_ptr<AnswerCall<Explained>> Explain(std::string keyspace, std::string key,
                                                 Wake wake) override;
  std::unique_ptr<AnswerCall<Claimed>> Claim(std::string keyspace, std::string alias,
                                             std::string owner, Wake wake) override;
  std::unique_ptr<AnswerCall<Derived>> Derive(std::string keyspace, std::string content,
                                              std::string salt, Wake wake) override;
  std::unique_ptr<AnswerCall<KeyspacePage>> ListKeyspaces(std::uint32_t limit, std::string after,
                                                          Wake wake) override;
  Problem CheckCount(std::string_view field, std::uint64_t value, std::uint64_t max) override;
  Problem Overloaded() override;
  Problem Draining() override;
  std::string DefaultKeyspace() override { return default_keyspace_; }
  std::chrono::milliseconds WriteTimeout() override { return write_timeout_.load(); }
  bool Ready() override;
  void Answered(Method method, int code) override { metrics_.Count(method, code); }
  void Log(Severity severity, std::string_view text) override;

  [[nodiscard]] const Metrics& metrics() const { return metrics_; }

  // For tests.
  void SetWriteTimeout(std::chrono::milliseconds timeout) { write_timeout_.store(timeout); }

 private:
  [[nodiscard]] std::string NameOr(std::string keyspace) const {
    if (keyspace.empty()) return default_keyspace_;
    return keyspace;
  }

  Backend& backend_;
  const std::string default_keyspace_;
  std::atomic<std::chrono::milliseconds> write_timeout_{std::chrono::seconds(30)};
  Metrics metrics_;
};

}  // namespace keymill::api::grpc
