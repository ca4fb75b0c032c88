// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The command line: one subcommand per verb.

#pragma once

#include <string_view>

#include "keymill/status.h"

namespace keymill::app {

// The exit codes that scripts rely on.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitRefused = 78;  // EX_CONFIG: configuration or store refused.

std::string_view Version();

// The commit that this program was built from, with "-dirty" if something was changed since;
// "unknown" when the build had no repository.
std::string_view Commit();

// Says what went wrong on stderr and returns the exit code that fits it.
int Fail(const Status& status);

int RunCli(int argc, char** argv);

}  // namespace keymill::app
