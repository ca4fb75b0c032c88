// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/grpc/server/reflection.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include "api/grpc/server/status.h"

namespace keymill::api::grpc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Request = ::grpc::reflection::v1::ServerReflectionRequest;

TEST(ReflectionTest, ListsAllThatIsServed) {
  Request request;
  request.set_list_services("*");
  std::vector<std::string> names;
  const auto listed = Reflect(request);
  for (const auto& service : listed.list_services_response().service()) {
    names.push_back(service.name());
  }
  EXPECT_THAT(names, ElementsAre("grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                                 "grpc.reflection.v1alpha.ServerReflection", "keymill.v1.Keymill"));
  // And knows what it has listed.
  for (const std::string& name : names) {
    request.set_file_containing_symbol(name);
    EXPECT_EQ(Reflect(request).file_descriptor_response().file_descriptor_proto_size(), 1) << name;
  }
}

TEST(ReflectionTest, GivesFilesByNameAndBySymbol) {
  Request request;
  request.set_file_containing_symbol("keymill.v1.Keymill.Mint");
  const auto by_symbol = Reflect(request);
  request.set_file_by_filename("keymill/v1/keymill.proto");
  const auto by_name = Reflect(request);
  ASSERT_EQ(by_name.file_descriptor_response().file_descriptor_proto_size(), 1);
  EXPECT_EQ(by_name.file_descriptor_response().SerializeAsString(),
            by_symbol.file_descriptor_response().SerializeAsString());
  google::protobuf::FileDescriptorProto file;
  ASSERT_TRUE(file.ParseFromString(by_name.file_descriptor_response().file_descriptor_proto(0)));
  EXPECT_EQ(file.package(), "keymill.v1");
}

TEST(ReflectionTest, SaysWhatItDoesNotHave) {
  Request request;
  EXPECT_EQ(Reflect(request).error_response().error_code(), ::grpc::StatusCode::INVALID_ARGUMENT);
  request.set_file_by_filename("none.proto");
  EXPECT_EQ(Reflect(request).error_response().error_code(), ::grpc::StatusCode::NOT_FOUND);
  request.set_all_extension_numbers_of_type("keymill.v1.MintRequest");
  EXPECT_EQ(Reflect(request).error_response().error_code(), ::grpc::StatusCode::NOT_FOUND);
}

TEST(GrpcStatusTest, CarriesReasonAndSlug) {
  const ::grpc::Status status = StatusOf({14, "store-unavailable", "away", 1});
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "away");
  for (const char* part : {"type.googleapis.com/google.rpc.ErrorInfo", "STORE_UNAVAILABLE",
                           "keymill", "store-unavailable", "google.rpc.RetryInfo"}) {
    EXPECT_THAT(status.error_details(), HasSubstr(part));
  }
  EXPECT_TRUE(StatusOf({}).ok());
}

}  // namespace
}  // namespace keymill::api::grpc
