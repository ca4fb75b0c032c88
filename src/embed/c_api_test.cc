// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keymill/c.h"

#include "support/temp_dir.h"

namespace keymill {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

using MillHandle = std::unique_ptr<keymill_mill, decltype(&keymill_close)>;

class CApiTest : public testing::Test {
 protected:
  [[nodiscard]] keymill_options Options() const {
    keymill_options options{};
    options.size = sizeof(options);
    options.data_dir = dir_.c_str();
    return options;
  }

  static MillHandle Open(const keymill_options& options) {
    keymill_mill* mill = nullptr;
    EXPECT_EQ(keymill_open(&options, &mill), KEYMILL_OK) << keymill_message();
    return {mill, keymill_close};
  }

  static std::vector<std::string> Take(keymill_mill* mill, const char* keyspace,
                                       std::uint64_t count) {
    keymill_keys* keys = nullptr;
    EXPECT_EQ(keymill_next_many(mill, keyspace, count, &keys), KEYMILL_OK) << keymill_message();
    std::vector<std::string> taken;
    for (std::size_t i = 0; i < keymill_keys_count(keys); ++i) {
      taken.emplace_back(keymill_keys_get(keys, i));
    }
    keymill_keys_free(keys);
    return taken;
  }

  TempDir root_;
  std::string dir_ = (root_.path() / "data").string();
};

TEST_F(CApiTest, AnEmptyDirectoryGivesKeysAtOnce) {
  const MillHandle mill = Open(Options());
  char key[KEYMILL_KEY_SIZE] = "";
  ASSERT_EQ(keymill_next(mill.get(), "default", key, sizeof key), KEYMILL_OK);
  EXPECT_EQ(std::string(key).size(), 7U);
  EXPECT_STREQ(keymill_message(), "");
  const auto more = Take(mill.get(), "default", 3000);
  std::set<std::string> all(more.begin(), more.end());
  all.insert(key);
  EXPECT_EQ(all.size(), 3001U);
}

TEST_F(CApiTest, GivesTicketsUuidsAndUlids) {
  const MillHandle mill = Open(Options());
  ASSERT_EQ(keymill_create(mill.get(), "even", "kind=ticket alphabet=decimal stride=2 offset=2"),
            KEYMILL_OK);
  EXPECT_THAT(Take(mill.get(), "even", 3), ElementsAre("2", "4", "6"));
  EXPECT_EQ(keymill_create(mill.get(), "more", "kind=ticket alphabet=decimal stride=4 offset=4"),
            KEYMILL_FAILED_PRECONDITION);
  EXPECT_THAT(keymill_message(), HasSubstr("the same keys as keyspace even"));
  ASSERT_EQ(keymill_create(mill.get(), "u", "kind=uuid7 prefix=evt_"), KEYMILL_OK);
  char key[KEYMILL_KEY_SIZE] = "";
  ASSERT_EQ(keymill_next(mill.get(), "u", key, sizeof key), KEYMILL_OK);
  EXPECT_EQ(std::string(key).size(), 40U);
  EXPECT_EQ(Take(mill.get(), "u", 1000).size(), 1000U);
}

TEST_F(CApiTest, ARecipeIsWordsWithValues) {
  const MillHandle mill = Open(Options());
  const char* const recipe = "  kind=sequence alphabet=decimal  length=4 prefix=o_ start=12 ";
  ASSERT_EQ(keymill_create(mill.get(), "orders", recipe), KEYMILL_OK) << keymill_message();
  EXPECT_THAT(Take(mill.get(), "orders", 2), ElementsAre("o_0012", "o_0013"));
  EXPECT_EQ(keymill_create(mill.get(), "orders", recipe), KEYMILL_OK) << "the same again";
  EXPECT_EQ(keymill_create(mill.get(), "orders", "kind=sequence"), KEYMILL_FAILED_PRECONDITION);
  EXPECT_THAT(keymill_message(), HasSubstr("alphabet"));
  EXPECT_EQ(keymill_create(mill.get(), "default", ""), KEYMILL_OK) << "the defaults";
}

TEST_F(CApiTest, AWordThatComesAgainAddsAValue) {
  const MillHandle mill = Open(Options());
  ASSERT_EQ(keymill_create(mill.get(), "polite",
                           "kind=sequence alphabet=decimal length=3 start=0 blocklist=001 "
                           "blocklist=002"),
            KEYMILL_OK)
      << keymill_message();
  EXPECT_THAT(Take(mill.get(), "polite", 2), ElementsAre("000", "003"));
  // A symbol of an alphabet may be the sign that ends a word.
  ASSERT_EQ(keymill_create(mill.get(), "signs", "kind=sequence alphabet==- start=2"), KEYMILL_OK)
      << keymill_message();
  EXPECT_THAT(Take(mill.get(), "signs", 1), ElementsAre("-="));
}

TEST_F(CApiTest, MistakesInARecipeAreNamed) {
  const MillHandle mill = Open(Options());
  EXPECT_EQ(keymill_create(mill.get(), "bad", "sequence"), KEYMILL_INVALID_ARGUMENT);
  EXPECT_THAT(keymill_message(), HasSubstr("\"sequence\" is not word=value"));
  EXPECT_EQ(keymill_create(mill.get(), "bad", "kin=sequence"), KEYMILL_INVALID_ARGUMENT);
  EXPECT_THAT(keymill_message(), HasSubstr("kind"));
  EXPECT_EQ(keymill_create(mill.get(), "bad", "length=7 length=8"), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_create(mill.get(), "", ""), KEYMILL_INVALID_ARGUMENT);
}

TEST_F(CApiTest, ABufferThatIsTooSmallTakesNoKey) {
  const MillHandle mill = Open(Options());
  ASSERT_EQ(keymill_create(mill.get(), "n", "kind=sequence alphabet=decimal"), KEYMILL_OK);
  char key[KEYMILL_KEY_SIZE] = "x";
  EXPECT_EQ(keymill_next(mill.get(), "n", key, sizeof key - 1), KEYMILL_INVALID_ARGUMENT);
  EXPECT_STREQ(key, "");
  EXPECT_EQ(keymill_next(mill.get(), "n", key, 0), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_next(mill.get(), "n", key, sizeof key), KEYMILL_OK);
  EXPECT_STREQ(key, "1");
}

TEST_F(CApiTest, ExplainsAKeyInWords) {
  const std::uint32_t worker = 3;
  keymill_options options = Options();
  options.worker_id = &worker;
  const MillHandle mill = Open(options);
  ASSERT_EQ(keymill_create(mill.get(), "n", "kind=sequence alphabet=decimal"), KEYMILL_OK);
  Take(mill.get(), "n", 1);
  char text[KEYMILL_EXPLANATION_SIZE] = "x";
  ASSERT_EQ(keymill_explain(mill.get(), "n", "1", text, sizeof text), KEYMILL_OK)
      << keymill_message();
  EXPECT_THAT(text, StartsWith("state=issued number=1 kind=sequence instance="));
  ASSERT_EQ(keymill_create(mill.get(), "ids", "kind=snowflake"), KEYMILL_OK) << keymill_message();
  const auto ids = Take(mill.get(), "ids", 1);
  ASSERT_EQ(keymill_explain(mill.get(), "ids", ids.at(0).c_str(), text, sizeof text), KEYMILL_OK);
  EXPECT_THAT(text,
              AllOf(StartsWith("state=reserved number=" + ids.at(0) + " time_ms="),
                    HasSubstr(" worker=3 sequence="), HasSubstr(" kind=snowflake instance=")));
  EXPECT_EQ(keymill_explain(mill.get(), "n", "x", text, sizeof text), KEYMILL_NOT_FOUND);
  EXPECT_STREQ(text, "");
  EXPECT_EQ(keymill_explain(mill.get(), "n", "1", text, sizeof text - 1), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_explain(mill.get(), "n", nullptr, text, sizeof text), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_explain(nullptr, "n", "1", text, sizeof text), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_explain(mill.get(), "n", "1", nullptr, sizeof text), KEYMILL_INVALID_ARGUMENT);
}

TEST_F(CApiTest, NullIsAMistakeAndNoCrash) {
  const MillHandle mill = Open(Options());
  char key[KEYMILL_KEY_SIZE] = "";
  keymill_keys* keys = nullptr;
  EXPECT_EQ(keymill_open(nullptr, nullptr), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_create(nullptr, "a", ""), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_create(mill.get(), nullptr, ""), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_create(mill.get(), "a", nullptr), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_next(nullptr, "a", key, sizeof key), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_next(mill.get(), nullptr, key, sizeof key), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_next(mill.get(), "a", nullptr, sizeof key), KEYMILL_INVALID_ARGUMENT);
  EXPECT_STREQ(keymill_message(), "key is NULL");
  EXPECT_EQ(keymill_next_many(nullptr, "a", 1, &keys), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_next_many(mill.get(), nullptr, 1, &keys), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_next_many(mill.get(), "a", 1, nullptr), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_keys_count(nullptr), 0U);
  EXPECT_EQ(keymill_keys_get(nullptr, 0), nullptr);
  keymill_keys_free(nullptr);
  keymill_close(nullptr);
}

TEST_F(CApiTest, FailuresLeaveNothingToFree) {
  const MillHandle mill = Open(Options());
  int object = 0;
  auto* keys = reinterpret_cast<keymill_keys*>(&object);
  EXPECT_EQ(keymill_next_many(mill.get(), "nobody", 1, &keys), KEYMILL_NOT_FOUND);
  EXPECT_EQ(keys, nullptr);
  EXPECT_EQ(keymill_next_many(mill.get(), "default", 0, &keys), KEYMILL_INVALID_ARGUMENT);
  keymill_options options = Options();
  options.store = "mongo://x";
  auto* other = reinterpret_cast<keymill_mill*>(&object);
  EXPECT_EQ(keymill_open(&options, &other), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(other, nullptr);
  EXPECT_THAT(keymill_message(), HasSubstr("use sqlite:PATH"));
}

TEST_F(CApiTest, TheLastKeysAreGivenBeforeTheEndIsReported) {
  const MillHandle mill = Open(Options());
  ASSERT_EQ(keymill_create(mill.get(), "few", "kind=sequence alphabet=decimal length=3 start=998"),
            KEYMILL_OK);
  EXPECT_THAT(Take(mill.get(), "few", 10), ElementsAre("998", "999"));
  char key[KEYMILL_KEY_SIZE] = "";
  EXPECT_EQ(keymill_next(mill.get(), "few", key, sizeof key), KEYMILL_EXHAUSTED);
}

TEST_F(CApiTest, OptionsOfAnotherVersionAreReadAsFarAsTheyAreKnown) {
  struct {
    keymill_options options;
    std::uint64_t later;
  } newer{Options(), 0};
  newer.options.size = sizeof(newer);
  Open(newer.options);
  newer.later = 1;
  keymill_mill* mill = nullptr;
  EXPECT_EQ(keymill_open(&newer.options, &mill), KEYMILL_INVALID_ARGUMENT);
  EXPECT_THAT(keymill_message(), HasSubstr("does not know"));

  keymill_options older = Options();
  older.size = offsetof(keymill_options, store);
  older.store = "what lies behind the fields that the caller knows";
  Open(older);
  older = Options();
  older.size = offsetof(keymill_options, accept_unsafe_store);
  older.accept_unsafe_store = "two lines,\nwhich would be refused";
  Open(older);
  older.size = 0;
  EXPECT_EQ(keymill_open(&older, &mill), KEYMILL_INVALID_ARGUMENT);
  EXPECT_THAT(keymill_message(), HasSubstr("sizeof(keymill_options)"));
}

TEST_F(CApiTest, EveryOptionIsHeard) {
  keymill_options options = Options();
  options.never_create = 1;
  keymill_mill* mill = nullptr;
  EXPECT_EQ(keymill_open(&options, &mill), KEYMILL_FAILED_PRECONDITION);
  options.never_create = 0;
  options.block_size = (1U << 24) + 1;
  EXPECT_EQ(keymill_open(&options, &mill), KEYMILL_INVALID_ARGUMENT);
  options.block_size = 16;
  options.timeout_ms = 10'000;
  options.store = "memory:";
  options.pool_low = -2;
  EXPECT_EQ(keymill_open(&options, &mill), KEYMILL_INVALID_ARGUMENT);
  options.pool_low = 1'000'000'001;
  EXPECT_EQ(keymill_open(&options, &mill), KEYMILL_INVALID_ARGUMENT);
  options.pool_low = -1;
  options.accept_clock_ahead = 1;
  options.accept_unsafe_store = "two\nlines";
  EXPECT_EQ(keymill_open(&options, &mill), KEYMILL_INVALID_ARGUMENT);
  EXPECT_THAT(keymill_message(), HasSubstr("accept_unsafe_store"));
  options.accept_unsafe_store = "a test";
  const MillHandle without = Open(options);
  ASSERT_EQ(keymill_create(without.get(), "codes", "kind=pool"), KEYMILL_OK) << keymill_message();
  char key[KEYMILL_KEY_SIZE] = "";
  EXPECT_EQ(keymill_next(without.get(), "codes", key, sizeof key), KEYMILL_EXHAUSTED);
  EXPECT_FALSE(std::filesystem::exists(dir_)) << "a store in memory leaves nothing";
}

TEST_F(CApiTest, EveryThreadHasItsOwnMessage) {
  const MillHandle mill = Open(Options());
  char key[KEYMILL_KEY_SIZE] = "";
  EXPECT_EQ(keymill_next(mill.get(), "nobody", key, sizeof key), KEYMILL_NOT_FOUND);
  std::thread([&] {
    EXPECT_STREQ(keymill_message(), "");
    EXPECT_EQ(keymill_next(mill.get(), "default", key, sizeof key), KEYMILL_OK);
  }).join();
  EXPECT_THAT(keymill_message(), HasSubstr("nobody"));
}

TEST_F(CApiTest, ThreadsShareAMillWithoutSharingAKey) {
  const MillHandle mill = Open(Options());
  std::vector<std::vector<std::string>> taken(2);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto keys = Take(mill.get(), "default", 100);
        mine.insert(mine.end(), keys.begin(), keys.end());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& mine : taken) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 4000U);
}

}  // namespace
}  // namespace keymill
