// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill healthcheck`: asks /readyz, for a container that has no curl.

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "app/cli.h"
#include "app/commands.h"
#include "app/config/duration.h"
#include "app/config/listen_address.h"
#include "app/config/quote.h"
#include "app/http_client.h"
#include "app/output.h"

namespace keymill::app {
namespace {

// Where this machine reaches the server that is configured here.
Result<std::string> ConfiguredUrl(const CommonFlags& common) {
  const Result<Config> config = LoadServeConfig(common);
  if (!config.ok()) return config.status();
  const std::string& listen = config->settings.listen_http;
  const Result<ListenAddress> address = ParseListenAddress(listen);
  if (!address.ok() || address->port == 0) {
    return Status(Code::kInvalidArgument,
                  fmt::format("listen.http is \"{}\", which names no port; say where the server "
                              "is: keymill healthcheck http://HOST:PORT",
                              listen));
  }
  return UrlOf(*address);
}

// The lines of failed checks begin with [-].
std::string FailedChecks(std::string_view body) {
  std::string failed;
  while (!body.empty()) {
    const std::size_t end = std::min(body.find('\n'), body.size());
    const std::string_view line = body.substr(0, end);
    if (line.starts_with("[-]")) failed += fmt::format("{}{}", failed.empty() ? "" : "; ", line);
    body.remove_prefix(std::min(end + 1, body.size()));
  }
  return failed;
}

}  // namespace

int RunHealthcheck(const HealthcheckFlags& flags) {
  const auto timeout = ParseDuration(flags.timeout);
  if (!timeout || timeout->count() == 0) {
    return Fail(
        {Code::kInvalidArgument,
         fmt::format("--timeout \"{}\": use a duration such as 500ms or 2s", flags.timeout)});
  }
  std::string url = flags.url;
  if (url.empty()) {
    Result<std::string> configured = ConfiguredUrl(flags.common);
    if (!configured.ok()) return Fail(configured.status());
    url = *std::move(configured);
  }
  const Result<HttpAnswer> answer =
      GetOverHttp({.url = url, .path = "/readyz?verbose", .timeout = *timeout});
  if (answer.status().message().starts_with("connect to")) {
    return Fail({answer.code(),
                 fmt::format("{}; keymill serve starts a server", answer.status().message())});
  }
  if (!answer.ok()) return Fail(answer.status());
  if (answer->status == 200) {
    Print("{} is ready\n", url);
    return kExitOk;
  }
  const std::string failed = FailedChecks(answer->body);
  return Fail({Code::kUnavailable, fmt::format("{} is not ready: {}{}{}", url, answer->status,
                                               failed.empty() ? "" : " ", Printable(failed, 500))});
}

}  // namespace keymill::app
