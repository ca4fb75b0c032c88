// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <pthread.h>

namespace keymill {

// What `top -H`, `perf` and a debugger call this thread from now on.
// REQUIRES: at most 15 bytes.
inline void NameThisThread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace keymill
