// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::app {

struct RespMint {
  std::string url;  // redis://HOST[:PORT]; without a port it is 6380.
  std::string keyspace;
  std::uint64_t count = 1;
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds idle_timeout{30'000};  // Without an answer of the server.
};

// Whether a server is to be asked over RESP.
bool IsRespUrl(std::string_view url);

// Asks a server for keys with KEYMILL.MINT and hands them on as lines as they come; `sink` returns
// false when it wants no more. What the sink got is issued, whatever is returned.
// Errors: as MintOverHttp.
Status MintOverResp(const RespMint& ask, const std::function<bool(std::string_view)>& sink);

}  // namespace keymill::app
