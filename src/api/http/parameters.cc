// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/parameters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "api/http/keyspace_json.h"
#include "base/suggest.h"
#include "base/utc_text.h"
#include "mint/lending.h"
#include "wire/percent.h"

namespace keymill::api::http {
namespace {

constexpr std::array<std::string_view, 1> kMintParameters = {"count"};
constexpr std::array<std::string_view, 1> kClaimParameters = {"owner"};
constexpr std::array<std::string_view, 2> kDeriveParameters = {"content", "salt"};
constexpr std::array<std::string_view, 2> kRangeParameters = {"from", "to"};
constexpr std::array<std::string_view, 2> kLoanParameters = {"count", "ttl"};
constexpr std::array<std::string_view, 1> kReturnParameters = {"used"};

Status UnknownParameter(std::string_view name, std::span<const std::string_view> known) {
  return {Code::kInvalidArgument,
          fmt::format("unknown parameter \"{}\"{}", name.substr(0, 32), DidYouMean(name, known))};
}

Status GivenTwice(std::string_view name) {
  return {Code::kInvalidArgument, fmt::format("{} is given more than once", name)};
}

// Without the white space around it, in lower case.
std::string Word(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  text = text.substr(first, text.find_last_not_of(" \t") + 1 - first);
  std::string word(text);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return word;
}

// Takes what is before the next `separator` off `text`.
std::string_view TakeUntil(char separator, std::string_view& text) {
  const std::string_view piece = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), piece.size() + 1));
  return piece;
}

// The q of a media range's parameters, in thousandths: 1 unless it says otherwise.
int Quality(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string parameter = Word(TakeUntil(';', parameters));
    if (!parameter.starts_with("q=")) continue;
    int quality = 0;
    int weight = 1000;
    for (const char c : std::string_view(parameter).substr(2)) {
      if (c == '.') continue;
      if (c < '0' || c > '9') return 0;
      quality += (c - '0') * weight;
      weight /= 10;
    }
    return std::min(quality, 1000);
  }
  return 1000;
}

Result<std::uint64_t> ParseCount(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = !text.empty() && end == text.data() + text.size();
  if (whole && error == std::errc::result_out_of_range) return kCountMax;
  if (!whole || error != std::errc() || count == 0) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("count is \"{}\": it must be a whole number from 1 on", text.substr(0, 32)));
  }
  return count;
}

// Sets `count`, which may be set once.
Status SetCount(std::string_view name, std::string_view value,
                std::optional<std::uint64_t>& count) {
  if (name != "count") {
    return UnknownParameter(name, kMintParameters);
  }
  if (count) return GivenTwice(name);
  Result<std::uint64_t> parsed = ParseCount(value);
  if (!parsed.ok()) return parsed.status();
  count = *parsed;
  return {};
}

// What the words of a request are, those of its query first.
using Pairs = std::vector<std::pair<std::string, std::string>>;
Result<Pairs> QueryAndIntegers(const wire::HttpRequest& request) {
  Result<Pairs> pairs = wire::ParseQuery(request.query);
  if (!pairs.ok() || request.body.empty()) return pairs;
  Result<Pairs> integers = ParseIntegers(request.body);
  if (!integers.ok()) return integers;
  std::move(integers->begin(), integers->end(), std::back_inserter(*pairs));
  return pairs;
}

// A whole number in [least, most], of a parameter that may be given once.
Status SetInteger(std::string_view name, std::string_view value, std::uint64_t least,
                  std::uint64_t most, std::optional<std::uint64_t>& number) {
  if (number) return GivenTwice(name);
  std::uint64_t parsed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  const bool whole = error == std::errc() && end == value.data() + value.size();
  if (!whole || parsed < least || parsed > most) {
    return {Code::kInvalidArgument,
            fmt::format("{} is \"{}\": it must be a whole number from {} to {}", name,
                        value.substr(0, 32), least, most)};
  }
  number = parsed;
  return {};
}

}  // namespace

Result<LoanWish> ParseLoanWish(const wire::HttpRequest& request) {
  const Result<Pairs> pairs = QueryAndIntegers(request);
  if (!pairs.ok()) return pairs.status();
  std::optional<std::uint64_t> count;
  std::optional<std::uint64_t> seconds;
  for (const auto& [name, value] : *pairs) {
    Status set;
    if (name == "count") {
      set = SetInteger(name, value, 1, mint::kLoanCountMax, count);
    } else if (name == "ttl") {
      set = SetInteger(name, value, 1, mint::kLoanTimeMax.count(), seconds);
    } else {
      set = UnknownParameter(name, kLoanParameters);
    }
    if (!set.ok()) return set;
  }
  LoanWish wish;
  if (count) wish.count = static_cast<std::uint32_t>(*count);
  if (seconds) wish.time = std::chrono::seconds(*seconds);
  return wish;
}

Result<std::uint64_t> ParseUsed(std::string_view query) {
  const Result<Pairs> pairs = wire::ParseQuery(query);
  if (!pairs.ok()) return pairs.status();
  std::optional<std::uint64_t> used;
  for (const auto& [name, value] : *pairs) {
    if (name != "used") return UnknownParameter(name, kReturnParameters);
    if (Status set = SetInteger(name, value, 0, mint::kLoanCountMax, used); !set.ok()) return set;
  }
  if (used) return *used;
  return Status(Code::kInvalidArgument,
                "used is missing: say how many of the block's first numbers were used (?used=0)");
}

Result<std::uint64_t> MintCount(const wire::HttpRequest& request) {
  std::optional<std::uint64_t> count;
  if (!request.query.empty()) {
    const auto pairs = wire::ParseQuery(request.query);
    if (!pairs.ok()) return pairs.status();
    for (const auto& [name, value] : *pairs) {
      if (Status set = SetCount(name, value, count); !set.ok()) return set;
    }
  }
  if (!request.body.empty()) {
    const auto integers = ParseIntegers(request.body);
    if (!integers.ok()) return integers.status();
    for (const auto& [name, value] : *integers) {
      if (Status set = SetCount(name, value, count); !set.ok()) return set;
    }
  }
  return count.value_or(1);
}

Result<ListPage> ParseListPage(std::string_view query, std::string_view after_name,
                               std::size_t limit) {
  const Result<Pairs> pairs = wire::ParseQuery(query);
  if (!pairs.ok()) return pairs.status();
  std::optional<std::uint64_t> said;
  std::optional<std::string> after;
  for (const auto& [name, value] : *pairs) {
    if (name == "limit") {
      if (Status set = SetInteger(name, value, 1, kListMax, said); !set.ok()) return set;
    } else if (name != after_name) {
      return UnknownParameter(name, std::array<std::string_view, 2>{"limit", after_name});
    } else if (after) {
      return GivenTwice(name);
    } else {
      after = value;
    }
  }
  return ListPage{.limit = said.value_or(limit), .after = std::move(after).value_or("")};
}

Result<TimeRange> ParseTimeRange(std::string_view query) {
  const auto pairs = wire::ParseQuery(query);
  if (!pairs.ok()) return pairs.status();
  std::optional<std::int64_t> from_ms;
  std::optional<std::int64_t> to_ms;
  for (const auto& [name, value] : *pairs) {
    if (name != "from" && name != "to") return UnknownParameter(name, kRangeParameters);
    std::optional<std::int64_t>& end = name == "from" ? from_ms : to_ms;
    if (end) return GivenTwice(name);
    const Result<std::int64_t> ms = ParseUtcText(value);
    if (!ms.ok()) {
      return Status(Code::kInvalidArgument, fmt::format("{}: {}", name, ms.status().message()));
    }
    end = *ms;
  }
  if (from_ms && to_ms) return TimeRange{*from_ms, *to_ms};
  return Status(
      Code::kInvalidArgument,
      fmt::format("{} is missing: say ?from=2026-01-01&to=2026-02-01", from_ms ? "to" : "from"));
}

Result<std::string> ParseOwner(std::string_view body) {
  if (body.empty()) return std::string();
  const auto words = ParseStrings(body);
  if (!words.ok()) return words.status();
  std::string owner;
  for (const auto& [name, value] : *words) {
    if (name != "owner") return UnknownParameter(name, kClaimParameters);
    owner = value;
  }
  return owner;
}

Result<Content> ParseContent(std::string_view body) {
  const Status missing(Code::kInvalidArgument,
                       "content is missing: send {\"content\":\"…\"}, with \"salt\" to keep the "
                       "keys of one user apart from another's");
  if (body.empty()) return missing;
  auto words = ParseStrings(body);
  if (!words.ok()) return words.status();
  Content parsed;
  bool found = false;
  for (auto& [name, value] : *words) {
    if (name == "content") {
      parsed.content = std::move(value);
      found = true;
    } else if (name == "salt") {
      parsed.salt = std::move(value);
    } else {
      return UnknownParameter(name, kDeriveParameters);
    }
  }
  if (!found) return missing;
  return parsed;
}

Result<std::optional<std::uint64_t>> ParseGeneration(std::string_view if_match) {
  if (if_match == "*") return std::optional<std::uint64_t>();
  const bool quoted = if_match.size() > 2 && if_match.front() == '"' && if_match.back() == '"';
  const std::string_view digits = quoted ? if_match.substr(1, if_match.size() - 2) : if_match;
  std::uint64_t generation = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), generation);
  // Only as we write it: a tag is compared as it is.
  if (!quoted || error != std::errc() || end != digits.data() + digits.size() ||
      (digits.size() > 1 && digits.front() == '0')) {
    return Status(Code::kInvalidArgument,
                  "If-Match: it must be a key's generation in quotes, as the ETag of "
                  "GET has it (\"3\")");
  }
  return std::optional(generation);
}

bool MayBeJson(const wire::HttpRequest& request) {
  if (request.body.empty() || request.content_type.empty()) return true;
  const std::string type = Word(request.content_type.substr(0, request.content_type.find(';')));
  return type == "application/json" || type.ends_with("+json");
}

bool PrefersText(std::string_view accept) {
  int text = 0;
  int json = 0;
  while (!accept.empty()) {
    std::string_view range = TakeUntil(',', accept);
    const std::string type = Word(TakeUntil(';', range));
    if (type == "text/plain") text = Quality(range);
    if (type == "application/json") json = Quality(range);
  }
  return text > json;
}

std::vector<std::string_view> RawParameters(std::string_view query, std::string_view name) {
  std::vector<std::string_view> values;
  while (!query.empty()) {
    std::string_view value = TakeUntil('&', query);
    if (TakeUntil('=', value) == name) values.push_back(value);
  }
  return values;
}

bool HasParameter(std::string_view query, std::string_view name) {
  return !RawParameters(query, name).empty();
}

}  // namespace keymill::api::http
