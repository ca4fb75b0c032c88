// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The calls that people and front ends make. The refiller is in refiller.cc.

#include "mint/engine.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/random.h"
#include "keys/recipe_text.h"
#include "keys/snowflake_layout.h"
#include "mint/counter_keyspace.h"
#include "mint/forecast.h"
#include "mint/kinds.h"

namespace keymill::mint {
namespace {

constexpr std::string_view kComparing =
    "the store's server was started anew or is another one: no numbers are reserved until every "
    "instance had the time to compare what it has seen";

// Numbers that a blocklist may skip in a row before a call gives up: each one is burned.
constexpr std::uint64_t kSkippedMax = 1'000'000;

// Ids of a time that has passed are gone, whether somebody had them or not.
void InformOfTime(KeyspaceInfo& info, std::int64_t now_ms) {
  const SnowflakeLayout& layout = info.recipe.layout;
  const std::int64_t end_ms = keys::SnowflakeEndMs(layout);
  const Result<std::uint64_t> ticks =
      keys::SnowflakeTicks(layout, std::max(now_ms, layout.epoch_ms));
  const std::uint64_t passed = ticks.ok() ? *ticks : keys::SnowflakeTicksEnd(layout);
  info.capacity = std::min(keys::SnowflakeMaxId(layout), kNumberEnd - 1) + 1;
  info.used = std::min(info.capacity, passed << (layout.worker_bits + layout.sequence_bits));
  info.left = info.capacity - info.used;
  info.exhausted_at_ms = end_ms;
  info.years_left = keys::SnowflakeYearsLeft(layout, now_ms);
}

void InformOfKeys(KeyspaceInfo& info, const KeyTable::Counts& counts) {
  const auto in = [&](KeyState state) { return counts.at(static_cast<std::size_t>(state)); };
  const std::uint64_t gone = in(KeyState::kUsed) + in(KeyState::kReserved) +
                             in(KeyState::kReleased) + in(KeyState::kDerived);
  info.used = std::min(info.capacity, gone + in(KeyState::kAlias));
  info.left = info.capacity - info.used;
  info.counts = counts;
}

// How often, and how long, a ticket waits for another one that has to give way to it.
constexpr int kTicketLooks = 20;
constexpr std::chrono::milliseconds kTicketNap{25};

}  // namespace

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
      store_(std::move(store), std::move(witness), options_.location, options_.store_timeout,
             clock),
      keys_(store_, [this] { return Permit(); }),
      lender_(store_, [this] { return Permit(); }),
      safety_(options_.accept_unsafe_store),
      refill_(options_.refill),
      timeline_(options_.timeline_grace) {}

Engine::~Engine() { Close(); }

Status Engine::Start() {
  Result<StoreIdentity> identity = store_.store().Identity(StoreDeadline());
  const bool empty = identity.code() == Code::kNotFound;
  if (!identity.ok() && !empty) return identity.status();
  if (!empty) store_.SeeClock(*identity);
  // S3: before anything is written, and after a server that is only away has said so.
  if (Status safe = Inspect(/*now=*/true); !safe.ok()) {
    // Whoever waits is let in then: no reason to give up.
    return safety_.passes() ? Status(Code::kUnavailable, safe.message()) : safe;
  }
  if (!empty) {
    store_.SetIdentity(*std::move(identity));
    // S2: before it gets anything of ours.
    if (Status bound = store_.Bind({}); !bound.ok()) return bound;
  }
  if (Status ready = EstablishKeyspaces(empty); !ready.ok()) return ready;
  compare_ = timeline_.See(store_.identity(), clock_.Monotonic());
  if (options_.background) thread_ = std::thread([this] { Run(); });
  return {};
}

Status Engine::EstablishKeyspaces(bool empty) {
  std::vector<WitnessFile::Sighting> sightings;
  EstablishRequest missing{.keyspaces = {}, .instance = instance()};
  std::vector<Ticket> tickets;
  for (const auto& [name, recipe] : options_.keyspaces) {
    if (recipe.kind != Kind::kTicket) continue;
    if (Status apart = CheckTickets(name, recipe, tickets); !apart.ok()) return apart;
    tickets.push_back({name, recipe});
  }
  // All that are there are compared before the first of the others is made.
  for (const auto& [name, recipe] : options_.keyspaces) {
    Result<NewKeyspace> draft = DraftKeyspace(name, recipe);
    if (!draft.ok()) return draft.status();
    if (Status fits = CheckWorker(name, recipe); !fits.ok()) return fits;
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
    if (Status carried = CheckCarried(recipe.kind); !carried.ok()) return carried;
    if (Status fruitful = CheckFruitful(*draft, recipe); !fruitful.ok()) return fruitful;
    if (!empty) {
      const Result<std::vector<Ticket>> others = OtherTickets(recipe);
      if (!others.ok()) return others.status();
      if (Status apart = CheckTickets(name, recipe, *others); !apart.ok()) return apart;
    }
    const std::uint32_t count =
        TakesBlocks(recipe.kind) ? FirstCount(options_.refill, draft->end - draft->first) : 0;
    missing.keyspaces.push_back({*std::move(draft), count, RandomHex(16)});
  }
  if (empty || !missing.keyspaces.empty()) {
    Result<Established> made = store_.store().Establish(missing, StoreDeadline());
    if (!made.ok()) return made.status();
    store_.SeeClock(made->identity);
    store_.SetIdentity(std::move(made->identity));
    for (Established::Part& part : made->keyspaces) {
      const KeyspaceRecord& record = part.record;
      Result<Keyspace*> keyspace = Accept(record, options_.keyspaces.at(record.name));
      if (!keyspace.ok()) return keyspace.status();
      const bool fresh = std::any_of(
          missing.keyspaces.begin(), missing.keyspaces.end(),
          [&](const EstablishRequest::Part& each) { return each.keyspace.id == record.id; });
      Status settled = SettleTicket(record.name, (*keyspace)->recipe(), fresh);
      if (!settled.ok()) return settled;
      sightings.push_back({record.id, record.name, {record.rev, record.next}});
      if (!part.block) continue;
      // W1: for the refiller, which makes sure of the witness first; if we fail, it goes back.
      (*keyspace)->Want();
      static_cast<CounterKeyspace&>(**keyspace).Withhold({*std::move(part.block), {}});
    }
  }
  return store_.Bind(sightings);
}

Result<Keyspace*> Engine::Adopt(const KeyspaceRecord& record) {
  if (Keyspace* const known = Find(record.name)) return known;
  Result<std::unique_ptr<Keyspace>> keyspace =
      MakeKeyspace(record, {.waiters_max = options_.waiters_max,
                            .low_signal = [this] { Notify(); },
                            .clock = clock_,
                            .snowflake = options_.snowflake,
                            .pool = options_.pool});
  if (!keyspace.ok()) return keyspace.status();
  Keyspace* const added = catalog_.Add(*std::move(keyspace));
  added->Observe(record);
  if (added->recipe().kind == Kind::kSnowflake) StartTicks();
  if (failed_) added->RefillFailed({Code::kInternal, "the store failed for good"});
  return added;
}

// Q1: a store that went back to before a keyspace was created would let it be created anew, and
// all its keys be handed out a second time.
Result<KeyspaceRecord> Engine::FindRecord(std::string_view name) {
  // The witness first: what it knows now has been in the store before.
  Result<std::vector<std::string>> seen = store_.IdsOf(name);
  if (!seen.ok()) return seen.status();
  Result<KeyspaceRecord> record = store_.store().FindKeyspace(name, StoreDeadline());
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

namespace {

// Whoever says nothing of codes that were in use before means those that the store knows of: a
// list only takes keys away.
Recipe WithTaken(const KeyspaceRecord& record, const Recipe& recipe) {
  const Result<Recipe> in_store = keys::ParseRecipeText(record.recipe);
  Recipe wanted = recipe;
  if (in_store.ok() && wanted.taken.empty() && in_store->kind == wanted.kind) {
    wanted.taken = in_store->taken;
  }
  return wanted;
}

}  // namespace

Status CheckRecipe(const KeyspaceRecord& record, const Recipe& recipe) {
  if (record.recipe != keys::RecipeText(WithTaken(record, recipe))) {  // C1
    if (record.state == KeyspaceState::kQuarantined) {  // Perhaps it only keeps the name.
      return {Code::kFailedPrecondition,
              fmt::format("keyspace {} is quarantined: {}", record.name, record.reason)};
    }
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
  if (record.state == KeyspaceState::kSealed) {
    return {Code::kFailedPrecondition,
            fmt::format("the store was sealed, and everything in it moved to {}: name that one as "
                        "the store",
                        record.reason)};
  }
  return {};
}

Result<Keyspace*> Engine::Accept(const KeyspaceRecord& record, const Recipe& recipe) {
  if (Status fits = CheckRecipe(record, recipe); !fits.ok()) return fits;
  return Adopt(record);
}

Status Engine::CheckCreate(std::string_view name, const Recipe& recipe) {
  Result<NewKeyspace> draft = DraftKeyspace(name, recipe);
  if (!draft.ok()) return draft.status();
  Result<KeyspaceRecord> record = FindRecord(name);
  if (!record.ok() && record.code() != Code::kNotFound) return record.status();
  Status could = record.ok() ? CheckRecipe(*record, recipe) : CheckFruitful(*draft, recipe);
  if (!could.ok()) return could;
  if (Status carried = CheckCarried(recipe.kind); !carried.ok()) return carried;
  if (Status fits = CheckWorker(name, recipe); !fits.ok()) return fits;
  const Result<std::vector<Ticket>> others = OtherTickets(recipe);
  if (!others.ok()) return others.status();
  return CheckTickets(name, recipe, *others);
}

Status Engine::CheckWorker(std::string_view name, const Recipe& recipe) const {
  if (recipe.kind != Kind::kSnowflake) return {};
  return CheckWorkerChoice(name, recipe.layout, options_.snowflake.choice);
}

Result<std::vector<Ticket>> Engine::OtherTickets(const Recipe& recipe) {
  if (recipe.kind != Kind::kTicket) return std::vector<Ticket>();
  const Result<std::vector<KeyspaceRecord>> records = store_.store().ListKeyspaces(StoreDeadline());
  if (!records.ok()) return records.status();
  return TicketsIn(*records);
}

// Of two that are made at once at least one sees the other, because each looks after it was made.
// The one with the larger name gives way; the other one waits for that, but not for long: a larger
// one that was made before this one has no reason to look again. So nobody stays who still sees
// another.
Status Engine::SettleTicket(std::string_view name, const Recipe& recipe, bool fresh) {
  for (int look = 1;; ++look) {
    const Result<std::vector<Ticket>> others = OtherTickets(recipe);
    if (!others.ok()) return others.status();
    Status apart = CheckTickets(name, recipe, *others);
    if (apart.ok()) return apart;
    const bool waits = std::all_of(others->begin(), others->end(), [&](const Ticket& other) {
      return other.name >= name || !TicketsMeet(recipe, other.recipe);
    });
    if (fresh && waits && look < kTicketLooks) {
      std::this_thread::sleep_for(kTicketNap);
      continue;
    }
    if (!fresh) {
      return {apart.code(), fmt::format("{}. Both are there: retire one of them", apart.message())};
    }
    if (Status retired = Retire(name); !retired.ok()) return retired;
    return {apart.code(),
            fmt::format("{}. Both were created at once, and {} is retired again: its name is spent",
                        apart.message(), name)};
  }
}

Result<Engine::Created> Engine::Create(std::string_view name, const Recipe& recipe) {
  Result<NewKeyspace> draft = DraftKeyspace(name, recipe);
  if (!draft.ok()) return draft.status();
  // A look first: most calls find what is there, and need no write.
  Result<KeyspaceRecord> record = FindRecord(name);
  if (record.code() == Code::kNotFound) {
    if (Status carried = CheckCarried(recipe.kind); !carried.ok()) return carried;
    if (Status fruitful = CheckFruitful(*draft, recipe); !fruitful.ok()) return fruitful;
    const Result<std::vector<Ticket>> others = OtherTickets(recipe);
    if (!others.ok()) return others.status();
    if (Status apart = CheckTickets(name, recipe, *others); !apart.ok()) return apart;
    record = store_.store().CreateKeyspace(*draft, StoreDeadline());
  }
  if (!record.ok()) return record.status();
  if (Status fits = CheckRecipe(*record, recipe); !fits.ok()) return fits;
  const Status settled = SettleTicket(name, recipe, /*fresh=*/record->id == draft->id);
  if (!settled.ok()) return settled;
  Result<Keyspace*> keyspace = Accept(*record, recipe);
  if (!keyspace.ok()) return keyspace.status();
  if (Status done = store_.Record(record->id, name, {record->rev, record->next}); !done.ok()) {
    return done;
  }
  return Created{*keyspace, record->id == draft->id};
}

Result<KeyspaceRecord> Engine::MakeAnew(std::string_view name, const Recipe& recipe) {
  Result<NewKeyspace> draft = DraftKeyspace(name, recipe);
  if (!draft.ok()) return draft.status();
  // All the others may be out, and somebody may find it before it is quarantined.
  draft->first = draft->end - 1;
  return store_.store().CreateKeyspace(*draft, StoreDeadline());
}

Status Engine::Retire(std::string_view name) {
  if (Status named = CheckKeyspaceName(name); !named.ok()) return named;
  Result<KeyspaceRecord> record = store_.store().RetireKeyspace(name, StoreDeadline());
  if (!record.ok()) return record.status();
  if (Keyspace* const keyspace = Find(name)) keyspace->Observe(*record);
  // Its lines after it, so that nobody makes new ones meanwhile for long: who still holds time of
  // one hears of the retirement at its next audit.
  Result<std::vector<KeyspaceRecord>> lines = LinesOf(name);
  if (!lines.ok()) return lines.status();
  for (const KeyspaceRecord& line : *lines) {
    Result<KeyspaceRecord> retired = store_.store().RetireKeyspace(line.name, StoreDeadline());
    if (!retired.ok()) return retired.status();
  }
  return {};
}

Result<std::vector<KeyspaceRecord>> Engine::LinesOf(std::string_view name) {
  Result<std::vector<KeyspaceRecord>> records = store_.store().ListKeyspaces(StoreDeadline());
  if (!records.ok()) return records;
  std::erase_if(*records, [&](const KeyspaceRecord& record) {
    return !IsWorkerLine(record.name) || KeyspaceOfLine(record.name) != name;
  });
  return records;
}

Result<KeyspaceInfo> Engine::Inform(KeyspaceRecord record) {
  Result<Recipe> recipe = keys::ParseRecipeText(record.recipe);
  if (!recipe.ok()) return recipe.status();
  KeyspaceInfo info;
  info.recipe = *std::move(recipe);
  info.endless = IsEndless(info.recipe.kind);
  info.capacity = record.end - record.first;
  info.used = record.next - record.first;
  info.left = record.end - record.next;
  if (info.recipe.kind == Kind::kSnowflake) InformOfTime(info, clock_.WallMs());
  if (Keyspace* const keyspace = Find(record.name)) {
    const Keyspace::Stats stats = keyspace->stats();
    info.rate = stats.rate;
    info.ahead = stats.ahead;
    info.waited = stats.waited;
    if (stats.rate > 0 && !info.endless)
      info.runway_seconds = static_cast<double>(stats.ahead) / stats.rate;
  }
  // Keys that are kept one by one are not counted here.
  if (!info.endless && !info.exhausted_at_ms && !IsStoredByKey(info.recipe.kind))
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
  Result<std::vector<KeyspaceRecord>> records = store_.store().ListKeyspaces(StoreDeadline());
  if (!records.ok()) return records.status();
  std::vector<KeyspaceInfo> infos;
  for (KeyspaceRecord& record : *records) {
    if (IsWorkerLine(record.name)) continue;  // Part of another one.
    Result<KeyspaceInfo> info = Inform(std::move(record));
    if (!info.ok()) return info.status();
    infos.push_back(*std::move(info));
  }
  return infos;
}

Result<KeyspaceInfo> Engine::Describe(std::string_view name) {
  if (Status named = CheckKeyspaceName(name); !named.ok()) return named;
  Result<KeyspaceRecord> record = store_.store().FindKeyspace(name, StoreDeadline());
  if (!record.ok()) return record.status();
  Result<KeyspaceInfo> info = Inform(*std::move(record));
  if (!info.ok() || !IsStoredByKey(info->recipe.kind)) return info;
  // A table that is too large to be counted in time is described without.
  const Result<KeyTable::Counts> counts = CountKeys(name);
  if (!counts.ok()) return info;
  InformOfKeys(*info, *counts);
  info->exhausted_at_ms = ExhaustedAtMs({.used = info->used,
                                         .left = info->left,
                                         .rate = info->rate,
                                         .created_at_ms = info->record.created_at_ms},
                                        clock_.WallMs());
  return info;
}

Result<Explanation> Engine::Explain(std::string_view name, std::string_view key) {
  Result<Keyspace*> found = Lookup(name);
  if (!found.ok()) return found.status();
  Keyspace& keyspace = **found;
  Result<Explanation> explanation = keyspace.Explain(key, store_);
  const bool made = explanation.ok();
  const bool final = made ? explanation->record.has_value() : explanation.code() != Code::kNotFound;
  if (final || !keys_.CheckPossible().ok()) return explanation;
  // What the keyspace cannot have made by itself somebody may have claimed, or it is kept by name;
  // what it has made may be that of a link.
  const Result<std::optional<KeyRow>> row = keys_.Find(keyspace, key);
  if (row.code() == Code::kInvalidArgument || (row.ok() && !*row)) return explanation;
  if (!row.ok()) return row.status();
  if (!made) return ExplainRow(name, keyspace.recipe().kind, **row);
  if ((*row)->state == KeyState::kLink) {
    explanation->state = Explanation::State::kIssued;
    explanation->record = **row;
  }
  return explanation;
}

Result<Engine::Bounds> Engine::BoundsOf(std::string_view name, std::int64_t from_ms,
                                        std::int64_t to_ms) {
  Result<Keyspace*> found = Lookup(name);
  if (!found.ok()) return found.status();
  const auto* const keyspace = dynamic_cast<const SnowflakeKeyspace*>(*found);
  if (keyspace == nullptr) {
    return {Code::kInvalidArgument,
            fmt::format("keyspace {} is of kind {}: only keys of kind snowflake tell their time",
                        name, KindName((*found)->recipe().kind))};
  }
  const Result<keys::SnowflakeBounds> ids =
      keys::SnowflakeBoundsOf(keyspace->recipe().layout, from_ms, to_ms);
  if (!ids.ok()) return ids.status();
  return Bounds{keyspace->KeyOf(ids->first), keyspace->KeyOf(ids->last)};
}

Status Engine::Mint(Keyspace& keyspace, std::uint64_t count, MonotonicTime deadline,
                    const std::function<void(std::string_view)>& sink) {
  struct Gate {
    Mutex mu;
    CondVar woken;
    bool open KEYMILL_GUARDED_BY(mu) = false;
  };
  constexpr std::uint64_t kBatch = 512;
  // Asked for only where numbers can be skipped: it takes a lock. A snowflake skips the ids of a
  // time, which goes by, and makes callers wait meanwhile.
  const bool skips =
      !keyspace.recipe().blocklist.empty() && keyspace.recipe().kind != Kind::kSnowflake;
  const auto skipped = [&]() -> std::uint64_t {
    if (!skips) return 0;
    const Keyspace::Stats stats = keyspace.stats();
    return stats.issued - stats.keys;
  };
  std::string text;
  std::uint64_t skipped_before = skipped();
  while (count > 0) {
    const std::uint64_t batch = std::min(count, kBatch);
    text.resize(batch * (keyspace.key_size_max() + 1));
    const auto written = keyspace.TakeKeys(static_cast<std::uint32_t>(batch), "\n", text.data());
    if (written.keys > 0) {
      sink(std::string_view(text).substr(0, written.bytes));
      count -= written.keys;
      skipped_before = skipped();
      continue;
    }
    if (skipped() - skipped_before >= kSkippedMax) {
      return {Code::kFailedPrecondition,
              fmt::format("mint {}: the blocklist skipped {} numbers in a row", keyspace.name(),
                          skipped() - skipped_before)};
    }
    if (Status verdict = keyspace.Verdict(); !verdict.ok()) return verdict;
    const auto gate = std::make_shared<Gate>();
    Result<std::uint64_t> waiter = keyspace.Await(count, [gate] {
      const MutexLock lock(gate->mu);
      gate->open = true;
      gate->woken.NotifyAll();
    });
    if (!waiter.ok()) return waiter.status();
    if (*waiter == 0) {
      if (clock_.Monotonic() >= deadline) return keyspace.DeadlineVerdict();
      continue;
    }
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
  const bool up = store_up_.load(std::memory_order_relaxed);
  if (up && !pausing_.load(std::memory_order_relaxed)) return {};
  // Without the store: what counts is what people ask for here. That a keyspace has something left
  // which nobody wants does not make this a server that can serve.
  bool asked = false;
  bool some_left = false;
  for (Keyspace* const keyspace : catalog_.All()) {
    const Keyspace::Stats stats = keyspace->stats();
    const bool left = stats.ahead > 0 || stats.endless;
    if (stats.issued > 0 && left) return {};
    asked = asked || stats.issued > 0;
    some_left = some_left || left;
  }
  if (!asked && some_left) return {};
  if (!up) return {Code::kUnavailable, "the store is away and no numbers are left"};
  const Status safe = safety_.verdict();
  if (!safe.ok()) return {Code::kUnavailable, safe.message()};
  return {Code::kUnavailable, std::string(kComparing)};
}

}  // namespace keymill::mint
