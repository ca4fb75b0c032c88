// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "store/redis/connection.h"
#include "store/redis/inspect.h"

namespace keymill::store::redis {
namespace {

// Another version of the program reads these: add, never change.
TEST(RedisLayoutTest, NamesAndFormsArePromises) {
  EXPECT_EQ(StoreKey("keymill"), "{keymill}:store");
  EXPECT_EQ(NamesKey("keymill"), "{keymill}:names");
  EXPECT_EQ(KeysOf("k", "id"), (KeyspaceKeys{"{k}:keyspace:id", "{k}:ledger:id", "{k}:rows:id",
                                             "{k}:returned:id", "{k}:held:id", "{k}:lent:id"}));
  EXPECT_EQ(Padded((std::uint64_t{1} << 63) - 1), "09223372036854775807");
  EXPECT_EQ(RowText({"b", 7, 10, "host/1", "r", 1700000000000, BlockState::kHeld}),
            "4:held,2:10,13:1700000000000,1:b,1:r,6:host/1,");
}

TEST(RedisLayoutTest, ARowIsReadBackWhateverItsTextsAre) {
  EXPECT_TRUE(rc::check([](const std::string& block, const std::string& instance,
                           const std::string& reservation, std::uint64_t first) {
    const LedgerRow row{block, first, first / 2 + 1, instance, reservation, -5, BlockState::kSpent};
    const auto read = ReadRow(Padded(first), RowText(row));
    RC_ASSERT(read.ok());
    RC_ASSERT(read->block_id == block && read->instance == instance);
    RC_ASSERT(read->reservation == reservation && read->first == first);
    RC_ASSERT(read->count == row.count && read->state == row.state);
    RC_ASSERT(read->reserved_at_ms == -5);
  }));
}

TEST(RedisLayoutTest, ADamagedRowIsNoRow) {
  const std::string text = RowText({"b", 7, 10, "i", "r", 1, BlockState::kHeld});
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(ReadRow("7", text.substr(0, size)).code(), Code::kInternal) << size;
  }
  EXPECT_EQ(ReadRow("7", text + "x").code(), Code::kInternal);
  EXPECT_EQ(ReadRow("seven", text).code(), Code::kInternal);
  EXPECT_EQ(ReadRow("7", "4:gone,1:1,1:1,0:,0:,0:,").code(), Code::kInternal);
  EXPECT_EQ(ReadRow("7", "4:held,1:0,1:1,0:,0:,0:,").code(), Code::kInternal);
}

KeyRow OddKey() {
  return {.key = "k",
          .state = KeyState::kAlias,
          .since_ms = 1,
          .instance = "i:,\n",
          .token = "3:,",
          .owner = std::string("\0\xff:,", 4),
          .identity = "id",
          .expires_at_ms = 2,
          .generation = 3};
}

TEST(RedisLayoutTest, TheRowOfAKeyIsReadAsItWasWritten) {
  const KeyRow whole = OddKey();
  EXPECT_EQ(ReadKey("k", KeyText(whole))->row, whole);
  // Nothing at the end takes no room, and is nothing again.
  KeyRow row{.key = "k"};
  EXPECT_EQ(KeyText(row), "9:available,");
  EXPECT_EQ(ReadKey("k", KeyText(row))->row, row);
  row.generation = 7;
  EXPECT_EQ(KeyText(row), "9:available,0:,0:,0:,0:,1:7,");
  EXPECT_EQ(ReadKey("k", KeyText(row))->row, row);
  row.note = "text";
  EXPECT_EQ(ReadKey("k", KeyText(row))->note_size, 4U);
  EXPECT_EQ(ReadKey("k", KeyText(row))->row.note, "") << "that is elsewhere";
  EXPECT_EQ(KeyHead(row) + "1:7,", "9:available,0:,0:,0:,0:,1:7,");
}

TEST(RedisLayoutTest, TheDamagedRowOfAKeyIsNoRow) {
  const std::string text = KeyText(OddKey());
  int whole = 0;
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const auto read = ReadKey("k", text.substr(0, size));
    if (read.ok()) ++whole;
  }
  EXPECT_EQ(whole, 8) << "it can only end behind a part, of which there are eight";
  for (const char* const wrong : {"", "4:gone,", "9:available,1:x,", "9:available,2:-,",
                                  "9:available,0:,0:,0:,0:,2:-1,", "9:available"}) {
    EXPECT_EQ(ReadKey("k", wrong).code(), Code::kInternal) << wrong;
  }
  EXPECT_EQ(ReadKey("k", text + "1:1,1:1,").code(), Code::kInternal) << "one part too many";
}

TEST(RedisLayoutTest, InfoIsReadLineByLine) {
  constexpr std::string_view kInfo = "txt:# Replication\r\nrole:master\r\nmaster_replid:ab\r\n";
  EXPECT_EQ(InfoField(kInfo, "role"), "master");
  EXPECT_EQ(InfoField(kInfo, "master_replid"), "ab");
  EXPECT_EQ(InfoField(kInfo, "master"), "");
}

TEST(RedisErrorTest, SaysWhatToDoAndKeepsSecrets) {
  const auto error = [](std::string text) {
    wire::RespValue reply;
    reply.type = wire::RespType::kError;
    reply.text = std::move(text);
    return ReplyError("use", "redis h:1", reply);
  };
  EXPECT_EQ(error("LOADING Redis is loading the dataset in memory").code(), Code::kUnavailable);
  EXPECT_EQ(error("OOM command not allowed. script: 12, on @user_script:1.").code(),
            Code::kUnavailable);
  EXPECT_EQ(error("ERR Error running script: @user_script: 3: -OOM command not allowed").code(),
            Code::kUnavailable);
  EXPECT_EQ(error("MISCONF Errors writing to the AOF file").code(), Code::kUnavailable);
  EXPECT_EQ(error("READONLY You can't write against a read only replica.").code(),
            Code::kUnavailable);
  EXPECT_EQ(error("WRONGPASS invalid username-password pair").code(), Code::kFailedPrecondition);
  EXPECT_EQ(error("NOPERM this user has no permissions to run the 'eval' command").code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(error("ERR The user executing the script can't run this command or subcommand").code(),
            Code::kFailedPrecondition);
  const Status denied = error(
      "DENIED Redis is running in protected mode because protected mode is enabled and no password "
      "is set for the default user. In this mode connections are only accepted from the loopback "
      "interface. If you want to connect from external computers to Redis you may adopt one of the "
      "following solutions: 1) Just disable protected mode");
  EXPECT_EQ(denied.code(), Code::kFailedPrecondition);
  EXPECT_THAT(denied.message(),
              testing::HasSubstr("set for the default user (set a password there"));
  EXPECT_EQ(error("ERR Error running script (call to f_" + std::string(200, 'a') +
                  "). It stopped: @user_script: 3: -OOM command not allowed")
                .code(),
            Code::kUnavailable);
  EXPECT_EQ(error("BUSYKEY Target key name already exists.").code(), Code::kInternal);
  EXPECT_EQ(error("ERR unknown command 'AUTH', with args beginning with: 'secret'").message(),
            "use redis h:1: ERR unknown command 'AUTH'");
}

}  // namespace
}  // namespace keymill::store::redis
