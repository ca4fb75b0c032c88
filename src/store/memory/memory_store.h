// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A store that lives and dies with the process. For tests and for trying things out: it
// keeps no promise across a restart, and whoever opens it is told so.

#pragma once

#include <memory>

#include "keymill/clock.h"
#include "keymill/store.h"

namespace keymill::store {

std::unique_ptr<Store> OpenMemoryStore(const Clock& clock = SystemClock());

// What tests do to a memory store, which has no server to be stopped.
// REQUIRES, of all: `store` comes from OpenMemoryStore.

// Another timeline begins, as when a server is started anew. The agreed one stays what it was.
void ChangeTimelineForTest(Store& store);

// Everything that the store holds, its agreed timeline included.
class MemoryCopy;
std::shared_ptr<const MemoryCopy> CopyForTest(Store& store);

// The store goes back to what it was. Its timeline stays; a server would begin another one.
void PutBackForTest(Store& store, const MemoryCopy& copy);

}  // namespace keymill::store
