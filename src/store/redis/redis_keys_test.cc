// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What only a Redis store does with single keys. What every store does is in tests/conformance.

#include "store/redis/redis_keys.h"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "store/redis/client.h"
#include "store/redis/key_cursor.h"
#include "store/redis/key_scripts.h"
#include "store/redis/layout.h"
#include "store/redis/redis_test_support.h"
#include "store/redis/settings.h"
#include "support/redis_process.h"

namespace keymill::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

KeyRow Available(std::string key) { return {.key = std::move(key), .since_ms = 1'000}; }

KeyRow Note(std::string key, std::string note, std::int64_t expires_at_ms = 0) {
  return {.key = std::move(key),
          .state = KeyState::kNote,
          .since_ms = 1'000,
          .expires_at_ms = expires_at_ms,
          .note = std::move(note)};
}

std::vector<KeyRow> Numbered(int count) {
  std::vector<KeyRow> rows;
  for (int i = 0; i < count; ++i) rows.push_back(Available(fmt::format("k{}", i)));
  return rows;
}

KeyTable::TakeRequest Take(std::uint32_t count, KeyState to = KeyState::kUsed) {
  return {.count = count, .to = to, .instance = "a", .token = RandomHex(16), .at_ms = 2'000};
}

std::vector<std::string> KeysOfRows(const std::vector<KeyRow>& rows) {
  std::vector<std::string> keys;
  for (const KeyRow& row : rows) keys.push_back(row.key);
  return keys;
}

class RedisKeysTest : public testing::Test {
 protected:
  RedisKeysTest() : store_(OpenAt(server_.port())), keys_(store_->key_table()) {
    const auto made = store_->Establish({{{Links(), 0, {}}}, "a"}, Soon());
    EXPECT_TRUE(made.ok()) << made.status().message();
    id_ = made->keyspaces[0].record.id;
    guard_ = {.keyspace_id = id_, .recipe_hash = "h", .witness = {}};
  }

  static std::unique_ptr<Store> OpenAt(std::uint16_t port) {
    auto store = Open(UrlOf(port));
    EXPECT_TRUE(store.ok()) << store.status().message();
    return *std::move(store);
  }

  void Add(const std::vector<KeyRow>& rows) {
    const auto added = keys_->AddKeys(guard_, rows, Soon());
    ASSERT_TRUE(added.ok()) << added.status().message();
  }

  std::string Asked(std::string_view command, std::string_view key, std::string_view rest = "") {
    return Told(server_, fmt::format("{} '{{keymill}}:{}' {}", command, key, rest));
  }
  std::string Size(std::string_view command, std::string_view what) {
    return Asked(command, fmt::format("{}:{}", what, id_));
  }
  // How many keys are available, reserved, released, and used with an end.
  std::string Sizes() {
    return fmt::format("{} {} {} {}", Size("SCARD", "available"), Size("ZCARD", "reserved"),
                       Size("ZCARD", "released"), Asked("ZCARD", fmt::format("ends:{}:used", id_)));
  }

  RedisProcess server_{{"--appendfsync", "no"}};  // For speed: it writes much.
  std::unique_ptr<Store> store_;
  KeyTable* keys_;
  std::string id_;
  KeyGuard guard_;
};

TEST_F(RedisKeysTest, EveryStateIsWhereItIsLookedFor) {
  Add(Numbered(10));
  EXPECT_EQ(Sizes(), "10 0 0 0");
  EXPECT_EQ(Asked("HGET", "keys:" + id_, "k3"), "9:available,4:1000,");
  KeyTable::TakeRequest request = Take(4, KeyState::kReserved);
  const auto taken = keys_->TakeKeys(guard_, request, Soon());
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ(Sizes(), "6 4 0 0");
  EXPECT_EQ(Asked("HGET", "keys:" + id_, taken->keys[0]),
            fmt::format("8:reserved,4:2000,0:,1:a,32:{},", request.token));
  EXPECT_EQ(Asked("ZSCORE", "reserved:" + id_, taken->keys[0]), "2000");
  KeyChange change{.match = {.state = KeyState::kReserved, .token = request.token},
                   .to = KeyState::kUsed,
                   .at_ms = 3'000,
                   .expires_at_ms = 9'000};
  ASSERT_EQ(keys_->ChangeKeys(guard_, change, Soon())->rows.size(), 4U);
  EXPECT_EQ(Sizes(), "6 0 0 4");
  change = {.match = {.state = KeyState::kUsed, .expires_until_ms = 9'000},
            .to = KeyState::kReleased,
            .at_ms = 10'000};
  ASSERT_EQ(keys_->ChangeKeys(guard_, change, Soon())->rows.size(), 4U);
  EXPECT_EQ(Sizes(), "6 0 4 0");
  change = {.match = {.state = KeyState::kReleased, .since_until_ms = 10'000},
            .to = KeyState::kAvailable,
            .at_ms = 20'000,
            .generations = 1};
  ASSERT_EQ(keys_->ChangeKeys(guard_, change, Soon())->rows.size(), 4U);
  EXPECT_EQ(Sizes(), "10 0 0 0");
  // What a taken row says behind who has it stays.
  ASSERT_EQ(keys_->TakeKeys(guard_, Take(10), Soon())->keys.size(), 10U);
  EXPECT_EQ(Sizes(), "0 0 0 0");
  EXPECT_EQ((*keys_->FindKey(id_, taken->keys[0], Soon()))->generation, 1U);
  EXPECT_EQ(Asked("HGET", "counts:" + id_, "used"), "10");
}

TEST_F(RedisKeysTest, WhatIsTakenKeepsWhatItHasOfAnyBytes) {
  KeyRow row = Available("odd");
  row.owner = "1:,\xc3\xa9 5:five,\n";
  row.identity = std::string(64, 'a');
  row.generation = kNumberEnd - 1;
  row.expires_at_ms = 77;
  Add({row});
  KeyTable::TakeRequest request = Take(1);
  request.instance = "9:,:,\xc3\xa9";
  request.token = "3:,\r\n";
  ASSERT_TRUE(keys_->TakeKeys(guard_, request, Soon()).ok());
  row.state = KeyState::kUsed;
  row.since_ms = request.at_ms;
  row.expires_at_ms = 0;
  row.instance = request.instance;
  row.token = request.token;
  EXPECT_EQ(*keys_->FindKey(id_, "odd", Soon()), row);
  EXPECT_EQ(*keys_->FindIdentity(id_, row.identity, Soon()), row);
  EXPECT_EQ(Asked("ZCARD", fmt::format("ends:{}:available", id_)), "0");
}

// Numbers in Lua are doubles.
TEST_F(RedisKeysTest, RevisionsAreComparedAndCountedExactly) {
  const std::string record = "keyspace:" + id_;
  for (const std::uint64_t rev : {std::uint64_t{9}, std::uint64_t{1} << 53, kNumberEnd - 10}) {
    Asked("HSET", record, fmt::format("rev {}", rev));
    guard_.witness = {rev, 0};
    const auto added = keys_->AddKeys(guard_, {Available(std::to_string(rev))}, Soon());
    ASSERT_TRUE(added.ok()) << added.status().message();
    EXPECT_EQ(added->seen.rev, rev + 1);
    const auto taken = keys_->TakeKeys({id_, "h", added->seen}, Take(1), Soon());
    ASSERT_TRUE(taken.ok()) << taken.status().message();
    EXPECT_EQ(taken->seen.rev, rev + 2);
    EXPECT_EQ(Asked("HGET", record, "rev"), std::to_string(rev + 2));
    guard_.witness = {rev + 3, 0};
    EXPECT_EQ(keys_->AddKeys(guard_, {Available("late")}, Soon()).code(), Code::kQuarantined);
    ASSERT_TRUE(store_->Recover(id_, {}, Soon()).ok());
  }
}

TEST_F(RedisKeysTest, AStoreThatWentBackIsQuarantinedByWhoeverTakes) {
  Add(Numbered(10));
  const std::string record = "keyspace:" + id_;
  const std::string rev = Asked("HGET", record, "rev");
  const auto taken = keys_->TakeKeys(guard_, Take(5), Soon());
  ASSERT_TRUE(taken.ok());
  // As an old copy has it: those keys are available once more.
  Asked("HSET", record, "rev " + rev);
  for (const std::string& key : taken->keys) Asked("SADD", "available:" + id_, key);
  guard_.witness = taken->seen;
  const auto refused = keys_->TakeKeys(guard_, Take(5), Soon());
  EXPECT_EQ(refused.code(), Code::kQuarantined);
  EXPECT_THAT(refused.status().message(), HasSubstr("went back"));
  EXPECT_EQ(Size("SCARD", "available"), "10") << "nobody has got one";
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->state, KeyspaceState::kQuarantined);
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->testified, taken->seen);
  guard_.witness = {};
  EXPECT_EQ(keys_->TakeKeys(guard_, Take(5), Soon()).code(), Code::kQuarantined) << "for everybody";
}

// A reservation that was computed before keys were taken must not put the old revision back.
TEST_F(RedisKeysTest, EveryChangeOfKeysMarksTheKeyspace) {
  Add(Numbered(2));
  const std::string before = Asked("HGET", "keyspace:" + id_, "change");
  ASSERT_TRUE(keys_->TakeKeys(guard_, Take(1), Soon()).ok());
  EXPECT_NE(Asked("HGET", "keyspace:" + id_, "change"), before);
}

TEST_F(RedisKeysTest, WhatIsTakenWithoutAReplyIsLost) {
  Add(Numbered(10));
  // The server has to learn the script first; what it does not know it has not done.
  ASSERT_TRUE(keys_->TakeKeys(guard_, Take(1), Soon()).ok());
  TrapProxy proxy(server_.port(), std::string(redis::TakeKeysScript().sha1()));
  const auto cut = OpenAt(proxy.port());
  const KeyTable::TakeRequest request = Take(4, KeyState::kReserved);
  EXPECT_EQ(cut->key_table()->TakeKeys(guard_, request, Soon()).code(), Code::kUnknownOutcome);
  EXPECT_EQ(Sizes(), "5 4 0 0");
  proxy.Disarm();
  const auto others = cut->key_table()->TakeKeys(guard_, Take(10), Soon());
  ASSERT_TRUE(others.ok()) << others.status().message();
  EXPECT_EQ(others->keys.size(), 5U);
  const KeyChange back{.match = {.state = KeyState::kReserved, .token = request.token},
                       .to = KeyState::kAvailable,
                       .at_ms = 3'000};
  EXPECT_EQ(keys_->ChangeKeys(guard_, back, Soon())->rows.size(), 4U);
  EXPECT_EQ(Sizes(), "4 0 0 0");
}

TEST_F(RedisKeysTest, AnAdditionWithoutAReplyIsFoundWhenItIsRepeated) {
  Add({Available("first")});
  TrapProxy proxy(server_.port(), std::string(redis::AddKeysScript().sha1()));
  const auto cut = OpenAt(proxy.port());
  EXPECT_EQ(cut->key_table()->AddKeys(guard_, Numbered(3), Soon()).code(), Code::kUnknownOutcome);
  proxy.Disarm();
  const auto again = cut->key_table()->AddKeys(guard_, Numbered(4), Soon());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->present[2], Available("k2"));
  EXPECT_EQ(again->present[3], std::nullopt);
}

// What was computed from rows that somebody has changed since is not written.
TEST_F(RedisKeysTest, AChangeOfARowThatIsNoLongerSoDoesNothing) {
  Add(Numbered(2));
  redis::Client client(*redis::ReadSettings(*ParseStoreUrl(UrlOf(server_.port()))), SystemClock());
  std::vector<std::string> keys = {redis::StoreKey("keymill"), redis::KeysOf("keymill", id_)[0]};
  for (const std::string& key : redis::TableKeysOf("keymill", id_)) keys.push_back(key);
  std::vector<std::string> words = {"", "h", "0", "0", "mark"};
  for (const char* const key : {"k0", "k1"}) {
    const std::string text = redis::KeyText(Available(key));
    words.insert(words.end(), {key, text, "4:used,1:5,", "available", "0", "used", "5", "0", ""});
  }
  ASSERT_TRUE(keys_
                  ->ChangeKeys(guard_,
                               {.match = {.keys = {"k1"}, .state = KeyState::kAvailable},
                                .to = KeyState::kReleased,
                                .at_ms = 4'000},
                               Soon())
                  .ok());
  EXPECT_EQ(client.Run(redis::ChangeKeysScript(), keys, words, Soon())->text, "changed");
  EXPECT_EQ((*keys_->FindKey(id_, "k0", Soon()))->state, KeyState::kAvailable) << "all or none";
  words.resize(5 + redis::kChangeWords);
  EXPECT_EQ(client.Run(redis::ChangeKeysScript(), keys, words, Soon())->items.size(), 3U);
  EXPECT_EQ((*keys_->FindKey(id_, "k0", Soon()))->state, KeyState::kUsed);
  ASSERT_TRUE(store_->Seal("elsewhere", false, Soon()).ok());
  EXPECT_EQ(client.Run(redis::ChangeKeysScript(), keys, words, Soon())->text, "sealed elsewhere");
}

TEST_F(RedisKeysTest, MoreRowsThanAScriptLooksAtAreFoundByTheirTime) {
  Add(Numbered(5'000));
  const auto mine = keys_->TakeKeys(guard_, Take(3'000, KeyState::kReserved), Soon());
  ASSERT_EQ(mine->keys.size(), 3'000U);
  KeyTable::TakeRequest request = Take(10, KeyState::kReserved);
  request.at_ms = 9'000;
  const auto late = keys_->TakeKeys(guard_, request, Soon());
  const KeyChange change{.match = {.state = KeyState::kReserved, .token = request.token},
                         .to = KeyState::kUsed,
                         .at_ms = 9'500};
  const auto changed = keys_->ChangeKeys(guard_, change, Soon());
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_THAT(KeysOfRows(changed->rows), testing::UnorderedElementsAreArray(late->keys));
  // No index has them: all rows are looked at.
  const KeyChange scanned{.match = {.state = KeyState::kUsed, .token = request.token},
                          .to = KeyState::kReleased,
                          .at_ms = 9'600,
                          .rows_max = 7};
  EXPECT_EQ(keys_->ChangeKeys(guard_, scanned, Soon())->rows.size(), 7U);
  EXPECT_EQ(keys_->ChangeKeys(guard_, scanned, Soon())->rows.size(), 3U);
  EXPECT_EQ(keys_->ChangeKeys(guard_, scanned, Soon())->rows.size(), 0U);
}

TEST_F(RedisKeysTest, NoReplyHasMoreNotesThanItCan) {
  const std::string note(std::size_t{1} << 20, 'n');
  std::vector<KeyRow> rows;
  for (int i = 0; i < 20; ++i) rows.push_back(Note(fmt::format("n{}", i), note, 5));
  Add(rows);
  rows.resize(33, rows[0]);
  EXPECT_EQ(keys_->AddKeys(guard_, rows, Soon()).code(), Code::kInvalidArgument);
  // More than a connection reads at once.
  rows.clear();
  for (int i = 0; i < 80; ++i) rows.push_back(Note(fmt::format("n{}", i % 20), "other", 5));
  const auto again = keys_->AddKeys(guard_, rows, Soon());
  ASSERT_TRUE(again.ok()) << again.status().message();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(again->present[i], Note(rows[i].key, note, 5)) << i;
  }
  std::set<std::string> listed;
  KeyTable::Query query;
  do {
    const auto page = keys_->ListKeys(id_, query, Soon());
    ASSERT_TRUE(page.ok()) << page.status().message();
    EXPECT_LE(page->rows.size(), 16U);
    for (const KeyRow& row : page->rows) {
      EXPECT_EQ(row.note, note);
      listed.insert(row.key);
    }
    query.cursor = page->cursor;
  } while (!query.cursor.empty());
  EXPECT_EQ(listed.size(), 20U);
  rows.clear();
  for (int i = 20; i < 40; ++i) rows.push_back(Note(fmt::format("n{}", i), note, 5));
  Add(rows);
  KeyChange change{.match = {.state = KeyState::kNote, .expires_until_ms = 5}};
  EXPECT_EQ(keys_->ChangeKeys(guard_, change, Soon())->rows.size(), 32U);
  EXPECT_EQ(keys_->ChangeKeys(guard_, change, Soon())->rows.size(), 8U);
  EXPECT_EQ(Size("HLEN", "notes"), "0");
  Add(rows);
  for (int i = 0; i < 40; ++i) {
    rows[static_cast<std::size_t>(i % 20)].key = fmt::format("n{}", i);
    change.match.keys.push_back(fmt::format("n{}", i));
    if (i % 20 == 19) Add(rows);
  }
  EXPECT_EQ(keys_->ChangeKeys(guard_, change, Soon()).code(), Code::kInvalidArgument);
  EXPECT_EQ(Size("HLEN", "notes"), "40");
}

TEST_F(RedisKeysTest, AnEarlierFillLeavesNoKeys) {
  const RedisProcess other({"--appendfsync", "no"});
  const auto target = OpenAt(other.port());
  const KeyspaceRecord record = *store_->FindKeyspace("links", Soon());
  std::vector<KeyRow> rows = Numbered(10);
  rows.push_back(Note("note", "text", 5));
  rows[0].identity = std::string(64, '0');
  rows[1].state = KeyState::kReserved;
  rows[2].state = KeyState::kReleased;
  for (std::size_t i = 0; i < kKeyStates; ++i) rows[i].expires_at_ms = 5;
  for (const char* const fill : {"one", "two"}) {
    ASSERT_TRUE(target->BeginFill("s", fill, Soon()).ok());
    EXPECT_EQ(Told(other, "DBSIZE"), "1");
    EXPECT_EQ(target->key_table()->FillKeys(fill, id_, rows, Soon()).code(), Code::kInternal)
        << "before its keyspace";
    ASSERT_TRUE(target->FillKeyspace(fill, record, Soon()).ok());
    for (int i = 0; i < 2; ++i) {
      const Status filled = target->key_table()->FillKeys(fill, id_, rows, Soon());
      ASSERT_TRUE(filled.ok()) << filled.message();
    }
  }
  ASSERT_TRUE(target->EndFill("two", 1, 0, 11, Soon()).ok());
  EXPECT_EQ((*target->key_table()->CountKeys(id_, Soon()))[0], 8U);
  EXPECT_EQ(*target->key_table()->FindKey(id_, "note", Soon()), rows.back());
}

// As docs/stores.md has them.
TEST_F(RedisKeysTest, TheRightsInTheManualAreEnoughForKeys) {
  Tell(server_,
       "ACL SETUSER mill on '>pass' '~{keymill}:*' +@hash +@set +@sortedset +@scripting +hello "
       "+auth +select +info +ttl +unlink '+config|get'");
  auto store = Open(fmt::format("redis://mill:pass@127.0.0.1:{}", server_.port()));
  ASSERT_TRUE(store.ok()) << store.status().message();
  KeyTable& keys = *(*store)->key_table();
  ASSERT_TRUE(keys.AddKeys(guard_, {Available("k"), Note("n", "text", 5)}, Soon()).ok());
  ASSERT_TRUE(keys.TakeKeys(guard_, Take(1, KeyState::kReserved), Soon()).ok());
  KeyChange change{.match = {.state = KeyState::kReserved}, .to = KeyState::kAvailable};
  EXPECT_EQ(keys.ChangeKeys(guard_, change, Soon())->rows.size(), 1U);
  change = {.match = {.state = KeyState::kNote, .expires_until_ms = 5}};
  EXPECT_EQ(keys.ChangeKeys(guard_, change, Soon())->rows.size(), 1U);
  EXPECT_EQ(keys.ListKeys(id_, {}, Soon())->rows.size(), 1U);
  EXPECT_EQ((*keys.CountKeys(id_, Soon()))[0], 1U);
  Tell(server_, fmt::format("EXPIRE '{{keymill}}:keys:{}' 1000", id_));
  EXPECT_EQ((*store)->Inspect(Soon())->back().check, "expiry");
}

TEST(RedisCursorTest, IsReadAsItWasWritten) {
  const redis::KeyCursor cursor{"17", {"a;b", "5:c,"}};
  const auto read = redis::ReadCursor(redis::CursorText(cursor));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->scan, "17");
  EXPECT_THAT(read->pending, ElementsAre("a;b", "5:c,"));
  EXPECT_EQ(redis::ReadCursor("")->scan, "0");
  EXPECT_EQ(redis::CursorText({"", {}}), "");
  EXPECT_THAT(redis::ReadCursor(redis::CursorText({"", {"k"}}))->scan, IsEmpty());
  for (const char* const wrong : {"17", "x;", "-1;", "1;k", "1;2:k,", "99999999999999999999;"}) {
    EXPECT_EQ(redis::ReadCursor(wrong).code(), Code::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace keymill::store
