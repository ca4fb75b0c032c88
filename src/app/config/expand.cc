// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/expand.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "app/config/quote.h"

namespace keymill::app {
namespace {

bool IsVariableName(std::string_view name) {
  const auto is_name_char = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
         std::all_of(name.begin(), name.end(), is_name_char);
}

// Appends the value of what stands between ${ and }.
Status ExpandOne(std::string_view inner, const VariableLookup& lookup, Expanded& result) {
  static constexpr std::string_view kOtherwise = ":-";
  const std::size_t otherwise = inner.find(kOtherwise);
  const std::string_view name = inner.substr(0, otherwise);
  if (!IsVariableName(name)) {
    return {Code::kInvalidArgument,
            fmt::format("expected ${{NAME}} or ${{NAME:-default}}, not {} (write $$ for a dollar)",
                        QuoteValue(fmt::format("${{{}}}", inner)))};
  }
  const std::optional<std::string> value = lookup(name);
  if (otherwise != std::string_view::npos && (!value || value->empty())) {
    result.text += inner.substr(otherwise + kOtherwise.size());
  } else if (value) {
    result.text += *value;
  } else if (result.unset.empty()) {
    result.unset = name;
  }
  return {};
}

}  // namespace

Result<Expanded> ExpandVariables(std::string_view text, const VariableLookup& lookup) {
  Expanded result;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("$$")) {
      result.text.push_back('$');
      at += 2;
      continue;
    }
    if (!rest.starts_with("${")) {
      result.text.push_back(rest.front());
      ++at;
      continue;
    }
    const std::size_t close = rest.find('}');
    if (close == std::string_view::npos) {
      return Status(Code::kInvalidArgument, "${ without its } (write $$ for a dollar)");
    }
    if (Status status = ExpandOne(rest.substr(2, close - 2), lookup, result); !status.ok()) {
      return status;
    }
    at += close + 1;
  }
  return result;
}

}  // namespace keymill::app
