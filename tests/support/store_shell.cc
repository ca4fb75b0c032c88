// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// store_shell URL: calls of a store, one for each line that is read, for tests that do something to
// its server in between. "-" stands for an empty word. Each answer is one line: "ok" and what was
// returned, or the name of an error and its message.
//
//   identity                                   STORE TIMELINE AGREED
//   establish KEYSPACE                         ID
//   find KEYSPACE                              ID STATE NEXT REV
//   reserve ID COUNT TIMELINE REV NEXT         FIRST COUNT REV NEXT
//   agree TIMELINE
//   patience SECONDS                           of every later call; 10 unless told

#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "embed/stores.h"

namespace keymill {
namespace {

using Words = std::vector<std::string>;

std::string Failed(const Status& status) {
  return fmt::format("{} {}", CodeName(status.code()), status.message());
}

std::string Answer(Store& store, const Words& words, std::chrono::seconds& patience) {
  const auto deadline = SystemClock().Monotonic() + patience;
  const std::string& call = words.at(0);
  if (call == "patience") {
    patience = std::chrono::seconds(std::stoul(words.at(1)));
    return "ok";
  }
  if (call == "identity") {
    const auto identity = store.Identity(deadline);
    if (!identity.ok()) return Failed(identity.status());
    return fmt::format("ok {} {} {}", identity->store_id, identity->timeline,
                       identity->agreed_timeline);
  }
  if (call == "establish") {
    const NewKeyspace keyspace{.name = words.at(1),
                               .id = RandomHex(16),
                               .recipe = "r",
                               .recipe_hash = "h",
                               .secret = "s",
                               .first = 0,
                               .end = kNumberEnd};
    const auto made = store.Establish({{{keyspace, 0, {}}}, "shell"}, deadline);
    return made.ok() ? fmt::format("ok {}", made->keyspaces.at(0).record.id)
                     : Failed(made.status());
  }
  if (call == "find") {
    const auto record = store.FindKeyspace(words.at(1), deadline);
    if (!record.ok()) return Failed(record.status());
    return fmt::format("ok {} {} {} {}", record->id, KeyspaceStateName(record->state), record->next,
                       record->rev);
  }
  if (call == "reserve") {
    ReserveRequest request;
    request.keyspace_id = words.at(1);
    request.recipe_hash = "h";
    request.count = static_cast<std::uint32_t>(std::stoul(words.at(2)));
    request.timeline = words.at(3);
    request.witness = {std::stoull(words.at(4)), std::stoull(words.at(5))};
    request.instance = "shell";
    request.reservation = RandomHex(16);
    const auto block = store.Reserve(request, deadline);
    if (!block.ok()) return Failed(block.status());
    return fmt::format("ok {} {} {} {}", block->first, block->count, block->seen.rev,
                       block->seen.next);
  }
  if (call == "agree") {
    const Status agreed = store.AgreeOnTimeline(words.at(1), deadline);
    return agreed.ok() ? "ok" : Failed(agreed);
  }
  return "invalid no such call";
}

int Run(const std::string& url) {
  std::chrono::seconds patience(10);
  const auto deadline = SystemClock().Monotonic() + patience;
  const auto place = embed::FindStore(url, "/");
  if (!place.ok()) {
    fmt::print("{}\n", Failed(place.status()));
    return 1;
  }
  auto store = embed::OpenStore(*place, /*create=*/true, SystemClock(), deadline);
  if (!store.ok()) {
    fmt::print("{}\n", Failed(store.status()));
    return 1;
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream parts(line);
    Words words{std::istream_iterator<std::string>(parts), {}};
    for (std::string& word : words) {
      if (word == "-") word.clear();
    }
    fmt::print("{}\n", Answer(**store, words, patience));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace keymill

int main(int argc, char** argv) { return argc == 2 ? keymill::Run(argv[1]) : 2; }
