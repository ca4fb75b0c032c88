// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill explain`: what is known of a key, from its bits, from the ledger or from its record.

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "api/http/keyspace_json.h"
#include "app/cli.h"
#include "app/commands.h"
#include "app/config/quote.h"
#include "app/explain_text.h"
#include "app/output.h"
#include "base/utc_text.h"
#include "keys/guess_kind.h"
#include "mint/kinds.h"

namespace keymill::app {
namespace {

// The state of a key, with what is not plain from its name.
std::string StateText(const mint::Explanation& told) {
  const std::string_view name = mint::ExplanationStateName(told.state);
  const bool reserved = told.state == mint::Explanation::State::kReserved;
  if (told.record) {
    return fmt::format("{}{}", name,
                       reserved ? " (an instance holds it, and has not handed it out)" : "");
  }
  if (mint::IsEndless(told.kind)) return fmt::format("{} (no record is kept of such keys)", name);
  if (!reserved) return std::string(name);
  return fmt::format("{} (its block is in use: it was issued, or will be)", name);
}

// What the store remembers of this very key.
void PrintRecord(const KeyRow& row) {
  Print("record    {} since {}\n", KeyStateName(row.state), UtcText(row.since_ms));
  if (!row.instance.empty()) Print("instance  {}\n", row.instance);
  if (!row.owner.empty()) Print("owner     {}\n", Printable(row.owner, row.owner.size()));
  if (row.expires_at_ms != 0) Print("expires   {}\n", UtcText(row.expires_at_ms));
  if (row.state == KeyState::kLink) return Print("followed  {} times\n", row.generation);
  // Others have one life only.
  if (row.state != KeyState::kAlias && row.state != KeyState::kDerived) {
    Print("generation {}\n", row.generation);
  }
}

void PrintExplanation(const mint::Explanation& told, std::string_view key) {
  Print("key       {}\nkeyspace  {}\nstate     {}\nkind      {}\n", key, told.keyspace,
        StateText(told), KindName(told.kind));
  if (told.number) Print("number    {}\n", *told.number);
  if (told.index) Print("index     {}\n", *told.index);
  if (told.time_ms) Print("time      {}\n", UtcText(*told.time_ms));
  if (told.worker) Print("worker    {}\n", *told.worker);
  if (told.sequence) Print("sequence  {}\n", *told.sequence);
  if (told.record) PrintRecord(*told.record);
  if (!told.block) return;
  const std::string_view one = told.index ? "index" : "number";
  const std::string_view many = told.index ? "indices" : "numbers";
  Print("block     {} ({} {} from {}, {})\ninstance  {}\nreserved  {}\n", told.block->block_id,
        told.block->count, told.block->count == 1 ? one : many, told.block->first,
        BlockStateName(told.block->state), told.block->instance,
        api::http::IsoTime(told.block->reserved_at_ms));
}

// So many keyspaces may each say why a key is not theirs.
constexpr std::size_t kReasonsMax = 3;

// Without what is said of all of them.
std::string_view Reason(const Status& status) {
  static constexpr std::string_view kCannot = " cannot have issued this key: ";
  const std::string_view text = status.message();
  const std::size_t at = text.find(kCannot);
  return at == std::string_view::npos ? text : text.substr(at + kCannot.size());
}

}  // namespace

int RunExplain(const ExplainFlags& flags) {
  if (!flags.service.empty()) {
    const Result<std::string> told =
        flags.json ? ForeignJson(flags.key, flags.service) : ForeignText(flags.key, flags.service);
    if (!told.ok()) return Fail(told.status());
    Print("{}{}", *told, flags.json ? "\n" : "");
    return kExitOk;
  }
  Result<embed::Opened> opened = OpenToLook(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  std::vector<std::string> names = {flags.keyspace};
  if (flags.keyspace.empty()) {
    Result<std::vector<mint::KeyspaceInfo>> all = opened->engine->List();
    if (!all.ok()) return Fail(all.status());
    names.clear();
    for (const auto& info : *all) names.push_back(info.record.name);
  }
  Status why(Code::kNotFound, "there is no keyspace yet");
  std::string reasons;
  bool found = false;
  bool none = true;  // That no keyspace has it is known, and not only that one did not answer.
  for (const std::string& name : names) {
    Result<mint::Explanation> told = opened->engine->Explain(name, flags.key);
    if (!told.ok()) {
      if (none) why = told.status();
      reasons += fmt::format("{} {}: {}", reasons.empty() ? ":" : ";", name, Reason(told.status()));
      none = none && told.code() == Code::kNotFound;
      continue;
    }
    found = true;
    if (flags.json) {
      Print("{}\n", api::http::ExplanationJson(*told, flags.key));
      continue;
    }
    PrintExplanation(*told, flags.key);
  }
  if (found) return kExitOk;
  if (none && flags.keyspace.empty()) {
    const std::vector<keys::KindGuess> guesses =
        keys::GuessKinds(flags.key, SystemClock().WallMs());
    Print("{}{}", flags.json ? GuessesJson(flags.key, guesses) : GuessesText(flags.key, guesses),
          flags.json ? "\n" : "");
  }
  if (none && names.size() > 1) {
    why = Status(Code::kNotFound, fmt::format("no keyspace can have issued \"{}\"{}", flags.key,
                                              names.size() <= kReasonsMax ? reasons : ""));
  }
  // In another directory there is another store: the most common reason not to find a key.
  return Fail({why.code(), fmt::format("{} (looked in {})", why.message(), opened->location)});
}

}  // namespace keymill::app
