// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/kinds.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "keys/codec.h"
#include "keys/key_shape.h"
#include "keys/recipe_fields.h"
#include "keys/recipe_text.h"
#include "keys/snowflake_layout.h"
#include "mint/counter_keyspace.h"
#include "mint/derived_keyspace.h"
#include "mint/pool_keyspace.h"
#include "mint/random_keyspace.h"

namespace keymill::mint {
namespace {

std::span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string NewSecret(const Recipe& recipe) {
  if (!keys::HasSecret(recipe)) return {};
  std::array<std::uint8_t, keys::kSecretSize> bytes{};
  RandomBytes(bytes);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Result<NewKeyspace> DraftKeyspace(std::string_view name, const Recipe& recipe) {
  if (Status named = CheckKeyspaceName(name); !named.ok()) return named;
  if (Status valid = keys::ValidateRecipe(recipe); !valid.ok()) return valid;
  const std::string text = keys::RecipeText(recipe);
  const std::string secret = NewSecret(recipe);
  NewKeyspace fresh{.name = std::string(name),
                    .id = RandomHex(16),
                    .recipe = text,
                    .recipe_hash = keys::RecipeHash(text, AsBytes(secret)),
                    .secret = secret,
                    .first = 0,
                    .end = kNumberEnd};
  if (recipe.kind == Kind::kSnowflake) fresh.end = keys::SnowflakeTicksEnd(recipe.layout);
  if (IsStoredByKey(recipe.kind)) {
    const Result<keys::KeyShape> shape = keys::KeyShape::Make(recipe);
    if (!shape.ok()) return shape.status();
    fresh.end = shape->capacity();
  }
  if (TakesBlocks(recipe.kind)) {
    Result<keys::Codec> codec = keys::Codec::Make(recipe, AsBytes(secret));
    if (!codec.ok()) return codec.status();
    fresh.first = codec->begin();
    fresh.end = codec->end();
  }
  return fresh;
}

// A blocklist that skips everything would burn the keyspace without giving a key. Two looks:
// at the keys that come first, and across the whole keyspace.
Status CheckFruitful(const NewKeyspace& draft, const Recipe& recipe) {
  constexpr std::uint64_t kLooks = 1000;
  if (recipe.blocklist.empty() || IsStoredByKey(recipe.kind)) return {};
  const Result<keys::Codec> codec = keys::Codec::Make(recipe, AsBytes(draft.secret));
  if (!codec.ok()) return codec.status();
  const std::uint64_t numbers = codec->end() - codec->begin();
  const std::uint64_t looks = std::min(kLooks, numbers);
  for (const std::uint64_t stride : {std::uint64_t{1}, numbers / looks}) {
    std::array<char, keys::kKeySizeMax> key{};
    std::uint64_t allowed = 0;
    for (std::uint64_t i = 0; i < looks; ++i) {
      allowed += codec->Encode(codec->begin() + (i + 1) * stride - 1, 1, "", key.data()).keys;
    }
    if (allowed == 0) {
      return {Code::kInvalidArgument,
              fmt::format("blocklist: it leaves no keys: {} of {} are blocked", looks, looks)};
    }
  }
  return {};
}

bool TakesBlocks(Kind kind) {
  switch (kind) {
    case Kind::kSequence:
    case Kind::kShuffled:
    case Kind::kTicket:
      return true;
    case Kind::kSnowflake:
    case Kind::kUuid4:
    case Kind::kUuid7:
    case Kind::kUlid:
    case Kind::kPool:
    case Kind::kDerived:
      return false;
  }
  return false;
}

bool IsStoredByKey(Kind kind) { return kind == Kind::kPool || kind == Kind::kDerived; }

bool IsEndless(Kind kind) {
  return kind == Kind::kUuid4 || kind == Kind::kUuid7 || kind == Kind::kUlid;
}

Result<std::unique_ptr<Keyspace>> MakeKeyspace(const KeyspaceRecord& record,
                                               const KeyspaceContext& context) {
  Result<Recipe> recipe = keys::ParseRecipeText(record.recipe);
  if (!recipe.ok()) return recipe.status();
  if (keys::RecipeHash(record.recipe, AsBytes(record.secret)) != record.recipe_hash) {
    return Status(Code::kFailedPrecondition,
                  fmt::format("use keyspace {}: recipe and secret in the store do not belong "
                              "together",
                              record.name));
  }
  switch (recipe->kind) {
    case Kind::kSequence:
    case Kind::kShuffled:
    case Kind::kTicket: {
      Result<keys::Codec> codec = keys::Codec::Make(*recipe, AsBytes(record.secret));
      if (!codec.ok()) return codec.status();
      return std::unique_ptr<Keyspace>(std::make_unique<CounterKeyspace>(
          record, *std::move(recipe), *std::move(codec), context.waiters_max, context.low_signal));
    }
    case Kind::kSnowflake: {
      Result<keys::Codec> codec = keys::Codec::Make(*recipe, {});
      if (!codec.ok()) return codec.status();
      return std::unique_ptr<Keyspace>(std::make_unique<SnowflakeKeyspace>(
          record, *std::move(recipe), *std::move(codec), context.snowflake, context.clock,
          context.waiters_max, context.low_signal));
    }
    case Kind::kUuid4:
    case Kind::kUuid7:
    case Kind::kUlid:
      return std::unique_ptr<Keyspace>(std::make_unique<RandomKeyspace>(
          record, *recipe, context.waiters_max, context.low_signal, context.clock));
    case Kind::kPool: {
      Result<keys::KeyShape> shape = keys::KeyShape::Make(*recipe);
      if (!shape.ok()) return shape.status();
      return std::unique_ptr<Keyspace>(std::make_unique<PoolKeyspace>(
          record, *std::move(recipe), *std::move(shape), context.pool, context.clock,
          context.waiters_max, context.low_signal));
    }
    case Kind::kDerived: {
      Result<keys::KeyShape> shape = keys::KeyShape::Make(*recipe);
      if (!shape.ok()) return shape.status();
      return std::unique_ptr<Keyspace>(std::make_unique<DerivedKeyspace>(
          record, *std::move(recipe), *std::move(shape), context.waiters_max, context.low_signal));
    }
  }
  return Status(Code::kInvalidArgument,
                fmt::format("use keyspace {}: this version cannot serve keys of kind {}",
                            record.name, KindName(recipe->kind)));
}

}  // namespace keymill::mint
