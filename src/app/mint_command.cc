// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <algorithm>

#include <fmt/format.h>

#include "app/cli.h"
#include "app/commands.h"
#include "app/config/duration.h"
#include "app/http_client.h"
#include "app/output.h"
#include "app/resp_client.h"

namespace keymill::app {
namespace {

// Between two looks at whether the output still takes keys: they are not to be wasted.
constexpr std::uint64_t kChunk = 1U << 20;
constexpr std::chrono::milliseconds kLook{1'000};

int MintFromServer(const MintFlags& flags, std::chrono::milliseconds patience) {
  const auto sink = [](std::string_view lines) {
    WriteData(lines);
    return DataIsWritten();
  };
  if (IsRespUrl(flags.server)) {
    const RespMint ask{.url = flags.server,
                       .keyspace = flags.keyspace,
                       .count = flags.count,
                       .connect_timeout = std::min(RespMint().connect_timeout, patience),
                       .idle_timeout = patience};
    const Status minted = MintOverResp(ask, sink);
    return minted.ok() ? kExitOk : Fail(minted);
  }
  const HttpMint ask{.url = flags.server,
                     .keyspace = flags.keyspace,
                     .count = flags.count,
                     .connect_timeout = std::min(HttpMint().connect_timeout, patience),
                     .idle_timeout = patience};
  const Status minted = MintOverHttp(ask, sink);
  return minted.ok() ? kExitOk : Fail(minted);
}

// Until all are there, the output takes no more, or none came for `patience`.
Status MintAll(mint::Engine& mill, mint::Keyspace& keyspace, std::uint64_t count,
               std::chrono::milliseconds patience) {
  std::uint64_t got = 0;
  const auto sink = [&](std::string_view lines) {
    got += static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
    WriteData(lines);
  };
  MonotonicTime progress = SystemClock().Monotonic();
  while (got < count && DataIsWritten()) {
    const std::uint64_t before = got;
    const MonotonicTime deadline = SystemClock().Monotonic() + std::min(kLook, patience);
    Status minted = mill.Mint(keyspace, std::min(count - got, kChunk), deadline, sink);
    const MonotonicTime now = SystemClock().Monotonic();
    if (got > before) progress = now;
    // What comes back before its deadline is a verdict, not a wait.
    if (minted.ok() || (now >= deadline && now - progress < patience)) continue;
    if (got == 0) return minted;
    return {minted.code(), fmt::format("got {} of {} keys: {}", got, count, minted.message())};
  }
  return {};
}

}  // namespace

int RunMint(const MintFlags& flags) {
  const auto patience = ParseDuration(flags.timeout);
  if (!patience || patience->count() == 0) {
    return Fail(
        {Code::kInvalidArgument,
         fmt::format("--timeout \"{}\": use a duration such as 500ms or 30s", flags.timeout)});
  }
  if (!flags.server.empty()) return MintFromServer(flags, *patience);
  // Just what is asked for: nothing is left to be given back.
  Result<embed::Opened> opened = OpenToUse(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  mint::Engine& mill = *opened->engine;
  Result<mint::Keyspace*> keyspace = mill.Lookup(flags.keyspace);
  if (keyspace.code() == Code::kNotFound) return Fail(NoSuchKeyspace(mill, flags.keyspace));
  if (!keyspace.ok()) return Fail(keyspace.status());
  const Status minted = MintAll(mill, **keyspace, flags.count, *patience);
  mill.Close();
  return minted.ok() ? kExitOk : Fail(minted);
}

}  // namespace keymill::app
