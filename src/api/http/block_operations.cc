// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/block_operations.h"

#include <fmt/format.h>

#include "api/http/keyspace_json.h"
#include "base/json.h"
#include "mint/engine.h"
#include "mint/lending.h"

namespace keymill::api::http {
namespace {

// Why the store did not do what was asked for.
Reply StoreProblem(mint::Engine& mill, const std::string& name, const Status& status) {
  if (status.code() != Code::kFailedPrecondition) return StatusProblem(status);
  // As it is in the store: this instance need not have heard of it yet.
  const Result<mint::KeyspaceInfo> info = mill.Describe(name);
  if (!info.ok()) return StatusProblem(info.status());
  return KeysProblem(status, name, info->record.state);
}

}  // namespace

Reply LendBlock(Service& service, const std::string& keyspace, const LoanWish& wish) {
  Reply refusal;
  mint::Keyspace* const found = service.LookUp(keyspace, refusal);
  if (found == nullptr) return refusal;
  if (const Status lendable = mint::CheckLendable(*found); !lendable.ok()) {
    return Problem(422, "keys-not-lendable", "No blocks of this keyspace", lendable.message());
  }
  mint::Engine& mill = *service.engine();
  const Result<mint::Loan> loan = mill.Lend(*found, wish.count, wish.time);
  if (!loan.ok()) return StoreProblem(mill, keyspace, loan.status());
  return JsonReply(
      200, fmt::format(R"({{"keyspace":{},"id":"{}","first":"{}","count":{},"stride":{},)"
                       R"("expires_at":"{}","first_key":{}}})",
                       JsonQuote(keyspace), loan->id, loan->first, loan->count, loan->stride,
                       IsoTime(loan->expires_at_ms), JsonQuote(loan->first_key)));
}

Reply TakeBlockBack(Service& service, const std::string& keyspace, const std::string& block,
                    std::uint64_t used) {
  Reply refusal;
  mint::Keyspace* const found = service.LookUp(keyspace, refusal);
  if (found == nullptr) return refusal;
  mint::Engine& mill = *service.engine();
  const Result<mint::LoanReturn> back = mill.TakeBack(*found, block, used);
  if (!back.ok()) return StoreProblem(mill, keyspace, back.status());
  switch (back->verdict) {
    case mint::LoanVerdict::kTakenBack:
      return {.status = 204, .content_type = {}, .body = {}, .headers = std::string(kNoStore)};
    case mint::LoanVerdict::kExpired:
      return Problem(410, "block-expired", "The block has expired", back->detail);
    case mint::LoanVerdict::kTooMany:
      return Problem(400, "bad-request", ReasonPhrase(400), back->detail);
    case mint::LoanVerdict::kUnknown:
      break;
  }
  return Problem(404, "block-not-found", "No such block", back->detail);
}

}  // namespace keymill::api::http
