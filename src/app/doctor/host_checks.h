// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// From facts about the machine to findings. Pure: nothing here looks at the machine.

#pragma once

#include "app/doctor/finding.h"
#include "app/doctor/host_facts.h"

namespace keymill::app::doctor {

// The directory itself: there or possible, ours, writable, closed to others.
Finding CheckDirectory(const PlaceFacts& place);

// What it lies on: locks that work, a disk that outlasts the process, mounted for writing.
Finding CheckFileSystem(const PlaceFacts& place);

// Whether there is room for the database, its journal and the witness.
Finding CheckSpace(const PlaceFacts& place);

// How long a commit waits for the disk.
Finding CheckSync(const PlaceFacts& place);

// The clock matters to kinds that make keys from the time. The others count: for them a clock
// that nobody corrects is a note, and only one that is plainly wrong a warning, since dates and
// forecasts come from it.
Finding CheckClock(const ClockFacts& clock);

Finding CheckFileLimit(const LimitFacts& limits);
Finding CheckListener(const ListenerFacts& listener);
// The same of RESP's. `by_default`: nobody has asked for this address.
Finding CheckRespListener(const ListenerFacts& listener, bool by_default);
Finding CheckBacklog(const MachineFacts& machine);
Finding CheckCpus(const MachineFacts& machine);
Finding CheckMemory(const MachineFacts& machine);
Finding CheckAes(const MachineFacts& machine);

}  // namespace keymill::app::doctor
