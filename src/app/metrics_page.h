// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a server shows at /metrics.

#pragma once

#include <string>

#include "api/http/service.h"
#include "net/server.h"

namespace keymill::app {

// Figures of the mint, the front end, the connections and the process. From memory only: the
// store is not asked. `server` may be null while there is none.
std::string MetricsPage(api::http::Service& service, const net::Server* server);

}  // namespace keymill::app
