// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/server_checks.h"

#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "app/doctor/keyspace_checks.h"
#include "embed/stores.h"
#include "store/rules.h"

namespace keymill::app::doctor {
namespace {

constexpr std::chrono::seconds kPatience{3};  // For each question.

Finding MissingStore(const ServerFacts& facts) {
  if (const std::string known = Remembered(facts.witness); !known.empty()) {
    return {"store", Severity::kProblem,
            fmt::format("{} holds no store of Keymill, but the witness remembers {}: starting anew "
                        "would repeat keys",
                        facts.place, known),
            fmt::format("restore it, or name the right one; to start anew on purpose: mv {0} "
                        "{0}.old",
                        ShellWord(facts.witness_path))};
  }
  if (!facts.may_create) {
    return {"store", Severity::kProblem,
            fmt::format("{} holds no store of Keymill, and store_create is never", facts.place),
            "name the right one, or start once with --store-create auto"};
  }
  return {"store", Severity::kNote, fmt::format("{} holds no store of Keymill yet", facts.place),
          "nothing: the first start makes it"};
}

Finding UnusableStore(const ServerFacts& facts) {
  if (facts.being_filled) return FilledStore(facts.place);
  if (facts.opened.code() == Code::kUnavailable) {
    return {"store", Severity::kProblem,
            fmt::format("{} cannot be reached: {}", facts.place, facts.opened.message()),
            "start the server, or mend the way to it: host, port, firewall, name server"};
  }
  return {"store", Severity::kProblem,
          fmt::format("{} cannot be used: {}", facts.place, facts.opened.message()),
          "mend what the message names: the URL (store, KEYMILL_STORE_FILE), or what the server "
          "allows this user"};
}

// Where the store went, or "". A store without keyspaces does not tell.
std::string MovedTo(const ServerFacts& facts) {
  for (const KeyspaceRecord& record : facts.keyspaces) {
    if (record.state == KeyspaceState::kSealed) return record.reason;
  }
  return "";
}

// The id under which the witness knows the store: by one of its keyspaces, whose ids are random,
// or else by its place.
std::string KnownId(const ServerFacts& facts) {
  for (const auto& each : facts.witness.keyspaces) {
    for (const KeyspaceRecord& record : facts.keyspaces) {
      if (record.id == each.keyspace_id) return each.store_id;
    }
  }
  for (const auto& [id, place] : facts.witness.locations) {
    if (place == facts.place) return id;
  }
  return "";
}

Finding CheckStore(const ServerFacts& facts) {
  if (facts.opened.code() == Code::kNotFound) return MissingStore(facts);
  if (!facts.opened.ok()) return UnusableStore(facts);
  if (const std::string moved_to = MovedTo(facts); !moved_to.empty()) {
    return SealedStore(facts.place, moved_to);
  }
  if (!facts.listed.ok()) {
    return {"store", Severity::kProblem,
            fmt::format("{} answers, but its keyspaces cannot be read: {}", facts.place,
                        facts.listed.message()),
            "mend what the message names, and ask again"};
  }
  return {"store", Severity::kOk, fmt::format("{} answers", facts.place), ""};
}

void AddSettings(Findings& findings, const ServerFacts& facts) {
  if (facts.inspected.code() == Code::kFailedPrecondition) {
    findings.push_back({"store rights", Severity::kProblem,
                        fmt::format("{} answers, but an instance cannot use it: {}", facts.place,
                                    facts.inspected.message()),
                        "grant what the message names, and ask again"});
  } else if (!facts.inspected.ok()) {
    findings.push_back({"store settings", Severity::kWarning,
                        fmt::format("{} answers, but its settings cannot be read: {}", facts.place,
                                    facts.inspected.message()),
                        "give its user the rights that docs/stores.md names, and ask again"});
  }
  for (const StoreFinding& each : facts.seen) {
    findings.push_back({fmt::format("store {}", each.check),
                        each.unsafe ? Severity::kProblem : Severity::kWarning, each.says,
                        each.fix});
  }
}

// Before the first start, too: then there is still time to mend the server.
void GatherSettings(ServerFacts& facts, Store& store, const Clock& clock) {
  Result<std::vector<StoreFinding>> seen = store.Inspect(clock.Monotonic() + kPatience);
  facts.inspected = seen.status();
  if (seen.ok()) facts.seen = *std::move(seen);
}

}  // namespace

ServerFacts GatherServer(const Settings& settings, const std::filesystem::path& data_dir,
                         std::string flags, const Clock& clock) {
  ServerFacts facts;
  facts.may_create = settings.store_create == "auto";
  facts.configured = settings.keyspaces;
  facts.flags = std::move(flags);
  facts.user = ::geteuid();
  facts.now_ms = clock.WallMs();
  facts.witness_path = (data_dir / "witness").string();
  // The witness first: what it knows now has been in the store before.
  Result<mint::WitnessFile::View> witness = mint::WitnessFile::Peek(data_dir);
  facts.witness_status = witness.status();
  if (witness.ok()) facts.witness = *std::move(witness);
  const Result<embed::StorePlace> place = embed::FindStore(settings.store, data_dir);
  if (!place.ok()) {
    facts.place = "the store";
    facts.opened = place.status();
    return facts;
  }
  facts.place = place->location;
  const auto open = [&](bool create) {
    return embed::OpenStore(*place, create, clock, clock.Monotonic() + kPatience);
  };
  Result<std::unique_ptr<Store>> store = open(/*create=*/false);
  facts.opened = store.status();
  facts.being_filled = facts.opened.code() == Code::kFailedPrecondition &&
                       facts.opened.message() == store::BeingFilled().message();
  if (store.ok()) {
    Result<std::vector<KeyspaceRecord>> records =
        (*store)->ListKeyspaces(clock.Monotonic() + kPatience);
    facts.listed = records.status();
    if (records.ok()) facts.keyspaces = *std::move(records);
  } else if (facts.opened.code() == Code::kNotFound || facts.being_filled) {
    store = open(/*create=*/true);  // Only Establish would make one.
    facts.inspected = store.status();
  }
  if (store.ok()) GatherSettings(facts, **store, clock);
  return facts;
}

Findings CheckServer(const ServerFacts& facts) {
  Findings findings = {CheckStore(facts)};
  if (!facts.witness_status.ok()) {
    findings.push_back(UnreadableWitness(facts.witness_status, facts.user, facts.witness_path));
  }
  AddSettings(findings, facts);
  if (!facts.opened.ok() || !facts.listed.ok()) return findings;
  for (Finding& each : CheckKeyspaces({.keyspaces = facts.keyspaces,
                       .store_id = KnownId(facts),
                       .witness = facts.witness,
                       .configured = facts.configured,
                       .flags = facts.flags,
                       .now_ms = facts.now_ms,
                       .newer_copy = "put the newer data back"})) {
    findings.push_back(std::move(each));
  }
  return findings;
}

}  // namespace keymill::app::doctor
