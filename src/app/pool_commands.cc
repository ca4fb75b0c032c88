// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill pool fill`, `stat` and `release`: keys that are made ahead and kept in the store.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "app/cli.h"
#include "app/commands.h"
#include "app/output.h"
#include "app/progress_bar.h"
#include "base/json.h"
#include "load/quantity.h"

namespace keymill::app {
namespace {

constexpr std::array<KeyState, 5> kPoolStates = {KeyState::kAvailable, KeyState::kReserved,
                                                 KeyState::kUsed, KeyState::kReleased,
                                                 KeyState::kAlias};

Status Describe(mint::Engine& engine, const Status& status, std::string_view name) {
  return status.code() == Code::kNotFound ? NoSuchKeyspace(engine, name, "--kind pool") : status;
}

std::uint64_t In(const KeyTable::Counts& counts, KeyState state) {
  return counts.at(static_cast<std::size_t>(state));
}

// Of the keys that the pool was filled with, how many are left to hand out.
double PercentLeft(const KeyTable::Counts& counts) {
  const std::uint64_t left = In(counts, KeyState::kAvailable);
  const std::uint64_t filled = left + In(counts, KeyState::kReserved) +
                               In(counts, KeyState::kUsed) + In(counts, KeyState::kReleased);
  return filled == 0 ? 0 : 100.0 * static_cast<double>(left) / static_cast<double>(filled);
}

void PrintStat(const mint::KeyspaceInfo& info, bool json) {
  const KeyTable::Counts& counts = *info.counts;
  if (!json) {
    Print("{:<10} {}\n", "keyspace", info.record.name);
    for (const KeyState state : kPoolStates) {
      Print("{:<10} {}\n", KeyStateName(state), In(counts, state));
    }
    Print("{:<10} {:.2f}%\n{:<10} {}\n", "left", PercentLeft(counts), "capacity", info.capacity);
    return;
  }
  // Numbers that may pass 2^53 are strings.
  std::string states;
  for (const KeyState state : kPoolStates) {
    states += fmt::format("{}\"{}\":\"{}\"", states.empty() ? "" : ",", KeyStateName(state),
                          In(counts, state));
  }
  Print("{{\"keyspace\":{},\"keys\":{{{}}},\"percent_left\":{:.2f},\"capacity\":\"{}\"}}\n",
        JsonQuote(info.record.name), states, PercentLeft(counts), info.capacity);
}

}  // namespace

int RunPoolFill(const PoolFlags& flags) {
  Result<embed::Opened> opened = OpenToUse(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  mint::Engine& engine = *opened->engine;
  std::uint64_t added = 0;
  Result<mint::PoolFill> fill = Status(Code::kInternal, "not begun");
  {
    ProgressBar bar;
    fill = engine.FillPool(flags.keyspace, flags.count, [&](std::uint64_t so_far) {
      added = so_far;
      const double share = static_cast<double>(so_far) / static_cast<double>(flags.count);
      bar.Draw(fmt::format("{} of {} keys", load::CountText(so_far), load::CountText(flags.count)),
               std::min(share, 1.0));
    });
  }
  if (!fill.ok()) {
    // What was added stays, whatever came then.
    if (added > 0) Say("keymill: {} keys were added to {}\n", added, flags.keyspace);
    return Fail(Describe(engine, fill.status(), flags.keyspace));
  }
  if (flags.json) {
    Print("{{\"keyspace\":{},\"added\":\"{}\"}}\n", JsonQuote(flags.keyspace), fill->added);
  } else {
    Print("added {} keys to {}\n", fill->added, flags.keyspace);
  }
  return kExitOk;
}

int RunPoolStat(const PoolFlags& flags) {
  Result<embed::Opened> opened = OpenToLook(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  const Result<mint::KeyspaceInfo> info = opened->engine->Describe(flags.keyspace);
  if (!info.ok()) return Fail(Describe(*opened->engine, info.status(), flags.keyspace));
  if (info->recipe.kind != Kind::kPool || !info->counts) {
    return Fail({Code::kInvalidArgument,
                 fmt::format("keyspace {0} is of kind {1}, and only a pool is stocked: use keymill "
                             "keyspace show {0}",
                             flags.keyspace, KindName(info->recipe.kind))});
  }
  PrintStat(*info, flags.json);
  return kExitOk;
}

int RunPoolRelease(const PoolFlags& flags) {
  Result<embed::Opened> opened = OpenToUse(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  mint::Engine& engine = *opened->engine;
  const Result<mint::Release> release =
      engine.ReleaseKey(flags.keyspace, flags.key, flags.generation);
  if (!release.ok()) return Fail(Describe(engine, release.status(), flags.keyspace));
  if (release->verdict != mint::ReleaseVerdict::kReleased) {
    return Fail({Code::kAlreadyExists, release->detail});
  }
  Print("{}\n", flags.key);
  return kExitOk;
}

}  // namespace keymill::app
