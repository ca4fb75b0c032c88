// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/target.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <netdb.h>
#include <sys/time.h>
#include <unistd.h>

#include "load/http_protocol.h"
#include "load/resp_protocol.h"

namespace keymill::load {
namespace {

constexpr timeval kReachTimeout{.tv_sec = 3, .tv_usec = 0};

Status Bad(std::string_view url, std::string_view why) {
  return {Code::kInvalidArgument, fmt::format("read URL \"{}\": {}", url, why)};
}

bool IsPort(std::string_view text) {
  if (text.empty() || text.size() > 5) return false;
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return false;
  const int port = std::stoi(std::string(text));
  return port >= 1 && port <= 65535;
}

// Bytes that may stand in a request line as they are.
bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

// HOST, HOST:PORT, [V6] or [V6]:PORT.
Status ReadAuthority(std::string_view authority, Target& target) {
  std::string_view host = authority;
  std::string_view rest;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return Bad(target.url, "[ without ]");
    host = authority.substr(1, end - 1);
    rest = authority.substr(end + 1);
  } else if (const std::size_t colon = authority.find(':'); colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    rest = authority.substr(colon);
  }
  if (host.empty() || !IsPlain(host)) return Bad(target.url, "it names no host");
  if (!rest.empty()) {
    if (!IsPort(rest.substr(1)) || rest.front() != ':') {
      return Bad(target.url, "the port is no number from 1 to 65535");
    }
    target.port = rest.substr(1);
  }
  target.host = host;
  return Status::Ok();
}

}  // namespace

Result<Target> ParseTarget(std::string_view url, const TargetRequest& request) {
  Target target;
  target.url = url;
  std::string_view rest = url;
  bool resp = false;
  if (const std::size_t end = url.find("://"); end != std::string_view::npos) {
    const std::string_view scheme = url.substr(0, end);
    resp = scheme == "redis";
    if (scheme != "http" && !resp) {
      return Bad(url, fmt::format("{} is not spoken here; use http or redis", scheme));
    }
    rest.remove_prefix(end + 3);
  }
  target.port = resp ? "6380" : "80";
  const std::string_view authority = rest.substr(0, rest.find('/'));
  const std::string_view path = rest.substr(authority.size());
  if (Status status = ReadAuthority(authority, target); !status.ok()) return status;
  if (resp) {
    if (path.size() > 1) return Bad(url, "a redis URL has no path here; name the keyspace");
    target.protocol = std::make_shared<RespProtocol>(
        request.keyspace.empty() ? "default" : request.keyspace, request.count);
    return target;
  }
  if (!IsPlain(path)) return Bad(url, "the path holds bytes that must be %-encoded");
  if (request.keyspace.empty()) {
    target.protocol =
        std::make_shared<HttpProtocol>("GET", authority, path.size() <= 1 ? "/get-key" : path);
    return target;
  }
  if (path.size() > 1) return Bad(url, "a path and a keyspace exclude each other");
  if (!IsPlain(request.keyspace) || request.keyspace.find_first_of("/?#%") != std::string::npos) {
    return Status(Code::kInvalidArgument,
                  fmt::format("\"{}\" is no name of a keyspace", request.keyspace));
  }
  target.protocol = std::make_shared<HttpProtocol>(
      "POST", authority,
      fmt::format("/v1/keyspaces/{}/keys?count={}", request.keyspace, request.count));
  return target;
}

Status Reach(Target& target) {
  const auto failed = [&](std::string_view why) {
    return Status(Code::kUnavailable, fmt::format("connect to {}: {}", target.url, why));
  };
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found);
  if (error != 0) return failed(::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> guard(found, ::freeaddrinfo);
  int why = 0;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    std::memcpy(&target.address, each->ai_addr, each->ai_addrlen);
    target.address_size = each->ai_addrlen;
    const int fd = ::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return failed(std::generic_category().message(errno));
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kReachTimeout, sizeof kReachTimeout);
    const bool reached = ::connect(fd, each->ai_addr, each->ai_addrlen) == 0;
    why = errno;
    ::close(fd);
    if (reached) return Status::Ok();
  }
  return failed(why == EINPROGRESS ? "no answer" : std::generic_category().message(why));
}

}  // namespace keymill::load
