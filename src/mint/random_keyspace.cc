// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/random_keyspace.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"

namespace keymill::mint {
namespace {

// Keys made at a time: others that want some wait so long.
constexpr std::uint32_t kBatch = 64;
constexpr std::size_t kBodySizeMax = std::max(keys::kUuidTextSize, keys::kUlidTextSize);

std::size_t BodySize(Kind kind) {
  KEYMILL_CHECK(kind == Kind::kUuid4 || kind == Kind::kUuid7 || kind == Kind::kUlid);
  return kind == Kind::kUlid ? keys::kUlidTextSize : keys::kUuidTextSize;
}

}  // namespace

RandomKeyspace::RandomKeyspace(KeyspaceRecord record, const Recipe& recipe,
                               std::uint32_t waiters_max, LowSignal low_signal, const Clock& clock)
    : Keyspace(std::move(record), recipe, recipe.prefix.size() + BodySize(recipe.kind),
               /*fixed_key_size=*/true, waiters_max, std::move(low_signal)),
      body_size_(BodySize(recipe.kind)),
      clock_(clock) {}

keys::Written RandomKeyspace::TakeKeys(std::uint32_t count, std::string_view after, char* out) {
  keys::Written written;
  if (Inherited()) return written;
  const std::string& prefix = recipe().prefix;
  std::array<char, kBatch * kBodySizeMax> bodies;
  while (written.keys < count && !dropped_.load(std::memory_order_relaxed)) {
    const std::uint32_t batch = std::min(count - written.keys, kBatch);
    if (Status made = MakeBodies(batch, bodies.data()); !made.ok()) {
      RefillFailed({made.code(), fmt::format("mint {}: {}", name(), made.message())});
      break;
    }
    for (std::uint32_t i = 0; i < batch; ++i) {
      char* key = out + written.bytes;
      prefix.copy(key, prefix.size());
      key += prefix.size();
      std::copy_n(bodies.data() + i * body_size_, body_size_, key);
      after.copy(key + body_size_, after.size());
      written.bytes += key_size_max() + after.size();
    }
    written.keys += batch;
  }
  if (written.keys > 0) made_.fetch_add(written.keys, std::memory_order_relaxed);
  return written;
}

Status RandomKeyspace::MakeBodies(std::uint32_t count, char* out) {
  std::array<std::uint8_t, kBatch * keys::kUuid4RandomSize> bytes;
  const auto draw = [&](std::size_t size) {
    const std::span<std::uint8_t> random = std::span(bytes).first(size);
    RandomBytesAhead(random);
    return random;
  };
  static_assert(keys::Uuid7Generator::RandomSize(kBatch) <= sizeof bytes);
  switch (recipe().kind) {
    case Kind::kUuid4:
      keys::WriteUuid4s(draw(count * keys::kUuid4RandomSize), {}, out);
      return {};
    case Kind::kUuid7:
      return MakeUuid7s(count, draw(keys::Uuid7Generator::RandomSize(count)), out);
    default:
      return MakeUlids(
          draw(keys::UlidGenerator::kRandomSize).first<keys::UlidGenerator::kRandomSize>(), count,
          out);
  }
}

Status RandomKeyspace::MakeUuid7s(std::uint32_t count, std::span<const std::uint8_t> random,
                                  char* out) {
  const std::int64_t now_ms = clock_.WallMs();
  const MutexLock lock(generate_mu_);
  return uuid7_.Write(now_ms, count, random, {}, out);
}

Status RandomKeyspace::MakeUlids(
    std::span<const std::uint8_t, keys::UlidGenerator::kRandomSize> random, std::uint32_t count,
    char* out) {
  const std::int64_t now_ms = clock_.WallMs();
  const MutexLock lock(generate_mu_);
  std::int64_t time_ms = std::max(ulid_ms_, now_ms);
  Status written = ulid_.Write(time_ms, count, random, {}, out);
  // The random part is at its end within this millisecond. The next one is taken at once: a clock
  // that was set back by a day would otherwise stop the keyspace for a day.
  if (written.code() == Code::kOverloaded) {
    written = ulid_.Write(++time_ms, count, random, {}, out);
  }
  if (written.ok()) ulid_ms_ = time_ms;
  return written;
}

bool RandomKeyspace::HasKeys() const {
  if (dropped_.load(std::memory_order_relaxed)) return false;
  return recipe().kind == Kind::kUuid4 || clock_.WallMs() < keys::kUuidTimeEndMs;
}

void RandomKeyspace::Tell(Stats& stats) {
  stats.endless = HasKeys();
  stats.issued = made_.load(std::memory_order_relaxed);
  stats.keys = stats.issued;
  stats.rate = rate_.rate();
}

bool RandomKeyspace::CouldIssue(std::string_view key) const {
  if (!key.starts_with(recipe().prefix)) return false;
  const std::string_view body = key.substr(recipe().prefix.size());
  return recipe().kind == Kind::kUlid ? keys::ParseUlid(body).ok() : keys::ParseUuid(body).ok();
}

Result<Explanation> RandomKeyspace::Explain(std::string_view key, WitnessedStore& /*store*/) {
  const std::string& prefix = recipe().prefix;
  if (!key.starts_with(prefix)) {
    return NotIssued(name(), fmt::format("it does not begin with \"{}\"", prefix));
  }
  const std::string_view body = key.substr(prefix.size());
  Explanation explanation{
      .state = Explanation::State::kUnknown, .keyspace = name(), .kind = recipe().kind};
  if (recipe().kind == Kind::kUlid) {
    const Result<keys::Ulid> ulid = keys::ParseUlid(body);
    if (!ulid.ok()) return NotIssued(name(), ulid.status().message());
    explanation.time_ms = ulid->time_ms();
    return explanation;
  }
  const Result<keys::Uuid> uuid = keys::ParseUuid(body);
  if (!uuid.ok()) return NotIssued(name(), uuid.status().message());
  const std::uint32_t version = recipe().kind == Kind::kUuid4 ? 4 : 7;
  if (keys::VersionOf(*uuid) != version) {
    return NotIssued(name(), fmt::format("it is no UUID of version {}", version));
  }
  explanation.time_ms = keys::TimeMsOf(*uuid);
  return explanation;
}

// Nothing is asked of the store. A clock that was past the end of time may be right again.
RandomKeyspace::Refilled RandomKeyspace::Refill(const Supply& supply) {
  Wakes wakes;
  {
    const MutexLock lock(mu_);
    rate_.Observe(made_.load(std::memory_order_relaxed), supply.store.clock().Monotonic());
    if (!stopped_ && HasKeys()) wakes = Supplied();
  }
  CallAll(wakes);
  return {};
}

RandomKeyspace::Closed RandomKeyspace::Close(Closing& /*closing*/) {
  Wakes wakes;
  {
    const MutexLock lock(mu_);
    if (!stopped_) {
      Drop();
      wakes = End({Code::kUnavailable, fmt::format("mint {}: shutting down", name())});
    }
  }
  CallAll(wakes);
  return {};
}

}  // namespace keymill::mint
