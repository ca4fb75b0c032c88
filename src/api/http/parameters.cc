// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/parameters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "api/http/keyspace_json.h"
#include "base/suggest.h"
#include "wire/percent.h"

namespace keymill::api::http {
namespace {

constexpr std::array<std::string_view, 1> kParameters = {"count"};

Result<std::uint64_t> ParseCount(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
  if (!whole || count == 0) {
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
    return {Code::kInvalidArgument, fmt::format("unknown parameter \"{}\"{}", name.substr(0, 32),
                                                DidYouMean(name, kParameters))};
  }
  if (count) return {Code::kInvalidArgument, "count is given more than once"};
  Result<std::uint64_t> parsed = ParseCount(value);
  if (!parsed.ok()) return parsed.status();
  count = *parsed;
  return {};
}

}  // namespace

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
    const auto words = ParseWords(request.body);
    if (!words.ok()) return words.status();
    for (const mint::RecipeWord& word : *words) {
      if (word.values.size() != 1) {
        return Status(Code::kInvalidArgument, fmt::format("body: {} must be a number", word.word));
      }
      if (Status set = SetCount(word.word, word.values.front(), count); !set.ok()) return set;
    }
  }
  return count.value_or(1);
}

bool IsJsonOrEmpty(const wire::HttpRequest& request) {
  if (request.body.empty()) return true;
  std::string type(request.content_type.substr(0, request.content_type.find(';')));
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  type.erase(type.find_last_not_of(" \t") + 1);
  return type == "application/json" || type.ends_with("+json");
}

bool HasParameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view piece = query.substr(0, query.find('&'));
    if (piece.substr(0, piece.find('=')) == name) return true;
    query.remove_prefix(std::min(query.size(), piece.size() + 1));
  }
  return false;
}

std::string_view RawParameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view piece = query.substr(0, query.find('&'));
    const std::size_t equals = piece.find('=');
    if (piece.substr(0, equals) == name) {
      return equals == std::string_view::npos ? std::string_view() : piece.substr(equals + 1);
    }
    query.remove_prefix(std::min(query.size(), piece.size() + 1));
  }
  return {};
}

}  // namespace keymill::api::http
