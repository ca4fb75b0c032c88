// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Server reflection: clients ask what there is to call. gRPC's own, in Debian 12, speaks v1alpha
// only, and holds a thread for every stream; this one speaks both versions, whose messages are the
// same byte for byte, and holds none.

#pragma once

#include <string>
#include <vector>

#include <grpc/reflection/v1/reflection.pb.h>
#include <grpcpp/impl/codegen/service_type.h>

namespace keymill::api::grpc {

inline constexpr const char* kReflectionV1 =
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
inline constexpr const char* kReflectionV1Alpha =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

// One answer.
::grpc::reflection::v1::ServerReflectionResponse Reflect(
    const ::grpc::reflection::v1::ServerReflectionRequest& request);

class ReflectionService final : public ::grpc::Service {
 public:
  // `path` outlives it.
  explicit ReflectionService(const char* path);
};

}  // namespace keymill::api::grpc
