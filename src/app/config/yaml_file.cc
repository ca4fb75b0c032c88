// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/yaml_file.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "app/config/quote.h"

namespace keymill::app {
namespace {

constexpr std::size_t kDepthMax = 16;
constexpr std::size_t kNodesMax = 100'000;
constexpr std::string_view kQuotesHint =
    " (a value that ends in a colon, or has one before a space, needs quotes)";

// Thrown through yaml-cpp, which has no other way to be stopped; caught in ParseYaml.
struct Refusal {
  YamlMark at;
  std::string message;
};

YamlMark FromYaml(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

YamlMark Later(const YamlMark& a, const YamlMark& b) {
  return std::tie(a.line, a.column) < std::tie(b.line, b.column) ? b : a;
}

// Builds the tree from yaml-cpp's events and not from YAML::Node: nodes keep the last of
// two equal keys without a word, and expand aliases.
class TreeBuilder final : public YAML::EventHandler {
 public:
  YamlNode TakeRoot() { return std::move(root_); }
  const YamlMark& last() const { return last_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) throw Refusal{FromYaml(mark), "there is a second document"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    Add({.kind = YamlNode::Kind::kNull, .at = FromYaml(mark)});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    throw Refusal{FromYaml(mark), "aliases (*name) are not allowed here"};
  }
  void OnAnchor(const YAML::Mark& mark, const std::string& /*name*/) override {
    throw Refusal{FromYaml(mark), "anchors (&name) are not allowed here"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    CheckTag(mark, tag);
    Add({.kind = YamlNode::Kind::kScalar, .at = FromYaml(mark), .text = value});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(YamlNode::Kind::kList, mark, tag);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(YamlNode::Kind::kMap, mark, tag);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    YamlNode node;
    bool has_key = false;  // kMap: `key` waits for its value.
    std::string key;
    YamlMark key_at;
    std::map<std::string, YamlMark, std::less<>> seen;
  };

  static bool WaitsForKey(const Frame& frame) {
    return frame.node.kind == YamlNode::Kind::kMap && !frame.has_key;
  }

  static void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    // "?" and "!" are what yaml-cpp calls a plain and a quoted scalar without a tag.
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw Refusal{FromYaml(mark), "tags (!name) are not allowed here"};
    }
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag) {
    CheckTag(mark, tag);
    last_ = Later(last_, FromYaml(mark));
    // Refused here, before yaml-cpp's own recursion gets anywhere.
    if (stack_.size() >= kDepthMax) {
      throw Refusal{FromYaml(mark), fmt::format("is nested more than {} deep", kDepthMax)};
    }
    if (!stack_.empty() && WaitsForKey(stack_.back())) {
      throw Refusal{FromYaml(mark), "a key must be a word, not a list or a mapping"};
    }
    stack_.emplace_back();
    stack_.back().node.kind = kind;
    stack_.back().node.at = FromYaml(mark);
  }

  void Close() {
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    Add(std::move(node));
  }

  void Add(YamlNode node) {
    last_ = Later(last_, node.at);
    if (++nodes_ > kNodesMax) throw Refusal{node.at, fmt::format("more than {} values", kNodesMax)};
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (WaitsForKey(frame)) {
      SetKey(frame, node);
      return;
    }
    if (frame.has_key) {
      node.key = std::exchange(frame.key, {});
      node.key_at = frame.key_at;
      frame.has_key = false;
    }
    frame.node.items.push_back(std::move(node));
  }

  static void SetKey(Frame& frame, const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kScalar) throw Refusal{node.at, "a key must be a word"};
    const auto [first, is_new] = frame.seen.emplace(node.text, node.at);
    if (!is_new) {
      throw Refusal{node.at, fmt::format("{} is here twice; the first is on line {}",
                                         QuoteValue(node.text), first->second.line)};
    }
    frame.key = node.text;
    frame.key_at = node.at;
    frame.has_key = true;
  }

  std::vector<Frame> stack_;
  YamlNode root_;
  YamlMark last_;  // The furthest that was read.
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

// yaml-cpp takes 0x04 for the end of the file and replaces bytes that are not UTF-8, so
// both would change what a file says without a word.
std::optional<Refusal> FindBadByte(std::string_view text) {
  YamlMark at;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t size = Utf8SequenceSize(text, i);
    if (size == 0) return Refusal{at, fmt::format("byte 0x{:02x} is not UTF-8", byte)};
    const bool space = byte == '\t' || byte == '\n' || byte == '\r';
    if ((byte < 0x20 && !space) || byte == 0x7f) {
      return Refusal{at, fmt::format("control character 0x{:02x}", byte)};
    }
    i += size;
    if (byte == '\n') {
      at = {at.line + 1, 1};
    } else {
      ++at.column;
    }
  }
  return {};
}

// The first line up to `last` that is indented with a tab, where YAML wants spaces.
std::optional<YamlMark> FindTab(std::string_view text, int last) {
  for (YamlMark at; at.line <= last; ++at.line) {
    const std::size_t tab = text.find_first_not_of(' ');
    if (tab != std::string_view::npos && text[tab] == '\t') {
      return YamlMark{at.line, static_cast<int>(tab) + 1};
    }
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return {};
}

Status RefusalStatus(std::string_view label, const Refusal& refusal) {
  return {Code::kInvalidArgument,
          fmt::format("{}: {}", YamlPosition(label, refusal.at), refusal.message)};
}

}  // namespace

Result<YamlNode> ParseYaml(std::string_view text, std::string_view label) {
  static constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (const auto bad = FindBadByte(text)) return RefusalStatus(label, *bad);

  // A quote that is never closed would swallow the rest of the text in silence, if only
  // that ends in a line break.
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  std::istringstream stream{std::string(text)};
  TreeBuilder builder;
  try {
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const Refusal& refusal) {
    return RefusalStatus(label, refusal);
  } catch (const YAML::Exception& error) {
    // At the end of the text yaml-cpp gives no position, or that of the beginning.
    YamlMark at = builder.last();
    if (!error.mark.is_null()) at = Later(at, FromYaml(error.mark));
    if (const auto tab = FindTab(text, at.line + 1)) {
      return RefusalStatus(label, {*tab, "not YAML: a tab; indent with spaces"});
    }
    // `store: memory:` is the mistake that everybody makes once.
    const bool wants_quotes = error.msg == YAML::ErrorMsg::MAP_VALUE;
    return RefusalStatus(
        label, {at, fmt::format("not YAML: {}{}", error.msg, wants_quotes ? kQuotesHint : "")});
  }
  return builder.TakeRoot();
}

std::string YamlPosition(std::string_view label, const YamlMark& at) {
  return fmt::format("{}:{}:{}", label, at.line, at.column);
}

std::string DescribeNode(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a mapping";
    case YamlNode::Kind::kScalar:
      break;
  }
  return QuoteValue(node.text);
}

}  // namespace keymill::app
