// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/txn.h"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>

namespace keymill::store::etcd {
namespace {

using Json = nlohmann::json;

Status Strange(std::string_view what) {
  return {Code::kInternal, fmt::format("read etcd's answer: {}", what)};
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Json RangeJson(const Range& range) {
  Json json = {{"key", Base64(range.key)}};
  if (!range.end.empty()) json["range_end"] = Base64(range.end);
  if (range.limit != 0) json["limit"] = std::to_string(range.limit);
  if (range.descending) json["sort_order"] = "DESCEND";
  if (range.at_revision != 0) json["revision"] = std::to_string(range.at_revision);
  if (range.keys_only) json["keys_only"] = true;
  if (range.count_only) json["count_only"] = true;
  return Json{{"request_range", std::move(json)}};
}

// Numbers are text there; what is not there is zero.
Result<std::int64_t> Number(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::int64_t{0};
  if (!found->is_string()) return Strange(fmt::format("{} is no text", name));
  const auto& text = found->get_ref<const std::string&>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Strange(fmt::format("{} is \"{}\"", name, text));
  }
  return number;
}

Result<std::string> Text(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::string();
  if (!found->is_string()) return Strange(fmt::format("{} is no text", name));
  return found->get<std::string>();
}

Result<KeyValue> ReadKeyValue(const Json& json) {
  if (!json.is_object()) return Strange("a key is no object");
  KeyValue read;
  Result<std::int64_t> revision = Number(json, "mod_revision");
  if (!revision.ok()) return revision.status();
  read.mod_revision = *revision;
  for (const auto& [name, into] : {std::pair("key", &read.key), std::pair("value", &read.value)}) {
    Result<std::string> text = Text(json, name);
    if (!text.ok()) return text.status();
    Result<std::string> bytes = FromBase64(*text);
    if (!bytes.ok()) return bytes.status();
    *into = *std::move(bytes);
  }
  return read;
}

// Adds what it says to `reply`.
Status ReadRange(const Json& response, Reply& reply) {
  const auto range = response.find("response_range");
  if (range == response.end() || !range->is_object()) return Strange("a range is missing");
  Result<std::int64_t> count = Number(*range, "count");
  if (!count.ok()) return count.status();
  reply.counts.push_back(static_cast<std::uint64_t>(*count));
  std::vector<KeyValue>& read = reply.ranges.emplace_back();
  const auto found = range->find("kvs");
  if (found == range->end()) return {};
  for (const Json& each : *found) {
    Result<KeyValue> pair = ReadKeyValue(each);
    if (!pair.ok()) return pair.status();
    read.push_back(*std::move(pair));
  }
  return {};
}

}  // namespace

std::string Base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), Bytes(bytes),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

Result<std::string> FromBase64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3 + 3, '\0');
  const int size = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()), Bytes(text),
                                     static_cast<int>(text.size()));
  if (size < 0 || text.size() % 4 != 0) return Strange("no base 64");
  // It counts the padding as zeros.
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(static_cast<std::size_t>(size) - padding);
  // It also takes spaces around, and padding in the middle.
  if (Base64(bytes) != text) return Strange("no base 64");
  return bytes;
}

std::string TransactionText(const Transaction& transaction) {
  Json compare = Json::array();
  for (const auto& [key, revision] : transaction.unchanged) {
    compare.push_back({{"key", Base64(key)},
                       {"target", "MOD"},
                       {"result", "EQUAL"},
                       {"mod_revision", std::to_string(revision)}});
  }
  Json success = Json::array();
  for (const Range& range : transaction.ranges) success.push_back(RangeJson(range));
  for (const auto& [key, value] : transaction.writes) {
    if (value) {
      success.push_back({{"request_put", {{"key", Base64(key)}, {"value", Base64(*value)}}}});
    } else {
      success.push_back({{"request_delete_range", {{"key", Base64(key)}}}});
    }
  }
  for (const Range& range : transaction.deletes) {
    success.push_back(
        {{"request_delete_range", {{"key", Base64(range.key)}, {"range_end", Base64(range.end)}}}});
  }
  return Json{{"compare", std::move(compare)}, {"success", std::move(success)}}.dump();
}

Result<Reply> ReadReply(std::string_view body, const Transaction& transaction) {
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("header") || !json["header"].is_object()) {
    return Strange("it has no header");
  }
  Reply reply;
  Result<std::int64_t> revision = Number(json["header"], "revision");
  if (!revision.ok()) return revision.status();
  Result<std::int64_t> term = Number(json["header"], "raft_term");
  if (!term.ok()) return term.status();
  Result<std::string> cluster = Text(json["header"], "cluster_id");
  if (!cluster.ok()) return cluster.status();
  reply.header = {*std::move(cluster), *term, *revision};
  const auto succeeded = json.find("succeeded");
  reply.succeeded = succeeded != json.end() && succeeded->is_boolean() && succeeded->get<bool>();
  if (!reply.succeeded) return reply;
  const auto responses = json.find("responses");
  const std::size_t expected =
      transaction.ranges.size() + transaction.writes.size() + transaction.deletes.size();
  const std::size_t count =
      responses != json.end() && responses->is_array() ? responses->size() : 0;
  if (count != expected) return Strange(fmt::format("{} parts instead of {}", count, expected));
  for (std::size_t i = 0; i < transaction.ranges.size(); ++i) {
    if (Status read = ReadRange((*responses)[i], reply); !read.ok()) return read;
  }
  return reply;
}

std::string PrefixEnd(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  // All bytes 0xff: "\0" stands for the end of all keys.
  if (prefix.empty()) return std::string(1, '\0');
  ++prefix.back();
  return prefix;
}

}  // namespace keymill::store::etcd
