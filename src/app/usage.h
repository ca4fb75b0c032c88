// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What is said of a command line that cannot be understood.

#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace keymill::app {

// The verbs of `app`, in the order of the help.
std::vector<std::string> VerbNames(const CLI::App& app);

// "Verbs: serve, mint, …." in as many lines as it takes.
std::string VerbList(const CLI::App& app);

// Why the words after the program's name begin with no verb of `app`, with the verb that was
// probably meant and those that there are; "" when they do. Looks into verbs that have verbs
// of their own.
std::string UnknownVerb(const CLI::App& app, int argc, const char* const* argv);

// What `app` did not understand. An unknown flag comes before whatever else is wrong,
// with the flag that was probably meant or where to find those that there are.
std::string UsageError(const CLI::App& app, const CLI::ParseError& error);

}  // namespace keymill::app
