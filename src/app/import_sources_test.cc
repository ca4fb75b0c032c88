// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/import_sources.h"

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As that service gave them out.
TEST(ForgeKeyTest, IsTheKeyOfTheOlderService) {
  std::vector<std::string> keys;
  for (std::uint64_t counter = 0; counter < 5; ++counter) keys.push_back(ForgeKey(counter));
  EXPECT_THAT(keys, ElementsAre("0000000", "EvOYXCf", "mfmBWzy", "Iha5vDk", "zB4sI3Y"));
  EXPECT_EQ(ForgeKey(329'622), "0LxIBrE");
  EXPECT_EQ(ForgeKey(537'050), "0LxIBrE") << "the first that it gave out twice";
}

TEST(ReadCodesTest, SortsThemAndPassesOverWhatIsNone) {
  std::istringstream lines("b\r\n\n  a \nb\n\tc");
  const auto codes = ReadCodes(lines);
  ASSERT_TRUE(codes.ok());
  EXPECT_THAT(*codes, ElementsAre("a", "b", "c"));
}

TEST(ReadCodesTest, NamesTheLineThatHoldsNone) {
  for (const std::string& bad :
       {std::string("two words"), std::string("\x01"), std::string("ü"), std::string(81, 'a')}) {
    std::istringstream lines("good\n" + bad + "\n");
    const auto codes = ReadCodes(lines);
    ASSERT_EQ(codes.code(), Code::kInvalidArgument) << bad;
    EXPECT_THAT(codes.status().message(), HasSubstr("line 2")) << bad;
  }
}

}  // namespace
}  // namespace keymill::app
