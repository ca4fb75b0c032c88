// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Finds and starts libkeymill_grpc.so: gRPC costs memory that a server without it does not pay.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "keymill/status.h"

#include "api/grpc/module.h"

namespace keymill::api::grpc {

// Where the module of this program lies: beside it, or where both were installed to.
std::vector<std::string> ModulePaths();

// A module stays in memory until the process ends: gRPC's threads cannot be told to leave.
class Module {
 public:
  // The first of `paths` that is there.
  // Errors: kFailedPrecondition when none is, or it is not of this build; the message says so.
  static Result<Module> Load(const std::vector<std::string>& paths);

  // Listens at a numeric `address`. `host` outlives the server.
  // Errors: kAlreadyExists when somebody else does; kFailedPrecondition when it cannot be.
  Result<std::unique_ptr<Server>> Start(const std::string& address, std::uint16_t port,
                                        Host& host) const;

 private:
  explicit Module(StartFunction start) : start_(start) {}

  StartFunction start_;
};

}  // namespace keymill::api::grpc
