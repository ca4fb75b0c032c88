// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// From the tree of a file to settings. Variables are expanded here, in values that are
// already cut out of the YAML: whatever a variable holds, it stays one value.

#include "app/config/config_file.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/config/keyspaces_text.h"
#include "app/config/quote.h"
#include "app/config/settings_table.h"
#include "base/suggest.h"

namespace keymill::app {
namespace {

constexpr std::size_t kPathSizeMax = 100;  // Of what somebody wrote, in a message.

class FileApplier {
 public:
  FileApplier(std::string_view label, const VariableLookup& lookup, Config& config)
      : label_(label), lookup_(lookup), config_(config) {}

  Status Apply(YamlNode root) {
    if (root.kind == YamlNode::Kind::kNull) return {};  // Nothing but comments.
    if (root.kind != YamlNode::Kind::kMap) {
      return Refuse(root.at, fmt::format("expected settings such as \"block_size: 1000\", not {}",
                                         DescribeNode(root)));
    }
    for (YamlNode& item : root.items) {
      if (Status status = ApplyTop(item); !status.ok()) return status;
    }
    // Last, because our own name beats the legacy one wherever it stands.
    for (const auto& [row, node] : legacy_) {
      if (Status status = ApplyLegacy(*row, *node); !status.ok()) return status;
    }
    return {};
  }

 private:
  Status Refuse(const YamlMark& at, std::string_view message) const {
    return {Code::kInvalidArgument, fmt::format("{}: {}", YamlPosition(label_, at), message)};
  }

  // `path` has a value at `node` that is wrong.
  Status RefuseValue(const YamlNode& node, std::string_view path, std::string_view message) const {
    const YamlMark& at = node.kind == YamlNode::Kind::kNull ? node.key_at : node.at;
    return Refuse(at, fmt::format("{}: {}", Printable(path, kPathSizeMax), message));
  }

  Status ApplyTop(YamlNode& item) {
    for (const SettingRow& row : SettingRows()) {
      if (!row.info.legacy.empty() && row.info.legacy == item.key) {
        legacy_.emplace_back(&row, &item);
        return {};
      }
    }
    if (item.key == "listen") return ApplyListen(item);
    const SettingRow* row = FindSetting(item.key);
    if (row == nullptr || item.key.find('.') != std::string::npos) {
      return Refuse(item.key_at, fmt::format("unknown setting {}{}", QuoteValue(item.key),
                                             DidYouMean(item.key, TopWords())));
    }
    return ApplyRow(*row, item);
  }

  Status ApplyListen(YamlNode& listen) {
    static constexpr std::string_view kPrefix = "listen.";
    if (listen.kind != YamlNode::Kind::kMap) {
      return RefuseValue(listen, listen.key,
                         fmt::format("expected a mapping, such as {{http: \"127.0.0.1:8080\"}}, "
                                     "not {}",
                                     DescribeNode(listen)));
    }
    for (YamlNode& item : listen.items) {
      const std::string path = std::string(kPrefix) + item.key;
      const SettingRow* row = FindSetting(path);
      if (row == nullptr) {
        return Refuse(item.key_at, fmt::format("unknown setting {}{}", QuoteValue(path),
                                               DidYouMean(path, ListenPaths())));
      }
      if (Status status = ApplyRow(*row, item); !status.ok()) return status;
    }
    return {};
  }

  Status ApplyRow(const SettingRow& row, YamlNode& node) {
    if (Status status = Expand(node, row.info.path); !status.ok()) return status;
    if (Status status = SetFromNode(row, node); !status.ok()) return status;
    own_.insert(row.info.path);
    SetOrigin(row, node);
    return {};
  }

  Status SetFromNode(const SettingRow& row, const YamlNode& node) {
    Settings& settings = config_.settings;
    if (row.info.path == "keyspaces") {
      Result<std::map<std::string, Recipe>> keyspaces = KeyspacesFromYaml(node, label_);
      if (!keyspaces.ok()) return keyspaces.status();
      settings.keyspaces = *std::move(keyspaces);
      return {};
    }
    if (row.info.path == "compat" && node.kind == YamlNode::Kind::kList) {
      settings.compat.clear();
      for (const YamlNode& item : node.items) {
        const Status status =
            item.kind == YamlNode::Kind::kScalar
                ? AddCompat(item.text, settings)
                : Status(Code::kInvalidArgument,
                         fmt::format("expected a word, not {}", DescribeNode(item)));
        if (!status.ok()) return Refuse(item.at, fmt::format("compat: {}", status.message()));
      }
      return {};
    }
    if (node.kind != YamlNode::Kind::kScalar) {
      return RefuseValue(node, row.info.path,
                         fmt::format("expected {}, not {}", row.expected, DescribeNode(node)));
    }
    const Status status = SetFromText(row, node.text, settings);
    return status.ok() ? status : RefuseValue(node, row.info.path, status.message());
  }

  Status ApplyLegacy(const SettingRow& row, YamlNode& node) {
    if (own_.contains(row.info.path) || node.kind == YamlNode::Kind::kNull) return {};
    if (node.kind != YamlNode::Kind::kScalar) {
      return RefuseValue(node, node.key,
                         fmt::format("expected one value, not {}", DescribeNode(node)));
    }
    const Result<Expanded> expanded = ExpandVariables(node.text, lookup_);
    if (!expanded.ok()) return RefuseValue(node, node.key, expanded.status().message());
    // The older service's own file says `PORT: ${PORT}`, set or not.
    if (!expanded->unset.empty()) return {};
    Origin& origin = config_.origins[std::string(row.info.path)];
    const Result<bool> changed = SetFromLegacy(row, expanded->text, origin, config_.settings);
    if (!changed.ok()) return RefuseValue(node, node.key, changed.status().message());
    if (*changed) {
      SetOrigin(row, node);
      origin.legacy = true;
    }
    return {};
  }

  // Expands every value at and under `node`, each once. The depth is bounded by ParseYaml.
  Status Expand(YamlNode& node, std::string_view path) const {
    if (node.kind == YamlNode::Kind::kScalar) {
      Result<Expanded> expanded = ExpandVariables(node.text, lookup_);
      if (!expanded.ok()) return RefuseValue(node, path, expanded.status().message());
      if (!expanded->unset.empty()) {
        const std::string name = Printable(expanded->unset, kPathSizeMax);
        return RefuseValue(node, path,
                           fmt::format("the variable {} is not set (write ${{{}:-default}} where "
                                       "it may be)",
                                       name, name));
      }
      node.text = std::move(expanded->text);
    }
    for (YamlNode& item : node.items) {
      const std::string inner =
          item.key.empty() ? std::string(path) : fmt::format("{}.{}", path, item.key);
      if (Status status = Expand(item, inner); !status.ok()) return status;
    }
    return {};
  }

  void SetOrigin(const SettingRow& row, const YamlNode& node) {
    config_.origins[std::string(row.info.path)] = {Origin::Layer::kFile,
                                                   fmt::format("{}:{}", label_, node.key_at.line)};
  }

  static std::vector<std::string_view> TopWords() {
    std::vector<std::string_view> words;
    for (const SettingRow& row : SettingRows()) {
      words.push_back(row.info.path.substr(0, row.info.path.find('.')));
      if (!row.info.legacy.empty()) words.push_back(row.info.legacy);
    }
    return words;
  }

  static std::vector<std::string_view> ListenPaths() {
    return {"listen.http", "listen.resp", "listen.grpc", "listen.links"};
  }

  const std::string_view label_;
  const VariableLookup& lookup_;
  Config& config_;
  std::set<std::string_view> own_;  // Paths that the file sets under our own names.
  std::vector<std::pair<const SettingRow*, YamlNode*>> legacy_;
};

}  // namespace

Status ApplyFile(YamlNode root, std::string_view label, const VariableLookup& lookup,
                 Config& config) {
  return FileApplier(label, lookup, config).Apply(std::move(root));
}

}  // namespace keymill::app
