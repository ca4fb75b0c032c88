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

}  // namespace keymill::store
