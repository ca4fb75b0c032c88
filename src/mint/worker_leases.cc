// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/worker_leases.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.h"
#include "base/random.h"
#include "base/utc_text.h"
#include "keys/snowflake_layout.h"

namespace keymill::mint {
namespace {

constexpr char kMark = '#';

// A window that begins this many milliseconds from now or less is waited for.
constexpr std::uint64_t kWaitMs = 200;

// Of all worker ids, one in so many stays free for those that have none yet.
constexpr std::uint32_t kSpareShare = 4;

// A stop gives time back, which the end of a line does not show. With no id free, so many lines are
// looked at in detail at a time, and the next ones when it is tried again.
constexpr std::uint32_t kReturnedLooks = 16;

std::optional<std::uint32_t> WorkerOf(std::string_view line, std::string_view keyspace) {
  if (!IsWorkerLine(line) || KeyspaceOfLine(line) != keyspace) return {};
  const std::string_view digits = line.substr(keyspace.size() + 1);
  std::uint32_t worker = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), worker);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return {};
  return worker;
}

bool Contains(const std::vector<std::uint32_t>& workers, std::uint32_t worker) {
  return std::find(workers.begin(), workers.end(), worker) != workers.end();
}

std::uint32_t RandomBelow(std::uint32_t end) {
  std::array<std::uint8_t, 4> bytes{};
  RandomBytes(bytes);
  return (std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 |
          std::uint32_t{bytes[3]} << 24) %
         end;
}

}  // namespace

std::string WorkerLineName(std::string_view keyspace, std::uint32_t worker) {
  return fmt::format("{}{}{}", keyspace, kMark, worker);
}

bool IsWorkerLine(std::string_view name) { return name.find(kMark) != std::string_view::npos; }

std::string_view KeyspaceOfLine(std::string_view name) { return name.substr(0, name.find(kMark)); }

void WorkerWindow::Add(const Block& block) {
  if (!Joins(block)) held.push_back({block.id, block.first, 0});
  held.back().end = block.first + block.count;
}

NewKeyspace NewWorkerLine(const KeyspaceRecord& keyspace, std::string_view name,
                          std::uint64_t first) {
  return {.name = std::string(name),
          .id = RandomHex(16),
          .recipe = keyspace.recipe,
          .recipe_hash = keyspace.recipe_hash,
          .secret = keyspace.secret,
          .first = first,
          .end = keyspace.end};
}

Status CheckWorkerChoice(std::string_view keyspace, const SnowflakeLayout& layout,
                         const WorkerChoice& choice) {
  const std::uint32_t end = keys::SnowflakeWorkersEnd(layout);
  if (!choice.fixed || *choice.fixed < end) return {};
  return {Code::kFailedPrecondition,
          fmt::format("keyspace {}: worker_id is {}, and the largest that fits its layout is {}; "
                      "give another one, or none",
                      keyspace, *choice.fixed, end - 1)};
}

WorkerLeases::WorkerLeases(const KeyspaceRecord& record, const SnowflakeLayout& layout,
                           WorkerChoice choice)
    : keyspace_(record),
      layout_(layout),
      choice_(choice),
      next_look_(RandomBelow(keys::SnowflakeWorkersEnd(layout))) {}

Result<WorkerWindow> WorkerLeases::Take(const Supply& supply, std::uint64_t now,
                                        std::uint32_t ticks, bool extra,
                                        const std::vector<std::uint32_t>& besides) {
  const std::uint32_t workers = keys::SnowflakeWorkersEnd(layout_);
  std::vector<std::uint32_t> wanted;
  if (!extra && choice_.fixed) {
    // Of this instance only: others serve it, and those who ask are told.
    if (Status fits = CheckWorkerChoice(keyspace_.name, layout_, choice_); !fits.ok()) {
      return Status(Code::kOverloaded, fits.message());
    }
    wanted.push_back(*choice_.fixed);
  } else if (withheld_) {
    wanted.push_back(withheld_->worker);
  } else if (!extra && choice_.preferred && *choice_.preferred < workers) {
    wanted.push_back(*choice_.preferred);
  }
  // Of those even one that is taken may be free in part: a clean stop gives its time back.
  for (const std::uint32_t worker : wanted) {
    std::uint64_t taken_until = 0;
    if (!Contains(besides, worker)) {
      Result<Tried> tried = TryTake(supply, worker, now, ticks);
      if (!tried.ok()) return tried.status();
      if (tried->window) return *std::move(tried->window);
      taken_until = tried->taken_until;
    }
    if (!extra && choice_.fixed) return InUse(worker, taken_until);
  }
  return TakeAny(supply, now, ticks, extra, besides);
}

// After a crash nobody can tell whether its owner is gone: only that its time will be.
Status WorkerLeases::InUse(std::uint32_t worker, std::uint64_t until) const {
  const std::string time =
      until == 0 ? "" : fmt::format(" until {}", UtcText(keys::SnowflakeTimeMs(layout_, until)));
  return {Code::kOverloaded,
          fmt::format("mint {}: worker id {} is in use{}, by another instance or by one that "
                      "crashed; wait, or give each instance its own worker_id, or none",
                      keyspace_.name, worker, time)};
}

Result<WorkerWindow> WorkerLeases::TakeAny(const Supply& supply, std::uint64_t now,
                                           std::uint32_t ticks, bool extra,
                                           const std::vector<std::uint32_t>& besides) {
  const std::uint32_t workers = keys::SnowflakeWorkersEnd(layout_);
  Result<std::vector<KeyspaceRecord>> records =
      supply.store.store().ListKeyspaces(supply.store.Deadline());
  if (!records.ok()) return records.status();
  std::map<std::uint32_t, std::string> used;  // Worker, and the line's id.
  for (const KeyspaceRecord& record : *records) {
    const auto worker = WorkerOf(record.name, keyspace_.name);
    if (worker && record.next > now) used[*worker] = record.id;
  }
  const auto free = workers - std::min(workers, static_cast<std::uint32_t>(used.size()));
  // With none free, too: the one that somebody gives back now is not for those that have one.
  if (extra && free <= workers / kSpareShare) {
    return Status(Code::kOverloaded,
                  fmt::format("mint {}: of {} worker ids {} are free; the last ones are left to "
                              "other instances",
                              keyspace_.name, workers, free));
  }
  // From the top downwards: those with an ordinal of their own begin at 0. Those without begin at
  // different places, so that many that start at once do not all try the same.
  const std::uint32_t spread = RandomBelow(workers / 2 + 1);
  for (std::uint32_t i = 0; i < workers; ++i) {
    const std::uint32_t worker = workers - 1 - (spread + i) % workers;
    if (used.contains(worker) || Contains(besides, worker)) continue;
    Result<Tried> tried = TryTake(supply, worker, now, ticks);
    if (!tried.ok()) return tried.status();
    if (tried->window) return *std::move(tried->window);
  }
  // Whoever could not be looked at is the first one next time.
  for (std::uint32_t i = 0, looks = 0; i < workers && looks < kReturnedLooks;
       ++i, next_look_ = (next_look_ + 1) % workers) {
    const std::uint32_t worker = next_look_;
    const auto line = used.find(worker);
    if (line == used.end() || Contains(besides, worker)) continue;
    ++looks;
    Result<bool> returned = IsReturned(supply, line->second, now);
    if (!returned.ok()) return returned.status();
    if (!*returned) continue;
    Result<Tried> tried = TryTake(supply, worker, now, ticks);
    if (!tried.ok()) return tried.status();
    if (tried->window) return *std::move(tried->window);
  }
  return Status(Code::kOverloaded,
                fmt::format("mint {}: all {} worker ids are in use by other instances; stop some, "
                            "or make a keyspace with more worker_bits",
                            keyspace_.name, workers));
}

Result<bool> WorkerLeases::IsReturned(const Supply& supply, const std::string& line_id,
                                      std::uint64_t now) {
  const Result<std::optional<LedgerRow>> row =
      supply.store.store().FindBlock(line_id, now, supply.store.Deadline());
  if (!row.ok()) return row.status();
  return row->has_value() && (*row)->state == BlockState::kReturned;
}

Result<WorkerLeases::Tried> WorkerLeases::TryTake(const Supply& supply, std::uint32_t worker,
                                                  std::uint64_t now, std::uint32_t ticks) {
  Tried tried;
  Result<KeyspaceRecord> line = Line(supply, worker);
  if (!line.ok()) return line.status();
  const std::uint64_t wait = std::max<std::uint64_t>(kWaitMs / layout_.unit_ms, 1);
  // Twice: time that was given back long ago comes first, and hides what was given back since.
  for (int attempt = 0; attempt < 2; ++attempt) {
    WorkerWindow window{worker, line->id, line->name, {}};
    Result<Block> block = Reserve(supply, window, now, ticks, {});
    if (block.code() == Code::kExhausted) return tried;
    if (!block.ok()) return block.status();
    if (block->first <= now + wait) {
      window.Add(*block);
      tried.window = std::move(window);
      return tried;
    }
    tried.taken_until =
        tried.taken_until == 0 ? block->first : std::min(tried.taken_until, block->first);
    // If that fails the time is burned, which is always allowed.
    if (!GiveBack(supply, window, block->id, block->first).ok()) return tried;
  }
  return tried;
}

Result<Block> WorkerLeases::More(const Supply& supply, WorkerWindow& window, std::uint64_t now,
                                 std::uint32_t ticks, std::uint64_t used) {
  // Not the last one: the next grant may extend its row.
  std::vector<std::string> spent;
  for (std::size_t i = 0; i + 1 < window.held.size() && window.held[i].end <= used; ++i) {
    spent.push_back(window.held[i].block_id);
  }
  Result<Block> block = Reserve(supply, window, now, ticks, spent);
  if (!block.ok()) return block;
  window.held.erase(window.held.begin(),
                    window.held.begin() + static_cast<std::ptrdiff_t>(spent.size()));
  return block;
}

Status WorkerLeases::GiveBack(const Supply& supply, const WorkerWindow& window,
                              const std::string& block_id, std::uint64_t first_unused) {
  Result<Witness> witness = supply.store.Witnessed(window.line_id);
  if (!witness.ok()) return witness.status();
  Result<Witness> seen = supply.store.store().GiveBack({.keyspace_id = window.line_id,
                                                        .block_id = block_id,
                                                        .first_unused = first_unused,
                                                        .witness = *witness,
                                                        .timeline = supply.timeline},
                                                       supply.store.Deadline());
  if (!seen.ok()) return seen.status();
  // What was to be used once the witness knows of it is in that row, and anybody's now.
  if (withheld_ && withheld_->block.id == block_id) withheld_.reset();
  // Older is safe: it only notices less.
  supply.store.Record(window.line_id, window.line_name, *seen).Ignore();
  return {};
}

Result<KeyspaceRecord> WorkerLeases::Line(const Supply& supply, std::uint32_t worker) {
  const std::string name = WorkerLineName(keyspace_.name, worker);
  // The witness first: what it knows now has been in the store before.
  Result<std::vector<std::string>> seen = supply.store.IdsOf(name);
  if (!seen.ok()) return seen.status();
  std::uint64_t seen_until = 0;
  for (const std::string& id : *seen) {
    Result<Witness> witness = supply.store.Witnessed(id);
    if (!witness.ok()) return witness.status();
    seen_until = std::max(seen_until, witness->next);
  }
  Result<KeyspaceRecord> line = supply.store.store().FindKeyspace(name, supply.store.Deadline());
  if (line.code() == Code::kNotFound && seen->empty()) {
    line = supply.store.store().CreateKeyspace(NewWorkerLine(keyspace_, name, 0),
                                               supply.store.Deadline());
  }
  if (!line.ok() && line.code() != Code::kNotFound) return line;
  const bool known = line.ok() && (seen->empty() ||
                                   std::find(seen->begin(), seen->end(), line->id) != seen->end() ||
                                   line->first >= seen_until);
  if (known) return line;
  return Status(Code::kQuarantined,
                fmt::format("worker id {} of keyspace {} is gone from the store: it went back to "
                            "an older copy",
                            worker, keyspace_.name));
}

Result<Block> WorkerLeases::Reserve(const Supply& supply, const WorkerWindow& window,
                                    std::uint64_t now, std::uint32_t ticks,
                                    const std::vector<std::string>& spent) {
  if (withheld_ && withheld_->timeline != supply.timeline) withheld_.reset();
  Result<Block> block = Status(Code::kNotFound, "");
  if (withheld_ && withheld_->line_id == window.line_id) {
    block = std::move(withheld_->block);
    withheld_.reset();
  } else {
    Result<Witness> witness = supply.store.Witnessed(window.line_id);
    if (!witness.ok()) return witness.status();
    block = supply.store.store().Reserve({.keyspace_id = window.line_id,
                                          .recipe_hash = keyspace_.recipe_hash,
                                          .count = ticks,
                                          .witness = *witness,
                                          .timeline = supply.timeline,
                                          .instance = supply.store.instance(),
                                          .reservation = RandomHex(16),
                                          .above = 0,
                                          .skip_to = now,
                                          .spent = spent},
                                         supply.store.Deadline());
    if (!block.ok()) return block;
  }
  // W1: the witness knows of it before the first id can leave.
  if (Status kept = supply.store.Record(window.line_id, window.line_name, block->seen);
      !kept.ok()) {
    withheld_ = Withheld{window.worker, window.line_id, supply.timeline, *std::move(block)};
    return kept;
  }
  return block;
}

}  // namespace keymill::mint
