// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/dot_env.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace keymill::app {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view TrimLeft(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

std::string_view Trim(std::string_view text) {
  text = TrimLeft(text);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

bool IsNameChar(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// A value as written, cut off the front of the text.
struct RawValue {
  char quote = '\0';      // ' or ", or none.
  std::string_view text;  // Between the quotes, or up to a comment.
  std::string_view rest;  // Behind the closing quote, to the end of that line.
  std::size_t end = 0;    // Where the next line begins.
  bool closed = true;
};

std::size_t FindClosingQuote(std::string_view text, char quote) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote) return i;
    if (quote == '"' && text[i] == '\\') ++i;
  }
  return std::string_view::npos;
}

std::size_t LineEnd(std::string_view text, std::size_t from) {
  return std::min(text.find('\n', from), text.size());
}

RawValue TakeValue(std::string_view text) {
  RawValue value;
  const std::size_t blanks = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::string_view body = text.substr(blanks);
  if (!body.empty() && (body.front() == '"' || body.front() == '\'')) {
    value.quote = body.front();
    const std::size_t close = FindClosingQuote(body, value.quote);
    value.closed = close != std::string_view::npos;
    if (value.closed) {
      const std::size_t line_end = LineEnd(body, close);
      value.text = body.substr(1, close - 1);
      value.rest = Trim(body.substr(close + 1, line_end - close - 1));
      value.end = blanks + line_end + 1;
      return value;
    }
  }
  const std::size_t line_end = LineEnd(text, 0);
  std::string_view line = text.substr(0, line_end);
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '#' && (line[i - 1] == ' ' || line[i - 1] == '\t')) {
      line = line.substr(0, i);
    }
  }
  value.text = Trim(line);
  value.end = line_end + 1;
  return value;
}

// The meaning of a value of ours, or why it has none.
Result<std::string> Decode(const RawValue& raw) {
  const auto bad = [](std::string message) {
    return Status(Code::kInvalidArgument, std::move(message));
  };
  if (!raw.closed) return bad("a quote is not closed");
  // A value of several lines is a quote that somebody forgot.
  if (raw.text.find('\n') != std::string_view::npos) return bad("a quote is not closed");
  if (!raw.rest.empty() && raw.rest.front() != '#') return bad("text after the closing quote");
  if (raw.quote != '"') return std::string(raw.text);

  static constexpr std::string_view kEscapes = "nrt\"\\$";
  static constexpr std::string_view kMeanings = "\n\r\t\"\\$";
  std::string text;
  for (std::size_t i = 0; i < raw.text.size(); ++i) {
    if (raw.text[i] != '\\') {
      text.push_back(raw.text[i]);
      continue;
    }
    // A backslash is never last: it would have escaped the closing quote.
    const std::size_t escape = kEscapes.find(raw.text[++i]);
    if (escape == std::string_view::npos) {
      return bad("only \\n \\r \\t \\\" \\\\ \\$ may follow a backslash in double quotes");
    }
    text.push_back(kMeanings[escape]);
  }
  return text;
}

}  // namespace

Result<std::map<std::string, DotEnvValue, std::less<>>> ParseDotEnv(
    std::string_view text, std::string_view label,
    const std::function<bool(std::string_view)>& is_ours) {
  std::map<std::string, DotEnvValue, std::less<>> values;
  static constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  static constexpr std::string_view kExport = "export";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());

  for (int line = 1; !text.empty();) {
    std::string_view rest = TrimLeft(text);
    if (rest.starts_with(kExport) && rest.size() > kExport.size() &&
        kBlanks.find(rest[kExport.size()]) != std::string_view::npos) {
      rest = TrimLeft(rest.substr(kExport.size()));
    }
    const auto name_end = std::find_if_not(rest.begin(), rest.end(), IsNameChar);
    const std::string_view name(rest.begin(), name_end);
    rest = TrimLeft(rest.substr(name.size()));
    const bool assigns = !name.empty() && rest.starts_with('=');

    // The values of others are stepped over with care too: a certificate in quotes has
    // lines of its own, which must not be taken for names.
    std::size_t next = static_cast<std::size_t>(rest.data() - text.data());
    RawValue raw;
    if (assigns) {
      raw = TakeValue(rest.substr(1));
      next += 1 + raw.end;
    } else {
      next += LineEnd(rest, 0) + 1;
    }
    if (is_ours(name)) {
      const std::string where = fmt::format("{}:{}: {}: ", label, line, name);
      if (!assigns) return Status(Code::kInvalidArgument, where + "expected NAME=value");
      Result<std::string> value = Decode(raw);
      if (!value.ok()) return Status(value.code(), where + value.status().message());
      values[std::string(name)] = {*std::move(value), line};
    }
    next = std::min(next, text.size());
    line += static_cast<int>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(next), '\n'));
    text.remove_prefix(next);
  }
  return values;
}

}  // namespace keymill::app
