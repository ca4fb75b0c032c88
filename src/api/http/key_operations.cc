// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/key_operations.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "api/http/keyspace_json.h"
#include "api/http/parameters.h"
#include "mint/engine.h"

namespace keymill::api::http {
namespace {

// What a verdict of the mint is in HTTP. No slug: it is no problem.
template <typename Verdict>
struct VerdictRow {
  Verdict verdict;
  int status;
  std::string_view slug;
  std::string_view title;
};

constexpr std::array<VerdictRow<mint::ClaimVerdict>, 6> kClaims = {{
    {mint::ClaimVerdict::kClaimed, 201, "", ""},
    {mint::ClaimVerdict::kYours, 200, "", ""},
    {mint::ClaimVerdict::kTaken, 409, "alias-taken", "Already taken"},
    {mint::ClaimVerdict::kInvalid, 422, "alias-invalid", "No alias looks like that"},
    {mint::ClaimVerdict::kReserved, 422, "alias-reserved", "Reserved word"},
    {mint::ClaimVerdict::kLooksGenerated, 422, "alias-looks-generated",
     "It could be a generated key"},
}};

constexpr std::array<VerdictRow<mint::ReleaseVerdict>, 5> kReleases = {{
    {mint::ReleaseVerdict::kReleased, 204, "", ""},
    {mint::ReleaseVerdict::kUnknown, 404, "key-not-found", "No such key"},
    {mint::ReleaseVerdict::kNotUsed, 409, "key-not-used", "Nobody has this key"},
    {mint::ReleaseVerdict::kOtherGeneration, 409, "other-generation", "Another generation"},
    {mint::ReleaseVerdict::kNeverRecycled, 409, "keys-not-recycled", "Keys are never recycled"},
}};

template <typename Verdict, std::size_t Size>
const VerdictRow<Verdict>& RowOf(const std::array<VerdictRow<Verdict>, Size>& table,
                                 Verdict verdict) {
  return table.at(static_cast<std::size_t>(verdict));
}

// Each row stands where its verdict's number is.
template <typename Verdict, std::size_t Size>
constexpr bool InOrder(const std::array<VerdictRow<Verdict>, Size>& table) {
  for (std::size_t i = 0; i < Size; ++i) {
    if (static_cast<std::size_t>(table[i].verdict) != i) return false;
  }
  return true;
}
static_assert(InOrder(kClaims) && InOrder(kReleases));

}  // namespace

Reply StoreProblem(mint::Engine& mill, const std::string& keyspace, const Status& status) {
  if (status.code() != Code::kFailedPrecondition) return StatusProblem(status);
  if (!mill.remembers_keys()) return NotSupportedByStore(status.message());
  // As it is in the store: this instance need not have heard of it yet.
  const Result<mint::KeyspaceInfo> info = mill.Describe(keyspace);
  if (!info.ok()) return StatusProblem(info.status());
  return KeysProblem(status, keyspace, info->record.state);
}

Reply ClaimProblem(const mint::Claim& claim) {
  const auto& row = RowOf(kClaims, claim.verdict);
  return Problem(row.status, row.slug, row.title, claim.detail);
}

Reply ClaimKey(Service& service, const std::string& keyspace, const std::string& alias,
               std::string_view body) {
  const Result<std::string> owner = ParseOwner(body);
  if (!owner.ok()) return StatusProblem(owner.status());
  Reply refusal;
  if (service.LookUp(keyspace, refusal) == nullptr) return refusal;
  mint::Engine& mill = *service.engine();
  const Result<mint::Claim> claim = mill.ClaimKey(keyspace, alias, *owner);
  if (!claim.ok()) return StoreProblem(mill, keyspace, claim.status());
  const auto& row = RowOf(kClaims, claim->verdict);
  if (!row.slug.empty()) return ClaimProblem(*claim);
  Reply reply = JsonReply(row.status, ClaimJson(keyspace, alias, *owner));
  if (row.status == 201) {
    reply.headers += fmt::format("Location: /v1/keyspaces/{}/keys/{}\r\n", keyspace, alias);
  }
  return reply;
}

Reply DeriveKey(Service& service, const std::string& keyspace, std::string_view body) {
  const Result<Content> from = ParseContent(body);
  if (!from.ok()) return StatusProblem(from.status());
  Reply refusal;
  if (service.LookUp(keyspace, refusal) == nullptr) return refusal;
  mint::Engine& mill = *service.engine();
  const Result<mint::Engine::Derived> derived = mill.Derive(keyspace, from->content, from->salt);
  if (!derived.ok()) return StoreProblem(mill, keyspace, derived.status());
  return JsonReply(200, DerivedJson(keyspace, *derived));
}

Reply ReleaseKey(Service& service, const std::string& keyspace, const std::string& key,
                 std::optional<std::uint64_t> generation) {
  Reply refusal;
  if (service.LookUp(keyspace, refusal) == nullptr) return refusal;
  mint::Engine& mill = *service.engine();
  const Result<mint::Release> release = mill.ReleaseKey(keyspace, key, generation);
  if (!release.ok()) return StoreProblem(mill, keyspace, release.status());
  return ReleaseReply(*release);
}

Reply ReleaseReply(const mint::Release& release) {
  const auto& row = RowOf(kReleases, release.verdict);
  if (!row.slug.empty()) return Problem(row.status, row.slug, row.title, release.detail);
  return {.status = row.status, .content_type = {}, .body = {}, .headers = std::string(kNoStore)};
}

Reply MintOnce(Service& service, const std::string& keyspace, const std::string& retry,
               const MintWish& wish, MonotonicTime deadline) {
  Reply refusal;
  mint::Keyspace* const found = service.LookUp(keyspace, refusal);
  if (found == nullptr) return refusal;
  mint::Engine& mill = *service.engine();
  const Result<std::string> lines = mill.MintOnce(*found, retry, wish.count, deadline);
  if (lines.code() == Code::kAlreadyExists) {
    return Problem(422, "idempotency-key-reused", "Used for another request",
                   lines.status().message());
  }
  if (!lines.ok()) return StoreProblem(mill, keyspace, lines.status());
  return {.status = 200,
          .content_type = wish.format == KeyFormat::kJson ? kJsonType : kTextType,
          .body = KeysBody(wish.format, keyspace, *lines),
          .headers = std::string(kNoStore)};
}

}  // namespace keymill::api::http
