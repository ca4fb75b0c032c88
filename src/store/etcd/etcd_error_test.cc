// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/etcd_error.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace keymill::store::etcd {
namespace {

Code CodeOf(unsigned http, int grpc, const char* text) {
  const std::string body =
      fmt::format(R"({{"error":"{0}","message":"{0}","code":{1}}})", text, grpc);
  return EtcdError("a:2379", {http, body}).code();
}

// Only what etcd refuses before it proposes a change, or when it applies one, did not happen.
TEST(EtcdErrorTest, TellsWhatDidNotHappenFromWhatMayHave) {
  EXPECT_EQ(CodeOf(503, 14, "etcdserver: no leader"), Code::kUnavailable);
  EXPECT_EQ(CodeOf(429, 8, "etcdserver: too many requests"), Code::kUnavailable);
  EXPECT_EQ(CodeOf(429, 8, "etcdserver: mvcc: database space exceeded"), Code::kUnavailable);
  EXPECT_EQ(CodeOf(503, 14, "etcdserver: request timed out"), Code::kUnknownOutcome);
  EXPECT_EQ(CodeOf(503, 14, "etcdserver: leader changed"), Code::kUnknownOutcome);
  EXPECT_EQ(CodeOf(503, 14, "etcdserver: server stopped"), Code::kUnknownOutcome);
  EXPECT_EQ(CodeOf(504, 4, "context deadline exceeded"), Code::kUnknownOutcome);
  EXPECT_EQ(CodeOf(500, 2, "raft proposal dropped"), Code::kUnknownOutcome);
  EXPECT_EQ(EtcdError("a", {502, "<html>"}).code(), Code::kUnknownOutcome);
}

TEST(EtcdErrorTest, TellsWhoMustAct) {
  EXPECT_EQ(CodeOf(401, 16, "etcdserver: invalid auth token"), Code::kUnauthenticated);
  EXPECT_EQ(CodeOf(400, 3, "etcdserver: revision of auth store is old"), Code::kUnauthenticated);
  EXPECT_EQ(CodeOf(400, 3, "etcdserver: user name is empty"), Code::kFailedPrecondition);
  EXPECT_EQ(CodeOf(400, 3, "etcdserver: authentication failed, invalid user ID or password"),
            Code::kFailedPrecondition);
  EXPECT_EQ(CodeOf(403, 7, "etcdserver: permission denied"), Code::kFailedPrecondition);
  EXPECT_EQ(CodeOf(400, 3, "etcdserver: duplicate key given in txn request"), Code::kInternal);
  EXPECT_EQ(CodeOf(500, 15, "etcdserver: corrupt cluster"), Code::kInternal);
  EXPECT_EQ(EtcdError("a", {404, "404 page not found"}).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(SaysAuthIsOff({412, R"({"error":"etcdserver: authentication is not enabled"})"}));
}

}  // namespace
}  // namespace keymill::store::etcd
