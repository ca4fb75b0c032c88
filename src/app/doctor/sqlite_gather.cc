// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/doctor/sqlite_checks.h"

namespace keymill::app::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPatience{1'000};

void AddFile(std::vector<FileFacts>& files, const fs::path& path, int access) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return;
  FileFacts facts;
  facts.path = path.string();
  facts.mode = info.st_mode & 07777;
  if (::faccessat(AT_FDCWD, path.c_str(), access, AT_EACCESS) != 0) facts.access_error = errno;
  files.push_back(std::move(facts));
}

}  // namespace

fs::path DatabasePath(const fs::path& data_dir, std::string_view store_url) {
  constexpr std::string_view kScheme = "sqlite:";
  return (data_dir / store_url.substr(kScheme.size())).lexically_normal();
}

SqliteFacts GatherSqlite(const Settings& settings, const fs::path& data_dir, std::string flags,
                         const Clock& clock) {
  SqliteFacts facts;
  const fs::path path = DatabasePath(data_dir, settings.store);
  facts.path = path.string();
  facts.may_create = settings.store_create == "auto";
  facts.configured = settings.keyspaces;
  facts.flags = std::move(flags);
  facts.user = ::geteuid();
  facts.now_ms = clock.WallMs();
  facts.witness_path = (data_dir / "witness").string();
  AddFile(facts.files, path, R_OK | W_OK);
  AddFile(facts.files, facts.witness_path, R_OK);
  AddFile(facts.files, data_dir / "witness.lock", R_OK | W_OK);
  AddFile(facts.files, data_dir / "open.lock", R_OK | W_OK);
  // The witness first: what it knows now has been in the store before.
  Result<mint::WitnessFile::View> witness = mint::WitnessFile::Peek(data_dir);
  facts.witness_status = witness.status();
  if (witness.ok()) facts.witness = *std::move(witness);
  facts.seen = store::InspectSqlite(path, clock, kPatience);
  return facts;
}

}  // namespace keymill::app::doctor
