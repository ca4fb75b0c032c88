// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A keyspace whose keys are made from content that the caller brings: the same content, the same
// key, for ever. What a content is called is in keys/content_digest.h; which of its possible keys
// it has is whatever the store remembers.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "keymill/clock.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "keys/content_digest.h"
#include "keys/key_shape.h"
#include "mint/key_register.h"
#include "mint/keyspace.h"

namespace keymill::mint {

// The longest content, and the longest salt, in bytes. Neither is stored.
inline constexpr std::size_t kContentSizeMax = 64 * 1024;
inline constexpr std::size_t kSaltSizeMax = 1024;

class DerivedKeyspace final : public Keyspace {
 public:
  DerivedKeyspace(KeyspaceRecord record, Recipe recipe, keys::KeyShape shape,
                  std::uint32_t waiters_max, LowSignal low_signal);

  struct Derived {
    std::string key;
    bool existing = false;  // The content has had it before.
  };
  // The key of `content`, which is made if there is none. Different salts make different contents
  // of one: a user id gives each user a key of his own.
  // Errors:
  //   kInvalidArgument  content or salt is too long, or no URL where the recipe wants one.
  //   kExhausted        too many of the keys that it could have are taken.
  //   KeyRegister's.
  Result<Derived> Derive(KeyRegister& keys, std::string_view content, std::string_view salt);

  // Nothing: without content there is no key, and Verdict says so.
  keys::Written TakeKeys(std::uint32_t count, std::string_view after, char* out) override;

  // The store knows which keys there are, and lets nobody have one twice.
  [[nodiscard]] bool CouldIssue(std::string_view /*key*/) const override { return false; }

  Result<Explanation> Explain(std::string_view key, WitnessedStore& store) override;

  Refilled Refill(const Supply& supply) override;
  Closed Close(Closing& closing) override;

 private:
  [[nodiscard]] bool HasKeys() const override { return false; }
  void Drop() override KEYMILL_REQUIRES(mu_) {}
  void Tell(Stats& stats) override KEYMILL_REQUIRES(mu_);

  // Makes the first of the candidates that nobody has the content's key, or finds the one it has.
  Result<Derived> Settle(KeyRegister& keys, keys::ContentCandidates& candidates,
                         const std::string& identity);

  // How often this content was asked for, this time included: what tells its keys apart where each
  // time is to give another one.
  Result<std::uint64_t> CountUp(KeyRegister& keys, const std::string& identity);

  const keys::KeyShape shape_;
  std::atomic<std::uint64_t> made_{0};
};

}  // namespace keymill::mint
