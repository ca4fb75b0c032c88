// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/store_obstacle.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace keymill::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kElsewhere = "choose another directory with --data-dir";

Status Refuse(const fs::path& path, std::string_view said, std::string_view advice) {
  return {Code::kFailedPrecondition, fmt::format("use {}: {}; {}", path.string(), said, advice)};
}

std::string Reason(int error) { return std::generic_category().message(error); }

bool StaysSo(int error) {
  static constexpr std::array kErrors = {EACCES, EPERM,        EROFS,      ENOTDIR, ENOENT,
                                         ELOOP,  ENAMETOOLONG, EOPNOTSUPP, EINVAL};
  return std::find(kErrors.begin(), kErrors.end(), error) != kErrors.end();
}

std::string Advice(int error) {
  if (error == EACCES || error == EPERM) {
    return fmt::format("give user {} the right to write there, or {}", ::geteuid(), kElsewhere);
  }
  if (error == EROFS) return fmt::format("mount it writable, or {}", kElsewhere);
  return std::string(kElsewhere);
}

// A file that is there must be ours to use as `mode` (R_OK, W_OK) says.
Status CheckFile(const fs::path& path, int mode = R_OK | W_OK) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return errno == ENOENT || !StaysSo(errno) ? Status()
                                              : Refuse(path, Reason(errno), Advice(errno));
  }
  if (S_ISDIR(info.st_mode)) {
    return Refuse(path, "this is a directory, not a file", "move it away");
  }
  if (::access(path.c_str(), mode) == 0 || !StaysSo(errno)) {
    return {};
  }
  return Refuse(path, Reason(errno), Advice(errno));
}

// The directory, or, while it is missing, whether it can be made.
Status CheckDirectory(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) {
      return StaysSo(errno) ? Refuse(path, Reason(errno), Advice(errno)) : Status();
    }
    const fs::path parent = path.parent_path();
    if (parent.empty() || parent == path) return {};
    if (Status above = CheckDirectory(parent); !above.ok()) return above;
    // Only the file system knows whether it takes a directory: /proc looks writable.
    if (::mkdir(path.c_str(), 0700) == 0 || !StaysSo(errno)) return {};
    return Refuse(path, fmt::format("cannot be created: {}", Reason(errno)), Advice(errno));
  }
  if (!S_ISDIR(info.st_mode)) return Refuse(path, "this is not a directory", kElsewhere);
  if (::access(path.c_str(), W_OK | X_OK) == 0 || !StaysSo(errno)) {
    return {};
  }
  return Refuse(path, Reason(errno), Advice(errno));
}

Status CheckDatabase(const fs::path& path) {
  if (Status usable = CheckFile(path); !usable.ok()) return usable;
  static constexpr std::string_view kMagic{"SQLite format 3\0", 16};
  std::array<char, kMagic.size()> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  const auto size = static_cast<std::size_t>(file.gcount());
  // An empty file is a database that nobody has written to yet.
  if (size == 0 || std::string_view(head.data(), size) == kMagic) return {};
  return Refuse(path, "this file is not a SQLite database",
                "move it away, restore the database, or name another with --store sqlite:PATH");
}

}  // namespace

Status FindObstacle(const fs::path& data_dir, std::string_view store_url) {
  static constexpr std::string_view kSqlite = "sqlite:";
  if (!store_url.starts_with(kSqlite)) return {};
  std::error_code error;
  fs::path directory = fs::absolute(data_dir, error).lexically_normal();
  if (error) return {};
  if (!directory.has_filename()) directory = directory.parent_path();  // "data/"
  const fs::path database = (directory / store_url.substr(kSqlite.size())).lexically_normal();
  if (Status status = CheckDirectory(directory); !status.ok()) return status;
  // The witness is replaced, not written to.
  if (Status status = CheckFile(directory / "witness", R_OK); !status.ok()) return status;
  if (Status status = CheckFile(directory / "witness.lock"); !status.ok()) return status;
  if (Status status = CheckDirectory(database.parent_path()); !status.ok()) return status;
  return CheckDatabase(database);
}

}  // namespace keymill::app
