// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Reads the facts from this machine. Whatever cannot be read is left as not known; nothing here
// fails, and nothing stays behind.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "keymill/clock.h"

#include "app/config/config.h"
#include "app/doctor/host_facts.h"

namespace keymill::app::doctor {

// `directory` may be missing: then the nearest one above it is measured, and nothing created.
// Takes up to two seconds on a slow disk.
PlaceFacts GatherPlace(std::string name, const std::filesystem::path& directory,
                       const Clock& clock);

// `newest_ms` and `in_keys` are the caller's to know.
ClockFacts GatherClock(const Clock& clock);

LimitFacts GatherLimits(const Settings& settings);

// Who answers at a URL: "keymill 0.1.0", or "" for anybody else.
using WhoAnswers = std::function<std::string(const std::string& url)>;

// Binds for a moment and never listens, so that no client can be received by mistake.
ListenerFacts GatherListener(const std::string& address, const WhoAnswers& who_answers);

MachineFacts GatherMachine(const Settings& settings);

}  // namespace keymill::app::doctor
