// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// From a store URL to a running engine.

#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "mint/engine.h"

namespace keymill::embed {

struct OpenOptions {
  std::filesystem::path data_dir;
  std::string store;
  bool create = true;
  mint::EngineOptions engine;
};

struct Opened {
  std::unique_ptr<mint::Engine> engine;
  std::string location;  // "sqlite:/srv/data/keymill.db"
  bool created = false;
};

// Errors:
//   kInvalidArgument     the URL names no store that this build has.
//   kFailedPrecondition  refused: a database that vanished, another one in its place, a file
//                        of another program, a newer schema. The message says what to do.
//   kUnavailable         not reachable now.
Result<Opened> OpenEngine(const OpenOptions& options, const Clock& clock = SystemClock());

}  // namespace keymill::embed
