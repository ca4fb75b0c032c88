// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/recipe_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/utc_text.h"
#include "keys/codec.h"
#include "keys/content_digest.h"
#include "keys/key_shape.h"
#include "keys/snowflake_layout.h"

namespace keymill::keys {
namespace {

using Values = std::vector<std::string>;

constexpr std::uint32_t Bit(Kind kind) { return 1U << static_cast<std::uint32_t>(kind); }
constexpr std::uint32_t kCounted = Bit(Kind::kSequence) | Bit(Kind::kShuffled) | Bit(Kind::kTicket);
constexpr std::uint32_t kPool = Bit(Kind::kPool);
constexpr std::uint32_t kDerived = Bit(Kind::kDerived);
constexpr std::uint32_t kDigits = kCounted | Bit(Kind::kSnowflake) | kPool | kDerived;
constexpr std::uint32_t kTicket = Bit(Kind::kTicket);
constexpr std::uint32_t kSnowflake = Bit(Kind::kSnowflake);
constexpr std::uint32_t kAll = (1U << kKinds) - 1;

// In the order of CheckSymbol.
constexpr std::array<std::string_view, 2> kCheckNames = {"none", "appended"};

// In the order of Audit.
constexpr std::array<std::string_view, 2> kAuditNames = {"batch", "key"};

constexpr std::uint32_t kWorkersMax = 64;
constexpr std::uint64_t kQuarantineMin = 60;
constexpr std::uint64_t kSecondsMax = 100ULL * 366 * 24 * 3600;

Status Refuse(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

template <typename Number>
Status SetNumber(std::string_view name, const Values& values, Number& out) {
  const std::string& text = values.front();
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, out);
  if (error == std::errc() && stopped == end) return {};
  return Refuse(error == std::errc::result_out_of_range
                    ? fmt::format("{}: {:.32} is too large", name, text)
                    : fmt::format("{}: expected a whole number, not \"{:.32}\"", name, text));
}

Status SetCheck(const Values& values, Recipe& recipe) {
  const std::string& text = values.front();
  if (text == "true" || text == kCheckNames[1]) {
    recipe.check = CheckSymbol::kAppended;
  } else if (text == "false" || text == kCheckNames[0]) {
    recipe.check = CheckSymbol::kNone;
  } else {
    return Refuse(
        fmt::format("check: \"{:.32}\" is neither true (appended) nor false (none)", text));
  }
  return {};
}

Status SetCounter(const Values& values, Recipe& recipe) {
  const std::string& text = values.front();
  if (text == KindName(Kind::kSequence)) {
    recipe.counter = Kind::kSequence;
  } else if (text == KindName(Kind::kShuffled)) {
    recipe.counter = Kind::kShuffled;
    if (recipe.length == 0) recipe.length = DefaultRecipe(Kind::kShuffled).length;
  } else {
    return Refuse(fmt::format("counter: \"{:.32}\" is neither sequence nor shuffled", text));
  }
  return {};
}

Status SetLayout(const Values& values, Recipe& recipe) {
  const Result<SnowflakeLayout> layout = ParseSnowflakePreset(values.front());
  if (!layout.ok()) return Refuse(fmt::format("layout: {}", layout.status().message()));
  recipe.layout = *layout;
  return {};
}

Status SetEpoch(const Values& values, Recipe& recipe) {
  const Result<std::int64_t> ms = ParseUtcText(values.front());
  if (!ms.ok()) return Refuse(fmt::format("epoch: {}", ms.status().message()));
  recipe.layout.epoch_ms = *ms;
  return {};
}

Status SetAudit(const Values& values, Recipe& recipe) {
  const std::string& text = values.front();
  const auto* const found = std::find(kAuditNames.begin(), kAuditNames.end(), text);
  if (found == kAuditNames.end()) {
    return Refuse(fmt::format("audit: \"{:.32}\" is neither batch nor key", text));
  }
  recipe.audit = static_cast<Audit>(found - kAuditNames.begin());
  return {};
}

Status SetHash(const Values& values, Recipe& recipe) {
  const Result<DigestName> digest = ParseDigestName(values.front());
  if (!digest.ok()) return Refuse(fmt::format("hash: {}", digest.status().message()));
  recipe.hash = *digest;
  return {};
}

Status SetFlag(std::string_view name, const Values& values, bool& out) {
  const std::string& text = values.front();
  if (text != "true" && text != "false") {
    return Refuse(fmt::format("{}: \"{:.32}\" is neither true nor false", name, text));
  }
  out = text == "true";
  return {};
}

Values FlagText(bool flag) { return {flag ? "true" : "false"}; }

Status CheckTaken(std::string_view name) {
  const bool hex = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (name.empty() || (hex && name.size() == 32)) return {};
  return Refuse("taken: is the name that keymill import gave to a list, 32 hex digits");
}

Status CheckSeconds(std::string_view name, std::uint64_t seconds) {
  if (seconds <= kSecondsMax) return {};
  return Refuse(fmt::format("{}: {} is more than 100 years", name, seconds));
}

// Of kinds whose keys are no numbers.
Status CheckStored(const Recipe& recipe) {
  if (Status shape = KeyShape::Make(recipe).status(); !shape.ok()) return shape;
  if (recipe.kind == Kind::kDerived) return {};
  if (Status valid = CheckSeconds("expires_s", recipe.expires_s); !valid.ok()) return valid;
  // Clocks differ, and who holds a key that goes to somebody else must have given it up by then.
  if (recipe.recycle && recipe.quarantine_s < kQuarantineMin) {
    return Refuse(
        fmt::format("quarantine_s: {} is less than {}, too short for keys that are "
                    "recycled",
                    recipe.quarantine_s, kQuarantineMin));
  }
  return CheckSeconds("quarantine_s", recipe.quarantine_s);
}

Status SetTaken(const Values& values, Recipe& recipe) {
  recipe.taken = values.front();
  return CheckTaken(recipe.taken);
}

using Form = RecipeField::Form;

constexpr std::array<RecipeField, 24> kFields = {{
    {"layout", Form::kText, true, kSnowflake, [](const Recipe&) { return Values(); }, SetLayout},
    {"counter", Form::kText, false, kTicket,
     [](const Recipe& r) { return Values{std::string(KindName(r.counter))}; }, SetCounter},
    {"stride", Form::kNumber, false, kTicket,
     [](const Recipe& r) { return Values{std::to_string(r.stride)}; },
     [](const Values& v, Recipe& r) { return SetNumber("stride", v, r.stride); }},
    {"offset", Form::kNumber, false, kTicket,
     [](const Recipe& r) { return Values{std::to_string(r.offset)}; },
     [](const Values& v, Recipe& r) { return SetNumber("offset", v, r.offset); }},
    {"alphabet", Form::kText, false, kDigits, [](const Recipe& r) { return Values{r.alphabet}; },
     [](const Values& v, Recipe& r) {
       r.alphabet = v.front();
       return Status();
     }},
    {"length", Form::kNumber, false, kDigits,
     [](const Recipe& r) { return Values{std::to_string(r.length)}; },
     [](const Values& v, Recipe& r) { return SetNumber("length", v, r.length); }},
    {"prefix", Form::kText, false, kAll, [](const Recipe& r) { return Values{r.prefix}; },
     [](const Values& v, Recipe& r) {
       r.prefix = v.front();
       return Status();
     }},
    {"check", Form::kText, false, kDigits,
     [](const Recipe& r) {
       return Values{std::string(kCheckNames.at(static_cast<std::size_t>(r.check)))};
     },
     SetCheck},
    {"start", Form::kNumber, false, kCounted,
     [](const Recipe& r) { return Values{std::to_string(r.start)}; },
     [](const Values& v, Recipe& r) { return SetNumber("start", v, r.start); }},
    {"blocklist", Form::kList, false, kDigits, [](const Recipe& r) { return r.blocklist; },
     [](const Values& v, Recipe& r) {
       r.blocklist = v;
       return Status();
     }},
    {"taken", Form::kText, false, Bit(Kind::kShuffled),
     [](const Recipe& r) { return Values{r.taken}; }, SetTaken, /*later=*/true},
    {"time_bits", Form::kNumber, false, kSnowflake,
     [](const Recipe& r) { return Values{std::to_string(r.layout.time_bits)}; },
     [](const Values& v, Recipe& r) { return SetNumber("time_bits", v, r.layout.time_bits); }},
    {"worker_bits", Form::kNumber, false, kSnowflake,
     [](const Recipe& r) { return Values{std::to_string(r.layout.worker_bits)}; },
     [](const Values& v, Recipe& r) { return SetNumber("worker_bits", v, r.layout.worker_bits); }},
    {"sequence_bits", Form::kNumber, false, kSnowflake,
     [](const Recipe& r) { return Values{std::to_string(r.layout.sequence_bits)}; },
     [](const Values& v, Recipe& r) {
       return SetNumber("sequence_bits", v, r.layout.sequence_bits);
     }},
    {"epoch", Form::kText, false, kSnowflake,
     [](const Recipe& r) { return Values{UtcText(r.layout.epoch_ms)}; }, SetEpoch},
    {"unit_ms", Form::kNumber, false, kSnowflake,
     [](const Recipe& r) { return Values{std::to_string(r.layout.unit_ms)}; },
     [](const Values& v, Recipe& r) { return SetNumber("unit_ms", v, r.layout.unit_ms); }},
    {"workers", Form::kNumber, false, kSnowflake,
     [](const Recipe& r) { return Values{std::to_string(r.workers)}; },
     [](const Values& v, Recipe& r) { return SetNumber("workers", v, r.workers); }},
    {"audit", Form::kText, false, kPool,
     [](const Recipe& r) {
       return Values{std::string(kAuditNames.at(static_cast<std::size_t>(r.audit)))};
     },
     SetAudit},
    {"expires_s", Form::kNumber, false, kPool,
     [](const Recipe& r) { return Values{std::to_string(r.expires_s)}; },
     [](const Values& v, Recipe& r) { return SetNumber("expires_s", v, r.expires_s); }},
    {"recycle", Form::kFlag, false, kPool, [](const Recipe& r) { return FlagText(r.recycle); },
     [](const Values& v, Recipe& r) { return SetFlag("recycle", v, r.recycle); }},
    {"quarantine_s", Form::kNumber, false, kPool,
     [](const Recipe& r) { return Values{std::to_string(r.quarantine_s)}; },
     [](const Values& v, Recipe& r) { return SetNumber("quarantine_s", v, r.quarantine_s); }},
    {"hash", Form::kText, false, kDerived,
     [](const Recipe& r) { return Values{std::string(DigestNameText(r.hash))}; }, SetHash},
    {"canonical_url", Form::kFlag, false, kDerived,
     [](const Recipe& r) { return FlagText(r.canonical_url); },
     [](const Values& v, Recipe& r) { return SetFlag("canonical_url", v, r.canonical_url); }},
    {"distinct", Form::kFlag, false, kDerived, [](const Recipe& r) { return FlagText(r.distinct); },
     [](const Values& v, Recipe& r) { return SetFlag("distinct", v, r.distinct); }},
}};

}  // namespace

std::span<const RecipeField> RecipeFields() { return kFields; }

const RecipeField* FindRecipeField(std::string_view name) {
  const auto* const found = std::find_if(
      kFields.begin(), kFields.end(), [&](const RecipeField& each) { return each.name == name; });
  return found == kFields.end() ? nullptr : found;
}

Status ValidateRecipe(const Recipe& recipe) {
  if (static_cast<std::size_t>(recipe.kind) >= kKinds) return Refuse("kind: unknown");
  const Recipe normal = DefaultRecipe(recipe.kind);
  for (const RecipeField& field : kFields) {
    if (field.BelongsTo(recipe.kind) || field.values(recipe) == field.values(normal)) continue;
    return Refuse(
        fmt::format("{}: a keyspace of kind {} has none", field.name, KindName(recipe.kind)));
  }
  switch (recipe.kind) {
    case Kind::kUuid4:
    case Kind::kUuid7:
    case Kind::kUlid:
      return CheckPrefix(recipe.prefix);
    case Kind::kSnowflake:
      if (recipe.workers < 1 || recipe.workers > kWorkersMax) {
        return Refuse(fmt::format("workers: {} is not in 1 to {}", recipe.workers, kWorkersMax));
      }
      break;
    case Kind::kPool:
    case Kind::kDerived:
      return CheckStored(recipe);
    default:
      if (Status valid = CheckTaken(recipe.taken); !valid.ok()) return valid;
      break;
  }
  return Codec::Validate(recipe);
}

}  // namespace keymill::keys
