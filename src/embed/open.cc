// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "embed/open.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/fork.h"
#include "embed/stores.h"
#include "mint/witness_file.h"

namespace keymill::embed {
namespace {

constexpr std::chrono::seconds kOpenTimeout{2};

constexpr std::string_view kSqlite = "sqlite:";

bool IsFile(const StorePlace& place) { return place.location.starts_with(kSqlite); }

// That it is not there, as people say it: a file by its path, which "is missing".
std::string Missing(const StorePlace& place, std::string_view is_missing) {
  if (!IsFile(place)) return fmt::format("{} holds no store of Keymill", place.location);
  return fmt::format("the database {} {}", place.location.substr(kSqlite.size()), is_missing);
}

// Opens the store, or creates it where that cannot hide a loss (S1).
Result<std::unique_ptr<Store>> OpenOrCreate(const StorePlace& place, const OpenOptions& options,
                                            mint::WitnessFile& witness, const Clock& clock,
                                            bool& created) {
  const MonotonicTime deadline = clock.Monotonic() + kOpenTimeout;
  auto opened = OpenStore(place, /*create=*/false, clock, deadline);
  if (opened.code() != Code::kNotFound) return opened;
  Result<std::string> known = witness.RememberedLocation();
  if (!known.ok()) return known.status();
  if (!known->empty()) {
    return Status(
        Code::kFailedPrecondition,
        fmt::format("{}, but {} remembers {}. Starting anew would hand out keys that are out "
                    "already. Restore the database, or {}; to start anew on purpose, move {} away",
                    Missing(place, "is missing"), witness.path().string(), *known,
                    IsFile(place) ? "mount the right volume" : "name the right one",
                    witness.path().string()));
  }
  if (!options.create) {
    return Status(
        Code::kFailedPrecondition,
        fmt::format("{}, and is not to be created: {}, or allow it once with "
                    "store_create: auto",
                    Missing(place, "does not exist"),
                    IsFile(place) ? "mount the right volume, name another data_dir or store"
                                  : "name the right one"));
  }
  created = true;
  return OpenStore(place, /*create=*/true, clock, deadline);
}

Result<Opened> OpenWithWitness(const StorePlace& place, const std::filesystem::path& data_dir,
                               const OpenOptions& options, const Clock& clock) {
  std::error_code error;
  if (!options.create && !std::filesystem::exists(data_dir, error)) {
    return Status(
        Code::kFailedPrecondition,
        fmt::format("the directory {} does not exist, and is not to be created: mount the "
                    "right volume, name another data_dir, or allow it once with "
                    "store_create: auto",
                    data_dir.string()));
  }
  auto witness = mint::WitnessFile::Open(data_dir);
  if (!witness.ok()) return witness.status();
  const ForkHold no_child_inherits_the_lock;
  auto alone = (*witness)->LockDirectory();
  if (!alone.ok()) return alone.status();
  Opened result{.engine = nullptr, .location = place.location};
  auto opened = OpenOrCreate(place, options, **witness, clock, result.created);
  if (!opened.ok()) return opened.status();
  mint::EngineOptions engine = options.engine;
  engine.location = place.location;
  auto mill = mint::Engine::Open(std::move(engine), *std::move(opened), *std::move(witness), clock);
  if (!mill.ok()) return mill.status();
  result.engine = *std::move(mill);
  return result;
}

Result<Opened> OpenWithoutWitness(const StorePlace& place, const OpenOptions& options,
                                  const Clock& clock) {
  auto store = OpenStore(place, /*create=*/true, clock, clock.Monotonic() + kOpenTimeout);
  if (!store.ok()) return store.status();
  mint::EngineOptions engine = options.engine;
  engine.location = place.location;
  auto opened = mint::Engine::Open(std::move(engine), *std::move(store), nullptr, clock);
  if (!opened.ok()) return opened.status();
  return Opened{*std::move(opened), place.location, true};
}

}  // namespace

Result<Opened> OpenEngine(const OpenOptions& options, const Clock& clock) {
  std::error_code error;
  const std::filesystem::path data_dir = std::filesystem::absolute(
      options.data_dir.empty() ? std::filesystem::path(".") : options.data_dir, error);
  if (error) {
    return Status(Code::kUnavailable,
                  fmt::format("find {}: {}", options.data_dir.string(), error.message()));
  }
  Result<StorePlace> place = FindStore(options.store, data_dir);
  if (!place.ok()) return place.status();
  if (!place->remembers) return OpenWithoutWitness(*place, options, clock);
  return OpenWithWitness(*place, data_dir, options, clock);
}

}  // namespace keymill::embed
