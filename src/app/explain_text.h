// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What can be said of a key that no keyspace has issued: what it looks like, or what it says when
// it is another service's.

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "keymill/status.h"

#include "keys/guess_kind.h"

namespace keymill::app {

// Lines for people: each guess with its time, where it tells one, and the reason.
std::string GuessesText(std::string_view key, std::span<const keys::KindGuess> guesses);

// {"key":…,"keyspace":null,"guesses":[{"what":…,"likelihood":…,"time":…,"reason":…},…]}
std::string GuessesJson(std::string_view key, std::span<const keys::KindGuess> guesses);

// The id of a snowflake service (keys/foreign_snowflake.h) taken apart, as lines or as JSON.
// kInvalidArgument when the service is unknown, or `key` is none of its ids.
Result<std::string> ForeignText(std::string_view key, std::string_view service);
Result<std::string> ForeignJson(std::string_view key, std::string_view service);

}  // namespace keymill::app
