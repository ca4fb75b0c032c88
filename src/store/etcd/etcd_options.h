// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Where an etcd cluster is and how to speak to it, as the store's URL says it:
// etcd://user:password@h1:2379,h2:2379/prefix?tls=on&cacert=…&cert=…&key=…&verify=off

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "keymill/status.h"

#include "store/store_url.h"

namespace keymill::store::etcd {

struct TlsOptions {
  bool on = false;
  bool verify = true;  // The member's certificate and its name.
  std::string cacert;  // A file of certificates to trust; "": those of the system.
  std::string cert;    // A client's certificate, and its key: both or neither.
  std::string key;
};

struct EtcdOptions {
  std::vector<HostPort> members;  // At least one, each with its port.
  std::string prefix = "keymill";
  std::string user;  // "": no authentication.
  std::string password;
  TlsOptions tls;
  // Calls at one time; more wait for one of these to end.
  std::uint32_t connections_max = 8;
};

// Errors: kInvalidArgument, with the parameters that there are. Never names the password.
Result<EtcdOptions> ReadOptions(const StoreUrl& url);

// "10.0.0.1:2379", "[::1]:2379": for messages.
std::string MemberText(const HostPort& member);

}  // namespace keymill::store::etcd
