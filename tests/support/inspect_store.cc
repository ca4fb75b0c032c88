// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// inspect_store URL: what a store finds to say of its server, one line for each finding:
// "unsafe fsync: fsync is off: … | ALTER SYSTEM SET …". Exit 1 when the store cannot be opened.
//
// inspect_store URL identity: its id, its timeline and the one that was agreed on, a line each.
//
// inspect_store URL agree: agrees on the present timeline.

#include <chrono>
#include <cstdio>
#include <string_view>

#include <fmt/format.h>

#include "embed/stores.h"

int main(int argc, char** argv) {
  using keymill::SystemClock;
  const auto deadline = SystemClock().Monotonic() + std::chrono::seconds(10);
  const auto fail = [](const keymill::Status& status) {
    fmt::print(stderr, "{}\n", status.message());
    return 1;
  };
  const std::string_view what = argc == 3 ? argv[2] : "";
  if (argc < 2 || argc > 3 || (argc == 3 && what != "identity" && what != "agree")) {
    return fail({keymill::Code::kInvalidArgument, "usage: inspect_store URL [identity|agree]"});
  }
  const auto place = keymill::embed::FindStore(argv[1], "/");
  if (!place.ok()) return fail(place.status());
  auto store = keymill::embed::OpenStore(*place, /*create=*/true, SystemClock(), deadline);
  if (!store.ok()) return fail(store.status());
  if (!what.empty()) {
    const auto identity = (*store)->Identity(deadline);
    if (!identity.ok()) return fail(identity.status());
    fmt::print("{}\n{}\n{}\n", identity->store_id, identity->timeline, identity->agreed_timeline);
    if (what == "identity") return 0;
    const keymill::Status agreed = (*store)->AgreeOnTimeline(identity->timeline, deadline);
    return agreed.ok() ? 0 : fail(agreed);
  }
  const auto findings = (*store)->Inspect(deadline);
  if (!findings.ok()) return fail(findings.status());
  for (const keymill::StoreFinding& finding : *findings) {
    fmt::print("{} {}: {} | {}\n", finding.unsafe ? "unsafe" : "warning", finding.check,
               finding.says, finding.fix);
  }
  return 0;
}
