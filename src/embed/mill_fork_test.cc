// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Processes that fork with an open mill: parent and children go on, and no key comes twice.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keymill/c.h"
#include "keymill/keymill.h"

#include "support/temp_dir.h"

namespace keymill {
namespace {

// A child process whose lines the parent reads.
class Child {
 public:
  // `body` returns what the child writes; an empty text is a failure.
  template <typename Body>
  explicit Child(Body body) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::alarm(60);  // A hanging child is a failure, not a hanging test.
      ::close(ends[0]);
      const std::string text = body();
      std::string_view rest = text;
      while (!rest.empty()) {
        const ssize_t written = ::write(ends[1], rest.data(), rest.size());
        if (written <= 0) ::_exit(2);
        rest.remove_prefix(static_cast<std::size_t>(written));
      }
      ::_exit(text.empty() ? 1 : 0);
    }
    ::close(ends[1]);
    from_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { ::close(from_); }

  // Waits for its end.
  std::vector<std::string> Lines() {
    std::string text;
    std::vector<char> buffer(1 << 16);
    for (ssize_t got = 0; (got = ::read(from_, buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

 private:
  pid_t pid_ = -1;
  int from_ = -1;
};

std::string MintText(Mill& mill, std::string_view keyspace, std::uint64_t count) {
  std::string text;
  while (count > 0) {
    const auto keys = mill.Next(keyspace, std::min<std::uint64_t>(count, 100));
    if (!keys.ok()) return {};
    for (const std::string& key : *keys) text += key + "\n";
    count -= keys->size();
  }
  return text;
}

class MillForkTest : public testing::Test {
 protected:
  void SetUp() override {
    MillOptions options{.data_dir = (dir_.path() / "data").string(), .block_size = 50};
    options.timeout = std::chrono::seconds(30);
    auto opened = Mill::Open(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    mill_ = *std::move(opened);
    Recipe orders = DefaultRecipe(Kind::kSequence);
    orders.alphabet = "decimal";
    ASSERT_TRUE(mill_->Create("orders", orders).ok());
    for (const char* const name : {"default", "orders"}) Take(name, 5);  // Blocks are at hand.
  }

  void Take(const std::string& keyspace, std::uint64_t count) {
    const auto keys = mill_->Next(keyspace, count);
    ASSERT_TRUE(keys.ok()) << keys.status().message();
    Keep(keyspace, *keys);
  }
  void Keep(const std::string& keyspace, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      EXPECT_TRUE(seen_.insert(keyspace + " " + key).second) << keyspace << " " << key << " twice";
    }
  }

  TempDir dir_;
  std::unique_ptr<Mill> mill_;
  std::set<std::string> seen_;
};

TEST_F(MillForkTest, ParentAndChildrenNeverShareAKey) {
  for (const char* const name : {"default", "orders"}) {
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(std::make_unique<Child>([&] { return MintText(*mill_, name, 1000); }));
      Take(name, 100);
    }
    Take(name, 500);
    for (const auto& child : children) {
      const auto keys = child->Lines();
      EXPECT_EQ(keys.size(), 1000U);
      Keep(name, keys);
    }
    Take(name, 100);
  }
}

TEST_F(MillForkTest, AGrandchildNeverSharesAKeyEither) {
  Child child([&] {
    const std::string own = MintText(*mill_, "orders", 10);
    Child grandchild([&] { return MintText(*mill_, "orders", 100); });
    std::string text = own + MintText(*mill_, "orders", 10);
    for (const std::string& line : grandchild.Lines()) text += line + "\n";
    return text;
  });
  Take("orders", 100);
  const auto keys = child.Lines();
  EXPECT_EQ(keys.size(), 120U);
  Keep("orders", keys);
}

TEST_F(MillForkTest, ForkingWhileOtherThreadsMintIsSafe) {
  for (const std::string name : {"default", "orders"}) {
    std::atomic<bool> stop{false};
    std::vector<std::vector<std::string>> minted(3);
    std::vector<std::thread> threads;
    for (auto& mine : minted) {
      threads.emplace_back([&] {
        while (!stop) {
          const auto keys = mill_->Next(name, 20);
          ASSERT_TRUE(keys.ok()) << keys.status().message();
          mine.insert(mine.end(), keys->begin(), keys->end());
        }
      });
    }
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(std::make_unique<Child>([&] { return MintText(*mill_, name, 200); }));
    }
    for (const auto& child : children) {
      const auto keys = child->Lines();
      EXPECT_EQ(keys.size(), 200U);
      Keep(name, keys);
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    for (const auto& keys : minted) Keep(name, keys);
  }
}

TEST_F(MillForkTest, AChildThatEndsWithoutMintingGivesNothingBack) {
  Child child([&] {
    mill_.reset();  // As a child does that lets its objects go.
    return std::string("gone\n");
  });
  EXPECT_EQ(child.Lines().size(), 1U);
  Take("orders", 10);
  EXPECT_TRUE(seen_.contains("orders 15")) << "the parent goes on where it was";
  MillOptions options{.data_dir = (dir_.path() / "data").string()};
  auto other = Mill::Open(options);
  ASSERT_TRUE(other.ok()) << other.status().message();
  Keep("orders", *(*other)->Next("orders", 200));
  Keep("default", *(*other)->Next("default", 200));
  Take("orders", 100);
  Take("default", 100);
}

TEST_F(MillForkTest, WhatAChildGivesBackIsItsOwn) {
  Child child([&] {
    const std::string text = MintText(*mill_, "orders", 3);
    mill_.reset();
    return text;
  });
  Keep("orders", child.Lines());
  Take("orders", 200);
  mill_.reset();
  auto after = Mill::Open({.data_dir = (dir_.path() / "data").string()});
  ASSERT_TRUE(after.ok());
  Keep("orders", *(*after)->Next("orders", 500));
}

TEST_F(MillForkTest, AChildInAnotherDirectoryUsesTheSameStore) {
  const std::filesystem::path elsewhere = dir_.path() / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  Child child([&] {
    std::filesystem::current_path(dir_.path());
    auto mill = Mill::Open({.data_dir = "data"});  // The one of the fixture.
    if (!mill.ok()) return std::string();
    Child grandchild([&] {
      std::filesystem::current_path(elsewhere);
      return MintText(**mill, "orders", 10);
    });
    std::string text = MintText(**mill, "orders", 10);
    for (const std::string& line : grandchild.Lines()) text += line + "\n";
    return text;
  });
  const auto keys = child.Lines();
  EXPECT_EQ(keys.size(), 20U);
  Keep("orders", keys);
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere));
}

TEST_F(MillForkTest, AChildMayUseAMillOfTheCApi) {
  const std::string data_dir = (dir_.path() / "data").string();
  keymill_options options{};
  options.size = sizeof(options);
  options.data_dir = data_dir.c_str();
  keymill_mill* mill = nullptr;
  ASSERT_EQ(keymill_open(&options, &mill), KEYMILL_OK) << keymill_message();
  const auto mint = [&] {
    std::string text;
    char key[KEYMILL_KEY_SIZE] = "";
    for (int i = 0; i < 100; ++i) {
      if (keymill_next(mill, "orders", key, sizeof key) != KEYMILL_OK) return std::string();
      text += std::string(key) + "\n";
    }
    return text;
  };
  const std::string before = mint();
  Child child([&] {
    const std::string text = mint();
    keymill_close(mill);
    return text;
  });
  std::istringstream own(before + mint());
  std::vector<std::string> keys;
  for (std::string key; std::getline(own, key);) keys.push_back(key);
  EXPECT_EQ(keys.size(), 200U);
  Keep("orders", keys);
  Keep("orders", child.Lines());
  keymill_close(mill);
}

TEST_F(MillForkTest, AStoreInMemoryRefusesAChild) {
  auto memory = Mill::Open({.store = "memory:"});
  ASSERT_TRUE(memory.ok());
  Child child([&] {
    const auto key = (*memory)->Next("default");
    return key.code() == Code::kFailedPrecondition ? std::string("refused\n") : std::string();
  });
  EXPECT_EQ(child.Lines().size(), 1U);
  EXPECT_TRUE((*memory)->Next("default").ok());
}

}  // namespace
}  // namespace keymill
