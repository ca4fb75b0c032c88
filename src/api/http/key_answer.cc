// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/key_answer.h"

#include <algorithm>

namespace keymill::api::http {
namespace {

// Around the keyspace's name and the keys.
constexpr std::string_view kBefore = "{\"keyspace\":\"";
constexpr std::string_view kBetween = "\",\"keys\":[\"";
constexpr std::string_view kBehind = "\"]}\n";

std::size_t JsonSize(std::string_view keyspace, std::size_t keys_size) {
  return kBefore.size() + keyspace.size() + kBetween.size() + keys_size + kBehind.size();
}

}  // namespace

std::string_view KeySeparator(KeyFormat format) {
  switch (format) {
    case KeyFormat::kJson:
      return "\",\"";
    case KeyFormat::kText:
    case KeyFormat::kStream:
      return "\n";
    case KeyFormat::kBare:
      break;
  }
  return {};
}

void AppendKeysAnswer(std::string& output, KeyFormat format, std::string_view keyspace,
                      std::string_view keys, const ReplyContext& context) {
  const bool json = format == KeyFormat::kJson;
  if (json) keys.remove_suffix(KeySeparator(format).size());
  const std::size_t size = json ? JsonSize(keyspace, keys.size()) : keys.size();
  AppendHead(output, 200, json ? kJsonType : kTextType, static_cast<std::int64_t>(size), kNoStore,
             context);
  output += "\r\n";
  if (json) output.append(kBefore).append(keyspace).append(kBetween);
  output += keys;
  if (json) output += kBehind;
}

std::string KeysBody(KeyFormat format, std::string_view keyspace, std::string_view lines) {
  if (format == KeyFormat::kText) return std::string(lines);
  std::string body;
  body.append(kBefore).append(keyspace).append(kBetween);
  lines.remove_suffix(1);
  for (const char c : lines) {
    if (c == '\n') {
      body += KeySeparator(KeyFormat::kJson);
    } else {
      body += c;
    }
  }
  return body.append(kBehind);
}

void AppendKeyAnswers(std::string& output, KeyFormat format, std::string_view keyspace,
                      std::string_view lines, std::size_t size) {
  const std::size_t count = lines.size() / (size + 1);
  const std::size_t first = output.size();
  std::size_t key_at = 0;
  if (format == KeyFormat::kJson) {
    output.append(OkHead(kJsonType, JsonSize(keyspace, size)));
    output.append(kBefore).append(keyspace).append(kBetween);
    key_at = output.size() - first;
    output.append(lines, 0, size).append(kBehind);
  } else {
    const std::size_t body_size = format == KeyFormat::kText ? size + 1 : size;
    output.append(OkHead(kTextType, body_size));
    key_at = output.size() - first;
    output.append(lines, 0, body_size);
  }
  // The answers differ in their keys only: all are copies of the first.
  const std::size_t answer_size = output.size() - first;
  output.resize(first + count * answer_size);
  char* const answers = output.data() + first;
  for (std::size_t i = 1; i < count; ++i) {
    char* const answer = answers + i * answer_size;
    std::copy_n(answers, answer_size, answer);
    lines.copy(answer + key_at, size, i * (size + 1));
  }
}

void AppendStreamHead(std::string& output, const ReplyContext& context) {
  AppendHead(output, 200, kTextType, -1,
             "Cache-Control: no-store\r\nTransfer-Encoding: chunked\r\n", context);
  output += "\r\n";
}

}  // namespace keymill::api::http
