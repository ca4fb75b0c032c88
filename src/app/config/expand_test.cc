// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/expand.h"

#include <string>

#include <gtest/gtest.h>

namespace keymill::app {
namespace {

std::optional<std::string> Lookup(std::string_view name) {
  if (name == "HOST") return "db";
  if (name == "EMPTY") return "";
  if (name == "TRICK") return "${HOST} $$";
  return {};
}

std::string Expand(std::string_view text) {
  const Result<Expanded> result = ExpandVariables(text, Lookup);
  if (!result.ok()) return "error: " + result.status().message();
  return result->unset.empty() ? result->text : "unset: " + result->unset;
}

TEST(ExpandTest, ReplacesVariables) {
  EXPECT_EQ(Expand("a-${HOST}-${HOST}"), "a-db-db");
  EXPECT_EQ(Expand("${EMPTY}"), "");
  EXPECT_EQ(Expand("${NONE}${OTHER}"), "unset: NONE");
}

TEST(ExpandTest, TakesTheDefaultForUnsetAndEmpty) {
  EXPECT_EQ(Expand("${NONE:-x}"), "x");
  EXPECT_EQ(Expand("${EMPTY:-x}"), "x");
  EXPECT_EQ(Expand("${HOST:-x}"), "db");
  EXPECT_EQ(Expand("${NONE:-}"), "");
  EXPECT_EQ(Expand("${NONE:-a:-b}"), "a:-b");
}

TEST(ExpandTest, KeepsDollars) {
  EXPECT_EQ(Expand("$$"), "$");
  EXPECT_EQ(Expand("$${HOST}"), "${HOST}");
  EXPECT_EQ(Expand("$HOST 5$"), "$HOST 5$");
}

TEST(ExpandTest, ExpandsNothingTwice) {
  EXPECT_EQ(Expand("${TRICK}"), "${HOST} $$");
  EXPECT_EQ(Expand("${NONE:-$$}"), "$$");
}

TEST(ExpandTest, RefusesBrokenOnes) {
  EXPECT_EQ(Expand("${HOST"), "error: ${ without its } (write $$ for a dollar)");
  EXPECT_EQ(Expand("${}"),
            "error: expected ${NAME} or ${NAME:-default}, not \"${}\" (write $$ for a dollar)");
  EXPECT_EQ(Expand("${A-b}"),
            "error: expected ${NAME} or ${NAME:-default}, not \"${A-b}\" (write $$ for a dollar)");
  EXPECT_EQ(Expand("${1A}"),
            "error: expected ${NAME} or ${NAME:-default}, not \"${1A}\" (write $$ for a dollar)");
}

}  // namespace
}  // namespace keymill::app
