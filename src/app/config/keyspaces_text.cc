// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/keyspaces_text.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/config/quote.h"
#include "keys/recipe_fields.h"
#include "mint/recipe_words.h"

namespace keymill::app {
namespace {

constexpr std::size_t kMessageSizeMax = 400;

Status Refuse(std::string_view label, const YamlMark& at, std::string_view subject,
              std::string_view message) {
  return {Code::kInvalidArgument,
          fmt::format("{}: {}: {}", YamlPosition(label, at), subject, message)};
}

// A value that is not there has no place of its own: yaml-cpp gives that of the next token.
const YamlMark& PlaceOf(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kNull ? node.key_at : node.at;
}

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    part.remove_prefix(std::min(part.find_first_not_of(" \t\n"), part.size()));
    parts.emplace_back(part.substr(0, part.find_last_not_of(" \t\n") + 1));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

Result<mint::RecipeWord> WordFromYaml(const YamlNode& node, std::string_view label,
                                      std::string_view subject) {
  mint::RecipeWord word{.word = node.key, .values = {}};
  const bool many = node.key == "blocklist";
  if (node.kind == YamlNode::Kind::kScalar) {
    word.values = many ? SplitAtCommas(node.text) : std::vector{node.text};
    return word;
  }
  const std::string where = fmt::format("{}.{}", subject, Printable(node.key, kMessageSizeMax));
  if (!many || node.kind != YamlNode::Kind::kList) {
    return Refuse(label, PlaceOf(node), where,
                  fmt::format("expected {}, not {}", many ? "a list of words" : "one value",
                              DescribeNode(node)));
  }
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::kScalar) {
      return Refuse(label, item.at, where,
                    fmt::format("expected a word, not {}", DescribeNode(item)));
    }
    word.values.push_back(item.text);
  }
  return word;
}

// RecipeFromWords knows no places. It names the first word that does not exist, and else
// begins with the word that is wrong; what is about the whole stands at the name.
const YamlMark& PlaceOfMistake(const YamlNode& recipe, std::string_view message) {
  const auto known = mint::RecipeWordNames();
  for (const YamlNode& item : recipe.items) {
    if (std::find(known.begin(), known.end(), item.key) == known.end()) return item.key_at;
  }
  for (const YamlNode& item : recipe.items) {
    if (message.starts_with(item.key + ":") || message.starts_with(item.key + " ")) return item.at;
  }
  return recipe.key_at;
}

Result<Recipe> RecipeFromYaml(const YamlNode& node, std::string_view label) {
  const std::string subject = fmt::format("keyspaces.{}", node.key);
  if (node.kind != YamlNode::Kind::kMap) {
    return Refuse(label, PlaceOf(node), subject,
                  fmt::format("expected a recipe, such as {{kind: shuffled, length: 7}}, not {}",
                              DescribeNode(node)));
  }
  std::vector<mint::RecipeWord> words;
  for (const YamlNode& item : node.items) {
    Result<mint::RecipeWord> word = WordFromYaml(item, label, subject);
    if (!word.ok()) return word.status();
    words.push_back(*std::move(word));
  }
  Result<Recipe> recipe = mint::RecipeFromWords(words);
  if (!recipe.ok()) {
    const std::string message = Printable(recipe.status().message(), kMessageSizeMax);
    return Refuse(label, PlaceOfMistake(node, message), subject, message);
  }
  return recipe;
}

// Plain where YAML cannot take it for anything else, in double quotes otherwise.
std::string YamlScalar(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool is_null = text == "null" || text == "Null" || text == "NULL";
  if (!text.empty() && !is_null && std::all_of(text.begin(), text.end(), is_plain)) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  return quoted + '"';
}

// The kind, what people look for first, and whatever is not as the kind has it by default.
std::string RecipeYaml(const Recipe& recipe) {
  const Recipe normal = DefaultRecipe(recipe.kind);
  std::string text = fmt::format("{{kind: {}", KindName(recipe.kind));
  for (const keys::RecipeField& field : keys::RecipeFields()) {
    if (field.shorthand || !field.BelongsTo(recipe.kind)) continue;
    const std::vector<std::string> values = field.values(recipe);
    const bool always = field.name == "alphabet" || field.name == "length";
    if (!always && values == field.values(normal)) continue;
    std::vector<std::string> scalars;
    scalars.reserve(values.size());
    for (const std::string& value : values) scalars.push_back(YamlScalar(value));
    const bool list = field.form == keys::RecipeField::Form::kList;
    const std::string joined = fmt::format("{}", fmt::join(scalars, ", "));
    text += fmt::format(", {}: {}", field.name, list ? fmt::format("[{}]", joined) : joined);
  }
  return text + "}";
}

}  // namespace

Result<std::map<std::string, Recipe>> KeyspacesFromYaml(const YamlNode& node,
                                                        std::string_view label) {
  static constexpr std::string_view kSubject = "keyspaces";
  if (node.kind != YamlNode::Kind::kMap) {
    return Refuse(label, PlaceOf(node), kSubject,
                  fmt::format("expected {}, not {}", kKeyspacesExpected, DescribeNode(node)));
  }
  std::map<std::string, Recipe> keyspaces;
  for (const YamlNode& item : node.items) {
    if (Status status = CheckKeyspaceName(item.key); !status.ok()) {
      return Refuse(label, item.key_at, kSubject, status.message());
    }
    Result<Recipe> recipe = RecipeFromYaml(item, label);
    if (!recipe.ok()) return recipe.status();
    keyspaces.emplace(item.key, *std::move(recipe));
  }
  return keyspaces;
}

Result<std::map<std::string, Recipe>> ParseKeyspaces(std::string_view text) {
  static constexpr std::string_view kLabel = "value";
  const Result<YamlNode> node = ParseYaml(text, kLabel);
  if (!node.ok()) return node.status();
  return KeyspacesFromYaml(*node, kLabel);
}

std::string KeyspacesText(const std::map<std::string, Recipe>& keyspaces) {
  std::vector<std::string> parts;
  parts.reserve(keyspaces.size());
  for (const auto& [name, recipe] : keyspaces) {
    parts.push_back(fmt::format("{}: {}", YamlScalar(name), RecipeYaml(recipe)));
  }
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

}  // namespace keymill::app
