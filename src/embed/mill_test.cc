// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

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
  MillOptions options = Options();
  options.pool_low = 1'000'000'001;
  EXPECT_EQ(Mill::Open(options).code(), Code::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(dir())) << "and nothing was made";
}

// As long as it lives, this process seems to have loaded a library that turns fsync off, and so
// every file of SQLite is unsafe: a store goes by the names of the files that are mapped.
class SeemsToHaveNoFsync {
 public:
  explicit SeemsToHaveNoFsync(const std::filesystem::path& directory) {
    const std::filesystem::path library = directory / "libeatmydata.so";
    std::ofstream(library) << "no library";
    const int fd = ::open(library.c_str(), O_RDONLY | O_CLOEXEC);
    page_ = ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, fd, 0);
    EXPECT_NE(page_, MAP_FAILED) << library;
    ::close(fd);
  }
  SeemsToHaveNoFsync(const SeemsToHaveNoFsync&) = delete;
  SeemsToHaveNoFsync& operator=(const SeemsToHaveNoFsync&) = delete;
  ~SeemsToHaveNoFsync() { ::munmap(page_, 1); }

 private:
  void* page_ = nullptr;
};

TEST_F(MillTest, AStoreThatCanLoseKeysIsRefusedWithoutAReason) {
  const SeemsToHaveNoFsync unsafe(root_.path());
  const auto refused = Mill::Open(Options());
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("libeatmydata is loaded"));
  EXPECT_THAT(refused.status().message(), HasSubstr("in a program's options"));
  MillOptions options = Options();
  options.accept_unsafe_store = "a test";
  const auto mill = Open(options);
  ASSERT_NE(mill, nullptr);
  EXPECT_TRUE(mill->Next("default").ok());
}

TEST_F(MillTest, AReasonIsALineOfALog) {
  for (const std::string& reason : {std::string("two\nlines"), std::string(201, 'x')}) {
    MillOptions options = Options();
    options.accept_unsafe_store = reason;
    const auto refused = Mill::Open(options);
    EXPECT_EQ(refused.code(), Code::kInvalidArgument);
    EXPECT_THAT(refused.status().message(), HasSubstr("accept_unsafe_store"));
  }
  MillOptions options = Options();
  options.accept_unsafe_store = "größer als ein Byte: " + std::string(170, 'x');
  EXPECT_TRUE(Mill::Open(options).ok()) << "also of a store that is safe";
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

// The worker that made the next id of a snowflake keyspace; none when no id could be had.
std::optional<std::uint32_t> NextWorker(Mill& mill) {
  if (!mill.Create("ids", DefaultRecipe(Kind::kSnowflake)).ok()) return {};
  const auto id = mill.Next("ids");
  if (!id.ok()) return {};
  const auto told = mill.Explain("ids", *id);
  EXPECT_TRUE(told.ok()) << told.status().message();
  return told.ok() ? told->worker : std::nullopt;
}

TEST_F(MillTest, AWorkerIdThatIsSetIsTheOneAndNoOther) {
  MillOptions options = Options();
  options.worker_id = 17;
  options.timeout = std::chrono::milliseconds(500);
  options.accept_clock_ahead = true;
  const auto mill = Open(options);
  EXPECT_EQ(NextWorker(*mill), 17U);
  const auto second = Open(options);
  const auto refused = second->Next("ids");
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::kOverloaded);
  EXPECT_THAT(refused.status().message(), HasSubstr("worker id 17 is in use until"));
}

TEST_F(MillTest, AWorkerIdThatDoesNotFitIsToldToWhoMakesTheKeyspace) {
  MillOptions options = Options();
  options.worker_id = 8;
  const auto mill = Open(options);
  Recipe recipe = DefaultRecipe(Kind::kSnowflake);
  recipe.layout.worker_bits = 3;
  const Status refused = mill->Create("few", recipe);
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("the largest that fits its layout is 7"));
  EXPECT_EQ(mill->Next("few").code(), Code::kNotFound) << "it was not made";
}

TEST_F(MillTest, ThePodsOrdinalIsTakenWhereItIsFree) {
  ::setenv("POD_INDEX", "5", 1);
  const auto mill = Open(Options());
  const auto second = Open(Options());
  ::unsetenv("POD_INDEX");
  EXPECT_EQ(NextWorker(*mill), 5U);
  const auto other = NextWorker(*second);
  ASSERT_TRUE(other.has_value());
  EXPECT_NE(*other, 5U) << "taken, so another one";
}

TEST_F(MillTest, ExplainTellsWhatIsKnownOfAKey) {
  using State = Mill::Explanation::State;
  const auto mill = Open(Options());
  ASSERT_TRUE(mill->Create("orders", Orders()).ok());
  EXPECT_EQ(*mill->Next("orders"), "1");
  const auto issued = mill->Explain("orders", "1");
  ASSERT_TRUE(issued.ok()) << issued.status().message();
  EXPECT_EQ(issued->state, State::kIssued);
  EXPECT_EQ(issued->keyspace, "orders");
  EXPECT_EQ(issued->kind, Kind::kSequence);
  EXPECT_EQ(issued->number, 1U);
  EXPECT_NE(issued->instance, "");
  EXPECT_FALSE(issued->time_ms || issued->worker || issued->sequence);
  EXPECT_FALSE(issued->since_ms || issued->expires_at_ms || issued->generation);
  EXPECT_EQ(issued->owner, "");
  EXPECT_EQ(mill->Explain("orders", "2")->state, State::kReserved);
  EXPECT_EQ(mill->Explain("orders", "x").code(), Code::kNotFound);
  EXPECT_EQ(mill->Explain("nowhere", "1").code(), Code::kNotFound);

  ASSERT_TRUE(mill->Create("ids", DefaultRecipe(Kind::kSnowflake)).ok());
  const auto id = mill->Explain("ids", *mill->Next("ids"));
  ASSERT_TRUE(id.ok()) << id.status().message();
  EXPECT_TRUE(id->number && id->worker && id->sequence);
  EXPECT_GT(id->time_ms.value_or(0), kSnowflakeEpochMs);

  ASSERT_TRUE(mill->Create("u", DefaultRecipe(Kind::kUuid7)).ok());
  const auto uuid = mill->Explain("u", *mill->Next("u"));
  ASSERT_TRUE(uuid.ok()) << uuid.status().message();
  EXPECT_EQ(uuid->state, State::kUnknown);
  EXPECT_EQ(uuid->kind, Kind::kUuid7);
  EXPECT_GT(uuid->time_ms.value_or(0), kSnowflakeEpochMs);
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
