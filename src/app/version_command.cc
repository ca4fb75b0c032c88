// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include <string>

#include <boost/version.hpp>
#include <nlohmann/json.hpp>
#include <openssl/crypto.h>

#include "keymill/keyspace.h"

#include "app/cli.h"
#include "app/commands.h"
#include "app/output.h"
#include "embed/stores.h"

namespace keymill::app {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif

}  // namespace

int RunVersion(bool json) {
  if (!json) {
    Print("keymill {}\n", Version());
    return kExitOk;
  }
  using Json = nlohmann::ordered_json;
  Json told;
  told["version"] = Version();
  told["commit"] = Commit();
  told["build"] = KEYMILL_BUILD_TYPE;
  told["compiler"] = kCompiler;
  told["libraries"] = {{"boost", BOOST_LIB_VERSION}, {"openssl", OpenSSL_version(OPENSSL_VERSION)}};
  for (std::size_t i = 0; i < kKinds; ++i) {
    told["kinds"].push_back(KindName(static_cast<Kind>(i)));
  }
  told["stores"] = embed::StoreSchemes();
  told["protocols"] = Json::array({"http", "resp"});
  Print("{}\n", told.dump());
  return kExitOk;
}

}  // namespace keymill::app
