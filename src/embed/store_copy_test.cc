// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "embed/store_copy.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keymill/key_table.h"

#include "base/log.h"
#include "embed/open.h"
#include "embed/stores.h"
#include "support/temp_dir.h"

namespace keymill::embed {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class StoreCopyTest : public testing::Test {
 protected:
  StoreCopyTest() { DisableLog(); }

  Result<CopyReport> CopyTo(const std::string& to, bool instead = false) {
    return CopyStore({.from = "sqlite:from.db",
                      .to = to,
                      .data_dir = dir_.path(),
                      .accept_unsafe_store = "the test's directory may be anywhere",
                      .instead = instead},
                     SystemClock(), [this](const std::string& name, double share) {
                       progress_.push_back(name + (share == 1 ? " done" : " part"));
                       if (on_progress_) std::exchange(on_progress_, nullptr)();
                     });
  }

  // Opens the store as an instance does, mints and stops cleanly.
  Status Mint(const std::string& store, std::uint64_t count, const std::string& below = "") {
    OpenOptions options;
    options.data_dir = dir_.path() / below;
    options.store = store;
    options.engine.keyspaces = {{"orders", DefaultRecipe(Kind::kSequence)}};
    options.engine.accept_unsafe_store = "the test's directory may be anywhere";
    Result<Opened> opened = OpenEngine(options);
    if (!opened.ok()) return opened.status();
    mint::Engine& engine = *opened->engine;
    return engine.Mint(*engine.Find("orders"), count,
                       SystemClock().Monotonic() + std::chrono::seconds(30),
                       [this](std::string_view lines) { keys_ += lines; });
  }

  std::unique_ptr<Store> OpenAt(const std::string& url) {
    const auto place = FindStore(url, dir_.path());
    auto store = OpenStore(*place, /*create=*/false, SystemClock(), Soon());
    EXPECT_TRUE(store.ok()) << store.status().message();
    return *std::move(store);
  }

  static MonotonicTime Soon() { return SystemClock().Monotonic() + std::chrono::seconds(30); }

  TempDir dir_;
  std::vector<std::string> progress_;
  std::function<void()> on_progress_;  // Once, at the next.
  std::string keys_;                   // One per line.
};

TEST_F(StoreCopyTest, TheCopyGoesOnWhereTheOriginalStopped) {
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  const Result<CopyReport> report = CopyTo("sqlite:to.db");
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->keyspaces, 1U);
  EXPECT_GE(report->rows, 1U);
  EXPECT_FALSE(report->was_done);
  EXPECT_THAT(progress_, testing::ElementsAre("orders done"));
  const Status refused = Mint("sqlite:from.db", 1);
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("to.db"));
  ASSERT_TRUE(Mint("sqlite:to.db", 2).ok());
  EXPECT_EQ(keys_, "1\n2\n3\n4\n5\n");
}

TEST_F(StoreCopyTest, KeysThatAreRememberedOneByOneGoAlong) {
  constexpr std::size_t kPool = 1'200;  // More than two pages.
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  KeyspaceRecord orders;
  KeyTable::Counts counts{};
  {
    const auto from = OpenAt("sqlite:from.db");
    orders = *from->FindKeyspace("orders", Soon());
    const KeyGuard guard{
        .keyspace_id = orders.id, .recipe_hash = orders.recipe_hash, .witness = {}};
    std::vector<KeyRow> rows = {
        {.key = "/n", .state = KeyState::kNote, .note = std::string("\0n", 2)},
        {.key = "a", .state = KeyState::kAlias, .owner = "ann"},
        {.key = "d", .state = KeyState::kDerived, .identity = std::string(64, 'd')}};
    for (std::size_t i = 0; i < kPool; ++i) rows.push_back({.key = "k" + std::to_string(i)});
    ASSERT_TRUE(from->key_table()->AddKeys(guard, rows, Soon()).ok());
    const KeyTable::TakeRequest take{.count = 700, .instance = "i", .token = "t", .at_ms = 5};
    ASSERT_TRUE(from->key_table()->TakeKeys(guard, take, Soon()).ok());
    counts = *from->key_table()->CountKeys(orders.id, Soon());
  }
  const Result<CopyReport> report = CopyTo("sqlite:to.db");
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->keys, kPool + 3);
  ASSERT_GT(progress_.size(), 1U);
  EXPECT_EQ(progress_.front(), "orders part");
  EXPECT_EQ(progress_.back(), "orders done");
  const auto to = OpenAt("sqlite:to.db");
  EXPECT_EQ(*to->key_table()->CountKeys(orders.id, Soon()), counts);
  EXPECT_EQ((*to->key_table()->FindKey(orders.id, "/n", Soon()))->note, std::string("\0n", 2));
  EXPECT_EQ((*to->key_table()->FindIdentity(orders.id, std::string(64, 'd'), Soon()))->key, "d");
  EXPECT_EQ((*to->key_table()->FindKey(orders.id, "a", Soon()))->owner, "ann");
}

// They are over, and only wait for somebody to tidy up.
TEST_F(StoreCopyTest, AnswersThatNobodyGetsAgainStayBehind) {
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  KeyspaceRecord orders;
  const std::int64_t now_ms = SystemClock().WallMs();
  {
    const auto from = OpenAt("sqlite:from.db");
    orders = *from->FindKeyspace("orders", Soon());
    const KeyGuard guard{
        .keyspace_id = orders.id, .recipe_hash = orders.recipe_hash, .witness = {}};
    const auto note = [](std::string key, std::int64_t end_ms) {
      return KeyRow{.key = std::move(key),
                    .state = KeyState::kNote,
                    .expires_at_ms = end_ms,
                    .note = "1\n1\n"};
    };
    const std::vector<KeyRow> rows = {note("#retry/over", now_ms - 1),
                                      note("#retry/live", now_ms + 600'000),
                                      note("#other", now_ms - 1), note("#times/x", 0)};
    ASSERT_TRUE(from->key_table()->AddKeys(guard, rows, Soon()).ok());
  }
  const Result<CopyReport> report = CopyTo("sqlite:to.db");
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->keys, 3U);
  const auto to = OpenAt("sqlite:to.db");
  EXPECT_FALSE(*to->key_table()->FindKey(orders.id, "#retry/over", Soon()));
  for (const char* const kept : {"#retry/live", "#other", "#times/x"}) {
    EXPECT_TRUE(*to->key_table()->FindKey(orders.id, kept, Soon())) << kept;
  }
}

TEST_F(StoreCopyTest, ItIsSafeToRepeat) {
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  ASSERT_TRUE(CopyTo("sqlite:to.db").ok());
  ASSERT_TRUE(CopyTo("sqlite:to.db").ok());
  ASSERT_TRUE(Mint("sqlite:to.db", 1).ok());
  const Result<CopyReport> again = CopyTo("sqlite:to.db");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again->was_done);
}

// The store that everything came from has the same identity, and is no copy of what came of it.
TEST_F(StoreCopyTest, NothingGoesBackToWhereItCameFrom) {
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  ASSERT_TRUE(CopyTo("sqlite:to.db").ok());
  const Result<CopyReport> back = CopyStore({.from = "sqlite:to.db",
                                             .to = "sqlite:from.db",
                                             .data_dir = dir_.path(),
                                             .accept_unsafe_store = "as above"},
                                            SystemClock(), [](const std::string&, double) {});
  EXPECT_EQ(back.code(), Code::kFailedPrecondition);
  EXPECT_THAT(back.status().message(), HasSubstr("empty place"));
  EXPECT_TRUE(Mint("sqlite:to.db", 1).ok()) << "it was not sealed";
}

TEST_F(StoreCopyTest, WhatWasSealedForOneGoesNowhereElse) {
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  ASSERT_TRUE(CopyTo("sqlite:to.db").ok());
  const Result<CopyReport> other = CopyTo("sqlite:other.db");
  EXPECT_EQ(other.code(), Code::kFailedPrecondition);
  EXPECT_THAT(other.status().message(), HasSubstr("--instead"));
  EXPECT_TRUE(CopyTo("sqlite:other.db", /*instead=*/true).ok()) << "it was never used";
}

// U1: of two copies that run at once, at most one comes to its end.
TEST_F(StoreCopyTest, AnotherCopyThatBeginsInsteadEndsTheFirst) {
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  on_progress_ = [this] { ASSERT_TRUE(CopyTo("sqlite:second.db", /*instead=*/true).ok()); };
  const auto first = CopyTo("sqlite:first.db");
  EXPECT_EQ(first.code(), Code::kFailedPrecondition);
  EXPECT_THAT(first.status().message(),
              AllOf(HasSubstr("for another target meanwhile: use that one"),
                    Not(HasSubstr("the same command again"))));
  EXPECT_FALSE(Mint("sqlite:first.db", 1).ok());
  ASSERT_TRUE(Mint("sqlite:second.db", 1).ok());
  EXPECT_EQ(keys_, "1\n2\n3\n4\n");
}

TEST_F(StoreCopyTest, ATargetThatWasUsedCannotBeReplaced) {
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  ASSERT_TRUE(CopyTo("sqlite:to.db").ok());
  ASSERT_TRUE(Mint("sqlite:to.db", 1).ok());
  const Result<CopyReport> other = CopyTo("sqlite:other.db", /*instead=*/true);
  EXPECT_EQ(other.code(), Code::kFailedPrecondition);
  EXPECT_THAT(other.status().message(), HasSubstr("since"));
}

TEST_F(StoreCopyTest, ATargetThatIsNotEmptyIsRefusedBeforeAnythingIsSealed) {
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  ASSERT_TRUE(Mint("sqlite:to.db", 1, "elsewhere").ok());
  EXPECT_EQ(CopyTo("sqlite:elsewhere/to.db").code(), Code::kFailedPrecondition);
  EXPECT_TRUE(Mint("sqlite:from.db", 1).ok());
}

TEST_F(StoreCopyTest, ACloneIsNoCopy) {
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  std::filesystem::copy_file(dir_.path() / "from.db", dir_.path() / "clone.db");
  const Result<CopyReport> report = CopyTo("sqlite:clone.db");
  EXPECT_EQ(report.code(), Code::kFailedPrecondition);
  EXPECT_THAT(report.status().message(), HasSubstr("clone"));
}

TEST_F(StoreCopyTest, WhatCannotBeCopiedIsSaid) {
  EXPECT_EQ(CopyTo("sqlite:to.db").code(), Code::kNotFound);
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  EXPECT_EQ(CopyTo("sqlite:./from.db").code(), Code::kInvalidArgument);
  EXPECT_EQ(CopyTo("memory:").code(), Code::kInvalidArgument);
  EXPECT_EQ(CopyTo("oracle://x").code(), Code::kInvalidArgument);
}

TEST_F(StoreCopyTest, AnOldCopyIsNotMoved) {
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  std::filesystem::copy_file(dir_.path() / "from.db", dir_.path() / "backup.db");
  ASSERT_TRUE(Mint("sqlite:from.db", 3).ok());
  std::filesystem::copy_file(dir_.path() / "backup.db", dir_.path() / "from.db",
                             std::filesystem::copy_options::overwrite_existing);
  const Result<CopyReport> report = CopyTo("sqlite:to.db");
  EXPECT_EQ(report.code(), Code::kFailedPrecondition);
  EXPECT_THAT(report.status().message(), HasSubstr("keymill recover orders"));
}

}  // namespace
}  // namespace keymill::embed
