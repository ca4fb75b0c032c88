// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/guess_kind.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/utc_text.h"
#include "keys/alphabet.h"
#include "keys/check_symbol.h"
#include "keys/foreign_snowflake.h"
#include "keys/snowflake_layout.h"
#include "keys/ulid.h"
#include "keys/uuid.h"

namespace keymill::keys {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kYearMs = 31'557'600'000;
constexpr std::int64_t kSensibleFromMs = 1'262'304'000'000;  // 2010-01-01

constexpr std::size_t kTextSizeMax = 96;    // No recipe gives a longer key.
constexpr std::size_t kPrefixSizeMax = 16;  // Of a recipe.
constexpr std::size_t kBodySizeMax = 32;    // Of a recipe.

// A wider alphabet than necessary is unlikely when chance gives so few symbols of the narrower.
constexpr double kChanceMin = 1e-3;

constexpr std::array<std::string_view, 3> kLikelihoodNames = {"likely", "possible", "unlikely"};

struct Time {
  std::int64_t ms = 0;
  std::string text;  // With what is odd about it.
  Likelihood likelihood = Likelihood::kLikely;
};

// `epoch_ms`: where the time that is told begins.
Time JudgeTime(std::int64_t ms, std::int64_t epoch_ms, std::int64_t now_ms) {
  std::string_view odd;
  if (ms < kSensibleFromMs) {
    odd = ", which is before 2010";
  } else if (ms - kYearMs > now_ms) {
    odd = ", which is more than a year ahead";
  } else if (ms - epoch_ms < kDayMs) {
    odd = ", the first day of its epoch: rather a plain number";
  }
  return {.ms = ms,
          .text = UtcText(ms).append(odd),
          .likelihood = odd.empty() ? Likelihood::kLikely : Likelihood::kUnlikely};
}

class Guesser {
 public:
  explicit Guesser(std::int64_t now_ms) : now_ms_(now_ms) {}

  // `lead` is put before each reason.
  void Guess(std::string_view text, std::string lead) {
    lead_ = std::move(lead);
    GuessUuid(text);
    GuessUlid(text);
    GuessSnowflake(text);
    GuessAlphabets(text);
  }

  std::vector<KindGuess> Take() {
    std::stable_sort(guesses_.begin(), guesses_.end(), [](const KindGuess& a, const KindGuess& b) {
      return a.likelihood < b.likelihood;
    });
    return std::move(guesses_);
  }

 private:
  void Add(Likelihood likelihood, std::string what, const std::string& reason,
           std::optional<std::int64_t> time_ms = std::nullopt) {
    guesses_.push_back({.likelihood = likelihood,
                        .what = std::move(what),
                        .reason = lead_ + reason,
                        .time_ms = time_ms});
  }

  void GuessUuid(std::string_view text) {
    const Result<Uuid> uuid = ParseUuid(text);
    if (!uuid.ok()) return;
    const std::uint32_t version = VersionOf(*uuid);
    if (version == 0 || version > 8) {
      return Add(Likelihood::kLikely, "uuid",
                 "the form of a UUID, but of no version that RFC 9562 knows");
    }
    const std::string what = fmt::format("uuid{}", version);
    const std::string reason = fmt::format("the form of a UUID, version {}", version);
    const std::optional<std::int64_t> ms = TimeMsOf(*uuid);
    if (!ms) return Add(Likelihood::kLikely, what, reason + ", which tells no time");
    const Time time = JudgeTime(*ms, 0, now_ms_);
    Add(time.likelihood, what, fmt::format("{}, made at {}", reason, time.text), time.ms);
  }

  void GuessUlid(std::string_view text) {
    const Result<Ulid> ulid = ParseUlid(text);
    if (!ulid.ok()) return;
    const Time time = JudgeTime(ulid->time_ms(), 0, now_ms_);
    Add(time.likelihood, "ulid",
        fmt::format("26 symbols of Crockford's base32 within 128 bits, made at {}", time.text),
        time.ms);
  }

  void GuessSnowflake(std::string_view text) {
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc() || end != text.data() + text.size()) return;
    if (text.size() > 1 && text[0] == '0') return;
    for (const std::string_view preset : {"default", "javascript"}) GuessPreset(preset, id);
    for (const std::string_view service : {"twitter", "discord", "instagram"}) {
      GuessForeign(service, id);
    }
  }

  void GuessPreset(std::string_view preset, std::uint64_t id) {
    const SnowflakeLayout layout = *ParseSnowflakePreset(preset);
    const Result<SnowflakeParts> parts = DecomposeSnowflake(layout, id);
    if (!parts.ok()) return;
    const Time time = JudgeTime(SnowflakeTimeMs(layout, parts->ticks), layout.epoch_ms, now_ms_);
    Add(time.likelihood, fmt::format("snowflake ({})", preset),
        fmt::format("a number that as {}/{}/{} was made by worker {}, sequence {}, at {}",
                    layout.time_bits, layout.worker_bits, layout.sequence_bits, parts->worker,
                    parts->sequence, time.text),
        time.ms);
  }

  void GuessForeign(std::string_view service, std::uint64_t id) {
    const Result<ForeignSnowflake> decoded = DecodeForeignSnowflake(service, id);
    if (!decoded.ok()) return;
    const std::int64_t epoch_ms = DecodeForeignSnowflake(service, 0)->time_ms;
    const Time time = JudgeTime(decoded->time_ms, epoch_ms, now_ms_);
    std::string reason = fmt::format("a number that as an id of {} was made by ", service);
    for (const ForeignSnowflake::Field& field : decoded->fields) {
      reason += fmt::format("{} {}, ", field.name, field.value);
    }
    Add(time.likelihood, fmt::format("snowflake ({})", service), reason + "at " + time.text,
        time.ms);
  }

  void GuessAlphabets(std::string_view text) {
    std::vector<Alphabet> fitting;
    for (const std::string_view name : Alphabet::Names()) {
      Alphabet alphabet = *Alphabet::Parse(name);
      // The check symbol of base32 may be one that it does not have otherwise.
      const std::string_view body = text.substr(0, text.size() - (text.size() > 1 ? 1 : 0));
      const bool fits =
          std::all_of(body.begin(), body.end(), [&](char c) { return alphabet.digit(c) >= 0; });
      if (fits) fitting.push_back(std::move(alphabet));
    }
    std::stable_sort(fitting.begin(), fitting.end(),
                     [](const Alphabet& a, const Alphabet& b) { return a.size() < b.size(); });
    const Alphabet* narrowest = nullptr;
    for (const Alphabet& alphabet : fitting) GuessAlphabet(text, alphabet, narrowest);
  }

  // `narrowest` is the first alphabet that was guessed for this text.
  void GuessAlphabet(std::string_view text, const Alphabet& alphabet, const Alphabet*& narrowest) {
    const std::string_view body = text.substr(0, text.size() - 1);
    const bool checked = !body.empty() && text.back() == ComputeCheckSymbol(alphabet, body);
    const bool all_symbols = alphabet.digit(text.back()) >= 0;
    if (!checked && !all_symbols) return;
    if (text.size() > kBodySizeMax + (checked ? 1 : 0)) return;
    if (narrowest == nullptr) narrowest = &alphabet;
    const double chance = ChanceToLookLike(*narrowest, alphabet, text.size());
    std::string reason = fmt::format("{} of {}", Symbols(text.size()), alphabet.name());
    if (checked && !all_symbols) {
      reason = fmt::format("{} of {} and a check symbol that is right", Symbols(body.size()),
                           alphabet.name());
    } else if (checked) {
      reason += fmt::format(", the last one right as a check symbol (by chance 1 in {})",
                            alphabet.size());
    } else {
      reason += ", the last one wrong as a check symbol";
    }
    if (chance < kChanceMin) {
      reason += fmt::format("; but 1 in {:.0e} of them has symbols of {} only", 1 / chance,
                            narrowest->name());
    }
    Add(chance < kChanceMin ? Likelihood::kUnlikely : Likelihood::kPossible, alphabet.name(),
        reason);
  }

  static std::string Symbols(std::size_t count) {
    return fmt::format("{} symbol{}", count, count == 1 ? "" : "s");
  }

  // How likely `size` random symbols of `wide` are all in `narrow`.
  static double ChanceToLookLike(const Alphabet& narrow, const Alphabet& wide, std::size_t size) {
    const auto common = std::count_if(wide.symbols().begin(), wide.symbols().end(),
                                      [&](char c) { return narrow.digit(c) >= 0; });
    return std::pow(static_cast<double>(common) / wide.size(), static_cast<double>(size));
  }

  std::int64_t now_ms_;
  std::string lead_;
  std::vector<KindGuess> guesses_;
};

// What people take for one: recipes also allow those that begin with a separator.
bool LooksLikePrefix(std::string_view text) {
  return text.size() <= kPrefixSizeMax && text.find_first_of("_.-") != 0 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '.' || c == '-';
         });
}

}  // namespace

std::string_view LikelihoodName(Likelihood likelihood) {
  return kLikelihoodNames[static_cast<std::size_t>(likelihood)];
}

std::vector<KindGuess> GuessKinds(std::string_view text, std::int64_t now_ms) {
  if (text.empty() || text.size() > kTextSizeMax) return {};
  Guesser guesser(now_ms);
  // Behind the first separator and behind the last: more cannot be told apart from the key.
  std::vector<std::size_t> separators = {text.find_first_of("_.-"), text.find_last_of("_.-")};
  separators.erase(std::unique(separators.begin(), separators.end()), separators.end());
  for (const std::size_t separator : separators) {
    if (separator == std::string_view::npos || separator + 1 == text.size()) continue;
    const std::string_view prefix = text.substr(0, separator + 1);
    if (!LooksLikePrefix(prefix) || ParseUuid(text).ok()) continue;
    guesser.Guess(text.substr(prefix.size()), fmt::format("after the prefix {}: ", prefix));
  }
  guesser.Guess(text, "");
  return guesser.Take();
}

}  // namespace keymill::keys
