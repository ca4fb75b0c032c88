// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The verbs that tell about the command line itself.

#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace keymill::app {

// The completion script for `shell`: bash, zsh or fish.
int RunCompletion(const CLI::App& app, std::string_view shell);

// The manual page of the program; with `directory`, that of every verb, each in a file there.
int RunManpage(const CLI::App& app, const std::string& directory, std::string_view examples);

}  // namespace keymill::app
