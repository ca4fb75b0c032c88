// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/grpc/server/reflection.h"

#include <array>
#include <set>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/server_callback.h>

namespace keymill::api::grpc {
namespace {

namespace pb = ::google::protobuf;
namespace v1 = ::grpc::reflection::v1;

constexpr std::array<const char*, 4> kServices = {
    "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection", "keymill.v1.Keymill"};

void Fail(::grpc::StatusCode code, const std::string& message,
          v1::ServerReflectionResponse& response) {
  response.mutable_error_response()->set_error_code(code);
  response.mutable_error_response()->set_error_message(message);
}

// The file and all that it needs, each once.
void AddFiles(const pb::FileDescriptor& file, std::set<std::string>& added,
              v1::FileDescriptorResponse& to) {
  if (!added.insert(file.name()).second) return;
  pb::FileDescriptorProto proto;
  file.CopyTo(&proto);
  to.add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) AddFiles(*file.dependency(i), added, to);
}

void AnswerFile(const pb::FileDescriptor* file, const std::string& wanted,
                v1::ServerReflectionResponse& response) {
  if (file == nullptr) {
    return Fail(::grpc::StatusCode::NOT_FOUND, "there is no " + wanted, response);
  }
  std::set<std::string> added;
  AddFiles(*file, added, *response.mutable_file_descriptor_response());
}

class ReflectionReactor final
    : public ::grpc::ServerBidiReactor<v1::ServerReflectionRequest, v1::ServerReflectionResponse> {
 public:
  ReflectionReactor() { StartRead(&request_); }

 private:
  // A caller has one answer under way: it gets the next when it has read that.
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(::grpc::Status::OK);
    response_ = Reflect(request_);
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(::grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

  v1::ServerReflectionRequest request_;
  v1::ServerReflectionResponse response_;
};

}  // namespace

v1::ServerReflectionResponse Reflect(const v1::ServerReflectionRequest& request) {
  v1::ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  const pb::DescriptorPool& pool = *pb::DescriptorPool::generated_pool();
  switch (request.message_request_case()) {
    case v1::ServerReflectionRequest::kListServices:
      for (const char* const service : kServices) {
        response.mutable_list_services_response()->add_service()->set_name(service);
      }
      break;
    case v1::ServerReflectionRequest::kFileByFilename:
      AnswerFile(pool.FindFileByName(request.file_by_filename()), request.file_by_filename(),
                 response);
      break;
    case v1::ServerReflectionRequest::kFileContainingSymbol:
      AnswerFile(pool.FindFileContainingSymbol(request.file_containing_symbol()),
                 request.file_containing_symbol(), response);
      break;
    case v1::ServerReflectionRequest::kFileContainingExtension:
    case v1::ServerReflectionRequest::kAllExtensionNumbersOfType:
      Fail(::grpc::StatusCode::NOT_FOUND, "there are no extensions", response);
      break;
    case v1::ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      Fail(::grpc::StatusCode::INVALID_ARGUMENT, "nothing is asked for", response);
      break;
  }
  return response;
}

ReflectionService::ReflectionService(const char* path) {
  AddMethod(new ::grpc::internal::RpcServiceMethod(
      path, ::grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodCallback(
      0, new ::grpc::internal::CallbackBidiHandler<v1::ServerReflectionRequest,
                                                   v1::ServerReflectionResponse>(
             [](::grpc::CallbackServerContext* /*context*/) { return new ReflectionReactor; }));
}

}  // namespace keymill::api::grpc
