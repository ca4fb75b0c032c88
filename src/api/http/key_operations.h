// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What clients do with single keys: claim one, make one from content, give one back, and mint
// such that a retry gets the same again. All of it waits for the store: for Queue::kKeys.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keymill/clock.h"

#include "api/http/mint_job.h"
#include "api/http/reply.h"
#include "api/http/service.h"
#include "mint/aliases.h"
#include "mint/releases.h"

namespace keymill::api::http {

// `body`: see ParseOwner.
Reply ClaimKey(Service& service, const std::string& keyspace, const std::string& alias,
               std::string_view body);

// `body`: see ParseContent.
Reply DeriveKey(Service& service, const std::string& keyspace, std::string_view body);

Reply ReleaseKey(Service& service, const std::string& keyspace, const std::string& key,
                 std::optional<std::uint64_t> generation);

// The problem that a claim has. REQUIRES: it was not granted.
Reply ClaimProblem(const mint::Claim& claim);

// Why the store did not do what was asked for with keys of `keyspace`.
Reply StoreProblem(mint::Engine& mill, const std::string& keyspace, const Status& status);

// The answer to a release that the mint has judged.
Reply ReleaseReply(const mint::Release& release);

// `retry` is what the request is known by. All keys or none, unlike without it: a retry could not
// get those that were missing.
// REQUIRES: `wish` is for kText or kJson.
Reply MintOnce(Service& service, const std::string& keyspace, const std::string& retry,
               const MintWish& wish, MonotonicTime deadline);

}  // namespace keymill::api::http
