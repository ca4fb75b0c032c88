// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// keymill.v1.Keymill: a reactor for each call.

#pragma once

#include "api/grpc/module.h"
#include "api/grpc/server/driver.h"
#include <keymill/v1/keymill.grpc.pb.h>

namespace keymill::api::grpc {

class KeymillService final : public keymill::v1::Keymill::CallbackService {
 public:
  // `calls` outlives it.
  explicit KeymillService(Calls& calls) : calls_(calls) {}

  ::grpc::ServerUnaryReactor* Mint(::grpc::CallbackServerContext* context,
                                   const keymill::v1::MintRequest* request,
                                   keymill::v1::MintResponse* response) override;
  ::grpc::ServerWriteReactor<keymill::v1::MintStreamResponse>* MintStream(
      ::grpc::CallbackServerContext* context,
      const keymill::v1::MintStreamRequest* request) override;
  ::grpc::ServerUnaryReactor* Explain(::grpc::CallbackServerContext* context,
                                      const keymill::v1::ExplainRequest* request,
                                      keymill::v1::ExplainResponse* response) override;
  ::grpc::ServerUnaryReactor* Claim(::grpc::CallbackServerContext* context,
                                    const keymill::v1::ClaimRequest* request,
                                    keymill::v1::ClaimResponse* response) override;
  ::grpc::ServerUnaryReactor* Derive(::grpc::CallbackServerContext* context,
                                     const keymill::v1::DeriveRequest* request,
                                     keymill::v1::DeriveResponse* response) override;
  ::grpc::ServerUnaryReactor* ListKeyspaces(::grpc::CallbackServerContext* context,
                                            const keymill::v1::ListKeyspacesRequest* request,
                                            keymill::v1::ListKeyspacesResponse* response) override;

 private:
  Calls& calls_;
};

}  // namespace keymill::api::grpc
