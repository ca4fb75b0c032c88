// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The calls that people and front ends make. The refiller is in refiller.cc.

#include "mint/engine.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/log.h"
#include "base/random.h"
#include "keys/recipe_text.h"
#include "mint/forecast.h"

namespace keymill::mint {
namespace {

std::span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// "host/pid/random": the first two for people, the last so that no two are ever the same.
std::string MakeInstanceName() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"unknown"};
  return fmt::format("{}/{}/{}", host.data(), ::getpid(), RandomHex(8));
}

// Numbers that a blocklist may skip in a row before a call gives up: each one is burned.
constexpr std::uint64_t kSkippedMax = 1'000'000;

// A blocklist that skips everything would burn the keyspace without giving a key. Two looks:
// at the keys that come first, and across the whole keyspace.
Status CheckBlocklist(const Recipe& recipe, const keys::Codec& codec) {
  constexpr std::uint64_t kLooks = 1000;
  if (recipe.blocklist.empty()) return {};
  const std::uint64_t numbers = codec.end() - codec.begin();
  const std::uint64_t looks = std::min(kLooks, numbers);
  for (const std::uint64_t stride : {std::uint64_t{1}, numbers / looks}) {
    std::array<char, keys::kKeySizeMax> key{};
    std::uint64_t allowed = 0;
    for (std::uint64_t i = 0; i < looks; ++i) {
      allowed += codec.Encode(codec.begin() + (i + 1) * stride - 1, 1, "", key.data()).keys;
    }
    if (allowed == 0) {
      return {Code::kInvalidArgument,
              fmt::format("blocklist: it leaves no keys: {} of {} are blocked", looks, looks)};
    }
  }
  return {};
}

// A keyspace as this process would make it, if nobody has yet.
struct Draft {
  NewKeyspace fresh;
  keys::Codec codec;
};

Result<Draft> MakeDraft(std::string_view name, const Recipe& recipe) {
  if (Status named = CheckKeyspaceName(name); !named.ok()) return named;
  if (Status valid = keys::Codec::Validate(recipe); !valid.ok()) return valid;
  const std::string text = keys::RecipeText(recipe);
  std::string secret;
  if (recipe.kind == Kind::kShuffled) {
    std::array<std::uint8_t, keys::kSecretSize> bytes{};
    RandomBytes(bytes);
    secret.assign(bytes.begin(), bytes.end());
  }
  Result<keys::Codec> codec = keys::Codec::Make(recipe, AsBytes(secret));
  if (!codec.ok()) return codec.status();
  NewKeyspace fresh{.name = std::string(name),
                    .id = RandomHex(16),
                    .recipe = text,
                    .recipe_hash = keys::RecipeHash(text, AsBytes(secret)),
                    .secret = secret,
                    .first = codec->begin(),
                    .end = codec->end()};
  return Draft{std::move(fresh), *std::move(codec)};
}

Status NotIssued(std::string_view name, std::string_view why) {
  static constexpr std::string_view kKey = "key: ";  // As a codec begins: "key: has 5 symbols".
  if (why.starts_with(kKey)) {
    return NotIssued(name, fmt::format("it {}", why.substr(kKey.size())));
  }
  return {Code::kNotFound, fmt::format("keyspace {} cannot have issued this key: {}", name, why)};
}

}  // namespace

std::string_view ExplanationStateName(Explanation::State state) {
  static constexpr std::array<std::string_view, 3> kNames = {"issued", "reserved", "unknown"};
  return kNames.at(static_cast<std::size_t>(state));
}

Result<std::unique_ptr<Engine>> Engine::Open(EngineOptions options, std::unique_ptr<Store> store,
                                             std::unique_ptr<WitnessFile> witness,
                                             const Clock& clock) {
  std::unique_ptr<Engine> engine(
      new Engine(std::move(options), std::move(store), std::move(witness), clock));
  if (Status started = engine->Start(); !started.ok()) return started;
  return engine;
}

Engine::Engine(EngineOptions options, std::unique_ptr<Store> store,
               std::unique_ptr<WitnessFile> witness, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      store_(std::make_unique<store::MeteredStore>(std::move(store), clock)),
      witness_(std::move(witness)),
      instance_(MakeInstanceName()),
      refill_(options_.refill) {}

Engine::~Engine() { Close(); }

Status Engine::Start() {
  Result<StoreIdentity> identity = store_->Identity(StoreDeadline());
  const bool empty = identity.code() == Code::kNotFound;
  if (!empty) {
    if (!identity.ok()) return identity.status();
    identity_ = *std::move(identity);
    // S2: before it gets anything of ours.
    if (Status bound = BindWitness({}); !bound.ok()) return bound;
  }
  if (Status ready = EstablishKeyspaces(empty); !ready.ok()) return ready;
  if (options_.background) thread_ = std::thread([this] { Run(); });
  return {};
}

Status Engine::EstablishKeyspaces(bool empty) {
  std::vector<WitnessFile::Sighting> sightings;
  EstablishRequest missing{.keyspaces = {}, .instance = instance_};
  // All that are there are compared before the first of the others is made.
  for (const auto& [name, recipe] : options_.keyspaces) {
    Result<Draft> draft = MakeDraft(name, recipe);
    if (!draft.ok()) return draft.status();
    Result<KeyspaceRecord> record = Status(Code::kNotFound, "");
    if (!empty) record = FindRecord(name);
    if (record.code() == Code::kQuarantined) {
      return Status(Code::kFailedPrecondition, record.status().message());
    }
    if (record.ok()) {
      if (Result<Keyspace*> known = Accept(*record, recipe); !known.ok()) return known.status();
      sightings.push_back({record->id, name, {record->rev, record->next}});
      continue;
    }
    if (record.code() != Code::kNotFound) return record.status();
    if (Status usable = CheckBlocklist(recipe, draft->codec); !usable.ok()) return usable;
    const std::uint64_t capacity = draft->fresh.end - draft->fresh.first;
    missing.keyspaces.push_back(
        {std::move(draft->fresh), FirstCount(options_.refill, capacity), RandomHex(16)});
  }
  if (empty || !missing.keyspaces.empty()) {
    Result<Established> made = store_->Establish(missing, StoreDeadline());
    if (!made.ok()) return made.status();
    identity_ = std::move(made->identity);
    for (Established::Part& part : made->keyspaces) {
      const KeyspaceRecord& record = part.record;
      Result<Keyspace*> keyspace = Accept(record, options_.keyspaces.at(record.name));
      if (!keyspace.ok()) return keyspace.status();
      sightings.push_back({record.id, record.name, {record.rev, record.next}});
      if (!part.block) continue;
      // W1: for the refiller, which makes sure of the witness first; if we fail, it goes back.
      (*keyspace)->Want();
      (*keyspace)->Withhold({*std::move(part.block), {}});
    }
  }
  return BindWitness(sightings);
}

MonotonicTime Engine::StoreDeadline() const { return clock_.Monotonic() + options_.store_timeout; }

Result<Keyspace*> Engine::Adopt(const KeyspaceRecord& record) {
  if (Keyspace* const known = Find(record.name)) return known;
  Result<Recipe> recipe = keys::ParseRecipeText(record.recipe);
  if (!recipe.ok()) return recipe.status();
  if (keys::RecipeHash(record.recipe, AsBytes(record.secret)) != record.recipe_hash) {
    return Status(Code::kFailedPrecondition,
                  fmt::format("use keyspace {}: recipe and secret in the store do not belong "
                              "together",
                              record.name));
  }
  Result<keys::Codec> codec = keys::Codec::Make(*recipe, AsBytes(record.secret));
  if (!codec.ok()) return codec.status();
  auto keyspace = std::make_unique<Keyspace>(record, *std::move(recipe), *std::move(codec),
                                             options_.waiters_max, [this] { Notify(); });
  Keyspace* const added = catalog_.Add(std::move(keyspace));
  added->Observe(record);
  if (failed_) added->RefillFailed({Code::kInternal, "the store failed for good"});
  return added;
}

// Q1: a store that went back to before a keyspace was created would let it be created anew, and
// all its keys be handed out a second time.
Result<KeyspaceRecord> Engine::FindRecord(std::string_view name) {
  // The witness first: what it knows now has been in the store before.
  Result<std::vector<std::string>> seen = std::vector<std::string>();
  if (witness_) seen = witness_->IdsOf(identity_.store_id, name);
  if (!seen.ok()) return seen.status();
  Result<KeyspaceRecord> record = store_->FindKeyspace(name, StoreDeadline());
  if (!record.ok() && record.code() != Code::kNotFound) return record;
  const bool same = std::all_of(seen->begin(), seen->end(), [&](const std::string& id) {
    return record.ok() && record->id == id;
  });
  if (same) return record;
  return Status(
      Code::kQuarantined,
      fmt::format("keyspace {} was in this store before and is {}: the store went back to "
                  "an older copy. Put the newer one back, or use another name; its keys "
                  "would be handed out twice",
                  name, record.ok() ? "another one now" : "gone"));
}

Result<Keyspace*> Engine::Lookup(std::string_view name) {
  if (Keyspace* const known = Find(name)) return known;
  if (Status named = CheckKeyspaceName(name); !named.ok()) return named;
  Result<KeyspaceRecord> record = FindRecord(name);
  if (!record.ok()) return record.status();
  return Adopt(*record);
}

Status CheckRecipe(const KeyspaceRecord& record, const Recipe& recipe) {
  if (record.recipe != keys::RecipeText(recipe)) {  // C1
    Result<Recipe> in_store = keys::ParseRecipeText(record.recipe);
    const std::string what =
        in_store.ok() ? keys::DescribeDifference(*in_store, recipe) : record.recipe;
    return {Code::kFailedPrecondition,
            fmt::format("keyspace {} exists with another recipe: {}. A recipe is fixed for ever: "
                        "put the stored one back, or give this one another name",
                        record.name, what)};
  }
  if (record.state == KeyspaceState::kRetired) {
    return {Code::kFailedPrecondition,
            fmt::format("keyspace {} is retired, and its name is never reused", record.name)};
  }
  return {};
}

Result<Keyspace*> Engine::Accept(const KeyspaceRecord& record, const Recipe& recipe) {
  if (Status fits = CheckRecipe(record, recipe); !fits.ok()) return fits;
  return Adopt(record);
}

Status Engine::CheckCreate(std::string_view name, const Recipe& recipe) {
  Result<Draft> draft = MakeDraft(name, recipe);
  if (!draft.ok()) return draft.status();
  Result<KeyspaceRecord> record = FindRecord(name);
  if (record.code() == Code::kNotFound) return CheckBlocklist(recipe, draft->codec);
  if (!record.ok()) return record.status();
  return CheckRecipe(*record, recipe);
}

Result<Engine::Created> Engine::Create(std::string_view name, const Recipe& recipe) {
  Result<Draft> draft = MakeDraft(name, recipe);
  if (!draft.ok()) return draft.status();
  // A look first: most calls find what is there, and need no write.
  Result<KeyspaceRecord> record = FindRecord(name);
  if (record.code() == Code::kNotFound) {
    if (Status usable = CheckBlocklist(recipe, draft->codec); !usable.ok()) return usable;
    record = store_->CreateKeyspace(draft->fresh, StoreDeadline());
  }
  if (!record.ok()) return record.status();
  Result<Keyspace*> keyspace = Accept(*record, recipe);
  if (!keyspace.ok()) return keyspace.status();
  if (Status done = RecordWitness(**keyspace, {record->rev, record->next}); !done.ok()) {
    return done;
  }
  return Created{*keyspace, record->id == draft->fresh.id};
}

Status Engine::Retire(std::string_view name) {
  Result<KeyspaceRecord> record = store_->RetireKeyspace(name, StoreDeadline());
  if (!record.ok()) return record.status();
  if (Keyspace* const keyspace = Find(name)) keyspace->Observe(*record);
  return {};
}

Result<KeyspaceInfo> Engine::Inform(KeyspaceRecord record) {
  Result<Recipe> recipe = keys::ParseRecipeText(record.recipe);
  if (!recipe.ok()) return recipe.status();
  KeyspaceInfo info;
  info.recipe = *std::move(recipe);
  info.capacity = record.end - record.first;
  info.used = record.next - record.first;
  info.left = record.end - record.next;
  if (Keyspace* const keyspace = Find(record.name)) {
    const Keyspace::Stats stats = keyspace->stats();
    info.rate = stats.rate;
    info.ahead = stats.ahead;
    info.waited = stats.waited;
    if (stats.rate > 0) info.runway_seconds = static_cast<double>(stats.ahead) / stats.rate;
  }
  info.exhausted_at_ms = ExhaustedAtMs({.used = info.used,
                                        .left = info.left,
                                        .rate = info.rate,
                                        .created_at_ms = record.created_at_ms},
                                       clock_.WallMs());
  info.record = std::move(record);
  info.record.secret.clear();  // Nobody outside needs it.
  return info;
}

Result<std::vector<KeyspaceInfo>> Engine::List() {
  Result<std::vector<KeyspaceRecord>> records = store_->ListKeyspaces(StoreDeadline());
  if (!records.ok()) return records.status();
  std::vector<KeyspaceInfo> infos;
  for (KeyspaceRecord& record : *records) {
    Result<KeyspaceInfo> info = Inform(std::move(record));
    if (!info.ok()) return info.status();
    infos.push_back(*std::move(info));
  }
  return infos;
}

Result<KeyspaceInfo> Engine::Describe(std::string_view name) {
  if (Status named = CheckKeyspaceName(name); !named.ok()) return named;
  Result<KeyspaceRecord> record = store_->FindKeyspace(name, StoreDeadline());
  if (!record.ok()) return record.status();
  return Inform(*std::move(record));
}

Result<Explanation> Engine::Explain(std::string_view name, std::string_view key) {
  Result<Keyspace*> found = Lookup(name);
  if (!found.ok()) return found.status();
  Keyspace& keyspace = **found;
  Result<std::uint64_t> number = keyspace.codec().Decode(key);
  if (!number.ok()) return NotIssued(name, number.status().message());
  Result<std::optional<LedgerRow>> row = store_->FindBlock(keyspace.id(), *number, StoreDeadline());
  if (!row.ok()) return row.status();
  if (!row->has_value())
    return NotIssued(name, fmt::format("its number, {}, is not reserved yet", *number));
  Explanation explanation{.state = Explanation::State::kReserved,
                          .keyspace = keyspace.name(),
                          .kind = keyspace.recipe().kind,
                          .number = *number,
                          .block = **std::move(row)};
  const std::optional<bool> ours = keyspace.HandedOut(*number);
  if (explanation.block.state == BlockState::kReturned) {
    return NotIssued(name, fmt::format("number {} was given back unused", *number));
  }
  if (explanation.block.state == BlockState::kSpent || ours == true) {
    explanation.state = Explanation::State::kIssued;
  } else if (explanation.block.state == BlockState::kBurned) {
    explanation.state = Explanation::State::kUnknown;
  }
  return explanation;
}

Result<RecoverReport> Engine::Recover(std::string_view name) {
  Result<KeyspaceRecord> record = store_->FindKeyspace(name, StoreDeadline());
  if (!record.ok()) return record.status();
  Result<Witness> floor = Witnessed(record->id);
  if (!floor.ok()) return floor.status();
  // Nobody may have asked the store for numbers since it went back. To settle a block that does
  // not exist changes nothing, unless the store is behind: then it quarantines the keyspace, in the
  // transaction that finds it so.
  const Result<Witness> probed = store_->GiveBack(
      {.keyspace_id = record->id, .block_id = RandomHex(16), .witness = *floor}, StoreDeadline());
  if (probed.code() == Code::kUnavailable) return probed.status();
  Result<RecoverReport> report = store_->Recover(record->id, *floor, StoreDeadline());
  if (!report.ok() || !witness_) return report;
  Result<Witness> kept = witness_->Record(identity_.store_id, record->id, name, report->seen);
  if (!kept.ok()) return kept.status();
  return report;
}

Status Engine::Mint(Keyspace& keyspace, std::uint64_t count, MonotonicTime deadline,
                    const std::function<void(std::string_view)>& sink) {
  struct Gate {
    Mutex mu;
    CondVar woken;
    bool open KEYMILL_GUARDED_BY(mu) = false;
  };
  constexpr std::uint64_t kBatch = 512;
  std::string text;
  std::uint64_t skipped = 0;
  while (count > 0) {
    const Reservoir::Run run = keyspace.Take(std::min(count, kBatch));
    if (run.count > 0) {
      text.resize(run.count * (keyspace.codec().size_max() + 1));
      const auto written = keyspace.codec().Encode(run.first, static_cast<std::uint32_t>(run.count),
                                                   "\n", text.data());
      keyspace.CountSkipped(run.count - written.keys);
      if (written.keys > 0) sink(std::string_view(text).substr(0, written.bytes));
      count -= written.keys;
      skipped = written.keys > 0 ? 0 : skipped + run.count;
      if (skipped < kSkippedMax) continue;
      return {Code::kFailedPrecondition,
              fmt::format("mint {}: the blocklist skipped {} numbers in a row", keyspace.name(),
                          skipped)};
    }
    if (Status verdict = keyspace.Verdict(); !verdict.ok()) return verdict;
    const auto gate = std::make_shared<Gate>();
    Result<std::uint64_t> waiter = keyspace.Await(count, [gate] {
      const MutexLock lock(gate->mu);
      gate->open = true;
      gate->woken.NotifyAll();
    });
    if (!waiter.ok()) return waiter.status();
    if (*waiter == 0) continue;
    const MutexLock lock(gate->mu);
    while (!gate->open) {
      if (gate->woken.WaitUntil(gate->mu, deadline) || gate->open) continue;
      keyspace.Forget(*waiter);
      return keyspace.DeadlineVerdict();
    }
  }
  return {};
}

Status Engine::Ready() const {
  if (closed_.load(std::memory_order_relaxed)) return {Code::kUnavailable, "shutting down"};
  if (failed_.load(std::memory_order_relaxed)) {
    return {Code::kInternal, "the store failed for good"};
  }
  if (store_up_.load(std::memory_order_relaxed)) return {};
  for (Keyspace* const keyspace : catalog_.All()) {
    if (keyspace->stats().ahead > 0) return {};  // It can still mint without the store.
  }
  return {Code::kUnavailable, "the store is away and no numbers are left"};
}

}  // namespace keymill::mint
