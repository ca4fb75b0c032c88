// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One table from Status to every protocol that we speak.

#pragma once

#include <string_view>

#include "keymill/status.h"

namespace keymill::api {

struct StatusMapping {
  Code code = Code::kOk;
  int http = 200;
  std::string_view slug;  // The `type` of an RFC 9457 problem. Stable: programs compare it.
  std::string_view title;
  int grpc = 0;                 // google.rpc.Code
  std::string_view resp;        // The first word of a RESP error.
  int retry_after_seconds = 0;  // 0: retrying does not help.
};

const StatusMapping& MapStatus(Code code);

// What a client is told of a failure whose message is for the log only, because it may hold
// statements and paths of the store. Empty when the message is for the client.
std::string_view PublicDetail(Code code);

}  // namespace keymill::api
