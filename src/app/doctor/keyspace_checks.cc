// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/keyspace_checks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/doctor/recipe_command.h"
#include "keys/recipe_text.h"
#include "mint/engine.h"
#include "mint/forecast.h"

namespace keymill::app::doctor {
namespace {

using Seen = mint::WitnessFile::View::Seen;

constexpr double kUsedWarning = 0.9;
constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kSoonDays = 30;

// A keyspace that was seen in this store and that it has not any more.
Findings CheckLost(const KeyspaceFacts& facts) {
  Findings findings;
  for (const Seen& each : facts.witness.keyspaces) {
    if (each.store_id != facts.store_id) continue;
    const bool kept =
        std::any_of(facts.keyspaces.begin(), facts.keyspaces.end(),
                    [&](const KeyspaceRecord& record) { return record.id == each.keyspace_id; });
    if (kept) continue;
    findings.push_back(
        {"keyspace " + each.name, Severity::kProblem,
         "the witness has seen it and the store does not have it: the store went back to an older "
         "copy",
         fmt::format("{}; without one, use another name", facts.newer_copy)});
  }
  return findings;
}

const Seen* WitnessOf(const KeyspaceFacts& facts, const KeyspaceRecord& record) {
  for (const Seen& each : facts.witness.keyspaces) {
    if (each.store_id == facts.store_id && each.keyspace_id == record.id) return &each;
  }
  return nullptr;
}

double UsedShare(const KeyspaceRecord& record) {
  const auto capacity = static_cast<double>(record.end - record.first);
  return capacity > 0 ? static_cast<double>(record.next - record.first) / capacity : 1;
}

// A keyspace's recipe is fixed, so that more keys need another one.
std::string Successor(const KeyspaceFacts& facts, const KeyspaceRecord& record) {
  const Result<Recipe> recipe = keys::ParseRecipeText(record.recipe);
  const std::string name = ShellWord(record.name + "2");
  const std::optional<Recipe> next = recipe.ok() ? SuccessorRecipe(*recipe) : std::nullopt;
  if (!next) return fmt::format("keymill keyspace create {} --prefix PREFIX{}", name, facts.flags);
  // Codes that were too long for this one may be just what the longer one would make.
  const std::string verb = recipe->taken.empty() ? "keyspace create" : "import codes FILE";
  return fmt::format("keymill {} {} {}{}", verb, name, RecipeCommandFlags(*next), facts.flags);
}

// Days until nothing is left at the average rate so far; -1 when there is nothing to say. A day's
// experience is the least: the first block of a small keyspace is no rate.
std::int64_t DaysLeft(const KeyspaceRecord& record, std::int64_t now_ms) {
  if (now_ms - record.created_at_ms < kDayMs) return -1;
  const auto at = mint::ExhaustedAtMs({.used = record.next - record.first,
                                       .left = record.end - record.next,
                                       .created_at_ms = record.created_at_ms},
                                      now_ms);
  return at ? (*at - now_ms) / kDayMs : -1;
}

Finding CheckKeyspace(const KeyspaceFacts& facts, const KeyspaceRecord& record) {
  const std::string check = "keyspace " + record.name;
  const std::string word = ShellWord(record.name);
  if (const auto wanted = facts.configured.find(record.name); wanted != facts.configured.end()) {
    const Status fits = mint::CheckRecipe(record, wanted->second);
    if (!fits.ok()) {
      return {check, Severity::kProblem, fmt::format("serve refuses to start: {}", fits.message()),
              fmt::format("mend keyspaces in the configuration; the store has: keymill keyspace "
                          "show {}{}",
                          word, facts.flags)};
    }
  }
  if (record.state == KeyspaceState::kRetired) return {check, Severity::kOk, "retired", ""};
  if (record.state == KeyspaceState::kSealed) return {check, Severity::kOk, "sealed", ""};
  if (record.state == KeyspaceState::kQuarantined) {
    return {check, Severity::kProblem, fmt::format("quarantined: {}", record.reason),
            fmt::format("{}, or: keymill recover {}{}", facts.newer_copy, word, facts.flags)};
  }
  const Seen* const seen = WitnessOf(facts, record);
  if (seen != nullptr && (record.rev < seen->seen.rev || record.next < seen->seen.next)) {
    return {
        check, Severity::kProblem,
        fmt::format("the store went back: revision {} and next number {} were seen, now it says "
                    "{} and {}",
                    seen->seen.rev, seen->seen.next, record.rev, record.next),
        fmt::format("{}, or: keymill recover {}{}", facts.newer_copy, word, facts.flags)};
  }
  const double used = UsedShare(record);
  const std::string says =
      fmt::format("{:.1f} % used, {} left", used * 100, record.end - record.next);
  if (record.next == record.end) {
    return {check, Severity::kProblem, "exhausted: no new number is left",
            Successor(facts, record)};
  }
  if (used > kUsedWarning) {
    return {check, Severity::kWarning, says, Successor(facts, record)};
  }
  const std::int64_t days = DaysLeft(record, facts.now_ms);
  if (days >= 0 && days < kSoonDays) {
    return {check, Severity::kWarning,
            fmt::format("{}, which last {} days at this rate", says, days),
            Successor(facts, record)};
  }
  return {check, Severity::kOk, says, ""};
}

}  // namespace

std::string Remembered(const mint::WitnessFile::View& witness) {
  if (!witness.locations.empty()) return witness.locations.begin()->second;
  return witness.keyspaces.empty() ? "" : "a store";
}

Finding UnreadableWitness(const Status& status, std::uint32_t user, const std::string& path) {
  const bool damaged = status.code() == Code::kFailedPrecondition;
  return {"witness", Severity::kProblem, status.message(),
          damaged ? fmt::format("restore {} from a backup", path)
                  : OwnershipFix(user, path, /*directory=*/false)};
}

Finding SealedStore(std::string_view store, std::string_view moved_to) {
  return {
      "store", Severity::kProblem,
      fmt::format("{}, sealed: everything in it went to {}", store, moved_to),
      fmt::format("name that store, {}: --store, KEYMILL_STORE or store in keymill.yml", moved_to)};
}

Finding FilledStore(std::string_view store) {
  return {"store", Severity::kProblem, fmt::format("{}, being filled and not complete", store),
          "let `keymill store copy` end, or run it again"};
}

Findings CheckKeyspaces(const KeyspaceFacts& facts) {
  Findings findings;
  std::size_t sound = 0;
  double fullest = 0;
  for (const KeyspaceRecord& record : facts.keyspaces) {
    Finding finding = CheckKeyspace(facts, record);
    if (finding.severity == Severity::kOk) {
      ++sound;
      if (record.state == KeyspaceState::kOpen) fullest = std::max(fullest, UsedShare(record));
    } else {
      findings.push_back(std::move(finding));
    }
  }
  for (Finding& lost : CheckLost(facts)) findings.push_back(std::move(lost));
  findings.push_back({"keyspaces", Severity::kOk,
                      fmt::format("{} of {} are well, the fullest {:.1f} % used", sound,
                                  facts.keyspaces.size(), fullest * 100),
                      ""});
  return findings;
}

}  // namespace keymill::app::doctor
