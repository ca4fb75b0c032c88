// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a server shows at /metrics.

#pragma once

#include <string>

#include "api/http/service.h"
#include "api/links/service.h"
#include "api/resp/service.h"
#include "app/grpc_listener.h"
#include "app/listeners.h"

namespace keymill::app {

// Figures of the mint, the front ends, their connections and the process. From memory only: the
// store is not asked. `listening` may be null while nobody listens.
std::string MetricsPage(api::http::Service& service, api::resp::RespService& resp,
                        const GrpcListener& grpc, api::links::LinkService& links,
                        const Listening* listening);

}  // namespace keymill::app
