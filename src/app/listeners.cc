// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/listeners.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "api/http/reply.h"
#include "app/config/listen_address.h"
#include "app/file_limit.h"
#include "base/log.h"

namespace keymill::app {
namespace {

// Whoever is one connection too many is told so; one file too many would be everybody's trouble,
// the refiller's above all.
std::uint32_t ConnectionsThatFit(std::uint32_t wanted, std::uint32_t threads) {
  const rlim_t ours = FilesBesideConnections(threads);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted + ours) return wanted;
  const rlim_t fit = std::max<rlim_t>(limit.rlim_cur, ours + 1) - ours;
  if (fit < wanted / 2) {
    Log(LogLevel::kWarn, "serve",
        "the file limit of {} leaves room for {} connections, not {} (connections_max); raise it "
        "with ulimit -Hn or LimitNOFILE=",
        limit.rlim_cur, fit, wanted);
  }
  return static_cast<std::uint32_t>(fit);
}

std::string HttpBusyAnswer() {
  std::string answer;
  api::http::AppendReply(
      answer, api::http::StatusProblem({Code::kOverloaded, "too many connections are open"}),
      {.keep_alive = false});
  return answer;
}

std::string UrlText(std::string_view scheme, std::string_view host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string_view::npos;
  return fmt::format("{}://{}{}{}:{}", scheme, v6 ? "[" : "", host, v6 ? "]" : "", port);
}

// One that is to be opened.
struct Wish {
  std::string_view frontend;
  std::string_view scheme;
  std::string_view flags;  // What to choose another port with.
  const std::string& address;
  net::Endpoint endpoint;
};

// Errors: kAlreadyExists when somebody else has the port; kFailedPrecondition.
Result<OpenListener> Open(net::Server& server, Wish wish, net::SessionFactory sessions) {
  Result<ListenAddress> address = ParseListenAddress(wish.address);
  if (!address.ok()) return Status(Code::kFailedPrecondition, address.status().message());
  Result<std::string> host = ResolveHost(address->host);
  if (!host.ok()) {
    return Status(Code::kFailedPrecondition,
                  fmt::format("listen on {}: {}", wish.address, host.status().message()));
  }
  wish.endpoint.address = *host;
  wish.endpoint.port = address->port;
  const Result<std::uint16_t> port = server.Listen(wish.endpoint, std::move(sessions));
  if (port.code() == Code::kAlreadyExists) {
    return Status(Code::kAlreadyExists,
                  fmt::format("{}; choose another with {}", port.status().message(), wish.flags));
  }
  if (!port.ok()) return Status(Code::kFailedPrecondition, port.status().message());
  return OpenListener{std::string(wish.frontend), *port, UrlText(wish.scheme, *host, *port)};
}

}  // namespace

std::string_view Listening::UrlOf(std::string_view frontend) const {
  for (const OpenListener& listener : listeners) {
    if (listener.frontend == frontend) return listener.url;
  }
  return {};
}

std::string Listening::PortsJson(std::uint16_t grpc) const {
  std::string json;
  for (const OpenListener& listener : listeners) {
    json += fmt::format("{}\"{}\":{}", json.empty() ? "{" : ",", listener.frontend, listener.port);
  }
  if (grpc != 0) json += fmt::format("{}\"grpc\":{}", json.empty() ? "{" : ",", grpc);
  return json + "}";
}

bool RespByDefault(const Config& config) {
  return config.origins.at("listen.resp").layer == Origin::Layer::kDefault;
}

Status CheckListening(const Config& config) {
  const Settings& settings = config.settings;
  // What may be skipped is nothing to rely on.
  const bool relies_on_resp = !settings.listen_resp.empty() && !RespByDefault(config);
  if (relies_on_resp || !settings.listen_http.empty() || !settings.listen_grpc.empty() ||
      !settings.listen_links.empty()) {
    return {};
  }
  return {Code::kFailedPrecondition,
          "nothing to listen on: set listen.http, for example to 127.0.0.1:8080"};
}

namespace {

Status OpenHttp(const Settings& settings, const FrontEnds& front_ends, Listening& listening) {
  Result<OpenListener> opened = Open(*listening.server,
                                     {.frontend = "http",
                                      .scheme = "http",
                                      .flags = "--listen HOST:PORT or the variable PORT",
                                      .address = settings.listen_http,
                                      .endpoint = {.busy_answer = HttpBusyAnswer()}},
                                     front_ends.http.Sessions());
  if (!opened.ok()) return opened.status();
  listening.listeners.push_back(*std::move(opened));
  return {};
}

Status OpenResp(const Settings& settings, bool by_default, const FrontEnds& front_ends,
                Listening& listening) {
  Result<OpenListener> opened =
      Open(*listening.server,
           {.frontend = "resp",
            .scheme = "redis",
            .flags = "--listen-resp HOST:PORT, or --listen-resp \"\" for none",
            .address = settings.listen_resp,
            .endpoint = {.idle_timeout = net::kIdleForEver,
                         .busy_answer = "-ERR max number of clients reached\r\n"}},
           front_ends.resp.Sessions());
  if (opened.ok()) {
    listening.listeners.push_back(*std::move(opened));
    return {};
  }
  if (!by_default || opened.code() != Code::kAlreadyExists) return opened.status();
  Log(LogLevel::kWarn, "serve", "RESP is not spoken: {}", opened.status().message());
  return {};
}

Status OpenLinks(const Settings& settings, const FrontEnds& front_ends, Listening& listening) {
  Result<OpenListener> opened =
      Open(*listening.server,
           {.frontend = "links",
            .scheme = "http",
            .flags = "--listen-links HOST:PORT, or --listen-links \"\" for none",
            .address = settings.listen_links,
            .endpoint = {.busy_answer = HttpBusyAnswer()}},
           front_ends.links.Sessions());
  if (!opened.ok()) return opened.status();
  front_ends.links.book().SetPublicUrl(opened->url);
  listening.listeners.push_back(*std::move(opened));
  return {};
}

}  // namespace

Result<Listening> OpenListeners(const Settings& settings, bool resp_by_default,
                                const FrontEnds& front_ends) {
  net::ServerOptions options;
  options.threads =
      settings.threads != 0 ? settings.threads : std::max(1U, std::thread::hardware_concurrency());
  options.connections_max = ConnectionsThatFit(settings.connections_max, options.threads);
  Listening listening{.server = std::make_unique<net::Server>(options), .listeners = {}};
  Status opened;
  if (!settings.listen_http.empty()) opened = OpenHttp(settings, front_ends, listening);
  if (opened.ok() && !settings.listen_resp.empty()) {
    opened = OpenResp(settings, resp_by_default, front_ends, listening);
  }
  if (opened.ok() && !settings.listen_links.empty()) {
    opened = OpenLinks(settings, front_ends, listening);
  }
  if (!opened.ok()) return opened;
  listening.server->Run();
  return listening;
}

}  // namespace keymill::app
