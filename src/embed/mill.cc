// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "keymill/keymill.h"
#include "keymill/store.h"

#include "base/fork.h"
#include "base/log.h"
#include "base/mutex.h"
#include "embed/open.h"
#include "embed/worker_ordinal.h"
#include "keys/codec.h"

namespace keymill {
namespace {

// As for a server.
constexpr std::uint32_t kPoolLowMax = 1'000'000'000;
constexpr std::size_t kReasonSizeMax = 200;

// For a log, of which it is to be a part of a line.
bool IsReason(std::string_view text) {
  return text.size() <= kReasonSizeMax &&
         std::none_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; });
}

Mill::Explanation::State Public(mint::Explanation::State state) {
  switch (state) {
    case mint::Explanation::State::kIssued:
      return Mill::Explanation::State::kIssued;
    case mint::Explanation::State::kReserved:
      return Mill::Explanation::State::kReserved;
    case mint::Explanation::State::kAlias:
      return Mill::Explanation::State::kAlias;
    case mint::Explanation::State::kUnknown:
      break;
  }
  return Mill::Explanation::State::kUnknown;
}

Mill::Explanation Public(const mint::Explanation& told) {
  Mill::Explanation result{.state = Public(told.state),
                           .keyspace = told.keyspace,
                           .kind = told.kind,
                           .number = told.number,
                           .time_ms = told.time_ms,
                           .worker = told.worker,
                           .sequence = told.sequence};
  if (told.block) {
    result.instance = told.block->instance;
  } else if (told.record) {
    result.instance = told.record->instance;
  }
  if (!told.record) return result;
  const KeyRow& row = *told.record;
  result.since_ms = row.since_ms;
  if (row.expires_at_ms != 0) result.expires_at_ms = row.expires_at_ms;
  // Of a link the field counts who followed it.
  if (row.state != KeyState::kLink) result.generation = row.generation;
  result.owner = row.owner;
  return result;
}

class EngineMill final : public Mill {
 public:
  explicit EngineMill(MillOptions options) : options_(std::move(options)) {}

  ~EngineMill() override {
    // A child that never used the mill must not give back its parent's blocks.
    if (generation_ != ForkGeneration()) {
      static_cast<void>(engine_.release());  // NOLINT(bugprone-unused-return-value)
    }
  }

  Status Start() {
    if (options_.block_size < 1 || options_.block_size > Store::kBlockCountMax) {
      return {Code::kInvalidArgument, "block_size: use 1 to 16777216"};
    }
    if (options_.pool_low > kPoolLowMax) {
      return {Code::kInvalidArgument, fmt::format("pool_low: use 0 to {}", kPoolLowMax)};
    }
    if (!IsReason(options_.accept_unsafe_store)) {
      return {Code::kInvalidArgument,
              fmt::format("accept_unsafe_store: use one line of at most {} bytes", kReasonSizeMax)};
    }
    if (!options_.log) DisableLog();
    // A child that was forked opens the store anew, and may have gone to another directory: it
    // must not make a store of its own there. What fails here, OpenEngine will report.
    std::error_code error;
    const std::filesystem::path data_dir = std::filesystem::absolute(options_.data_dir, error);
    if (!error) options_.data_dir = data_dir.string();
    // Here, because a child opens the store when its threads may be changing the environment.
    preferred_worker_ = embed::PreferredWorker();
    return Open();
  }

  Status Create(std::string_view keyspace, const Recipe& recipe) override {
    Result<mint::Engine*> engine = Engine();
    if (!engine.ok()) return engine.status();
    // A worker id that does not fit is told to whoever makes the keyspace, not to who wants a key.
    if (recipe.kind == Kind::kSnowflake) {
      if (Status fits = (*engine)->CheckCreate(keyspace, recipe); !fits.ok()) return fits;
    }
    return (*engine)->Create(keyspace, recipe).status();
  }

  Result<std::string> Next(std::string_view name) override {
    Result<mint::Engine*> engine = Engine();
    if (!engine.ok()) return engine.status();
    if (mint::Keyspace* const keyspace = (*engine)->Find(name)) {
      std::array<char, keys::kKeySizeMax> key;
      const std::size_t size = keyspace->TakeKeys(1, {}, key.data()).bytes;
      if (size > 0) return std::string(key.data(), size);
    }
    Result<std::vector<std::string>> keys = Next(name, 1);  // It has to be looked up, or to wait.
    if (!keys.ok()) return keys.status();
    return std::move(keys->front());
  }

  Result<std::vector<std::string>> Next(std::string_view name, std::uint64_t count) override {
    std::vector<std::string> keys;
    if (count == 0 || count > kCountMax) {
      return Status(Code::kInvalidArgument, fmt::format("count: use 1 to {}", kCountMax));
    }
    Result<mint::Engine*> engine = Engine();
    if (!engine.ok()) return engine.status();
    Result<mint::Keyspace*> keyspace = (*engine)->Lookup(name);
    if (!keyspace.ok()) return keyspace.status();
    keys.reserve(std::min<std::uint64_t>(count, 1U << 20));
    const MonotonicTime deadline = SystemClock().Monotonic() + options_.timeout;
    Status minted = (*engine)->Mint(**keyspace, count, deadline, [&](std::string_view lines) {
      while (!lines.empty()) {
        const std::size_t end = lines.find('\n');
        keys.emplace_back(lines.substr(0, end));
        lines.remove_prefix(end + 1);
      }
    });
    if (keys.empty()) return minted;
    return keys;
  }

  Result<Explanation> Explain(std::string_view keyspace, std::string_view key) override {
    Result<mint::Engine*> engine = Engine();
    if (!engine.ok()) return engine.status();
    const Result<mint::Explanation> told = (*engine)->Explain(keyspace, key);
    if (!told.ok()) return told.status();
    return Public(*told);
  }

  Status Claim(std::string_view keyspace, std::string_view alias, std::string_view owner) override {
    Result<mint::Engine*> engine = Engine();
    if (!engine.ok()) return engine.status();
    const Result<mint::Claim> claim = (*engine)->ClaimKey(keyspace, alias, owner);
    if (!claim.ok()) return claim.status();
    switch (claim->verdict) {
      case mint::ClaimVerdict::kClaimed:
      case mint::ClaimVerdict::kYours:
        return {};
      case mint::ClaimVerdict::kTaken:
        return {Code::kAlreadyExists, claim->detail};
      case mint::ClaimVerdict::kInvalid:
      case mint::ClaimVerdict::kReserved:
      case mint::ClaimVerdict::kLooksGenerated:
        break;
    }
    return {Code::kInvalidArgument, claim->detail};
  }

  Result<Derived> Derive(std::string_view keyspace, std::string_view content,
                         std::string_view salt) override {
    Result<mint::Engine*> engine = Engine();
    if (!engine.ok()) return engine.status();
    Result<mint::Engine::Derived> derived = (*engine)->Derive(keyspace, content, salt);
    if (!derived.ok()) return derived.status();
    return Derived{std::move(derived->key), derived->existing};
  }

  Result<std::uint64_t> FillPool(std::string_view keyspace, std::uint64_t count) override {
    Result<mint::Engine*> engine = Engine();
    if (!engine.ok()) return engine.status();
    const Result<mint::PoolFill> fill = (*engine)->FillPool(keyspace, count, {});
    if (!fill.ok()) return fill.status();
    return fill->added;
  }

  Status Release(std::string_view keyspace, std::string_view key,
                 std::optional<std::uint64_t> generation) override {
    Result<mint::Engine*> engine = Engine();
    if (!engine.ok()) return engine.status();
    const Result<mint::Release> release = (*engine)->ReleaseKey(keyspace, key, generation);
    if (!release.ok()) return release.status();
    switch (release->verdict) {
      case mint::ReleaseVerdict::kReleased:
        return {};
      case mint::ReleaseVerdict::kUnknown:
        return {Code::kNotFound, release->detail};
      case mint::ReleaseVerdict::kNotUsed:
      case mint::ReleaseVerdict::kOtherGeneration:
        return {Code::kAlreadyExists, release->detail};
      case mint::ReleaseVerdict::kNeverRecycled:
        break;
    }
    return {Code::kInvalidArgument, release->detail};
  }

 private:
  // The engine of this very process.
  Result<mint::Engine*> Engine() {
    if (generation_.load(std::memory_order_acquire) == ForkGeneration()) return engine_.get();
    if (options_.store == "memory:") {
      return Status(Code::kFailedPrecondition,
                    "this process was forked, and a store in memory cannot be shared");
    }
    if (Status opened = Open(); !opened.ok()) return opened;
    return engine_.get();
  }

  Status Open() {
    {
      const ForkHold no_fork_while_opening;
      const MutexLock lock(mu_);
      if (generation_ == ForkGeneration()) return {};  // Another thread has.
      // F1: if forked, the parent's engine is left as it lies: its thread is not here, its locks
      // may be held by nobody, its blocks and its connections are the parent's.
      static_cast<void>(engine_.release());  // NOLINT(bugprone-unused-return-value)
      if (Status opened = OpenLocked(); !opened.ok()) return opened;
    }
    engine_->AwaitSettled();  // Or a program that lives shortly would never get a key.
    return {};
  }

  Status OpenLocked() KEYMILL_REQUIRES(mu_) {
    embed::OpenOptions open{.data_dir = options_.data_dir,
                            .store = options_.store,
                            .create = options_.create,
                            .engine = {}};
    open.engine.refill.block_size = options_.block_size;
    open.engine.pool.low = options_.pool_low;
    open.engine.accept_unsafe_store = options_.accept_unsafe_store;
    open.engine.snowflake.accept_clock_ahead = options_.accept_clock_ahead;
    open.engine.snowflake.choice = {.fixed = options_.worker_id, .preferred = preferred_worker_};
    open.engine.keyspaces = {{"default", DefaultRecipe(Kind::kShuffled)}};
    Result<embed::Opened> opened = embed::OpenEngine(open);
    if (!opened.ok()) return opened.status();
    engine_ = std::move(opened->engine);
    generation_.store(ForkGeneration(), std::memory_order_release);
    return {};
  }

  MillOptions options_;                            // Changes in Start only.
  std::optional<std::uint32_t> preferred_worker_;  // So does this.
  std::atomic<std::uint64_t> generation_{~std::uint64_t{0}};
  Mutex mu_;  // Held while the engine is opened.
  // Written under mu_ while no call can use it; read freely once generation_ says so.
  std::unique_ptr<mint::Engine> engine_;
};

}  // namespace

Result<std::unique_ptr<Mill>> Mill::Open(const MillOptions& options) {
  auto mill = std::make_unique<EngineMill>(options);
  if (Status started = mill->Start(); !started.ok()) return started;
  return std::unique_ptr<Mill>(std::move(mill));
}

}  // namespace keymill
