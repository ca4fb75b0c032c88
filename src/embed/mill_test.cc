// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keymill/keymill.h"

#include "embed/open.h"
#include "support/temp_dir.h"

namespace keymill {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MillTest : public testing::Test {
 protected:
  [[nodiscard]] MillOptions Options() const { return {.data_dir = dir().string()}; }
  [[nodiscard]] std::filesystem::path dir() const { return root_.path() / "data"; }
  [[nodiscard]] std::filesystem::path db() const { return dir() / "keymill.db"; }
  static std::unique_ptr<Mill> Open(const MillOptions& options) {
    auto mill = Mill::Open(options);
    EXPECT_TRUE(mill.ok()) << mill.status().message();
    return mill.ok() ? *std::move(mill) : nullptr;
  }
  static Recipe Orders() {
    Recipe recipe = DefaultRecipe(Kind::kSequence);
    recipe.alphabet = "decimal";
    return recipe;
  }

  TempDir root_;
};

TEST_F(MillTest, AnEmptyDirectoryGivesKeysAtOnce) {
  const auto mill = Open(Options());
  const auto key = mill->Next("default");
  ASSERT_TRUE(key.ok()) << key.status().message();
  EXPECT_EQ(key->size(), 7U);
  EXPECT_TRUE(std::filesystem::exists(db()));
  const auto more = mill->Next("default", 3000);
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(std::set<std::string>(more->begin(), more->end()).size(), 3000U);
}

TEST_F(MillTest, CountingGoesOnAfterACleanStop) {
  for (int i = 0; i < 3; ++i) {
    const auto mill = Open(Options());
    ASSERT_TRUE(mill->Create("orders", Orders()).ok());
    EXPECT_EQ(*mill->Next("orders"), std::to_string(i + 1));
  }
}

TEST_F(MillTest, TwoMillsOnOneDirectoryShareNothingButTheStore) {
  const auto a = Open(Options());
  const auto b = Open(Options());
  std::set<std::string> keys;
  for (int i = 0; i < 5; ++i) {
    for (Mill* const mill : {a.get(), b.get()}) {
      const auto minted = mill->Next("default", 300);
      ASSERT_TRUE(minted.ok()) << minted.status().message();
      for (const std::string& key : *minted) EXPECT_TRUE(keys.insert(key).second);
    }
  }
}

TEST_F(MillTest, UuidsAndUlidsNeedNoBlocks) {
  const auto mill = Open(Options());
  for (const Kind kind : {Kind::kUuid4, Kind::kUuid7, Kind::kUlid}) {
    const std::string name(KindName(kind));
    ASSERT_TRUE(mill->Create(name, DefaultRecipe(kind)).ok());
    const auto keys = mill->Next(name, 3000);
    ASSERT_TRUE(keys.ok()) << keys.status().message();
    EXPECT_EQ(std::set<std::string>(keys->begin(), keys->end()).size(), 3000U);
    if (kind != Kind::kUuid4) {
      EXPECT_TRUE(std::is_sorted(keys->begin(), keys->end()));
      EXPECT_GT(*mill->Next(name), keys->back());
    }
  }
}

TEST_F(MillTest, CallersMistakesAreNamed) {
  const auto mill = Open(Options());
  EXPECT_EQ(mill->Next("nobody").code(), Code::kNotFound);
  EXPECT_EQ(mill->Next("default", 0).code(), Code::kInvalidArgument);
  EXPECT_EQ(mill->Create("", Orders()).code(), Code::kInvalidArgument);
  EXPECT_EQ(mill->Create("default", Orders()).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(mill->Create("default", DefaultRecipe(Kind::kShuffled)).ok());
}

TEST_F(MillTest, OptionsThatCannotBeAreRefused) {
  for (const char* const store : {"", "sqlite:", "sqlite", "mongo://x", "memory", "file.db"}) {
    MillOptions options = Options();
    options.store = store;
    const auto refused = Mill::Open(options);
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << store;
    EXPECT_THAT(refused.status().message(), HasSubstr("use sqlite:PATH"));
  }
  for (const std::uint32_t size : {0U, (1U << 24) + 1}) {
    MillOptions options = Options();
    options.block_size = size;
    EXPECT_EQ(Mill::Open(options).code(), Code::kInvalidArgument);
  }
  EXPECT_FALSE(std::filesystem::exists(dir())) << "and nothing was made";
}

TEST_F(MillTest, AVanishedDatabaseIsNotReplacedWhileAWitnessRemembersIt) {
  Open(Options())->Next("default").status().Ignore();
  for (const bool empty : {false, true}) {
    std::filesystem::remove(db());
    if (empty) std::ofstream(db()).close();
    const auto refused = Mill::Open(Options());
    EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
    EXPECT_THAT(refused.status().message(), HasSubstr(db().string()));
    EXPECT_THAT(refused.status().message(), HasSubstr("Restore the database"));
    EXPECT_THAT(refused.status().message(), HasSubstr("to start anew on purpose, move"));
  }
  std::filesystem::remove(dir() / "witness");
  EXPECT_TRUE(Mill::Open(Options()).ok()) << "on purpose";
}

TEST_F(MillTest, AnotherDatabaseInItsPlaceIsRefused) {
  MillOptions other = Options();
  other.data_dir = (root_.path() / "other").string();
  Open(Options());
  Open(other);
  std::filesystem::copy_file(root_.path() / "other" / "keymill.db", db(),
                             std::filesystem::copy_options::overwrite_existing);
  const auto refused = Mill::Open(Options());
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("another store was here before"));
}

TEST_F(MillTest, NothingIsCreatedWhenThatIsForbidden) {
  MillOptions options = Options();
  options.create = false;
  EXPECT_EQ(Mill::Open(options).code(), Code::kFailedPrecondition);
  EXPECT_FALSE(std::filesystem::exists(dir()));
  std::filesystem::create_directory(dir());
  const auto refused = Mill::Open(options);
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("does not exist"));
  EXPECT_FALSE(std::filesystem::exists(db()));
  Open(Options());
  EXPECT_TRUE(Mill::Open(options).ok()) << "an existing one is opened";
}

TEST_F(MillTest, AFileOfAnotherProgramIsRefused) {
  std::filesystem::create_directory(dir());
  std::ofstream(db()) << std::string(4096, 'x');
  EXPECT_EQ(Mill::Open(Options()).code(), Code::kFailedPrecondition);
}

TEST_F(MillTest, AStoreInMemoryForgets) {
  const MillOptions options{.store = "memory:"};
  for (int i = 0; i < 2; ++i) {
    const auto mill = Open(options);
    ASSERT_TRUE(mill->Create("orders", Orders()).ok());
    EXPECT_THAT(*mill->Next("orders", 2), ElementsAre("1", "2"));
  }
}

TEST_F(MillTest, OpenEngineTellsWhereTheStoreIsAndWhetherItIsNew) {
  const embed::OpenOptions options{
      .data_dir = dir(), .store = "sqlite:sub/../my.db", .create = true, .engine = {}};
  const auto fresh = embed::OpenEngine(options);
  ASSERT_TRUE(fresh.ok()) << fresh.status().message();
  EXPECT_TRUE(fresh->created);
  EXPECT_EQ(fresh->location, "sqlite:" + (dir() / "my.db").string());
  EXPECT_FALSE(embed::OpenEngine(options)->created);
  const auto memory = embed::OpenEngine({.data_dir = {}, .store = "memory:", .engine = {}});
  EXPECT_EQ(memory->location, "memory:");
}

TEST_F(MillTest, TheLastKeysAreGivenBeforeTheEndIsReported) {
  const auto mill = Open(Options());
  Recipe recipe = Orders();
  recipe.length = 3;
  recipe.start = 998;
  ASSERT_TRUE(mill->Create("few", recipe).ok());
  EXPECT_THAT(*mill->Next("few", 10), ElementsAre("998", "999"));
  EXPECT_EQ(mill->Next("few").code(), Code::kExhausted);
}

}  // namespace
}  // namespace keymill
