// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The one error type of the project. A Status says what the caller should do; it
// knows no protocol: HTTP, gRPC and RESP codes are mapped from it in one table at
// the edge (src/api/status_map.h).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace keymill {

// What happened, from the point of view of a caller who must decide what to do next.
enum class Code : std::uint8_t {
  kOk = 0,
  kInvalidArgument,     // The caller can fix it. Never retry unchanged.
  kNotFound,            // No such keyspace or key.
  kAlreadyExists,       // Someone else holds it. Retrying will not help.
  kFailedPrecondition,  // Recipe differs, configuration refused. An operator must act.
  kExhausted,           // The keyspace has no values left. Permanent.
  kQuarantined,         // The store went back in time. An operator must act.
  kOverloaded,          // Limits reached. Retry later, slower.
  kDeadlineExceeded,    // Nothing was consumed. Safe to retry.
  kUnavailable,         // Nothing happened. Safe to retry.
  kUnknownOutcome,      // The write may have landed. Count its block as lost.
  kClockRegressed,      // The wall clock moved back further than the tolerance.
  kUnauthenticated,     // Who are you?
  kPermissionDenied,    // You may not.
  kInternal,            // A bug.
};

// The number of codes, for tables that must cover each of them.
inline constexpr int kCodeCount = static_cast<int>(Code::kInternal) + 1;

// "kUnavailable" and so on: the name as written in code, for logs and tests.
std::string_view CodeName(Code code);

// The outcome of an operation without a value. Cheap to move; an OK status holds no
// message. Dropping one is a compile error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // REQUIRES: code != kOk. `message` has the form "<what we tried> <on what>: <what was said>".
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }

  [[nodiscard]] bool ok() const { return code_ == Code::kOk; }
  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }

  // For places where the outcome truly does not matter; say why in a comment.
  void Ignore() const {}

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// A value or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}         // NOLINT
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {}  // NOLINT
  Result(Code code, std::string message) : Result(Status(code, std::move(message))) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  // The error, or an OK status when there is a value.
  [[nodiscard]] Status status() const { return ok() ? Status() : std::get<1>(state_); }
  [[nodiscard]] Code code() const { return ok() ? Code::kOk : std::get<1>(state_).code(); }

  // REQUIRES (all four): ok(). Anything else throws std::bad_variant_access: a bug.
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  // By value: what a temporary result held must outlive it, in a range-for as well.
  T value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace keymill
