// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The witness: a small fsynced file beside, but not inside, the store. It remembers the
// highest revision and next number that this host has seen of each keyspace, so that a
// store that was rolled back is noticed.

#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keymill/status.h"
#include "keymill/store.h"

#include "base/mutex.h"

namespace keymill::mint {

// Several processes may share one file: every change locks it, reads it, merges by maximum
// and replaces it whole. Safe for concurrent use by multiple threads.
class WitnessFile {
 public:
  // How long to wait for another process that has the file locked. Whoever holds it needs a
  // few milliseconds; one that was stopped in the middle must not stop everybody else.
  static constexpr std::chrono::milliseconds kPatience{1'000};

  // Opens DIRECTORY/witness; creates the directory (for its owner only) if need be, but no
  // file before there is something to say.
  // Errors:
  //   kFailedPrecondition  the file is damaged: the message says what to do.
  //   kUnavailable         the directory cannot be made or read.
  // Every other call may answer kUnavailable when the lock was not to be had in time.
  static Result<std::unique_ptr<WitnessFile>> Open(const std::filesystem::path& directory,
                                                   std::chrono::milliseconds patience = kPatience);

  // What a witness says, for people who look.
  struct View {
    bool exists = false;
    std::map<std::string, std::string, std::less<>> locations;  // By store id.
    struct Seen {
      std::string store_id;
      std::string keyspace_id;
      std::string name;
      Witness seen;
    };
    std::vector<Seen> keyspaces;
  };
  // Reads DIRECTORY/witness, which is replaced whole, without a lock and without creating
  // anything.
  // Errors: as Open.
  static Result<View> Peek(const std::filesystem::path& directory);

  WitnessFile(const WitnessFile&) = delete;
  WitnessFile& operator=(const WitnessFile&) = delete;

  // While one lives, no other process opens or creates a store with this directory.
  // A child forked meanwhile would inherit it: keep a ForkHold as long.
  class Lock {
   public:
    explicit Lock(int fd) : fd_(fd) {}
    ~Lock();
    Lock(Lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Lock& operator=(Lock&&) = delete;

   private:
    int fd_;
  };
  Result<Lock> LockDirectory();

  // The location of a store that this witness remembers, or "" when it remembers none.
  Result<std::string> RememberedLocation();

  // What was seen of a keyspace.
  struct Sighting {
    std::string keyspace_id;
    std::string name;
    Witness seen;
  };

  // Ties the witness to the store at `location` and merges what was seen there, durably and in
  // one change; every later Record says so again, should the file have vanished meanwhile.
  // Errors: kFailedPrecondition when another store was seen at this very location before.
  Status Bind(std::string_view store_id, std::string_view location,
              const std::vector<Sighting>& sightings = {});

  // The ids of the keyspaces that were seen under this name: one, or none, unless a store went
  // back unnoticed.
  Result<std::vector<std::string>> IdsOf(std::string_view store_id, std::string_view name);

  // All that was seen in a store.
  Result<std::vector<Sighting>> SightingsIn(std::string_view store_id);

  // The highest that any process using this file has seen.
  Result<Witness> Read(std::string_view store_id, std::string_view keyspace_id);

  // Merges `seen` and makes it durable; returns the merged value.
  Result<Witness> Record(std::string_view store_id, std::string_view keyspace_id,
                         std::string_view name, const Witness& seen);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  struct Entry {
    std::string name;
    Witness seen;
  };
  struct Contents {
    std::map<std::string, std::string, std::less<>> locations;  // By store id.
    std::map<std::pair<std::string, std::string>, Entry> keyspaces;

    // Returns whether anything is new.
    bool Merge(std::string_view store_id, const Sighting& sighting);
  };

  WitnessFile(std::filesystem::path directory, std::chrono::milliseconds patience);

  Result<Contents> Load() const;
  Status Save(const Contents& contents) const;
  // Runs `change` on the contents under the file lock; saves when it returns true.
  template <typename Change>
  Status Update(Change change) KEYMILL_EXCLUDES(mu_);

  const std::filesystem::path directory_;
  const std::filesystem::path path_;
  const std::chrono::milliseconds patience_;
  Mutex mu_;  // One thread of this process at a time: the others need not even ask.
  std::map<std::string, std::string, std::less<>> bound_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::mint
