// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/layout.h"

#include <string>

#include <gtest/gtest.h>

namespace keymill::store::etcd {
namespace {

Entry SomeEntry() {
  return {.record = {.name = "links",
                     .id = "1d",
                     .recipe = "{}",
                     .recipe_hash = "hash",
                     .secret = std::string("s\0\xff", 3),
                     .state = KeyspaceState::kOpen,
                     .reason = "",
                     .first = 0,
                     .end = kNumberEnd,
                     .next = (std::uint64_t{1} << 53) + 1,
                     .rev = (std::uint64_t{1} << 53) + 3,
                     .created_at_ms = 5,
                     .testified = {(std::uint64_t{1} << 53) + 5, kNumberEnd}},
          .tail = {},
          .mod_revision = 7};
}

LedgerRow Row(std::uint64_t first, std::uint64_t count, BlockState state) {
  return {"b" + std::to_string(first), first, count, "host/1", "r", 9, state};
}

// These texts lie in people's clusters.
TEST(LayoutTest, KeysAndValuesStayAsTheyAre) {
  const Layout layout("p");
  EXPECT_EQ(layout.Store(), "p/store");
  EXPECT_EQ(layout.Name("links"), "p/names/links");
  EXPECT_EQ(layout.Keyspace("1d"), "p/keyspaces/1d");
  EXPECT_EQ(layout.Row("1d", 255), "p/ledger/1d/00000000000000ff");
  EXPECT_EQ(layout.Held("1d", "b"), "p/held/1d/b");
  EXPECT_EQ(layout.Returned("1d", kNumberEnd - 1), "p/returned/1d/7ffffffffffffffe");
  EXPECT_EQ(RowText(Row(3, 4, BlockState::kHeld)),
            R"({"block":"b3","count":4,"first":3,"instance":"host/1","reservation":"r",)"
            R"("reserved_at_ms":9,"state":"held"})");
  EXPECT_EQ(StoreText({.id = "x", .agreed = "8-7-ab"}),
            R"({"agreed":"8-7-ab","clearing":false,"fill":"","id":"x","moved_to":"","schema":1})");
  EXPECT_EQ(EntryText(SomeEntry()),
            R"({"created_at_ms":5,"end":9223372036854775807,"first":0,"id":"1d","name":"links",)"
            R"("next":9007199254740993,"reason":"","recipe":"{}","recipe_hash":"hash",)"
            R"("rev":9007199254740995,"secret":"cwD/","state":"open",)"
            R"("testified_next":9223372036854775807,"testified_rev":9007199254740997})");
}

TEST(LayoutTest, AnEntryIsReadBackWhole) {
  Entry entry = SomeEntry();
  entry.tail = Row(100, 5, BlockState::kReturned);
  const auto read = ReadEntry({.key = "k", .value = EntryText(entry), .mod_revision = 7});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(EntryText(*read), EntryText(entry));
  EXPECT_EQ(read->record.secret, entry.record.secret);
  EXPECT_EQ(read->mod_revision, 7);
}

TEST(LayoutTest, DamagedValuesAreRefused) {
  const std::string good = EntryText(SomeEntry());
  const auto read = [](std::string value) { return ReadEntry({.key = "k", .value = value}); };
  EXPECT_TRUE(read(good).ok());
  for (const auto& [from, to] :
       {std::pair("\"first\":0", "\"first\":-1"), std::pair("\"first\":0", "\"first\":0.5"),
        std::pair("\"open\"", "\"ajar\""), std::pair("\"name\"", "\"n\""),
        std::pair("\"cwD/\"", "\"cwD\""), std::pair("{", "[")}) {
    std::string bad = good;
    bad.replace(bad.find(from), std::string(from).size(), to);
    EXPECT_EQ(read(bad).code(), Code::kInternal) << bad;
  }
  EXPECT_EQ(ReadRow({.key = "k", .value = "{}"}).code(), Code::kInternal);
  LedgerRow beyond = Row(kNumberEnd - 1, 2, BlockState::kHeld);
  EXPECT_EQ(ReadRow({.key = "k", .value = RowText(beyond)}).code(), Code::kInternal);
  EXPECT_EQ(ReadFirst({.key = "k", .value = "xyz"}).code(), Code::kInternal);
}

TEST(LayoutTest, ANewerSchemaIsRefused) {
  EXPECT_EQ(ReadStore({.key = "k", .value = R"({"id":"x","schema":2})"}).code(),
            Code::kFailedPrecondition);
}

TEST(LayoutTest, WhatIsSaidOfTheStoreIsReadBack) {
  const StoreEntry store{.id = "x",
                         .agreed = "c-1-a",
                         .lead = -5,
                         .moved_to = "postgres://db",
                         .fill = "f",
                         .clearing = true,
                         .mod_revision = 3};
  const auto read = ReadStore({.key = "k", .value = StoreText(store), .mod_revision = 3});
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(StoreText(*read), StoreText(store));
  EXPECT_EQ(read->mod_revision, 3);
  EXPECT_EQ(ReadStore({.key = "k", .value = StoreText({.id = "x"})})->lead, std::nullopt);
  EXPECT_EQ(ReadStore({.key = "k", .value = R"({"id":"x","schema":1})"}).code(), Code::kInternal);
}

TEST(LayoutTest, AChangeComparesTheKeyspaceAndNewRowsMustBeNew) {
  const Layout layout("p");
  Change change(layout, {.id = "x", .mod_revision = 3}, SomeEntry());
  change.Put(Row(10, 5, BlockState::kHeld));
  const Transaction made = change.Finish();
  EXPECT_EQ(made.unchanged,
            (std::map<std::string, std::int64_t>{
                {"p/keyspaces/1d", 7}, {"p/ledger/1d/000000000000000a", 0}, {"p/store", 3}}));
  EXPECT_EQ(made.writes.at("p/held/1d/b10"), "000000000000000a");
  EXPECT_EQ(change.record().rev, (std::uint64_t{1} << 53) + 4);
}

TEST(LayoutTest, TheTailFollowsTheHighestRow) {
  const Layout layout("p");
  Entry entry = SomeEntry();
  entry.tail = Row(10, 5, BlockState::kHeld);
  Change change(layout, {.id = "x", .mod_revision = 3}, entry);
  change.Remove(*entry.tail);
  change.Put(Row(10, 2, BlockState::kSpent));
  EXPECT_EQ(change.tail()->count, 2U);
  change.Put(Row(12, 3, BlockState::kReturned));
  EXPECT_EQ(change.tail()->first, 12U);
  change.Put(Row(3, 1, BlockState::kBurned));
  EXPECT_EQ(change.tail()->first, 12U) << "a lower row is not the tail";
  const Transaction made = change.Finish();
  EXPECT_EQ(made.writes.at("p/held/1d/b10"), std::nullopt);
  EXPECT_TRUE(made.writes.at("p/returned/1d/000000000000000c").has_value());
  EXPECT_FALSE(made.unchanged.contains("p/ledger/1d/000000000000000a")) << "it was there";
}

}  // namespace
}  // namespace keymill::store::etcd
