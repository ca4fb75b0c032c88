// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <fmt/format.h>

#include "app/cli.h"
#include "app/commands.h"
#include "app/http_client.h"
#include "app/output.h"

namespace keymill::app {
namespace {

int MintFromServer(const MintFlags& flags) {
  const Status minted = MintOverHttp(flags.server, flags.keyspace, flags.count, WriteData);
  return minted.ok() ? kExitOk : Fail(minted);
}

}  // namespace

int RunMint(const MintFlags& flags) {
  if (!flags.server.empty()) return MintFromServer(flags);
  Result<Config> config = ReadConfig(flags.common, /*serving=*/false);
  if (!config.ok()) return Fail(config.status());
  // Just what is asked for: nothing is left to be given back.
  mint::EngineOptions engine;
  engine.refill.ahead_of_need = false;
  Result<embed::Opened> opened = OpenConfigured(config->settings, engine);
  if (!opened.ok()) return Fail(opened.status());
  mint::Engine& mill = *opened->engine;
  Result<mint::Keyspace*> keyspace = mill.Lookup(flags.keyspace);
  if (keyspace.code() == Code::kNotFound) {
    return Fail({Code::kNotFound,
                 fmt::format("there is no keyspace \"{0}\"; create it with: keymill keyspace "
                             "create {0}",
                             flags.keyspace)});
  }
  if (!keyspace.ok()) return Fail(keyspace.status());
  // Not less than a busy store may need, for as long as keys keep coming.
  const MonotonicTime deadline = SystemClock().Monotonic() + std::chrono::minutes(10);
  const Status minted = mill.Mint(**keyspace, flags.count, deadline, WriteData);
  mill.Close();
  return minted.ok() ? kExitOk : Fail(minted);
}

}  // namespace keymill::app
