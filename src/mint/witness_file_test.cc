// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/witness_file.h"

#include <array>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temp_dir.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void WriteFile(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

unsigned ModeOf(const std::filesystem::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777U;
}

class WitnessFileTest : public testing::Test {
 protected:
  std::unique_ptr<WitnessFile> Open() {
    // Patient: a busy disk is no failure of what is tested.
    auto file = WitnessFile::Open(dir(), std::chrono::seconds(30));
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? *std::move(file) : nullptr;
  }
  [[nodiscard]] std::filesystem::path dir() const { return root_.path() / "data"; }

  TempDir root_;
};

TEST_F(WitnessFileTest, ALookTellsAllAndCreatesNothing) {
  auto nothing = WitnessFile::Peek(dir());
  ASSERT_TRUE(nothing.ok()) << nothing.status().message();
  EXPECT_FALSE(nothing->exists);
  EXPECT_FALSE(std::filesystem::exists(dir()));

  ASSERT_TRUE(Open()->Bind("s", "sqlite:/x", {{"k", "links", {3, 40}}}).ok());
  std::filesystem::remove(dir() / "witness.lock");
  const auto view = WitnessFile::Peek(dir());
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_TRUE(view->exists);
  EXPECT_EQ(view->locations.at("s"), "sqlite:/x");
  ASSERT_EQ(view->keyspaces.size(), 1U);
  EXPECT_EQ(view->keyspaces[0].store_id, "s");
  EXPECT_EQ(view->keyspaces[0].keyspace_id, "k");
  EXPECT_EQ(view->keyspaces[0].name, "links");
  EXPECT_EQ(view->keyspaces[0].seen, (Witness{3, 40}));
  EXPECT_FALSE(std::filesystem::exists(dir() / "witness.lock"));

  WriteFile(dir() / "witness", "keymill-witness 1\n");
  EXPECT_EQ(WitnessFile::Peek(dir()).code(), Code::kFailedPrecondition);
}

TEST_F(WitnessFileTest, MakesItsDirectoryForItsOwnerOnlyAndNoFileBeforeThereIsSomethingToSay) {
  const auto witness = Open();
  EXPECT_EQ(ModeOf(dir()), 0700U);
  EXPECT_FALSE(std::filesystem::exists(witness->path()));
  EXPECT_EQ(*witness->Read("s", "k"), Witness{});
  ASSERT_TRUE(witness->Record("s", "k", "links", {1, 2}).ok());
  EXPECT_EQ(ModeOf(witness->path()), 0600U);
}

// Root may run a verb beside the service of another user, who must be able to go on.
TEST_F(WitnessFileTest, WhatRootWritesBelongsToTheOwnerOfTheDirectory) {
  constexpr uid_t kSomebody = 12345;
  const uid_t owner = ::geteuid() == 0 ? kSomebody : ::geteuid();
  ASSERT_EQ(::mkdir(dir().c_str(), 0700), 0);
  ASSERT_EQ(::chown(dir().c_str(), owner, static_cast<gid_t>(-1)), 0);
  const auto witness = Open();
  ASSERT_TRUE(witness->Record("s", "k", "links", {1, 2}).ok());
  ASSERT_TRUE(witness->LockDirectory().ok());
  for (const char* const name : {"witness", "witness.lock", "open.lock"}) {
    struct stat info {};
    ASSERT_EQ(::stat((dir() / name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_uid, owner) << name;
  }
}

// Whoever owns the directory could make root overwrite, or give away, any file.
TEST_F(WitnessFileTest, LinksAreNotFollowed) {
  const auto victim = root_.path() / "victim";
  WriteFile(victim, "precious");
  struct stat before {};
  ASSERT_EQ(::stat(victim.c_str(), &before), 0);
  const auto witness = Open();
  std::filesystem::create_symlink(victim, dir() / "witness.new");
  ASSERT_TRUE(witness->Record("s", "k", "links", {1, 2}).ok());
  EXPECT_EQ(*Open()->Read("s", "k"), (Witness{1, 2}));
  for (const char* const name : {"witness.lock", "open.lock"}) {
    std::filesystem::remove(dir() / name);
    std::filesystem::create_symlink(victim, dir() / name);
  }
  EXPECT_EQ(witness->Record("s", "k", "links", {3, 4}).code(), Code::kUnavailable);
  EXPECT_EQ(witness->LockDirectory().code(), Code::kUnavailable);
  EXPECT_EQ(ReadFile(victim), "precious");
  struct stat after {};
  ASSERT_EQ(::stat(victim.c_str(), &after), 0);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_mode, before.st_mode);
}

TEST_F(WitnessFileTest, ATrailingSlashDoesNotOpenTheDirectoryToOthers) {
  auto file = WitnessFile::Open(dir().string() + "/");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(ModeOf(dir()), 0700U);
}

TEST_F(WitnessFileTest, RemembersAcrossRestarts) {
  ASSERT_TRUE(Open()->Record("s", "k", "links", {7, 700}).ok());
  EXPECT_EQ(*Open()->Read("s", "k"), (Witness{7, 700}));
  EXPECT_EQ(*Open()->Read("s", "other"), Witness{});
  EXPECT_EQ(*Open()->Read("other", "k"), Witness{});
}

TEST_F(WitnessFileTest, BindsAndMergesWhatWasSeenInOneChange) {
  ASSERT_TRUE(Open()->Record("s", "k", "links", {7, 700}).ok());
  const auto witness = Open();
  ASSERT_TRUE(
      witness->Bind("s", "here", {{"k", "links", {8, 600}}, {"fresh", "codes", {2, 20}}}).ok());
  EXPECT_EQ(*Open()->Read("s", "k"), (Witness{8, 700}));
  EXPECT_EQ(*Open()->Read("s", "fresh"), (Witness{2, 20}));
  EXPECT_EQ(*Open()->RememberedLocation(), "here");
  EXPECT_EQ(witness->Bind("other", "here", {{"k", "links", {9, 900}}}).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(*Open()->Read("other", "k"), Witness{}) << "what was refused is not recorded";
}

TEST_F(WitnessFileTest, MergesByMaximumFieldByFieldAcrossObjects) {
  const auto a = Open();
  const auto b = Open();
  EXPECT_EQ(*a->Record("s", "k", "links", {5, 100}), (Witness{5, 100}));
  EXPECT_EQ(*b->Record("s", "k", "links", {6, 90}), (Witness{6, 100}));
  EXPECT_EQ(*a->Record("s", "k", "links", {1, 1}), (Witness{6, 100}));
  EXPECT_EQ(*a->Read("s", "k"), (Witness{6, 100}));
  ASSERT_TRUE(b->Record("s", "k2", "other", {1, 1}).ok());
  EXPECT_EQ(*a->Read("s", "k"), (Witness{6, 100})) << "another keyspace changes nothing";
}

TEST_F(WitnessFileTest, KeepsTheLargestNumbersThereAre) {
  constexpr std::uint64_t kLarge = (std::uint64_t{1} << 63) - 1;
  ASSERT_TRUE(Open()->Record("s", "k", "links", {kLarge, kLarge - 1}).ok());
  EXPECT_EQ(*Open()->Read("s", "k"), (Witness{kLarge, kLarge - 1}));
}

TEST_F(WitnessFileTest, ManyWritersLoseNothing) {
  const auto shared = Open();
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto own = Open();
      WitnessFile& file = t % 2 == 0 ? *shared : *own;
      for (std::uint64_t i = 1; i <= 10; ++i) {
        ASSERT_TRUE(file.Record("s", "k", "links", {10 * t + i, 10 * t + i}).ok());
        ASSERT_TRUE(file.Record("s", std::to_string(t), "own", {i, i}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*shared->Read("s", "k"), (Witness{40, 40}));
  for (int t = 0; t < 4; ++t) {
    EXPECT_EQ(*shared->Read("s", std::to_string(t)), (Witness{10, 10}));
  }
}

TEST_F(WitnessFileTest, AFileCutAnywhereIsDamagedAndNeverEmpty) {
  const auto witness = Open();
  ASSERT_TRUE(witness->Bind("store-a", "sqlite:/srv/my data/keymill.db").ok());
  ASSERT_TRUE(witness->Record("store-a", "k1", "links", {12, 3400}).ok());
  ASSERT_TRUE(witness->Record("store-a", "k2", "orders", {3, 1000}).ok());
  const std::string whole = ReadFile(witness->path());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    WriteFile(witness->path(), whole.substr(0, size));
    EXPECT_EQ(WitnessFile::Open(dir()).code(), Code::kFailedPrecondition) << size;
    EXPECT_EQ(witness->Read("store-a", "k1").code(), Code::kFailedPrecondition) << size;
    EXPECT_EQ(witness->Record("store-a", "k1", "links", {1, 1}).code(), Code::kFailedPrecondition)
        << size;
    EXPECT_EQ(witness->Bind("store-a", "elsewhere").code(), Code::kFailedPrecondition) << size;
    EXPECT_EQ(ReadFile(witness->path()), whole.substr(0, size)) << "nobody writes over it";
  }
  WriteFile(witness->path(), whole);
  EXPECT_EQ(*witness->Read("store-a", "k1"), (Witness{12, 3400}));
}

TEST_F(WitnessFileTest, GarbageIsDamageAndTheMessageSaysWhatToDo) {
  const auto witness = Open();
  const std::string head = "keymill-witness 1\n";
  for (const std::string& text :
       {std::string("\n"), std::string("garbage"), std::string(64, '\0'),
        std::string("keymill-witness 2\nend\n"), head + "keyspace s k x 1 links\nend\n",
        head + "keyspace s k 1\nend\n", head + "what is this\nend\n", head + "end\nend\n",
        head + "end\n\n", head + "end of it\n", head + "store\nend\n", head + "\nend\n"}) {
    WriteFile(witness->path(), text);
    const auto opened = WitnessFile::Open(dir());
    EXPECT_EQ(opened.code(), Code::kFailedPrecondition) << text;
    EXPECT_THAT(opened.status().message(), HasSubstr("damaged"));
    EXPECT_THAT(opened.status().message(), HasSubstr("move it away"));
  }
}

TEST_F(WitnessFileTest, AWitnessThatCannotBeReadIsNotAnEmptyOne) {
  const auto witness = Open();
  std::filesystem::create_directory(witness->path());
  EXPECT_FALSE(witness->Read("s", "k").ok());
  EXPECT_FALSE(WitnessFile::Open(dir()).ok());
}

TEST_F(WitnessFileTest, RefusesAnotherStoreAtTheSameLocation) {
  ASSERT_TRUE(Open()->Bind("first", "sqlite:/a.db").ok());
  EXPECT_TRUE(Open()->Bind("first", "sqlite:/a.db").ok()) << "the same one again is fine";
  const Status refused = Open()->Bind("second", "sqlite:/a.db");
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("another store was here before"));
  EXPECT_THAT(refused.message(), HasSubstr("first"));
  EXPECT_TRUE(Open()->Bind("second", "sqlite:/b.db").ok());
}

TEST_F(WitnessFileTest, FollowsAStoreThatMoves) {
  ASSERT_TRUE(Open()->Bind("first", "sqlite:/a.db").ok());
  ASSERT_TRUE(Open()->Bind("first", "sqlite:/moved.db").ok());
  EXPECT_EQ(*Open()->RememberedLocation(), "sqlite:/moved.db");
  EXPECT_TRUE(Open()->Bind("second", "sqlite:/a.db").ok());
}

TEST_F(WitnessFileTest, RemembersALocationWithSpaces) {
  EXPECT_EQ(*Open()->RememberedLocation(), "");
  ASSERT_TRUE(Open()->Bind("first", "sqlite:/my data/a  b.db").ok());
  EXPECT_EQ(*Open()->RememberedLocation(), "sqlite:/my data/a  b.db");
}

TEST_F(WitnessFileTest, AWitnessThatVanishesUnderItsProcessIsWrittenWhole) {
  const auto witness = Open();
  ASSERT_TRUE(witness->Bind("first", "sqlite:/a.db").ok());
  std::filesystem::remove(witness->path());
  ASSERT_TRUE(witness->Record("first", "k", "links", {1, 1}).ok());
  EXPECT_EQ(*Open()->RememberedLocation(), "sqlite:/a.db");
}

TEST_F(WitnessFileTest, NumbersOfAnUnknownStoreAreRememberedToo) {
  const auto witness = Open();
  ASSERT_TRUE(witness->Record("first", "k", "links", {1, 1}).ok());
  EXPECT_NE(*witness->RememberedLocation(), "");
}

// Another process was stopped while it held the lock.
TEST_F(WitnessFileTest, ALockThatStaysTakenIsAnErrorInTime) {
  auto opened = WitnessFile::Open(dir(), std::chrono::milliseconds(5));
  ASSERT_TRUE(opened.ok());
  WitnessFile& witness = **opened;
  for (const char* const name : {"witness.lock", "open.lock"}) {
    const int other = ::open((dir() / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(::flock(other, LOCK_EX), 0);
    if (std::string_view(name) == "open.lock") {
      EXPECT_EQ(witness.LockDirectory().status().code(), Code::kUnavailable);
    } else {
      EXPECT_EQ(witness.Read("s", "k").code(), Code::kUnavailable);
      const auto recorded = witness.Record("s", "k", "links", {1, 1});
      EXPECT_EQ(recorded.code(), Code::kUnavailable);
      EXPECT_THAT(recorded.status().message(), HasSubstr("another process holds it"));
      EXPECT_EQ(witness.RememberedLocation().code(), Code::kUnavailable) << "never \"none\"";
    }
    ::close(other);
  }
  EXPECT_TRUE(witness.Record("s", "k", "links", {1, 1}).ok());
}

TEST_F(WitnessFileTest, AForkedChildHoldsNoLockOfItsParent) {
  const auto witness = Open();
  ASSERT_TRUE(witness->Record("s", "k", "links", {1, 1}).ok());
  std::error_code error;
  for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    const auto target = std::filesystem::read_symlink(fd.path(), error);
    EXPECT_NE(target.filename(), "witness.lock") << "a child would inherit it";
  }
}

TEST_F(WitnessFileTest, LockDirectoryExcludesASecondHolder) {
  const auto witness = Open();
  const int probe = ::open((dir() / "open.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(probe, 0);
  {
    auto lock = witness->LockDirectory();
    ASSERT_TRUE(lock.ok());
    const WitnessFile::Lock moved = *std::move(lock);
    EXPECT_NE(::flock(probe, LOCK_EX | LOCK_NB), 0);
    EXPECT_TRUE(witness->Record("s", "k", "links", {1, 1}).ok()) << "the holder may record";
  }
  EXPECT_EQ(::flock(probe, LOCK_EX | LOCK_NB), 0) << "free again";
  ::close(probe);
}

TEST_F(WitnessFileTest, AVanishedDirectoryIsAnErrorWhenSomethingMustBeRecorded) {
  const auto witness = Open();
  std::filesystem::remove_all(dir());
  EXPECT_EQ(witness->Record("s", "k", "links", {1, 1}).code(), Code::kUnavailable);
  WriteFile(dir(), "a file where the directory was");
  EXPECT_EQ(witness->Record("s", "k", "links", {1, 1}).code(), Code::kUnavailable);
  EXPECT_EQ(WitnessFile::Open(dir()).code(), Code::kUnavailable);
}

TEST_F(WitnessFileTest, KnowsEveryKeyspaceThatHadAName) {
  const auto witness = Open();
  EXPECT_TRUE(witness->IdsOf("s", "links")->empty());
  for (const auto& [store, id, name] : std::vector<std::array<const char*, 3>>{
           {"s", "1", "links"}, {"s", "2", "links"}, {"s", "3", "orders"}, {"t", "4", "links"}}) {
    ASSERT_TRUE(witness->Record(store, id, name, {1, 2}).ok());
  }
  EXPECT_EQ(*witness->IdsOf("s", "links"), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(*witness->IdsOf("t", "links"), std::vector<std::string>{"4"});
}

}  // namespace
}  // namespace keymill::mint
