// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Where a list of keys goes on. Redis gives as many rows at a time as it likes, and only promises
// to miss none if everything of a step is used: what does not fit on a page is named in the cursor.

#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::store::redis {

struct KeyCursor {
  std::string scan;                 // Of HSCAN; "" when that has come to its end.
  std::deque<std::string> pending;  // Keys that were found and not told yet.
};

// "" when nothing is left.
std::string CursorText(const KeyCursor& cursor);
// From the beginning for "". kInvalidArgument when it is none.
Result<KeyCursor> ReadCursor(std::string_view text);

}  // namespace keymill::store::redis
