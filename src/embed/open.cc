// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "embed/open.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/fork.h"
#include "mint/witness_file.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace keymill::embed {
namespace {

constexpr std::chrono::seconds kOpenTimeout{2};

Result<Opened> OpenMemory(const OpenOptions& options, const Clock& clock) {
  mint::EngineOptions engine = options.engine;
  engine.location = "memory:";
  auto opened =
      mint::Engine::Open(std::move(engine), store::OpenMemoryStore(clock), nullptr, clock);
  if (!opened.ok()) return opened.status();
  return Opened{*std::move(opened), "memory:", true};
}

// Opens the file, or creates it where that cannot hide a loss (S1).
Result<std::unique_ptr<Store>> OpenOrCreate(const std::filesystem::path& path,
                                            const OpenOptions& options, mint::WitnessFile& witness,
                                            const Clock& clock, bool& created) {
  const MonotonicTime deadline = clock.Monotonic() + kOpenTimeout;
  auto opened = store::OpenSqliteStore({.path = path, .create = false}, clock, deadline);
  if (opened.code() != Code::kNotFound) return opened;
  Result<std::string> known = witness.RememberedLocation();
  if (!known.ok()) return known.status();
  if (!known->empty()) {
    return Status(
        Code::kFailedPrecondition,
        fmt::format("the database {} is missing, but {} remembers {}. Starting anew "
                    "would hand out keys that are out already. Restore the database, or "
                    "mount the right volume; to start anew on purpose, move {} away",
                    path.string(), witness.path().string(), *known, witness.path().string()));
  }
  if (!options.create) {
    return Status(Code::kFailedPrecondition,
                  fmt::format("the database {} does not exist, and is not to be created: mount the "
                              "right volume, name another data_dir or store, or allow it once "
                              "with store_create: auto",
                              path.string()));
  }
  created = true;
  return store::OpenSqliteStore({.path = path, .create = true}, clock, deadline);
}

Result<Opened> OpenSqlite(const OpenOptions& options, std::string_view name, const Clock& clock) {
  std::error_code error;
  const std::filesystem::path data_dir = std::filesystem::absolute(options.data_dir, error);
  if (error) {
    return Status(Code::kUnavailable,
                  fmt::format("find {}: {}", options.data_dir.string(), error.message()));
  }
  const std::filesystem::path path = (data_dir / name).lexically_normal();
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
  Opened result;
  auto opened = OpenOrCreate(path, options, **witness, clock, result.created);
  if (!opened.ok()) return opened.status();
  result.location = fmt::format("sqlite:{}", path.string());
  mint::EngineOptions engine = options.engine;
  engine.location = result.location;
  auto mill = mint::Engine::Open(std::move(engine), *std::move(opened), *std::move(witness), clock);
  if (!mill.ok()) return mill.status();
  result.engine = *std::move(mill);
  return result;
}

}  // namespace

Result<Opened> OpenEngine(const OpenOptions& options, const Clock& clock) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (options.store == "memory:") return OpenMemory(options, clock);
  if (options.store.starts_with(kSqlite) && options.store.size() > kSqlite.size()) {
    return OpenSqlite(options, std::string_view(options.store).substr(kSqlite.size()), clock);
  }
  return Status(Code::kInvalidArgument,
                fmt::format("store \"{}\": use sqlite:PATH or memory:", options.store));
}

}  // namespace keymill::embed
