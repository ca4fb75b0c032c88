// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/metrics_page.h"

#include "app/cli.h"
#include "app/metrics_text.h"
#include "base/metrics.h"
#include "base/process_metrics.h"
#include "mint/engine_metrics.h"

namespace keymill::app {
namespace {

void AddBuildInfo(MetricFamilies& families) {
  families.Gauge("keymill_build_info", "Always 1; the labels say which program this is.")
      .Add(1, {{"version", std::string(Version())},
               {"commit", std::string(Commit())},
               {"compiler", __VERSION__}});
}

void AddMint(const mint::Engine* engine, MetricFamilies& families) {
  if (engine != nullptr) return mint::EngineMetrics(*engine).Collect(families);
  families.Gauge("keymill_store_up", "0: the store has not been reached yet.").Add(0);
}

void AddConnections(const net::Server& server, MetricFamilies& families) {
  const MetricLabels http = {{"frontend", "http"}};
  families.Gauge("keymill_connections", "Connections that are open.")
      .Add(static_cast<double>(server.connections()), http);
  families.Counter("keymill_connections_accepted_total", "Connections accepted so far.")
      .Add(static_cast<double>(server.accepted()), http);
  families
      .Counter("keymill_connections_refused_total",
               "Of those, the ones that were told at once that there are too many.")
      .Add(static_cast<double>(server.turned_away()), http);
}

}  // namespace

std::string MetricsPage(api::http::Service& service, const net::Server* server) {
  MetricFamilies families;
  AddBuildInfo(families);
  AddMint(service.engine(), families);
  service.metrics().Collect(families);
  if (server != nullptr) AddConnections(*server, families);
  ProcessMetrics().Collect(families);
  return MetricsText(families);
}

}  // namespace keymill::app
