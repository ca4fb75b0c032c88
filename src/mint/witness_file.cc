// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/witness_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/fork.h"

namespace keymill::mint {
namespace {

constexpr std::string_view kHeader = "keymill-witness 1";
constexpr std::string_view kFooter = "end";

Status SystemError(std::string_view what, const std::filesystem::path& path) {
  return {Code::kUnavailable,
          fmt::format("{} {}: {}", what, path.string(), std::generic_category().message(errno))};
}

Status Damaged(const std::filesystem::path& path) {
  return {Code::kFailedPrecondition,
          fmt::format("read {}: the witness is damaged. Restore it from another copy; only if "
                      "you are sure that the store was never rolled back, move it away",
                      path.string())};
}

// Makes a file that must not exist. What root makes belongs to the directory's owner, as SQLite's
// own files do: the service must be able to go on after root ran a verb. Only of what was made
// right here: anything else that lies there, the owner may have put there for root to give away.
int CreateOwn(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  struct stat directory {};
  if (fd < 0 || ::geteuid() != 0) return fd;
  if (::stat(path.parent_path().c_str(), &directory) == 0 &&
      ::fchown(fd, directory.st_uid, directory.st_gid) == 0) {
    return fd;
  }
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// flock has no deadline of its own.
bool LockWithin(int fd, std::chrono::milliseconds patience) {
  using Steady = std::chrono::steady_clock;
  const Steady::time_point deadline = Steady::now() + patience;
  for (;;) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    if (Steady::now() >= deadline) {
      errno = EWOULDBLOCK;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status NotLocked(const std::filesystem::path& path) {
  if (errno != EWOULDBLOCK) return SystemError("lock", path);
  return {Code::kUnavailable, fmt::format("lock {}: another process holds it (fuser {} says which)",
                                          path.string(), path.string())};
}

// Opens (and so makes) a lock file. Each use opens its own: a descriptor kept open would be
// shared with forked children, and with it the lock of a parent that died holding it.
int OpenLockFile(const std::filesystem::path& path) {
  for (;;) {
    int fd = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 || errno != ENOENT) return fd;
    fd = CreateOwn(path);
    if (fd >= 0 || errno != EEXIST) return fd;  // Otherwise another process was faster.
  }
}

}  // namespace

Result<std::unique_ptr<WitnessFile>> WitnessFile::Open(const std::filesystem::path& directory,
                                                       std::chrono::milliseconds patience) {
  std::error_code error;
  // "data/" and "data" are the same directory, but only the second has a parent to make.
  const auto own = directory.has_filename() ? directory : directory.parent_path();
  if (!std::filesystem::exists(own, error)) {
    const auto parent = own.parent_path();
    if (!parent.empty()) std::filesystem::create_directories(parent, error);
    if (::mkdir(own.c_str(), 0700) != 0 && errno != EEXIST) return SystemError("create", own);
  }
  const Descriptor probe(OpenLockFile(own / "witness.lock"));
  if (probe.get() < 0) return SystemError("open the lock file in", own);
  std::unique_ptr<WitnessFile> file(new WitnessFile(own, patience));
  if (Result<Contents> contents = file->Load(); !contents.ok()) return contents.status();
  return file;
}

Result<WitnessFile::View> WitnessFile::Peek(const std::filesystem::path& directory) {
  const WitnessFile file(directory, kPatience);
  Result<Contents> contents = file.Load();
  if (!contents.ok()) return contents.status();
  View view;
  view.locations = contents->locations;
  for (const auto& [ids, entry] : contents->keyspaces) {
    view.keyspaces.push_back({ids.first, ids.second, entry.name, entry.seen});
  }
  std::error_code error;
  view.exists = std::filesystem::exists(file.path(), error);
  return view;
}

WitnessFile::WitnessFile(std::filesystem::path directory, std::chrono::milliseconds patience)
    : directory_(std::move(directory)), path_(directory_ / "witness"), patience_(patience) {}

WitnessFile::Lock::~Lock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<WitnessFile::Lock> WitnessFile::LockDirectory() {
  // A file of its own: the holder may record in the witness meanwhile.
  const auto path = directory_ / "open.lock";
  const int fd = OpenLockFile(path);
  if (fd < 0) return SystemError("open", path);
  Lock lock(fd);
  // Longer than a change of the file: the holder may be making a schema.
  if (!LockWithin(fd, 5 * patience_)) return NotLocked(path);
  return lock;
}

Result<WitnessFile::Contents> WitnessFile::Load() const {
  Contents contents;
  std::ifstream in(path_);
  if (!in) {
    const int reason = errno;
    std::error_code error;
    if (!std::filesystem::exists(path_, error) && !error) return contents;
    errno = reason;
    return SystemError("read", path_);
  }
  std::string line;
  if (!std::getline(in, line) || line != kHeader) return Damaged(path_);
  bool ended = false;
  while (std::getline(in, line)) {
    if (ended) return Damaged(path_);
    std::istringstream fields(line);
    std::string word;
    std::string store_id;
    fields >> word;
    if (line == kFooter && !in.eof()) {  // With its line end: a cut file is not whole.
      ended = true;
    } else if (word == "store" && fields >> store_id) {
      std::string location;
      std::getline(fields >> std::ws, location);
      contents.locations[store_id] = location;
    } else if (word == "keyspace") {
      std::string id;
      Entry entry;
      if (!(fields >> store_id >> id >> entry.seen.rev >> entry.seen.next >> entry.name)) {
        return Damaged(path_);
      }
      contents.keyspaces[{store_id, id}] = entry;
    } else {
      return Damaged(path_);
    }
  }
  if (!ended) return Damaged(path_);
  return contents;
}

Status WitnessFile::Save(const Contents& contents) const {
  std::string text = fmt::format("{}\n", kHeader);
  for (const auto& [id, location] : contents.locations) {
    text += fmt::format("store {} {}\n", id, location);
  }
  for (const auto& [ids, entry] : contents.keyspaces) {
    text += fmt::format("keyspace {} {} {} {} {}\n", ids.first, ids.second, entry.seen.rev,
                        entry.seen.next, entry.name);
  }
  text += fmt::format("{}\n", kFooter);
  const auto fresh = directory_ / "witness.new";
  // A crash leaves one behind. Never written through: it might lead elsewhere.
  if (::unlink(fresh.c_str()) != 0 && errno != ENOENT) return SystemError("remove", fresh);
  const Descriptor file(CreateOwn(fresh));
  if (file.get() < 0) return SystemError("write", fresh);
  if (!WriteAll(file.get(), text) || ::fsync(file.get()) != 0) return SystemError("write", fresh);
  if (::rename(fresh.c_str(), path_.c_str()) != 0) return SystemError("replace", path_);
  const Descriptor directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) {
    return SystemError("sync", directory_);
  }
  return {};
}

template <typename Change>
Status WitnessFile::Update(Change change) {
  // A child that inherited the lock file in the locked state would keep it locked.
  const ForkHold no_fork_while_locked;
  const MutexLock lock(mu_);
  const auto lock_path = directory_ / "witness.lock";
  const Descriptor held(OpenLockFile(lock_path));
  if (held.get() < 0) return SystemError("open", lock_path);
  if (!LockWithin(held.get(), patience_)) return NotLocked(lock_path);
  Result<Contents> contents = Load();
  if (!contents.ok()) return contents.status();
  if (!change(*contents)) return {};
  for (const auto& [id, location] : bound_) contents->locations.try_emplace(id, location);
  return Save(*contents);
}

Result<std::string> WitnessFile::RememberedLocation() {
  std::string location;
  Status done = Update([&](Contents& contents) {
    if (!contents.locations.empty()) {
      location = contents.locations.begin()->second;
    } else if (!contents.keyspaces.empty()) {
      location = "a store";  // Its numbers count, wherever it was.
    }
    return false;
  });
  if (!done.ok()) return done;
  return location;
}

bool WitnessFile::Contents::Merge(std::string_view store_id, const Sighting& sighting) {
  Entry& entry = keyspaces[{std::string(store_id), sighting.keyspace_id}];
  const Witness merged = {std::max(entry.seen.rev, sighting.seen.rev),
                          std::max(entry.seen.next, sighting.seen.next)};
  if (merged == entry.seen && entry.name == sighting.name) return false;
  entry = {sighting.name, merged};
  return true;
}

Status WitnessFile::Bind(std::string_view store_id, std::string_view location,
                         const std::vector<Sighting>& sightings) {
  Status refused;
  Status done = Update([&](Contents& contents) {
    for (const auto& [id, known] : contents.locations) {
      if (known != location || id == store_id) continue;
      refused = Status(Code::kFailedPrecondition,
                       fmt::format("open {}: another store was here before (its id was {}, this "
                                   "one's is {}). Put the right one back; if the change is meant, "
                                   "move {} away",
                                   location, id, store_id, path_.string()));
      return false;
    }
    std::string& known = contents.locations[std::string(store_id)];
    bool news = known != location;
    known = location;
    for (const Sighting& each : sightings) news = contents.Merge(store_id, each) || news;
    return news;
  });
  if (!refused.ok()) return refused;
  if (done.ok()) {
    const MutexLock lock(mu_);
    bound_[std::string(store_id)] = location;
  }
  return done;
}

Result<std::vector<std::string>> WitnessFile::IdsOf(std::string_view store_id,
                                                    std::string_view name) {
  std::vector<std::string> found;
  Status done = Update([&](Contents& contents) {
    for (const auto& [ids, entry] : contents.keyspaces) {
      if (ids.first == store_id && entry.name == name) found.push_back(ids.second);
    }
    return false;
  });
  if (!done.ok()) return done;
  return found;
}

Result<std::vector<WitnessFile::Sighting>> WitnessFile::SightingsIn(std::string_view store_id) {
  std::vector<Sighting> found;
  Status done = Update([&](Contents& contents) {
    for (const auto& [ids, entry] : contents.keyspaces) {
      if (ids.first == store_id) found.push_back({ids.second, entry.name, entry.seen});
    }
    return false;
  });
  if (!done.ok()) return done;
  return found;
}

Result<Witness> WitnessFile::Read(std::string_view store_id, std::string_view keyspace_id) {
  Witness seen;
  Status done = Update([&](Contents& contents) {
    const auto found = contents.keyspaces.find({std::string(store_id), std::string(keyspace_id)});
    if (found != contents.keyspaces.end()) seen = found->second.seen;
    return false;
  });
  if (!done.ok()) return done;
  return seen;
}

Result<Witness> WitnessFile::Record(std::string_view store_id, std::string_view keyspace_id,
                                    std::string_view name, const Witness& seen) {
  Witness merged;
  Status done = Update([&](Contents& contents) {
    const bool news = contents.Merge(store_id, {std::string(keyspace_id), std::string(name), seen});
    merged = contents.keyspaces[{std::string(store_id), std::string(keyspace_id)}].seen;
    return news;
  });
  if (!done.ok()) return done;
  return merged;
}

}  // namespace keymill::mint
