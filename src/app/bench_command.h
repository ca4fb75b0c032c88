// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <functional>

namespace CLI {  // NOLINT: the library's name.
class App;
}  // namespace CLI

namespace keymill::app {

// Adds the verb `bench` to `app`. When the command line names it, `run` becomes what to do;
// that returns the exit code. `run` outlives the parsing.
void AddBench(CLI::App& app, std::function<int()>& run);

}  // namespace keymill::app
