// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/etcd_options.h"

#include <fmt/format.h>

namespace keymill::store::etcd {
namespace {

constexpr std::uint16_t kUsualPort = 2379;

Status Invalid(std::string_view why) {
  return {Code::kInvalidArgument, fmt::format("read the etcd URL: {}", why)};
}

Status ReadSwitch(std::string_view name, std::string_view value, bool& out) {
  if (value != "on" && value != "off") {
    return Invalid(fmt::format("{} is on or off, not \"{}\"", name, value));
  }
  out = value == "on";
  return {};
}

Status ReadTls(const StoreUrl& url, TlsOptions& tls) {
  bool said = false;
  for (const auto& [name, value] : url.query) {
    if (name == "tls") {
      said = true;
      if (Status read = ReadSwitch(name, value, tls.on); !read.ok()) return read;
    } else if (name == "verify") {
      if (Status read = ReadSwitch(name, value, tls.verify); !read.ok()) return read;
    } else if (name == "cacert") {
      tls.cacert = value;
    } else if (name == "cert") {
      tls.cert = value;
    } else if (name == "key") {
      tls.key = value;
    } else {
      return Invalid(fmt::format(
          "there is no parameter \"{}\"; there are tls, verify, cacert, cert and key", name));
    }
  }
  const bool files = !tls.cacert.empty() || !tls.cert.empty() || !tls.key.empty();
  if (files && said && !tls.on) return Invalid("tls=off goes with no cacert, cert or key");
  if (tls.cert.empty() != tls.key.empty()) return Invalid("cert and key go together");
  if (files) tls.on = true;
  if (!tls.verify && !tls.on) return Invalid("verify=off means something with tls=on only");
  return {};
}

}  // namespace

Result<EtcdOptions> ReadOptions(const StoreUrl& url) {
  EtcdOptions options;
  options.members = url.hosts;
  if (options.members.empty()) options.members.push_back({"127.0.0.1", kUsualPort});
  for (HostPort& member : options.members) {
    if (member.port == 0) member.port = kUsualPort;
  }
  std::string_view prefix = url.path;
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (!prefix.empty()) options.prefix = prefix;
  options.user = url.user;
  options.password = url.password;
  if (options.user.empty() && !options.password.empty()) {
    return Invalid("a password without a user");
  }
  if (Status read = ReadTls(url, options.tls); !read.ok()) return read;
  return options;
}

std::string MemberText(const HostPort& member) {
  const bool v6 = member.host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", member.host, member.port)
            : fmt::format("{}:{}", member.host, member.port);
}

}  // namespace keymill::store::etcd
