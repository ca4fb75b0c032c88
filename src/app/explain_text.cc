// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/explain_text.h"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/utc_text.h"
#include "keys/foreign_snowflake.h"

namespace keymill::app {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<keys::ForeignSnowflake> DecodeForeign(std::string_view key, std::string_view service) {
  std::uint64_t id = 0;
  const char* const end = key.data() + key.size();
  const auto [stopped, error] = std::from_chars(key.data(), end, id);
  // The service first: who mistyped it should not be told about digits.
  Result<keys::ForeignSnowflake> decoded = keys::DecodeForeignSnowflake(service, id);
  if (!decoded.ok()) return decoded;
  if (error == std::errc() && stopped == end) return decoded;
  return Status(Code::kInvalidArgument,
                fmt::format("\"{:.40}\" is no id of {}: those are whole numbers below 2^64 in "
                            "decimal",
                            key, service));
}

}  // namespace

std::string GuessesText(std::string_view key, std::span<const keys::KindGuess> guesses) {
  std::string text = fmt::format("key       {}\nkeyspace  none of this store\n", key);
  if (guesses.empty()) return text + "looks     like nothing that is known here\n";
  for (const keys::KindGuess& guess : guesses) {
    text += fmt::format("{:<9} {}{}: {}\n", keys::LikelihoodName(guess.likelihood), guess.what,
                        guess.time_ms ? fmt::format(", {}", UtcText(*guess.time_ms)) : "",
                        guess.reason);
  }
  return text;
}

std::string GuessesJson(std::string_view key, std::span<const keys::KindGuess> guesses) {
  Json json;
  json["key"] = key;
  json["keyspace"] = nullptr;
  json["guesses"] = Json::array();
  for (const keys::KindGuess& guess : guesses) {
    Json each;
    each["what"] = guess.what;
    each["likelihood"] = keys::LikelihoodName(guess.likelihood);
    if (guess.time_ms) each["time"] = UtcText(*guess.time_ms);
    each["reason"] = guess.reason;
    json["guesses"].push_back(std::move(each));
  }
  return Dump(json);
}

Result<std::string> ForeignText(std::string_view key, std::string_view service) {
  const Result<keys::ForeignSnowflake> decoded = DecodeForeign(key, service);
  if (!decoded.ok()) return decoded.status();
  std::string text = fmt::format("{:<11} {}\n{:<11} {}\n{:<11} {}\n", "key", key, "service",
                                 service, "time", UtcText(decoded->time_ms));
  for (const keys::ForeignSnowflake::Field& field : decoded->fields) {
    text += fmt::format("{:<11} {}\n", field.name, field.value);
  }
  return text;
}

Result<std::string> ForeignJson(std::string_view key, std::string_view service) {
  const Result<keys::ForeignSnowflake> decoded = DecodeForeign(key, service);
  if (!decoded.ok()) return decoded.status();
  Json json;
  json["key"] = key;
  json["service"] = service;
  json["time"] = UtcText(decoded->time_ms);
  for (const keys::ForeignSnowflake::Field& field : decoded->fields) {
    json[std::string(field.name)] = field.value;
  }
  return Dump(json);
}

}  // namespace keymill::app
