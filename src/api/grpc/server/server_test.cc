// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Every method, its errors and its limits, over a real connection.

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/grpc/server/grpc_test_support.h"

namespace keymill::api::grpc {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

class GrpcServerTest : public testing::Test {
 protected:
  ::grpc::Status Mint(const std::string& keyspace, std::optional<std::uint32_t> count = {}) {
    v1::MintRequest request;
    request.set_keyspace(keyspace);
    if (count) request.set_count(*count);
    Context context;
    minted_.Clear();
    return world_.stub->Mint(&context, request, &minted_);
  }
  ::grpc::Status Claim(const std::string& alias, const std::string& owner) {
    v1::ClaimRequest request;
    request.set_alias(alias);
    request.set_owner(owner);
    Context context;
    return world_.stub->Claim(&context, request, &claimed_);
  }
  ::grpc::Status Explain(const std::string& keyspace, const std::string& key) {
    v1::ExplainRequest request;
    request.set_keyspace(keyspace);
    request.set_key(key);
    Context context;
    return world_.stub->Explain(&context, request, &explained_);
  }

  GrpcWorld world_;
  v1::MintResponse minted_;
  v1::ClaimResponse claimed_;
  v1::ExplainResponse explained_;
};

TEST_F(GrpcServerTest, MintsAsManyKeysAsAreAskedFor) {
  ASSERT_TRUE(Mint("orders", 3).ok());
  EXPECT_EQ(minted_.keyspace(), "orders");
  EXPECT_THAT(minted_.keys(), ElementsAre("1", "2", "3"));
  ASSERT_TRUE(Mint("orders").ok());
  EXPECT_THAT(minted_.keys(), ElementsAre("4"));
  ASSERT_TRUE(Mint("").ok());
  EXPECT_EQ(minted_.keyspace(), "default");
  EXPECT_EQ(minted_.keys(0).size(), 7U);
  ASSERT_TRUE(Mint("default", 10'000).ok());
  EXPECT_EQ(std::set(minted_.keys().begin(), minted_.keys().end()).size(), 10'000U);
  EXPECT_EQ(world_.Answered("Mint", "OK"), 4);
}

TEST_F(GrpcServerTest, RefusesCountsOutOfRange) {
  const ::grpc::Status none = Mint("orders", 0);
  EXPECT_EQ(none.error_code(), ::grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(none.error_details(), HasSubstr("BAD_REQUEST"));
  const ::grpc::Status many = Mint("orders", 10'001);
  EXPECT_EQ(many.error_code(), ::grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(many.error_details(), HasSubstr("too-many-keys"));
  EXPECT_EQ(world_.mint.issued(), 0U);
  EXPECT_EQ(world_.Answered("Mint", "INVALID_ARGUMENT"), 2);
}

TEST_F(GrpcServerTest, AnUnknownKeyspaceIsNotFound) {
  const ::grpc::Status status = Mint("nothing");
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("there is no keyspace \"nothing\""));
  EXPECT_THAT(status.error_details(), HasSubstr("KEYSPACE_NOT_FOUND"));
  EXPECT_THAT(status.error_details(), HasSubstr("keyspace-not-found"));
}

TEST_F(GrpcServerTest, AKeyspaceThatAnotherInstanceMadeIsLookedUp) {
  Recipe recipe = DefaultRecipe(Kind::kUuid4);
  world_.mint.Create("uuids", recipe);
  ASSERT_TRUE(Mint("uuids", 2).ok());
  EXPECT_EQ(minted_.keys(0).size(), 36U);
}

TEST_F(GrpcServerTest, ARetiredKeyspaceSaysSo) {
  ASSERT_TRUE(Mint("orders").ok());
  ASSERT_TRUE(world_.mint.engine().Retire("orders").ok());
  const ::grpc::Status status = Mint("orders");
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_details(), HasSubstr("KEYSPACE_RETIRED"));
}

TEST_F(GrpcServerTest, AStreamSendsExactlyWhatWasAskedForInBatches) {
  v1::MintStreamRequest request;
  request.set_keyspace("orders");
  request.set_count(25'001);
  request.set_batch(1'000);
  Context context;
  auto stream = world_.stub->MintStream(&context, request);
  v1::MintStreamResponse message;
  std::vector<std::string> keys;
  while (stream->Read(&message)) {
    EXPECT_GE(message.keys_size(), 1);
    EXPECT_LE(message.keys_size(), 1'000);
    keys.insert(keys.end(), message.keys().begin(), message.keys().end());
  }
  EXPECT_TRUE(stream->Finish().ok());
  ASSERT_EQ(keys.size(), 25'001U);
  EXPECT_EQ(keys.front(), "1");
  EXPECT_EQ(keys.back(), "25001");
  EXPECT_EQ(world_.Of("orders").stats().issued, 25'001U);
}

TEST_F(GrpcServerTest, AStreamRefusesCountsOutOfRange) {
  for (const auto& [count, batch] :
       {std::pair(0, 1), std::pair(100'000'001, 1), std::pair(1, 0), std::pair(1, 10'001)}) {
    v1::MintStreamRequest request;
    request.set_count(static_cast<std::uint64_t>(count));
    request.set_batch(static_cast<std::uint32_t>(batch));
    Context context;
    auto stream = world_.stub->MintStream(&context, request);
    v1::MintStreamResponse message;
    EXPECT_FALSE(stream->Read(&message));
    EXPECT_EQ(stream->Finish().error_code(), ::grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_EQ(world_.mint.issued(), 0U);
}

TEST_F(GrpcServerTest, StopEndsStreamsAndRefusesWhatIsNew) {
  v1::MintStreamRequest request;
  request.set_count(100'000'000);
  Context context;
  auto stream = world_.stub->MintStream(&context, request);
  v1::MintStreamResponse message;
  ASSERT_TRUE(stream->Read(&message));
  bool whole = false;
  std::thread stopper(
      [&] { whole = world_.server->Stop(SystemClock().Monotonic() + std::chrono::seconds(60)); });
  while (stream->Read(&message)) {
  }
  const ::grpc::Status status = stream->Finish();
  stopper.join();
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("draining"));
  EXPECT_TRUE(whole);
  EXPECT_EQ(Mint("orders").error_code(), ::grpc::StatusCode::UNAVAILABLE);
  world_.server.reset();
}

TEST_F(GrpcServerTest, ExplainsKeys) {
  ASSERT_TRUE(Mint("orders", 5).ok());
  ASSERT_TRUE(Explain("orders", "3").ok());
  EXPECT_EQ(explained_.number(), "3");
  EXPECT_EQ(explained_.kind(), "sequence");
  EXPECT_TRUE(explained_.has_block());
  EXPECT_EQ(explained_.state(), v1::ExplainResponse::STATE_ISSUED);
  EXPECT_EQ(Explain("orders", "x").error_code(), ::grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(Explain("orders", "x").error_details(), HasSubstr("KEY_NOT_FOUND"));
  EXPECT_THAT(Explain("none", "x").error_details(), HasSubstr("KEYSPACE_NOT_FOUND"));
}

TEST_F(GrpcServerTest, OneClaimantWins) {
  ASSERT_TRUE(Claim("my-alias", "me").ok());
  EXPECT_EQ(claimed_.key(), "my-alias");
  EXPECT_FALSE(claimed_.existing());
  ASSERT_TRUE(Claim("my-alias", "me").ok());
  EXPECT_TRUE(claimed_.existing());
  const ::grpc::Status taken = Claim("my-alias", "you");
  EXPECT_EQ(taken.error_code(), ::grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_THAT(taken.error_details(), HasSubstr("ALIAS_TAKEN"));
  EXPECT_THAT(Claim("a", "me").error_details(), HasSubstr("ALIAS_INVALID"));
  EXPECT_THAT(Claim("api", "me").error_details(), HasSubstr("ALIAS_RESERVED"));
  EXPECT_THAT(Claim("abcdefg", "me").error_details(), HasSubstr("ALIAS_LOOKS_GENERATED"));
  ASSERT_TRUE(Explain("default", "my-alias").ok());
  EXPECT_EQ(explained_.state(), v1::ExplainResponse::STATE_ALIAS);
  EXPECT_EQ(explained_.record().owner(), "me");
}

TEST_F(GrpcServerTest, DerivesTheSameKeyFromTheSameContent) {
  world_.mint.Create("pages", DefaultRecipe(Kind::kDerived));
  v1::DeriveRequest request;
  request.set_keyspace("pages");
  request.set_content("https://example.org/");
  v1::DeriveResponse first;
  v1::DeriveResponse second;
  Context context;
  ASSERT_TRUE(world_.stub->Derive(&context, request, &first).ok());
  Context again;
  ASSERT_TRUE(world_.stub->Derive(&again, request, &second).ok());
  EXPECT_EQ(first.key(), second.key());
  EXPECT_FALSE(first.existing());
  EXPECT_TRUE(second.existing());
  EXPECT_EQ(Mint("pages").error_code(), ::grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(GrpcServerTest, ListsKeyspacesPageByPage) {
  v1::ListKeyspacesRequest request;
  request.set_page_size(1);
  v1::ListKeyspacesResponse response;
  std::vector<std::string> names;
  do {
    Context context;
    ASSERT_TRUE(world_.stub->ListKeyspaces(&context, request, &response).ok());
    ASSERT_EQ(response.keyspaces_size(), 1);
    names.push_back(response.keyspaces(0).name());
    request.set_page_token(response.next_page_token());
  } while (!response.next_page_token().empty());
  EXPECT_THAT(names, ElementsAre("default", "orders"));
  EXPECT_EQ(response.keyspaces(0).state(), "open");
  EXPECT_THAT(response.keyspaces(0).recipe(), HasSubstr("\"start\":\"1\""));
  request.set_page_size(1'001);
  Context context;
  EXPECT_EQ(world_.stub->ListKeyspaces(&context, request, &response).error_code(),
            ::grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(GrpcServerTest, AStoreThatHangsIsNotWaitedForBeyondTheTimeout) {
  world_.mint.service().backend().SetRequestTimeout(milliseconds(20));
  world_.mint.store().stuck = true;
  EXPECT_EQ(Explain("orders", "1").error_code(), ::grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(Mint("elsewhere").error_code(), ::grpc::StatusCode::DEADLINE_EXCEEDED);
  world_.mint.store().stuck = false;
  world_.mint.store().released.Raise();
}

TEST_F(GrpcServerTest, AStoreThatIsAwayIsUnavailableAndNotDescribed) {
  world_.mint.store().down = true;
  const ::grpc::Status status = Mint("elsewhere");
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "the store cannot be reached; try again");
  EXPECT_THAT(status.error_details(), HasSubstr("google.rpc.RetryInfo"));
  world_.mint.store().down = false;
}

TEST_F(GrpcServerTest, ARequestThatIsTooLargeIsRefusedUnread) {
  v1::DeriveRequest request;
  request.set_content(std::string(80 * 1024, 'x'));
  v1::DeriveResponse response;
  Context context;
  EXPECT_EQ(world_.stub->Derive(&context, request, &response).error_code(),
            ::grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// As docs/grpc.md says. A later gRPC may give another answer.
TEST_F(GrpcServerTest, BytesThatAreNoMessageAreRefusedByGrpcItself) {
  const ::grpc::Status status = Mint("\xff");  // A string must be UTF-8.
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(status.error_message(), "");
  EXPECT_EQ(world_.mint.issued(), 0U);
}

}  // namespace
}  // namespace keymill::api::grpc
