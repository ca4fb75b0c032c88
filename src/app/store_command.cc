// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill store copy FROM TO`: moves everything to another store, for good.

#include <chrono>
#include <string>

#include <fmt/format.h>

#include "app/cli.h"
#include "app/commands.h"
#include "app/output.h"
#include "app/progress_bar.h"
#include "embed/store_copy.h"

namespace keymill::app {

int RunStoreCopy(const StoreCopyFlags& flags) {
  Result<Config> config = ReadConfig(flags.common, /*serving=*/false);
  if (!config.ok()) return Fail(config.status());
  const Settings& settings = config->settings;
  Result<embed::CopyReport> report = Status(Code::kInternal, "not begun");
  {
    ProgressBar bar;
    report = embed::CopyStore(
        {.from = flags.from,
         .to = flags.to,
         .data_dir = settings.data_dir,
         .accept_unsafe_store = settings.accept_unsafe_store,
         .instead = flags.instead,
         .on_wait =
             [](std::chrono::milliseconds most) {
               Say("keymill: the server was started anew: waiting {} s for every running instance "
                   "to compare what it has seen\n",
                   std::chrono::ceil<std::chrono::seconds>(most).count());
             }},
        SystemClock(), [&](const std::string& name, double share) { bar.Draw(name, share); });
  }
  if (!report.ok()) return Fail(report.status());
  if (report->was_done) {
    Say("keymill: {} was copied to {} before; nothing was left to do.\n", report->from, report->to);
  } else {
    const std::string keys = report->keys == 0 ? ""
                                               : fmt::format(", {} {}", report->keys,
                                                             report->keys == 1 ? "key" : "keys");
    Say("keymill: {} is sealed, and {} goes on in its place: {} {}, {} {} of the ledger{}.\n",
        report->from, report->to, report->keyspaces,
        report->keyspaces == 1 ? "keyspace" : "keyspaces", report->rows,
        report->rows == 1 ? "row" : "rows", keys);
  }
  Say("Name it in the configuration of every instance and restart them one by one: until then "
      "they hand out what they hold, and no more.\n");
  return kExitOk;
}

}  // namespace keymill::app
