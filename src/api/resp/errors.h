// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Failures as RESP errors. Where Redis has a text for one, it is that text: clients look at it.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keymill/status.h"

#include "mint/keyspace.h"

namespace keymill::api::resp {

inline constexpr std::string_view kNotAnInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kNotPositive = "ERR value is out of range, must be positive";
inline constexpr std::string_view kSyntaxError = "ERR syntax error";

// The error that a Status is (status_map.h): its first word, and what the client may know of it.
std::string ErrorOf(const Status& status);

// An unknown keyspace, with how to create it.
std::string NoSuchKeyspace(std::string_view name);

// Why `keyspace` gives no keys, by its verdict.
std::string NoKeys(const Status& verdict, mint::Keyspace& keyspace);

// As Redis says it of a command, and of a command's first argument.
std::string UnknownCommand(std::span<const std::string_view> words);
std::string UnknownSubcommand(std::string_view command, std::string_view subcommand);
std::string WrongArity(std::string_view command);

}  // namespace keymill::api::resp
