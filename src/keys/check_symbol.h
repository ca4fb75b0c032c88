// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One extra symbol that tells a mistyped key from a real one without asking anybody.
// Crockford's base32 uses his own: the value mod 37, from the 32 symbols and `*~$=U`.
// All others use ISO/IEC 7064's hybrid system MOD M+1,M with M the alphabet's size.

#pragma once

#include <string_view>

#include "keymill/status.h"

#include "keys/alphabet.h"

namespace keymill::keys {

// kInvalidArgument when the alphabet's size is odd: the hybrid system then misses some
// single errors, and a check that looks like one but is none is worse than nothing.
Status CheckSymbolAllowed(const Alphabet& alphabet);

// The symbol to append to `body`.
// REQUIRES: CheckSymbolAllowed(alphabet).ok(), body is not empty and has only its symbols.
char ComputeCheckSymbol(const Alphabet& alphabet, std::string_view body);

}  // namespace keymill::keys
