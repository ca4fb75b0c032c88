// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/canonical_url.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace keymill::keys {
namespace {

using testing::HasSubstr;

std::string Canonical(std::string_view text) {
  const Result<std::string> url = CanonicalUrl(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status().message();
  return url.ok() ? *url : "";
}

std::string Refusal(std::string_view text) {
  const Status status = CanonicalUrl(text).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
  return status.message();
}

// As JavaScript's encodeURIComponent does it.
std::string Encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-_.!~*'()").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

TEST(CanonicalUrlTest, LeavesACanonicalUrlAlone) {
  for (const std::string_view url :
       {"http://h/", "https://example.com/a/b?x=1&y=2#top", "http://u:p@h:8080/a%2Fb",
        "ftp://h/%20;type=a", "http://[2001:db8::1]:81/", "custom+x.y://h/", "http://h/?",
        "http://h/#", "http://h/?#", "http://h//a//b/", "http://h/a?b?c/d"}) {
    EXPECT_EQ(Canonical(url), url);
  }
}

TEST(CanonicalUrlTest, FoldsTheCaseOfSchemeAndHostOnly) {
  EXPECT_EQ(Canonical("HTTP://User@EXAMPLE.Com/Path?Query#Fragment"),
            "http://User@example.com/Path?Query#Fragment");
  EXPECT_EQ(Canonical("http://[2001:DB8::A]/"), "http://[2001:db8::a]/");
}

TEST(CanonicalUrlTest, DecodesUnreservedCharactersOnly) {
  EXPECT_EQ(Canonical("http://h/%41%7a%30%2D%2e%5F%7Eb"), "http://h/Az0-._~b");
  EXPECT_EQ(Canonical("http://%45xample.com/"), "http://example.com/");
  // All that a URL reserves keeps its encoding, in upper case.
  EXPECT_EQ(Canonical("http://h/%3a%2f%3f%23%5b%5d%40%21%24%26%27%28%29%2a%2b%2c%3b%3d%25%20"),
            "http://h/%3A%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%25%20");
  EXPECT_NE(Canonical("http://h/a%3Fx%3D1"), Canonical("http://h/a?x=1"));
  EXPECT_EQ(Canonical("http://h/%2541"), "http://h/%2541");  // Once only.
}

TEST(CanonicalUrlTest, AUrlEncodedAsAWholeIsTheUrl) {
  EXPECT_EQ(Canonical("http%3A%2F%2Fh%2Fa%3Fx%3D1"), "http://h/a?x=1");
  EXPECT_EQ(Canonical("http%3a%2f%2fH%2fa%3fx%3d1"), "http://h/a?x=1");
  EXPECT_EQ(Canonical("git%2Bssh%3A%2F%2Fh%2F"), "git+ssh://h/");
  // Encodings inside of it were encoded too: one level is taken away, no more.
  EXPECT_EQ(Canonical("http%3A%2F%2Fh%2Fa%252Fb"), "http://h/a%2Fb");
  EXPECT_EQ(Canonical("http%3A%2F%2Fh%2F%3Fu%3Dhttp%253A%252F%252Fi"),
            "http://h/?u=http%3A%2F%2Fi");
}

TEST(CanonicalUrlTest, AUrlInsideAUrlStaysEncoded) {
  EXPECT_EQ(Canonical("http://h/?u=http%3a%2f%2fi%2f"), "http://h/?u=http%3A%2F%2Fi%2F");
}

TEST(CanonicalUrlTest, RefusesHalfEncodedUrls) {
  EXPECT_THAT(Refusal("http%3A//h/a"), HasSubstr("has a bare '/'; encode all of it or nothing"));
  EXPECT_THAT(Refusal("http%3A%2F%2Fh%2Fa+b"), HasSubstr("has a bare '+'"));
  EXPECT_THAT(Refusal("http%253A%252F%252Fh"), HasSubstr("does not begin with a scheme"));
  EXPECT_THAT(Refusal("http%3A%2F%2Fh%2"), HasSubstr("no two hexadecimal digits follow, in %2;"));
  EXPECT_THAT(Refusal("http%3A%2F%2Fh%2Fa%20b"), HasSubstr("a space at byte 11"));
}

TEST(CanonicalUrlTest, DropsPortsThatSayNothing) {
  EXPECT_EQ(Canonical("http://h:80/"), "http://h/");
  EXPECT_EQ(Canonical("https://h:443/"), "https://h/");
  EXPECT_EQ(Canonical("ws://h:80/"), "ws://h/");
  EXPECT_EQ(Canonical("wss://h:443/"), "wss://h/");
  EXPECT_EQ(Canonical("ftp://h:21/"), "ftp://h/");
  EXPECT_EQ(Canonical("http://h:/"), "http://h/");
  EXPECT_EQ(Canonical("http://h:00080/"), "http://h/");
  EXPECT_EQ(Canonical("HTTP://[::1]:80/"), "http://[::1]/");
  EXPECT_EQ(Canonical("http://h:443/"), "http://h:443/");
  EXPECT_EQ(Canonical("https://h:080/"), "https://h:80/");
  EXPECT_EQ(Canonical("other://h:80/"), "other://h:80/");
}

// The examples of RFC 3986 sections 5.2.4 and 5.4, as paths of their own.
TEST(CanonicalUrlTest, ResolvesDotSegments) {
  EXPECT_EQ(Canonical("http://h/a/b/c/./../../g"), "http://h/a/g");
  EXPECT_EQ(Canonical("http://h/b/c/."), "http://h/b/c/");
  EXPECT_EQ(Canonical("http://h/b/c/.."), "http://h/b/");
  EXPECT_EQ(Canonical("http://h/../../../g"), "http://h/g");
  EXPECT_EQ(Canonical("http://h/./g"), "http://h/g");
  EXPECT_EQ(Canonical("http://h/b/c/g."), "http://h/b/c/g.");
  EXPECT_EQ(Canonical("http://h/b/c/..g"), "http://h/b/c/..g");
  EXPECT_EQ(Canonical("http://h/b/c/g/./h"), "http://h/b/c/g/h");
  EXPECT_EQ(Canonical("http://h/b/c/g;x=1/../y"), "http://h/b/c/y");
  EXPECT_EQ(Canonical("http://h/a//../b"), "http://h/a/b");
  EXPECT_EQ(Canonical("http://h/.."), "http://h/");
  EXPECT_EQ(Canonical("http://h/a/%2E%2e/b"), "http://h/b");
  EXPECT_EQ(Canonical("http://h/a?../b#../c"), "http://h/a?../b#../c");
}

TEST(CanonicalUrlTest, AnEmptyPathIsASlash) {
  EXPECT_EQ(Canonical("http://h"), "http://h/");
  EXPECT_EQ(Canonical("http://h?x"), "http://h/?x");
  EXPECT_EQ(Canonical("http://h#x"), "http://h/#x");
  EXPECT_EQ(Canonical("http://@h"), "http://h/");
}

TEST(CanonicalUrlTest, EncodesWhatMayNotStandThere) {
  EXPECT_EQ(Canonical("http://h/\"<>^`{|}?a[]={|}#b#c"),
            "http://h/%22%3C%3E%5E%60%7B%7C%7D?a%5B%5D=%7B%7C%7D#b%23c");
  EXPECT_EQ(Canonical("http://h/\xC3\xBC"), "http://h/%C3%BC");
  EXPECT_EQ(Canonical("http://h/%c3%bc"), "http://h/%C3%BC");
}

TEST(CanonicalUrlTest, RefusesWhatIsNoUrl) {
  EXPECT_THAT(Refusal(""), HasSubstr("does not begin with a scheme and ://; it looks like https"));
  EXPECT_THAT(Refusal("example.com/a"), HasSubstr("\"example.com/a\" does not begin"));
  EXPECT_THAT(Refusal("mailto:a@b.c"), HasSubstr("does not begin with a scheme and ://"));
  EXPECT_THAT(Refusal("//h/a"), HasSubstr("does not begin with a scheme"));
  EXPECT_THAT(Refusal("1http://h/"), HasSubstr("does not begin with a scheme"));
  EXPECT_THAT(Refusal("http:///a"), HasSubstr("no host; it looks like"));
  EXPECT_THAT(Refusal("http://"), HasSubstr("no host"));
  EXPECT_THAT(Refusal("http://:80/"), HasSubstr("no host"));
  EXPECT_THAT(Refusal("http://u@/"), HasSubstr("no host"));
}

TEST(CanonicalUrlTest, RefusesWhatCouldMeanTwoThings) {
  EXPECT_THAT(Refusal("http://h/a b"), HasSubstr("a space at byte 11; write it as %20"));
  EXPECT_THAT(Refusal(" http://h/"), HasSubstr("a space at byte 1"));
  EXPECT_THAT(Refusal("http://h/\n"), HasSubstr("a control character at byte 10"));
  EXPECT_THAT(Refusal("http://h\\a"), HasSubstr("a backslash at byte 9"));
  EXPECT_THAT(Refusal("http://h/100%"), HasSubstr("in %; write it as %25"));
  EXPECT_THAT(Refusal("http://h/%4"), HasSubstr("no two hexadecimal digits follow"));
  EXPECT_THAT(Refusal("http://h/?%zz"), HasSubstr("in %zz;"));
  EXPECT_THAT(Refusal("http://h/\xFF"), HasSubstr("not UTF-8"));
}

TEST(CanonicalUrlTest, RefusesAuthoritiesThatCannotBe) {
  EXPECT_THAT(Refusal("http://a@b@c/"), HasSubstr("'@' may not stand in the user"));
  EXPECT_THAT(Refusal("http://h<x/"), HasSubstr("'<' may not stand in the host"));
  EXPECT_THAT(Refusal("http://b\xC3\xBC.de/"), HasSubstr("(xn--…)"));
  EXPECT_THAT(Refusal("http://h:8o/"), HasSubstr("the port 8o is no number"));
  EXPECT_THAT(Refusal("http://h:65536/"), HasSubstr("the port 65536 is above 65535"));
  EXPECT_THAT(Refusal("http://h:99999999999999999999/"), HasSubstr("is above 65535"));
  EXPECT_THAT(Refusal("http://[::1/"), HasSubstr("lacks the ]"));
  EXPECT_THAT(Refusal("http://[]/"), HasSubstr("[] is no address"));
  EXPECT_THAT(Refusal("http://[::1]x/"), HasSubstr("[::1]x is no address"));
  EXPECT_THAT(Refusal("http://[fe80::1%25eth0]/"), HasSubstr("is no address"));
}

TEST(CanonicalUrlTest, HasALimitOnBothSides) {
  const std::string longest = "http://h/" + std::string(kCanonicalUrlSizeMax - 9, 'a');
  EXPECT_EQ(Canonical(longest), longest);
  EXPECT_THAT(Refusal(longest + "a"), HasSubstr("8193 bytes; at most 8192"));
  EXPECT_THAT(Refusal("http://h/" + std::string(5000, '|')), HasSubstr("at most 8192"));
  EXPECT_THAT(Refusal(std::string(kCanonicalUrlSizeMax * 3 + 1, 'a')), HasSubstr("at most 8192"));
}

// URLs from pieces that are likely to meet: a canonical one is its own, and the twin that is
// encoded as a whole is the same.
TEST(CanonicalUrlTest, IsIdempotentAndKnowsItsTwin) {
  EXPECT_TRUE(rc::check([] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "/", ".", "..", "%2e", "%2F", "a", "%41", "?", "#", "%25", "x=1", "&", "|", "[", "\xC3\xBC",
        ":", "@", "%c3%bc", "!", "~", "%7e", "+"));
    std::string url = *rc::gen::element<std::string>("http://h/", "HTTPS://U@H:443/", "ws://h:81/");
    for (const std::string& piece : pieces) url += piece;
    const std::string canonical = *CanonicalUrl(url);
    RC_ASSERT(*CanonicalUrl(canonical) == canonical);
    RC_ASSERT(*CanonicalUrl(Encoded(url)) == canonical);
  }));
}

}  // namespace
}  // namespace keymill::keys
