// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/explain_text.h"

#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace keymill::app {
namespace {

TEST(ExplainTextTest, TellsGuessesWithTheirReasons) {
  const std::vector<keys::KindGuess> guesses = {
      {keys::Likelihood::kLikely, "ulid", "26 symbols", 1'469'922'850'259},
      {keys::Likelihood::kPossible, "base32", "its symbols fit", {}}};
  EXPECT_EQ(GuessesText("K", guesses),
            "key       K\nkeyspace  none of this store\n"
            "likely    ulid, 2016-07-30T23:54:10.259Z: 26 symbols\n"
            "possible  base32: its symbols fit\n");
  EXPECT_EQ(GuessesJson("K", guesses),
            R"({"key":"K","keyspace":null,"guesses":[{"what":"ulid","likelihood":"likely",)"
            R"("time":"2016-07-30T23:54:10.259Z","reason":"26 symbols"},)"
            R"({"what":"base32","likelihood":"possible","reason":"its symbols fit"}]})");
}

TEST(ExplainTextTest, SaysSoWhenThereIsNoGuess) {
  EXPECT_EQ(GuessesText("?", {}),
            "key       ?\nkeyspace  none of this store\n"
            "looks     like nothing that is known here\n");
  EXPECT_EQ(GuessesJson("?", {}), R"({"key":"?","keyspace":null,"guesses":[]})");
}

TEST(ExplainTextTest, TakesForeignIdsApart) {
  EXPECT_EQ(*ForeignJson("175928847299117063", "discord"),
            R"({"key":"175928847299117063","service":"discord",)"
            R"("time":"2016-04-30T11:18:25.796Z","worker":1,"process":0,"increment":7})");
  EXPECT_EQ(ForeignText("1x", "discord").code(), Code::kInvalidArgument);
  EXPECT_EQ(ForeignText("1", "nobody").code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace keymill::app
