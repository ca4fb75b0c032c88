// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/txn.h"

#include <string>

#include <gtest/gtest.h>

namespace keymill::store::etcd {
namespace {

TEST(TxnTest, Base64GoesBothWays) {
  for (const std::string& bytes : {std::string(), std::string("a"), std::string("ab"),
                                   std::string("abc"), std::string("\0\xff\x80", 3)}) {
    const auto back = FromBase64(Base64(bytes));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, bytes);
  }
  EXPECT_EQ(Base64("ab"), "YWI=");
  for (const char* text : {"a", "abc", "YW=I", "!!!!"}) EXPECT_FALSE(FromBase64(text).ok()) << text;
}

TEST(TxnTest, WritesWhatTheGatewayTakes) {
  Transaction transaction;
  transaction.unchanged = {{"a", 9'223'372'036'854'775'807}, {"b", 0}};
  transaction.writes = {{"a", "v"}, {"b", {}}};
  EXPECT_EQ(TransactionText(transaction),
            R"({"compare":[{"key":"YQ==","mod_revision":"9223372036854775807","result":"EQUAL",)"
            R"("target":"MOD"},{"key":"Yg==","mod_revision":"0","result":"EQUAL","target":"MOD"}],)"
            R"("success":[{"request_put":{"key":"YQ==","value":"dg=="}},)"
            R"({"request_delete_range":{"key":"Yg=="}}]})");
  EXPECT_EQ(TransactionText({.ranges = {{.key = "a", .end = "b", .limit = 1, .descending = true}},
                             .unchanged = {},
                             .writes = {}}),
            R"({"compare":[],"success":[{"request_range":{"key":"YQ==","limit":"1",)"
            R"("range_end":"Yg==","sort_order":"DESCEND"}}]})");
}

// As etcd 3.4.23 has said it.
TEST(TxnTest, ReadsWhatTheGatewaySays) {
  const Transaction two{.ranges = {{.key = "a"}, {.key = "x"}}, .unchanged = {}, .writes = {}};
  const auto reply =
      ReadReply(R"({"header":{"cluster_id":"324952591200643719","member_id":"33","revision":"2",)"
                R"("raft_term":"7"},"succeeded":true,"responses":[{"response_range":{"header":)"
                R"({"revision":"2"},"kvs":[{"key":"YQ==","create_revision":"2","mod_revision":)"
                R"("9007199254740993","version":"1","value":"Yg=="}],"count":"1"}},)"
                R"({"response_range":{"header":{"revision":"2"}}}]})",
                two);
  ASSERT_TRUE(reply.ok()) << reply.status().message();
  EXPECT_EQ(reply->header.cluster_id, "324952591200643719");
  EXPECT_EQ(reply->header.revision, 2);
  EXPECT_EQ(reply->header.term, 7);
  ASSERT_EQ(reply->ranges.size(), 2U);
  EXPECT_EQ(reply->ranges[0].at(0).value, "b");
  EXPECT_EQ(reply->ranges[0].at(0).mod_revision, 9'007'199'254'740'993);
  EXPECT_TRUE(reply->ranges[1].empty());
  const auto lost = ReadReply(R"({"header":{"cluster_id":"3","revision":"2"}})", two);
  ASSERT_TRUE(lost.ok());
  EXPECT_FALSE(lost->succeeded) << "what is false is left out";
}

TEST(TxnTest, RefusesWhatIsNoReply) {
  const Transaction one{.ranges = {{.key = "a"}}, .unchanged = {}, .writes = {}};
  for (const char* text :
       {"", "[]", "{}", R"({"header":{}, "succeeded":true})",
        R"({"header":{"revision":7},"succeeded":true,"responses":[{"response_range":{}}]})",
        R"({"header":{"revision":"x"},"succeeded":true,"responses":[{"response_range":{}}]})",
        R"({"header":{},"succeeded":true,"responses":[{"response_put":{}}]})",
        R"({"header":{},"succeeded":true,"responses":[{"response_range":{"kvs":[{"key":"!"}]}}]})",
        R"({"header":{},"succeeded":true,"responses":[{"response_range":{"kvs":[1]}}]})"}) {
    EXPECT_EQ(ReadReply(text, one).code(), Code::kInternal) << text;
  }
}

TEST(TxnTest, APrefixEndsBeforeTheNextOne) {
  EXPECT_EQ(PrefixEnd("a/"), "a0");
  EXPECT_EQ(PrefixEnd("a\xff"), "b");
  EXPECT_EQ(PrefixEnd("\xff"), std::string(1, '\0'));
}

}  // namespace
}  // namespace keymill::store::etcd
