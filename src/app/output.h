// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the program says: data on standard output, messages on standard error. Neither
// throws. Data that cannot be written is a failure of the verb; a message that cannot be
// written is nobody's loss.

#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "keymill/status.h"

namespace keymill::app {

// Opens whichever of the descriptors 0, 1 and 2 the caller left closed, so that no file of
// ours gets its number: what is meant for standard output would be written into it. Reading
// from such a descriptor finds the end, writing to it fails. Call first in main.
void OccupyStandardDescriptors();

// Buffers `text` for standard output. After a failure nothing more is written.
void WriteData(std::string_view text);

// Whether everything so far was written or buffered.
bool DataIsWritten();

// Writes out what is buffered.
// Errors:
//   kUnavailable  now or earlier, something could not be written; the message says why.
Status FinishData();

// Writes `text` to standard error, ignoring failures.
void WriteMessage(std::string_view text);

template <typename... Args>
void Print(fmt::format_string<Args...> format, Args&&... args) {
  WriteData(fmt::format(format, std::forward<Args>(args)...));
}

// The same for a message.
template <typename... Args>
void Say(fmt::format_string<Args...> format, Args&&... args) {
  WriteMessage(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace keymill::app
