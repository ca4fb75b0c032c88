// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/content_digest.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/hex.h"

namespace keymill::keys {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kUrl = "http://h/a?x=1";

ContentCandidates Candidates(std::string_view alphabet, std::uint32_t length, DigestName digest,
                             std::string_view content, std::string_view salt = "") {
  return {*Alphabet::Parse(alphabet), length, digest, content, salt};
}

std::vector<std::string> Take(ContentCandidates candidates, std::size_t count) {
  std::vector<std::string> texts;
  while (texts.size() < count) texts.push_back(candidates.Next());
  return texts;
}

// The golden values of this file were computed by another program, in another language, from the
// words of the header. They are stored in databases: add to them, never change one.
TEST(ContentDigestTest, IdentitiesAreWhatTheyAlwaysWere) {
  EXPECT_EQ(HexEncode(IdentifyContent("", "")),
            "374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb");
  EXPECT_EQ(HexEncode(IdentifyContent("ab", "c")),
            "601d5476e2ccfe2c87a2bba7a322659734a05749d5b5aa781f513e4912db0d5f");
  EXPECT_EQ(HexEncode(IdentifyContent("a", "bc")),
            "3fafa1cf2f19a7c1129beb20cf0983f73a489a221fc0dd2f16d1be292d089205");
  EXPECT_EQ(HexEncode(IdentifyContent(kUrl, "")),
            "58d27c719f941101b3b4dd6b95df8b7c417a90e98296eb9dd7f54861b54e5efc");
}

TEST(ContentDigestTest, CandidatesAreWhatTheyAlwaysWere) {
  EXPECT_THAT(Take(Candidates("base62", 7, DigestName::kSha256, kUrl), 6),
              ElementsAre("i8ukjfF", "sJd3nau", "cMP2tN1", "wFFlOyq", "wNpZReX", "bqm6Ei6"));
  EXPECT_THAT(Take(Candidates("base62", 7, DigestName::kSha256, kUrl, "user-1"), 2),
              ElementsAre("mkEp30V", "fvFgyfi"));
  EXPECT_THAT(Take(Candidates("base62", 7, DigestName::kMd5, kUrl), 4),
              ElementsAre("0ADHC3b", "rldReXb", "qm6Ei6z", "UfslsNa"));
  EXPECT_THAT(Take(Candidates("base36", 2, DigestName::kSha256, "1"), 20),
              ElementsAre("wg", "8d", "ic", "6x", "o5", "to", "tn", "bo", "o3", "ci", "p8", "ls",
                          "zn", "ad", "42", "gl", "0e", "ms", "62", "7m"));
  EXPECT_THAT(Take(Candidates("base64url", 8, DigestName::kSha256, kUrl), 5),
              ElementsAre("87lT1GGS", "1fdnrbpg", "pDpeBx3i", "fX5adT7s", "nLdHj-3k"));
  EXPECT_THAT(Take(Candidates("base64url", 32, DigestName::kMd5, kUrl), 2),
              ElementsAre("4goEU4Z3irnLdHj-3k5C642rNaGmYMlu", "QjaxtLokiOuKT2ywyWWFGY5b_9WBNlcj"));
  EXPECT_EQ(Take(Candidates("base62", 7, DigestName::kSha256, kUrl), 1000).back(), "LHHYBaQ");
}

// Any way to divide a text into content and salt is another content.
TEST(ContentDigestTest, ContentAndSaltDoNotRunTogether) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    std::set<ContentId> identities;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      identities.insert(IdentifyContent(text.substr(0, i), text.substr(i)));
    }
    RC_ASSERT(identities.size() == text.size() + 1);
  }));
}

TEST(ContentDigestTest, IdentityDoesNotDependOnTheDigestOfTheDigits) {
  EXPECT_EQ(Candidates("base62", 7, DigestName::kMd5, "x", "y").identity(),
            IdentifyContent("x", "y"));
  EXPECT_EQ(Candidates("hex", 9, DigestName::kSha256, "x", "y").identity(),
            IdentifyContent("x", "y"));
}

// Two files with one MD5 would otherwise share every candidate. MD5 of what is hashed here cannot
// be made to agree in a test, so this looks at what follows the digest: it is the same for both
// digests, and so is of the identity.
TEST(ContentDigestTest, LaterBlocksAreOfTheIdentity) {
  // Hex uses 48 digits of SHA-256 and 16 of MD5.
  const auto sha256 = Take(Candidates("hex", 16, DigestName::kSha256, "x"), 9);
  const auto md5 = Take(Candidates("hex", 16, DigestName::kMd5, "x"), 7);
  EXPECT_NE(sha256[0], md5[0]);
  EXPECT_TRUE(std::equal(sha256.begin() + 3, sha256.end(), md5.begin() + 1, md5.end()));
}

TEST(ContentDigestTest, TheLengthOnlyCutsTheRowOfDigits) {
  EXPECT_TRUE(rc::check([](const std::string& content) {
    const auto length = *rc::gen::inRange(1U, 33U);
    std::string joined;
    for (const std::string& text :
         Take(Candidates("base58", length, DigestName::kSha256, content), 200 / length + 1)) {
      RC_ASSERT(text.size() == length);
      joined += text;
    }
    const auto row = Take(Candidates("base58", 200, DigestName::kSha256, content), 1).front();
    RC_ASSERT(joined.substr(0, 200) == row);
  }));
}

// 62 symbols over 10^6 digits: chi-square with 61 degrees of freedom passes 130 once in 10^6 runs,
// and the input is fixed. Bytes mod 62 would give 6,600.
TEST(ContentDigestTest, DigitsAreUniform) {
  const Alphabet base62 = *Alphabet::Parse("base62");
  for (const DigestName digest : {DigestName::kSha256, DigestName::kMd5}) {
    std::array<double, 256> seen{};
    for (int content = 0; content < 25'000; ++content) {
      for (const char symbol :
           Candidates("base62", 40, digest, fmt::format("content {}", content)).Next()) {
        ++seen[static_cast<unsigned char>(symbol)];
      }
    }
    const double expected = 25'000 * 40 / 62.0;
    double chi_square = 0;
    for (const char symbol : base62.symbols()) {
      const double off = seen[static_cast<unsigned char>(symbol)] - expected;
      chi_square += off * off / expected;
    }
    EXPECT_LT(chi_square, 130) << DigestNameText(digest);
  }
}

// As a store will do it: each content takes its first candidate that is free. 1,200 of the 1,296
// texts of two base36 symbols find a place, and the last ones within few attempts.
TEST(ContentDigestTest, FillsASmallDomainAlmostWhole) {
  std::set<std::string> taken;
  std::size_t attempts_max = 0;
  for (int content = 0; content < 1200; ++content) {
    auto candidates = Candidates("base36", 2, DigestName::kSha256, fmt::to_string(content));
    std::size_t attempts = 1;
    while (!taken.insert(candidates.Next()).second) ++attempts;
    attempts_max = std::max(attempts_max, attempts);
  }
  EXPECT_EQ(taken.size(), 1200U);
  EXPECT_LT(attempts_max, 300U);
}

TEST(ContentDigestTest, ReadsTheNamesOfDigests) {
  EXPECT_EQ(*ParseDigestName("sha256"), DigestName::kSha256);
  EXPECT_EQ(*ParseDigestName("md5"), DigestName::kMd5);
  EXPECT_EQ(DigestNameText(DigestName::kSha256), "sha256");
  EXPECT_EQ(DigestNameText(DigestName::kMd5), "md5");
  const Status status = ParseDigestName("sha-256").status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("did you mean \"sha256\"?; use one of sha256, md5"));
}

}  // namespace
}  // namespace keymill::keys
