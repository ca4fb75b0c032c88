// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A keyspace whose keys are made from content that the caller brings: the same content, the same
// key, for ever. What a content is called is in keys/content_digest.h; which of its possible keys
// it has is whatever the store remembers.

#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "keymill/clock.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "base/mutex.h"
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

  void Witnessed(std::int64_t looked_ms) override { witnessed_ms_ = looked_ms; }
  Refilled Refill(const Supply& supply) override;
  Closed Close(Closing& closing) override;

 private:
  [[nodiscard]] bool HasKeys() const override { return false; }
  void Drop() override KEYMILL_REQUIRES(mu_) {}
  void Tell(Stats& stats) override KEYMILL_REQUIRES(mu_);

  // Makes the first of the candidates that nobody has the content's key, or finds the one it has.
  Result<Derived> Settle(KeyRegister& keys, keys::ContentCandidates& candidates,
                         const std::string& identity);

  // W1: whether a witness of ours would miss this row in an older copy; see the .cc.
  bool IsWitnessed(const KeyRow& row) KEYMILL_EXCLUDES(recent_mu_);
  void Remember(const std::string& key) KEYMILL_EXCLUDES(recent_mu_);

  // How often this content was asked for, this time included: what tells its keys apart where each
  // time is to give another one.
  Result<std::uint64_t> CountUp(KeyRegister& keys, const std::string& identity);

  const keys::KeyShape shape_;
  std::atomic<std::uint64_t> made_{0};
  std::atomic<std::int64_t> witnessed_ms_{0};  // Up to when the witness has seen everything.

  Mutex recent_mu_;
  std::set<std::string> recent_ KEYMILL_GUARDED_BY(recent_mu_);  // Keys it has seen since.
};

}  // namespace keymill::mint
