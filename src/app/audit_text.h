// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The record of a key as one line: for people, for spreadsheets, for programs.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "keymill/key_table.h"

namespace keymill::app {

enum class AuditFormat : std::uint8_t { kText, kCsv, kJson };

// The line that comes first, or "". Lines end with a newline.
std::string AuditHeader(AuditFormat format);

// One key: its keyspace, the key, state, since when, instance, owner, end and generation. What a
// key does not have is empty, and left out of JSON. CSV is quoted as RFC 4180 says.
std::string AuditLine(AuditFormat format, std::string_view keyspace, const KeyRow& row);

}  // namespace keymill::app
