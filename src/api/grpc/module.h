// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Between `keymill` and libkeymill_grpc.so, which it loads when gRPC is configured. The module
// knows gRPC and nothing of the mint; the program knows the mint and nothing of gRPC. All that
// crosses is declared here, and neither side links the other: what the project has once per process
// (the log, the metrics, the mint) stays once.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keymill::api::grpc {

// Grows with every change of this file: a module of another one is refused.
inline constexpr int kInterface = 2;

enum class Method : std::uint8_t { kMint, kMintStream, kExplain, kClaim, kDerive, kListKeyspaces };
inline constexpr std::size_t kMethodCount = static_cast<std::size_t>(Method::kListKeyspaces) + 1;

// The limits of a request.
inline constexpr std::uint64_t kMintMax = 10'000;
inline constexpr std::uint64_t kStreamMax = 100'000'000;
inline constexpr std::uint64_t kBatchMax = 10'000;
inline constexpr std::uint32_t kBatchDefault = 1'000;
inline constexpr std::uint32_t kPageMax = 1'000;
inline constexpr std::uint32_t kPageDefault = 100;

// Why something was not done.
struct Problem {
  int code = 0;      // google.rpc.Code; 0: nothing is wrong.
  std::string slug;  // As over HTTP.
  std::string message;
  int retry_after_seconds = 0;  // 0: retrying does not help.

  [[nodiscard]] bool ok() const { return code == 0; }
};

enum class Step : std::uint8_t {
  kDone,    // There is something.
  kLater,   // Not yet: the call's `wake` will be called, or its patience ends.
  kFailed,  // problem() says why.
};

// Called once after each kLater, from any thread, also when the call is no more. Must not block.
using Wake = std::function<void()>;

// Something that a request wants of the mint. One thread at a time; none of it blocks. Destroying
// it gives it up: what has not begun by then will not.
class Call {
 public:
  virtual ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  virtual Step Continue() = 0;
  // After kLater: when to call Continue again although nobody woke it.
  [[nodiscard]] virtual std::chrono::milliseconds patience() const = 0;
  [[nodiscard]] const Problem& problem() const { return problem_; }

 protected:
  Call() = default;
  Problem problem_;
};

class MintCall : public Call {
 public:
  std::uint32_t wanted = 1;  // How many keys the next Continue takes at most.
  std::string lines;         // After kDone: 1 to `wanted` keys, each followed by a newline.
  std::uint32_t taken = 0;   // How many those are.
};

template <typename Answer>
class AnswerCall : public Call {
 public:
  Answer answer;  // After kDone.
};

struct Explained {
  struct Block {
    std::string id, first, count, state, instance, reserved_at;
  };
  struct Record {
    std::string state, since, instance, owner, expires_at, generation;
  };
  std::string keyspace;
  int state = 0;  // The number in the .proto.
  std::string kind;
  std::optional<std::string> number, index, time;
  std::optional<std::uint32_t> worker, sequence;
  std::optional<Block> block;
  std::optional<Record> record;
};

struct Claimed {
  std::string keyspace;
  bool existing = false;
};

struct Derived {
  std::string keyspace;
  std::string key;
  bool existing = false;
};

struct KeyspacePage {
  struct Row {
    std::string name, kind, state, reason, recipe, created_at;
    std::optional<std::string> capacity, used, left;
  };
  std::vector<Row> rows;
  std::string next;  // "" behind the last.
};

enum class Severity : std::uint8_t { kDebug, kWarning };

// The program, as the module sees it. Safe for concurrent use by multiple threads; outlives the
// server. A keyspace's name that is "" stands for the default one.
class Host {
 public:
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // `stream`: it may take as long as it likes, as long as it gets on.
  virtual std::unique_ptr<MintCall> Mint(std::string keyspace, bool stream, Wake wake) = 0;
  virtual std::unique_ptr<AnswerCall<Explained>> Explain(std::string keyspace, std::string key,
                                                         Wake wake) = 0;
  virtual std::unique_ptr<AnswerCall<Claimed>> Claim(std::string keyspace, std::string alias,
                                                     std::string owner, Wake wake) = 0;
  virtual std::unique_ptr<AnswerCall<Derived>> Derive(std::string keyspace, std::string content,
                                                      std::string salt, Wake wake) = 0;
  virtual std::unique_ptr<AnswerCall<KeyspacePage>> ListKeyspaces(std::uint32_t limit,
                                                                  std::string after, Wake wake) = 0;

  // Whether `value` may be asked for: it must lie in [1, max].
  virtual Problem CheckCount(std::string_view field, std::uint64_t value, std::uint64_t max) = 0;
  // For one call too many, and for one that a stop cuts short.
  virtual Problem Overloaded() = 0;
  virtual Problem Draining() = 0;

  virtual std::string DefaultKeyspace() = 0;
  // How long a stream goes on whose reader takes nothing.
  virtual std::chrono::milliseconds WriteTimeout() = 0;
  // Whether new requests should come here.
  virtual bool Ready() = 0;
  virtual void Answered(Method method, int code) = 0;
  virtual void Log(Severity severity, std::string_view text) = 0;

 protected:
  Host() = default;
};

// A server that listens.
class Server {
 public:
  virtual ~Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] virtual std::uint16_t port() const = 0;
  // Ends what is under way, by force at `deadline`. False when that was needed. Once.
  virtual bool Stop(std::chrono::steady_clock::time_point deadline) = 0;

 protected:
  Server() = default;
};

// What the module has to offer. Null when it cannot listen at `address`: "127.0.0.1:0".
using StartFunction = Server* (*)(const char* address, Host* host);
inline constexpr const char* kStartName = "keymill_grpc_start";
// "keymill 1.2.3, interface 2": what both sides were made from.
using BuildFunction = const char* (*)();
inline constexpr const char* kBuildName = "keymill_grpc_build";
inline constexpr const char* kModuleFile = "libkeymill_grpc.so";

}  // namespace keymill::api::grpc
