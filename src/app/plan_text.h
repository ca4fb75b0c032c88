// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A plan as people read it, and as programs do. `plan`, `keyspace show` and `keyspace create` use
// the same words.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keymill/keyspace.h"

#include "keys/plan.h"

namespace keymill::app {

// 1000/s, 5k/s, 90/m, 100/h, 2.5M/d: keys per second. Nothing when it is none of these, is 0, or
// is more than 10^15 a second.
std::optional<double> ParseRate(std::string_view text);

// "112 years", "40 days", "5.2 hours", "90 seconds"; whole from 10 on.
std::string SpanText(double seconds);

// "1 in 3,522", "1 in 1.8", "1 in 4.1e+18", "certain", "none".
std::string OddsText(double odds);

// "3.5 trillion", "99,999".
std::string AmountText(double amount);

using PlanRow = std::pair<std::string_view, std::string>;

// Lifetime, guess, collision and storage: what a keyspace is shown with. `rate_text` is "" without
// a rate: then lifetimes at a few rates are told. `issued` adds the odds with so many keys issued.
std::vector<PlanRow> PlanNature(const keys::Plan& plan, std::string_view rate_text,
                                std::optional<double> issued);

// All lines of `keymill plan`, without the warnings.
std::vector<PlanRow> PlanRows(const Recipe& recipe, const keys::Plan& plan,
                              std::string_view rate_text);

// The plan as one JSON object; numbers that may pass 2^53 are strings.
std::string PlanJson(const Recipe& recipe, const keys::Plan& plan, double rate);

}  // namespace keymill::app
