// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <filesystem>

#include "keymill/clock.h"

#include "app/doctor/host_facts.h"

namespace keymill::app::doctor {

// Writes and syncs a file in `directory` some times, for at most two seconds unless a single sync
// takes longer. The file has no name, or, where the file system wants one and `may_name` allows
// it, loses it at once: however this ends, nothing is left.
SyncFacts ProbeSync(const std::filesystem::path& directory, bool may_name, const Clock& clock);

}  // namespace keymill::app::doctor
