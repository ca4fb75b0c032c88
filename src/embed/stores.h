// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The stores by the schemes of their URLs: the only place that names them.

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/status.h"
#include "keymill/store.h"

namespace keymill::embed {

// Where a store is, and what to call it in messages and in the witness.
struct StorePlace {
  std::string url;        // As it was configured. May hold a password.
  std::string location;   // "sqlite:/srv/data/keymill.db", "postgres://mill@db/keys": no password.
  bool remembers = true;  // Whether it outlives the process, so that a witness makes sense.
};

// The schemes of this build's stores: "sqlite", "postgres", "memory". One for each store.
std::vector<std::string_view> StoreSchemes();

// What a URL of this build may look like: "sqlite:PATH, postgres://… or memory:".
std::string StoreForms();

// Why no store of this build has such a URL, without the URL itself; OK when one has.
// Errors: kInvalidArgument.
Status CheckStore(std::string_view url);

// `data_dir`, absolute, is where relative paths begin.
// Errors: kInvalidArgument when no store of this build has such a URL; the message says which
// there are.
Result<StorePlace> FindStore(std::string_view url, const std::filesystem::path& data_dir);

// Opens it. `create`: whether one that is not there yet may be made.
// Errors: kNotFound when it is not there and `create` is false; kFailedPrecondition;
// kUnavailable. See the store's own header.
Result<std::unique_ptr<Store>> OpenStore(const StorePlace& place, bool create, const Clock& clock,
                                         MonotonicTime deadline);

}  // namespace keymill::embed
