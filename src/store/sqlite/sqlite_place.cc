// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sqlite/sqlite_place.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/file_system.h"

namespace keymill::store {
namespace {

constexpr std::string_view kElsewhere =
    "choose a directory on a local disk: data_dir in keymill.yml, or --data-dir DIR";

std::string ReadAll(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool HasOption(const std::string& options, std::string_view wanted) {
  std::istringstream words(options);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == wanted) return true;
  }
  return false;
}

}  // namespace

std::string MountOptions(const std::string& mountinfo, const std::string& device) {
  // "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue", proc(5).
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id;
    std::string parent;
    std::string number;
    std::string root;
    std::string point;
    std::string options;
    words >> id >> parent >> number >> root >> point >> options;
    if (number != device) continue;
    std::string word;
    while (words >> word && word != "-") {
    }
    std::string type;
    std::string source;
    std::string own;
    words >> type >> source >> own;
    return own.empty() ? options : fmt::format("{},{}", options, own);
  }
  return "";
}

SqlitePlace GatherPlace(const std::filesystem::path& database) {
  SqlitePlace place{
      .path = database.string(), .file_system_type = 0, .mount_options = {}, .without_sync = false};
  // The file may not be there yet; its directory is.
  const std::filesystem::path directory = database.parent_path();
  struct statfs info {};
  if (::statfs(directory.c_str(), &info) == 0) {
    place.file_system_type = static_cast<std::uint32_t>(info.f_type);
  }
  struct stat file {};
  if (::stat(directory.c_str(), &file) == 0) {
    place.mount_options =
        MountOptions(ReadAll("/proc/self/mountinfo"),
                     fmt::format("{}:{}", major(file.st_dev), minor(file.st_dev)));
  }
  place.without_sync = ReadAll("/proc/self/maps").find("libeatmydata") != std::string::npos;
  return place;
}

std::vector<StoreFinding> CheckPlace(const SqlitePlace& place) {
  std::vector<StoreFinding> findings;
  const FileSystemKind kind = FileSystemKindOf(place.file_system_type);
  switch (kind.trait) {
    case FileSystemTrait::kRemote:
      findings.push_back({"filesystem", true,
                          fmt::format("{} is on {}: SQLite cannot rely on its locks", place.path,
                                      FileSystemName(kind)),
                          std::string(kElsewhere)});
      break;
    case FileSystemTrait::kVolatile:
      findings.push_back({"filesystem", true,
                          fmt::format("{} is on {}, in memory: it is gone after a restart of the "
                                      "machine",
                                      place.path, FileSystemName(kind)),
                          std::string(kElsewhere)});
      break;
    case FileSystemTrait::kUserMade:
    case FileSystemTrait::kLayer:  // Doctor warns of them.
    case FileSystemTrait::kSound:
      break;
  }
  for (const std::string_view option : {"nobarrier", "barrier=0"}) {
    if (!HasOption(place.mount_options, option)) continue;
    findings.push_back(
        {"barrier", true,
         fmt::format("{} is mounted with {}: a power cut loses commits that were "
                     "acknowledged",
                     place.path, option),
         "mount -o remount,barrier=1 \"$(findmnt -no TARGET -T " + place.path + ")\""});
  }
  if (place.without_sync) {
    findings.push_back({"fsync", true, "libeatmydata is loaded: nothing reaches the disk in time",
                        "start keymill without it: env -u LD_PRELOAD keymill serve"});
  }
  return findings;
}

}  // namespace keymill::store
