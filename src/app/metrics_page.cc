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

void AddConnections(const Listening& listening, MetricFamilies& families) {
  MetricFamily& open = families.Gauge("keymill_connections", "Connections that are open.");
  MetricFamily& accepted =
      families.Counter("keymill_connections_accepted_total", "Connections accepted so far.");
  MetricFamily& refused =
      families.Counter("keymill_connections_refused_total",
                       "Of those, the ones that were told at once that there are too many.");
  for (const OpenListener& listener : listening.listeners) {
    const MetricLabels labels = {{"frontend", listener.frontend}};
    const net::Server::Counts counts = listening.server->counts(listener.port);
    open.Add(static_cast<double>(counts.open), labels);
    accepted.Add(static_cast<double>(counts.accepted), labels);
    refused.Add(static_cast<double>(counts.turned_away), labels);
  }
}

}  // namespace

std::string MetricsPage(api::http::Service& service, api::resp::RespService& resp,
                        const GrpcListener& grpc, api::links::LinkService& links,
                        const Listening* listening) {
  MetricFamilies families;
  AddBuildInfo(families);
  AddMint(service.engine(), families);
  service.metrics().Collect(families);
  resp.metrics().Collect(families);
  grpc.Collect(families);
  links.metrics().Collect(families);
  links.book().Collect(families);
  if (listening != nullptr) AddConnections(*listening, families);
  ProcessMetrics().Collect(families);
  return MetricsText(families);
}

}  // namespace keymill::app
