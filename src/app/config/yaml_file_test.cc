// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/yaml_file.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace keymill::app {
namespace {

std::string MessageOf(std::string_view text) { return ParseYaml(text, "f.yml").status().message(); }

std::string Repeat(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

TEST(ParseYamlTest, KeepsTextOrderAndPlaces) {
  const Result<YamlNode> root = ParseYaml("b: off\na:\n  - 'x: y'\n  - 007\n", "f.yml");
  ASSERT_TRUE(root.ok()) << root.status().message();
  ASSERT_EQ(root->kind, YamlNode::Kind::kMap);
  ASSERT_EQ(root->items.size(), 2U);
  EXPECT_EQ(root->items[0].key, "b");
  EXPECT_EQ(root->items[0].text, "off");
  EXPECT_EQ(YamlPosition("f.yml", root->items[0].key_at), "f.yml:1:1");
  EXPECT_EQ(YamlPosition("f.yml", root->items[0].at), "f.yml:1:4");
  const YamlNode& list = root->items[1];
  ASSERT_EQ(list.kind, YamlNode::Kind::kList);
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[0].text, "x: y");
  EXPECT_EQ(list.items[1].text, "007");
  EXPECT_EQ(YamlPosition("f.yml", list.items[1].at), "f.yml:4:5");
}

TEST(ParseYamlTest, TakesATextWithoutADocumentForNull) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~"}) {
    const Result<YamlNode> root = ParseYaml(text, "f.yml");
    ASSERT_TRUE(root.ok()) << root.status().message();
    EXPECT_EQ(root->kind, YamlNode::Kind::kNull) << text;
  }
}

TEST(ParseYamlTest, SkipsAByteOrderMark) {
  const Result<YamlNode> root = ParseYaml(
      "\xef\xbb\xbf"
      "a: 1\n",
      "f.yml");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->items.at(0).key, "a");
}

TEST(ParseYamlTest, RefusesAKeyThatIsThereTwice) {
  EXPECT_EQ(MessageOf("a: 1\nb: 2\na: 3\n"),
            "f.yml:3:1: \"a\" is here twice; the first is on line 1");
  EXPECT_EQ(MessageOf("m: {a: 1, \"a\": 2}"),
            "f.yml:1:11: \"a\" is here twice; the first is on line 1");
}

TEST(ParseYamlTest, RefusesBytesThatWouldChangeTheMeaning) {
  EXPECT_EQ(MessageOf(std::string_view("a: 1\nb: \0", 9)), "f.yml:2:4: control character 0x00");
  EXPECT_EQ(MessageOf("a: 1\n\x04"
                      "b: 2"),
            "f.yml:2:1: control character 0x04");
  EXPECT_EQ(MessageOf("a: \xff"), "f.yml:1:4: byte 0xff is not UTF-8");
  EXPECT_EQ(MessageOf("\xff\xfe"
                      "a"),
            "f.yml:1:1: byte 0xff is not UTF-8");
}

TEST(ParseYamlTest, RefusesWhatBuildsBombs) {
  EXPECT_EQ(MessageOf("a: &x [1]\nb: *x\n"), "f.yml:1:4: anchors (&name) are not allowed here");
  EXPECT_EQ(MessageOf("b: *x\n"), "f.yml:1:4: not YAML: the referenced anchor is not defined");
  EXPECT_EQ(MessageOf("a: !!binary aGk=\n"), "f.yml:1:4: tags (!name) are not allowed here");
  EXPECT_EQ(MessageOf("a: 1\n---\nb: 2\n"), "f.yml:2:1: there is a second document");
  EXPECT_EQ(MessageOf("[" + Repeat("1,", 100'001) + "]").substr(0, 8), "f.yml:1:");
}

TEST(ParseYamlTest, RefusesDeepNestingOfEveryKind) {
  // What yaml-cpp makes of brackets that are never closed is its own affair, as long as it
  // comes back.
  for (const char* opening : {"[", "{", "{a: ", "- ", "? ", "[{a: ", "[\n", "{a:\n"}) {
    EXPECT_TRUE(MessageOf(Repeat(opening, 100'000)).starts_with("f.yml:")) << opening;
  }
  EXPECT_EQ(MessageOf(Repeat("[", 1000) + Repeat("]", 1000)).substr(0, 6), "f.yml:");
  EXPECT_EQ(MessageOf("a: " + Repeat("[", 16) + Repeat("]", 16)),
            "f.yml:1:19: is nested more than 16 deep");
  EXPECT_EQ(MessageOf("a: " + Repeat("[", 15) + Repeat("]", 15)), "");
  std::string stairs;
  for (int i = 0; i < 1000; ++i) stairs += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(MessageOf(stairs), "f.yml:17:17: is nested more than 16 deep");
}

TEST(ParseYamlTest, RefusesKeysThatAreNoWords) {
  EXPECT_EQ(MessageOf("? [a]\n: 1\n"), "f.yml:1:3: a key must be a word, not a list or a mapping");
  EXPECT_EQ(MessageOf("~: 1\n"), "f.yml:1:1: a key must be a word");
}

TEST(ParseYamlTest, SaysWhereTheTextIsNotYaml) {
  EXPECT_EQ(MessageOf("a: 1\nb: [1,\n"), "f.yml:2:5: not YAML: end of sequence flow not found");
  EXPECT_EQ(MessageOf("a: b: c\n"),
            "f.yml:1:5: not YAML: illegal map value (a value that ends in a colon, or has one "
            "before a space, needs quotes)");
  EXPECT_EQ(MessageOf("a: \"x\nb: 1\n\n"), "f.yml:2:5: not YAML: illegal EOF in scalar");
  EXPECT_EQ(MessageOf("a: 'x\nb: 1\n\n"), "f.yml:2:5: not YAML: illegal EOF in scalar");
}

TEST(ParseYamlTest, NamesATabThatIndents) {
  EXPECT_EQ(MessageOf("listen:\n\thttp: x\n"), "f.yml:2:1: not YAML: a tab; indent with spaces");
  EXPECT_EQ(MessageOf("a: 1\nb:\n  c: 1\n \td: 2\n"),
            "f.yml:4:2: not YAML: a tab; indent with spaces");
  EXPECT_EQ(MessageOf("a: 1\t# Elsewhere a tab is a space.\n"), "");
}

TEST(ParseYamlTest, SurvivesRandomText) {
  EXPECT_TRUE(rc::check([] {
    const auto symbol = rc::gen::elementOf(std::string("ab:-[]{},?&*!|>'\"%@`#\n \t~.\\0"));
    const auto text = *rc::gen::container<std::string>(symbol);
    ParseYaml(text, "f.yml").status().Ignore();  // It must only come back.
  }));
}

}  // namespace
}  // namespace keymill::app
