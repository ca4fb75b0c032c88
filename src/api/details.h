// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What clients are told of failures, in the words that all front ends share.

#pragma once

#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::api {

// What of `status` is for the client. What it should not see goes to the log, as said by
// `front_end`.
std::string_view ClientDetail(const Status& status, std::string_view front_end);

// How to come to a keyspace that is not there.
std::string NoKeyspaceDetail(std::string_view name);

// What to say of `name` when its store was sealed. Not whereto it went: that may be internal.
std::string MovedDetail(std::string_view name);

}  // namespace keymill::api
