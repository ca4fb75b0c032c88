// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// How keys look in an answer.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/http/reply.h"

namespace keymill::api::http {

enum class KeyFormat : std::uint8_t {
  kBare,    // One key and nothing else.
  kText,    // One key per line.
  kJson,    // {"keyspace":…,"keys":[…]}
  kStream,  // One key per line, in chunks: the only one whose answer is not held in memory. Not
            // for HTTP/1.0, which has no chunks.
};

// What stands behind each key.
std::string_view KeySeparator(KeyFormat format);

// A whole answer with `keys`, which have a separator behind each.
// REQUIRES: there is at least one; not for kStream.
void AppendKeysAnswer(std::string& output, KeyFormat format, std::string_view keyspace,
                      std::string_view keys, const ReplyContext& context);

// The body of such an answer with keys that have an end of line behind each. Only kText and kJson.
// REQUIRES: there is at least one.
std::string KeysBody(KeyFormat format, std::string_view keyspace, std::string_view lines);

// Whole answers with one key each, to HTTP/1.1 requests whose connection goes on. `lines` are
// keys, `size` bytes each, with an end of line behind each.
// REQUIRES: there is at least one; not for kStream.
void AppendKeyAnswers(std::string& output, KeyFormat format, std::string_view keyspace,
                      std::string_view lines, std::size_t size);

// The head of a stream. Chunks follow.
void AppendStreamHead(std::string& output, const ReplyContext& context);

}  // namespace keymill::api::http
