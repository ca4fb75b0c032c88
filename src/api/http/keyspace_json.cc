// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/keyspace_json.h"

#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/utc_text.h"

namespace keymill::api::http {
namespace {

using Json = nlohmann::ordered_json;

// More than any object that we know has. Each name is compared with all before it.
constexpr std::size_t kWordsMax = 32;

// Takes a flat object apart while it is being read, so that neither depth nor size of what
// somebody sends ever becomes memory.
class WordReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  enum class Values : std::uint8_t { kAny, kIntegers, kStrings };
  explicit WordReader(Values values) : values_(values) {}

  bool null() override { return RefuseValue("null is no value here"); }
  bool boolean(bool value) override { return AddOther(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { return AddInteger(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override { return AddInteger(std::to_string(value)); }
  bool number_float(double /*value*/, const std::string& text) override {
    // Integers that do not fit 64 bits come here too.
    const bool integer = text.find_first_of(".eE") == std::string::npos;
    return integer ? AddInteger(text) : AddOther(text);
  }
  bool string(std::string& value) override {
    if (values_ == Values::kIntegers) return RefuseValue("an object is expected");
    return Add(std::move(value));
  }
  bool binary(binary_t& /*value*/) override { return RefuseValue("binary is no value here"); }

  bool start_object(std::size_t /*size*/) override {
    if (started_) return RefuseValue("objects inside objects are not accepted");
    started_ = true;
    return true;
  }
  bool end_object() override { return true; }
  bool key(std::string& name) override {
    if (words.size() == kWordsMax) return Refuse("too many names");
    for (const auto& word : words) {
      if (word.word == name) return Refuse(fmt::format("\"{}\" is given twice", name));
    }
    words.push_back({name, {}});
    return true;
  }
  bool start_array(std::size_t /*size*/) override {
    if (words.empty() || in_array_) return Refuse("an object is expected");
    if (values_ != Values::kAny) return RefuseValue({});
    in_array_ = true;
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& what) override {
    constexpr int kNumberOverflow = 406;
    if (what.id == kNumberOverflow && !words.empty()) {
      return Refuse(fmt::format("{} is {}: no number is that large here", words.back().word,
                                token.substr(0, 32)));
    }
    return Refuse(fmt::format("not JSON at byte {}", position));
  }

  std::vector<mint::RecipeWord> words;
  std::string refusal;

 private:
  bool Refuse(std::string why) {
    if (refusal.empty()) refusal = std::move(why);
    return false;
  }
  // For a value that is none of those that are expected; `why` unless one kind only is.
  bool RefuseValue(std::string why) {
    if (values_ == Values::kAny || words.empty()) return Refuse(std::move(why));
    return Refuse(fmt::format("{} must be a {}", words.back().word,
                              values_ == Values::kIntegers ? "whole number" : "string"));
  }
  bool AddInteger(std::string value) {
    return values_ == Values::kStrings ? RefuseValue("an object is expected")
                                       : Add(std::move(value));
  }
  // What is neither an integer nor a string.
  bool AddOther(std::string value) {
    return values_ == Values::kAny ? Add(std::move(value)) : RefuseValue("an object is expected");
  }
  bool Add(std::string value) {
    if (words.empty()) return Refuse("an object is expected");
    words.back().values.push_back(std::move(value));
    return true;
  }

  const Values values_;
  bool started_ = false;
  bool in_array_ = false;
};

Result<std::vector<mint::RecipeWord>> Parse(std::string_view json, WordReader::Values values) {
  // The library takes a NUL for the end of its input.
  if (const std::size_t nul = json.find('\0'); nul != std::string_view::npos) {
    return Status(Code::kInvalidArgument, fmt::format("body: not JSON at byte {}", nul + 1));
  }
  WordReader reader(values);
  const bool parsed = nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  if (!parsed) {
    return Status(Code::kInvalidArgument,
                  "body: " + (reader.refusal.empty() ? std::string("not JSON") : reader.refusal));
  }
  return std::move(reader.words);
}

// REQUIRES: `values` are such that no list is accepted.
Result<std::vector<std::pair<std::string, std::string>>> ParsePairs(std::string_view json,
                                                                    WordReader::Values values) {
  Result<std::vector<mint::RecipeWord>> words = Parse(json, values);
  if (!words.ok()) return words.status();
  std::vector<std::pair<std::string, std::string>> pairs;
  for (mint::RecipeWord& word : *words) {
    pairs.emplace_back(std::move(word.word), std::move(word.values.front()));
  }
  return pairs;
}

}  // namespace

std::string IsoTime(std::int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// How many keys are in each state that keys of this kind can have.
Json CountsJson(Kind kind, const KeyTable::Counts& counts) {
  using enum KeyState;
  Json json;
  for (const KeyState state : {kAvailable, kReserved, kUsed, kReleased, kDerived, kAlias}) {
    const bool pool_only = state != kDerived && state != kAlias;
    if (kind == Kind::kDerived ? pool_only : state == kDerived) continue;
    json[std::string(KeyStateName(state))] =
        std::to_string(counts.at(static_cast<std::size_t>(state)));
  }
  return json;
}

std::string KeyspaceJson(const mint::KeyspaceInfo& info) {
  Json json;
  json["name"] = info.record.name;
  json["kind"] = KindName(info.recipe.kind);
  json["state"] = KeyspaceStateName(info.record.state);
  if (!info.record.reason.empty()) json["reason"] = info.record.reason;
  json["recipe"] = Json::parse(info.record.recipe);
  if (json["recipe"].contains("start")) {
    json["recipe"]["start"] = std::to_string(info.recipe.start);
  }
  if (!info.endless) {
    json["capacity"] = std::to_string(info.capacity);
  }
  if (info.counted()) {
    json["used"] = std::to_string(info.used);
    json["left"] = std::to_string(info.left);
  }
  if (info.counts) json["keys"] = CountsJson(info.recipe.kind, *info.counts);
  json["created_at"] = IsoTime(info.record.created_at_ms);
  Json forecast;
  forecast["rate_per_second"] = info.rate;
  if (info.exhausted_at_ms) {
    forecast["exhausted_at"] = IsoTime(*info.exhausted_at_ms);
  } else {
    forecast["exhausted_at"] = nullptr;
  }
  if (info.years_left) forecast["years_left"] = *info.years_left;
  json["forecast"] = forecast;
  Json instance;
  if (!info.endless) instance["held"] = std::to_string(info.ahead);
  if (info.runway_seconds) {
    instance["runway_seconds"] = *info.runway_seconds;
  } else {
    instance["runway_seconds"] = nullptr;
  }
  instance["waited"] = std::to_string(info.waited);
  json["instance"] = instance;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json BlockJson(const LedgerRow& block) {
  Json json;
  json["id"] = block.block_id;
  json["first"] = std::to_string(block.first);
  json["count"] = std::to_string(block.count);
  json["state"] = BlockStateName(block.state);
  json["instance"] = block.instance;
  json["reserved_at"] = IsoTime(block.reserved_at_ms);
  return json;
}

// What the store remembers of a key.
Json RecordJson(const KeyRow& row) {
  Json json;
  json["state"] = KeyStateName(row.state);
  json["since"] = UtcText(row.since_ms);
  if (!row.instance.empty()) json["instance"] = row.instance;
  if (!row.owner.empty()) json["owner"] = row.owner;
  if (row.expires_at_ms != 0) json["expires_at"] = UtcText(row.expires_at_ms);
  // Of a link the field counts who followed it.
  if (row.state != KeyState::kLink) json["generation"] = std::to_string(row.generation);
  return json;
}

std::string ExplanationJson(const mint::Explanation& explanation, std::string_view key) {
  Json json;
  json["keyspace"] = explanation.keyspace;
  json["key"] = key;
  json["state"] = mint::ExplanationStateName(explanation.state);
  json["kind"] = KindName(explanation.kind);
  if (explanation.number) json["number"] = std::to_string(*explanation.number);
  if (explanation.index) json["index"] = std::to_string(*explanation.index);
  if (explanation.time_ms) json["time"] = UtcText(*explanation.time_ms);
  if (explanation.worker) json["worker"] = *explanation.worker;
  if (explanation.sequence) json["sequence"] = *explanation.sequence;
  if (explanation.block) json["block"] = BlockJson(*explanation.block);
  if (explanation.record) json["record"] = RecordJson(*explanation.record);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ClaimJson(std::string_view keyspace, std::string_view key, std::string_view owner) {
  Json json;
  json["keyspace"] = keyspace;
  json["key"] = key;
  json["state"] = mint::ExplanationStateName(mint::Explanation::State::kAlias);
  if (!owner.empty()) json["owner"] = owner;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string DerivedJson(std::string_view keyspace, const mint::Engine::Derived& derived) {
  Json json;
  json["keyspace"] = keyspace;
  json["key"] = derived.key;
  json["existing"] = derived.existing;
  return json.dump();
}

std::string BoundsJson(std::string_view keyspace, const TimeRange& range,
                       const mint::Engine::Bounds& bounds) {
  Json json;
  json["keyspace"] = keyspace;
  json["from"] = UtcText(range.from_ms);
  json["to"] = UtcText(range.to_ms);
  json["first"] = bounds.first;
  json["last"] = bounds.last;
  return json.dump();
}

Result<std::vector<mint::RecipeWord>> ParseWords(std::string_view json) {
  return Parse(json, WordReader::Values::kAny);
}

Result<std::vector<std::pair<std::string, std::string>>> ParseIntegers(std::string_view json) {
  return ParsePairs(json, WordReader::Values::kIntegers);
}

Result<std::vector<std::pair<std::string, std::string>>> ParseStrings(std::string_view json) {
  return ParsePairs(json, WordReader::Values::kStrings);
}

}  // namespace keymill::api::http
