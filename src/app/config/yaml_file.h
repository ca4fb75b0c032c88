// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// YAML as a plain tree with positions. The only place that knows yaml-cpp; what that
// library lets pass in silence (a key that is there twice, an end-of-file character in
// the middle, a second document) is an error here.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

namespace keymill::app {

struct YamlMark {
  int line = 1;
  int column = 1;
};

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  YamlMark at;
  std::string text{};             // kScalar: as written, without quotes; never interpreted.
  std::vector<YamlNode> items{};  // kList, kMap; in the order of the text.

  // For an item of a kMap; all keys of one map differ.
  std::string key{};
  YamlMark key_at{};
};

// The tree of the one document in `text`; kNull when there is none.
// Errors, all with "<label>:<line>:<column>: " in front:
//   kInvalidArgument  not YAML, not UTF-8, control characters, a key twice in one map, a
//                     key that is not a scalar, anchors, aliases and tags, a second
//                     document, more than 16 levels or 100 000 values.
Result<YamlNode> ParseYaml(std::string_view text, std::string_view label);

// "keymill.yml:3:1"
std::string YamlPosition(std::string_view label, const YamlMark& at);

// What stands there, for "expected …, not …": "nothing", "a list", "a mapping", or the
// text in quotes.
std::string DescribeNode(const YamlNode& node);

}  // namespace keymill::app
