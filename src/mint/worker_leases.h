// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The worker ids of a snowflake keyspace. In the store each one is a line of numbers of its own,
// named after the keyspace and the id: the numbers are units of time, and whoever has reserved a
// block of them has that time for itself. So there is no lease that could expire while its owner
// sleeps: a worker id is free when all that was ever reserved of it lies in the past, and its next
// owner starts above. All that protects numbers protects these: witness, revisions, timelines,
// quarantine, moving a store.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "mint/keyspace.h"

namespace keymill::mint {

// "ids#17". No keyspace that somebody asks for can have such a name.
std::string WorkerLineName(std::string_view keyspace, std::uint32_t worker);
bool IsWorkerLine(std::string_view name);
// "ids" of "ids#17". REQUIRES: IsWorkerLine(name)
std::string_view KeyspaceOfLine(std::string_view name);

// A line whose time begins at `first`. `keyspace` is the one that it is of.
NewKeyspace NewWorkerLine(const KeyspaceRecord& keyspace, std::string_view name,
                          std::uint64_t first);

// Which worker id an instance would like to have.
struct WorkerChoice {
  std::optional<std::uint32_t> fixed = {};      // This one and no other.
  std::optional<std::uint32_t> preferred = {};  // This one if it is free.
};

// Whether the worker id that was asked for fits. kFailedPrecondition: somebody must set another.
Status CheckWorkerChoice(std::string_view keyspace, const SnowflakeLayout& layout,
                         const WorkerChoice& choice);

// A worker id with time of its own.
struct WorkerWindow {
  // One row of the store's ledger, as far as it is ours: units of time.
  struct Held {
    std::string block_id;
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };

  // Whether the block adds to the row that was there last. A row is of one owner and has no holes,
  // so that what lies between is ours too: the answer that granted it was lost.
  [[nodiscard]] bool Joins(const Block& block) const {
    return !held.empty() && held.back().block_id == block.id;
  }
  void Add(const Block& block);

  std::uint32_t worker = 0;
  std::string line_id;
  std::string line_name;
  std::vector<Held> held;  // Upwards.
};

// For the refiller: one thread at a time.
class WorkerLeases {
 public:
  // `record` is the keyspace's own.
  WorkerLeases(const KeyspaceRecord& record, const SnowflakeLayout& layout, WorkerChoice choice);

  // A worker id that nobody uses, with `ticks` units of its time from `now` on. `extra`: not the
  // first of this instance, so that it is only had while plenty are free. `besides`: those that
  // this instance has already. What it returns is in the witness.
  // Errors: those of Store::Reserve, and
  //   kOverloaded   the one that was asked for, or every one, is in use: it becomes free when its
  //                 owner is gone. Or the fixed one does not fit the layout: others serve it.
  //   kQuarantined  a line has vanished from the store: it went back.
  Result<WorkerWindow> Take(const Supply& supply, std::uint64_t now, std::uint32_t ticks,
                            bool extra, const std::vector<std::uint32_t>& besides);

  // More time for the same worker id, for the caller to add or to give back. It need not adjoin
  // what was there before, when that lies in the past, or when somebody else had it meanwhile.
  // Rows of the window that end at or below `used` are settled with it.
  Result<Block> More(const Supply& supply, WorkerWindow& window, std::uint64_t now,
                     std::uint32_t ticks, std::uint64_t used);

  // What of the row lies at and above `first_unused` was not used.
  Status GiveBack(const Supply& supply, const WorkerWindow& window, const std::string& block_id,
                  std::uint64_t first_unused);

 private:
  // Take, for whoever has no wish, or cannot have it.
  Result<WorkerWindow> TakeAny(const Supply& supply, std::uint64_t now, std::uint32_t ticks,
                               bool extra, const std::vector<std::uint32_t>& besides);
  // The line of this worker id, made if there is none.
  Result<KeyspaceRecord> Line(const Supply& supply, std::uint32_t worker);
  // Whether the time that is now was given back.
  static Result<bool> IsReturned(const Supply& supply, const std::string& line_id,
                                 std::uint64_t now);
  struct Tried {
    std::optional<WorkerWindow> window = {};
    std::uint64_t taken_until = 0;  // Without a window; 0: nobody knows.
  };
  // Time of the line, or no window when it begins so late that somebody else has it.
  Result<Tried> TryTake(const Supply& supply, std::uint32_t worker, std::uint64_t now,
                        std::uint32_t ticks);
  // Why the fixed one is not to be had now.
  [[nodiscard]] Status InUse(std::uint32_t worker, std::uint64_t until) const;
  Result<Block> Reserve(const Supply& supply, const WorkerWindow& window, std::uint64_t now,
                        std::uint32_t ticks, const std::vector<std::string>& spent);

  const KeyspaceRecord keyspace_;  // As it was found; only what never changes is used.
  const SnowflakeLayout layout_;
  const WorkerChoice choice_;

  // W1: reserved, but not in the witness yet. It is kept until it is, and nothing more is reserved
  // of its line meanwhile: a full disk would otherwise cost a window at every attempt.
  struct Withheld {
    std::uint32_t worker = 0;
    std::string line_id;
    std::string timeline;  // S4: in another one it may be somebody else's.
    Block block;
  };
  std::optional<Withheld> withheld_;

  std::uint32_t next_look_;  // With all in use, the worker id that is looked at in detail next.
};

}  // namespace keymill::mint
