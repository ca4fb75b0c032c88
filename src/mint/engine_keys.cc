// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The engine's calls for keys by name, and for numbers that leave in blocks.

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "mint/engine.h"
#include "mint/kinds.h"
#include "mint/retries.h"

namespace keymill::mint {
namespace {

// Answers may be long, and a change returns what it removes.
constexpr std::uint32_t kForgetEvery = 4;

// What tinyid gives to a client at once.
constexpr std::uint64_t kSegmentCount = 100'000;
// As for blocks: the last numbers are shared out in small pieces.
constexpr std::uint64_t kSegmentsLeftMin = 64;

}  // namespace

Result<std::string> Engine::Permit() {
  if (closed_.load(std::memory_order_relaxed)) {
    return Status(Code::kUnavailable, "shutting down");
  }
  if (failed_) return Status(Code::kInternal, "the store failed for good");
  {
    const MutexLock lock(permit_mu_);
    if (permitted_) return *permitted_;
  }
  const MutexLock lock(refill_mu_);
  if (Status may = MayReserve(); !may.ok()) return may;
  return timeline_.timeline();
}

Result<Loan> Engine::GrantSegment(Keyspace& keyspace) {
  const std::uint64_t end = keyspace.begin() + keyspace.capacity();
  const std::uint64_t left = end - std::min(end, keyspace.stats().next);
  const std::uint64_t count =
      std::min(kSegmentCount, std::max<std::uint64_t>(1, left / kSegmentsLeftMin));
  return lender_.Grant(keyspace, static_cast<std::uint32_t>(count));
}

Status Engine::CheckCarried(Kind kind) const {
  return IsStoredByKey(kind) ? keys_.CheckPossible() : Status();
}

Result<Claim> Engine::ClaimKey(std::string_view name, std::string_view alias,
                               std::string_view owner) {
  Result<Keyspace*> found = Lookup(name);
  if (!found.ok()) return found.status();
  return ClaimAlias(keys_, **found, alias, owner);
}

Result<Engine::Derived> Engine::Derive(std::string_view name, std::string_view content,
                                       std::string_view salt) {
  Result<Keyspace*> found = Lookup(name);
  if (!found.ok()) return found.status();
  auto* const keyspace = dynamic_cast<DerivedKeyspace*>(*found);
  if (keyspace == nullptr) {
    return Status(Code::kInvalidArgument,
                  fmt::format("keyspace {} is of kind {}: only keys of kind derived are made from "
                              "content",
                              name, KindName((*found)->recipe().kind)));
  }
  return keyspace->Derive(keys_, content, salt);
}

Result<Release> Engine::ReleaseKey(std::string_view name, std::string_view key,
                                   std::optional<std::uint64_t> generation) {
  Result<Keyspace*> found = Lookup(name);
  if (!found.ok()) return found.status();
  return mint::ReleaseKey(keys_, **found, key, generation);
}

Result<PoolFill> Engine::FillPool(std::string_view name, std::uint64_t count,
                                  const std::function<void(std::uint64_t)>& progress) {
  Result<Keyspace*> found = Lookup(name);
  if (!found.ok()) return found.status();
  const Recipe& recipe = (*found)->recipe();
  if (recipe.kind != Kind::kPool) {
    return Status(Code::kInvalidArgument,
                  fmt::format("keyspace {} is of kind {}: only a pool is filled", name,
                              KindName(recipe.kind)));
  }
  const Result<keys::KeyShape> shape = keys::KeyShape::Make(recipe);
  if (!shape.ok()) return shape.status();
  return mint::FillPool(keys_, **found, *shape, count, progress, /*patient=*/true);
}

Result<CodeImport> Engine::Import(std::string_view name, const Recipe& recipe,
                                  const std::vector<std::string>& codes,
                                  const std::function<void(std::uint64_t)>& progress) {
  if (Status possible = keys_.CheckPossible(); !possible.ok()) return possible;
  const Result<Recipe> fitting = RecipeForCodes(recipe, codes);
  if (!fitting.ok()) return fitting.status();
  const Result<Created> created = Create(name, *fitting);
  if (!created.ok()) return created.status();
  Result<CodeImport> import = ImportCodes(keys_, *created->keyspace, codes, progress);
  if (import.ok()) import->fresh = created->fresh;
  return import;
}

Result<KeyTable::Counts> Engine::CountKeys(std::string_view name) {
  Result<Keyspace*> found = Lookup(name);
  if (!found.ok()) return found.status();
  return keys_.Count(**found);
}

Result<KeyTable::Page> Engine::ListKeys(std::string_view name, const KeyTable::Query& query) {
  Result<Keyspace*> found = Lookup(name);
  if (!found.ok()) return found.status();
  return keys_.List(**found, query);
}

Result<std::optional<KeyRow>> Engine::FindKey(std::string_view name, std::string_view key) {
  Result<Keyspace*> found = Lookup(name);
  if (!found.ok()) return found.status();
  return keys_.Find(**found, key);
}

Result<std::string> Engine::MintOnce(Keyspace& keyspace, std::string_view retry,
                                     std::uint64_t count, MonotonicTime deadline) {
  return mint::MintOnce(keys_, keyspace, retry, count, [&]() -> Result<std::string> {
    // Now and then more old ones go than have come: they never pile up, in any keyspace.
    std::array<std::uint8_t, 1> dice{};
    RandomBytesAhead(dice);
    if (dice[0] % kForgetEvery == 0) {
      const Result<std::size_t> gone = ForgetRetries(keys_, keyspace, 2 * kForgetEvery);
      if (!gone.ok()) return gone.status();
    }
    std::string text;
    Status minted = Mint(keyspace, count, deadline, [&](std::string_view keys) { text += keys; });
    // The last ones of a keyspace are an answer, though fewer than were asked for.
    if (!minted.ok() && (minted.code() != Code::kExhausted || text.empty())) return minted;
    return text;
  });
}

}  // namespace keymill::mint
