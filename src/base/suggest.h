// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace keymill {

// The candidate that `word` was most likely meant to be: the one at the smallest edit
// distance (swaps of neighbours count one), if that is at most a third of the word's
// length, rounded up. Empty when none is near.
std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates);

// ", did you mean "length"?" or "" — to append to a message about an unknown word.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace keymill
