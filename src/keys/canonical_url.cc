// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/canonical_url.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/utf8.h"

namespace keymill::keys {
namespace {

constexpr std::uint32_t kPortMax = 65535;

struct DefaultPort {
  std::string_view scheme;
  std::string_view port;
};
constexpr std::array<DefaultPort, 5> kDefaultPorts = {
    {{"http", "80"}, {"https", "443"}, {"ws", "80"}, {"wss", "443"}, {"ftp", "21"}}};

enum class Part : std::uint8_t { kUser, kHost, kPath, kQuery };  // A fragment is like a query.

Status Refuse(const std::string& why) { return {Code::kInvalidArgument, "url: " + why}; }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsOneOf(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

bool IsUnreserved(char c) { return IsLetter(c) || IsDigit(c) || IsOneOf("-._~", c); }

bool MayStandIn(Part part, char c) {
  if (IsUnreserved(c) || IsOneOf("!$&'()*+,;=", c)) return true;
  switch (part) {
    case Part::kUser:
      return c == ':';
    case Part::kHost:
      return false;
    case Part::kPath:
      return IsOneOf(":@/", c);
    case Part::kQuery:
      return IsOneOf(":@/?", c);
  }
  return false;
}

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = Lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The byte that the percent-encoding at the start of `text` stands for.
std::optional<char> PercentByte(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  const int high = HexDigit(text[1]);
  const int low = HexDigit(text[2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

void AppendPercent(char c, std::string& out) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
}

Status RefusePercent(std::string_view text) {
  return Refuse(fmt::format("a % that no two hexadecimal digits follow, in {}; write it as %25",
                            text.substr(0, 16)));
}

// Appends a part of a URL in its canonical spelling.
Status AppendPart(std::string_view text, Part part, std::string& out) {
  while (!text.empty()) {
    char c = text[0];
    if (c == '%') {
      const std::optional<char> byte = PercentByte(text);
      if (!byte) return RefusePercent(text);
      text.remove_prefix(3);
      if (!IsUnreserved(*byte)) {
        AppendPercent(*byte, out);
        continue;
      }
      c = *byte;
    } else {
      text.remove_prefix(1);
    }
    if (MayStandIn(part, c)) {
      out += part == Part::kHost ? Lower(c) : c;
    } else if (part == Part::kPath || part == Part::kQuery) {
      AppendPercent(c, out);
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      return Refuse("the host has letters beyond ASCII; write it as a browser sends it (xn--…)");
    } else {
      return Refuse(fmt::format("'{}' may not stand in the {}; percent-encode it if it is meant", c,
                                part == Part::kHost ? "host" : "user"));
    }
  }
  return Status::Ok();
}

// RFC 3986 section 5.2.4. REQUIRES: path begins with a slash.
std::string RemoveDotSegments(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(1, end - 1);
    const bool last = end == path.size();
    if (segment == "..") out.resize(out.empty() ? 0 : out.rfind('/'));
    if (segment == "." || segment == "..") {
      if (last) out += '/';
    } else {
      out += path.substr(0, end);
    }
    path.remove_prefix(end);
  }
  return out;
}

// A URL in pieces, not yet canonical.
struct Pieces {
  std::string scheme;  // In lower case.
  std::string_view user;
  std::string_view host;
  std::string_view port;
  std::string_view path;
  std::string_view query;     // With its question mark; empty: none.
  std::string_view fragment;  // With its number sign; empty: none.
};

bool IsSchemeSymbol(char c) { return IsLetter(c) || IsDigit(c) || IsOneOf("+-.", c); }

// How much of `text` is a scheme.
std::size_t SchemeSize(std::string_view text) {
  if (text.empty() || !IsLetter(text[0])) return 0;
  const auto* const end = std::find_if_not(text.begin(), text.end(), IsSchemeSymbol);
  return static_cast<std::size_t>(end - text.begin());
}

Status CheckCharacters(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      return Refuse(
          fmt::format("a backslash at byte {}, which some read as a slash; write / or "
                      "%5C",
                      i + 1));
    }
    if (c == ' ') return Refuse(fmt::format("a space at byte {}; write it as %20", i + 1));
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      return Refuse(fmt::format("a control character at byte {}; take it away", i + 1));
    }
  }
  if (!IsUtf8(text)) {
    return Refuse("bytes that are not UTF-8; percent-encode them if they are meant");
  }
  return Status::Ok();
}

// user@host:port
Status SplitAuthority(std::string_view authority, Pieces& pieces) {
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    pieces.user = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  // An address of IPv6 has colons of its own.
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) return Refuse("the host begins with [ and lacks the ]");
  const std::size_t colon = authority.find(':', bracket);
  pieces.host = authority.substr(0, colon);
  if (colon != std::string_view::npos) pieces.port = authority.substr(colon + 1);
  if (pieces.host.empty()) return Refuse("no host; it looks like https://example.com/path");
  return Status::Ok();
}

Result<Pieces> Split(std::string_view text) {
  Pieces pieces;
  const std::size_t scheme = SchemeSize(text);
  if (scheme == 0 || !text.substr(scheme).starts_with("://")) {
    return Refuse(
        fmt::format("\"{}\" does not begin with a scheme and ://; it looks like "
                    "https://example.com/path",
                    text.substr(0, 32)));
  }
  pieces.scheme = text.substr(0, scheme);
  std::transform(pieces.scheme.begin(), pieces.scheme.end(), pieces.scheme.begin(), Lower);
  text.remove_prefix(scheme + 3);

  const auto cut_from = [&text](std::string_view ends) {
    const std::size_t end = std::min(text.find_first_of(ends), text.size());
    const std::string_view rest = text.substr(end);
    text = text.substr(0, end);
    return rest;
  };
  pieces.fragment = cut_from("#");
  pieces.query = cut_from("?");
  pieces.path = cut_from("/");
  const Status split = SplitAuthority(text, pieces);
  if (!split.ok()) return split;
  return pieces;
}

Status AppendHost(std::string_view host, std::string& out) {
  if (!host.starts_with('[')) return AppendPart(host, Part::kHost, out);
  const std::string_view address = host.substr(1, host.size() - 2);
  const bool plain = std::all_of(address.begin(), address.end(), [](char c) {
    return IsUnreserved(c) || IsOneOf("!$&'()*+,;=:", c);
  });
  if (!host.ends_with(']') || address.empty() || !plain) {
    return Refuse(fmt::format("{} is no address; it looks like [2001:db8::1]", host));
  }
  std::transform(host.begin(), host.end(), std::back_inserter(out), Lower);
  return Status::Ok();
}

Status AppendPort(std::string_view scheme, std::string_view port, std::string& out) {
  if (!std::all_of(port.begin(), port.end(), IsDigit)) {
    return Refuse(fmt::format("the port {} is no number", port));
  }
  while (port.size() > 1 && port[0] == '0') port.remove_prefix(1);
  if (port.size() > 5 || (!port.empty() && std::stoul(std::string(port)) > kPortMax)) {
    return Refuse(fmt::format("the port {} is above {}", port, kPortMax));
  }
  const bool is_default = std::any_of(
      kDefaultPorts.begin(), kDefaultPorts.end(),
      [&](const DefaultPort& known) { return known.scheme == scheme && known.port == port; });
  if (!port.empty() && !is_default) out.append(":").append(port);
  return Status::Ok();
}

// `?` or `#`, then the rest of `text`, in which another # cannot stand.
Status AppendTail(std::string_view text, std::string& out) {
  if (text.empty()) return Status::Ok();
  out += text[0];
  return AppendPart(text.substr(1), Part::kQuery, out);
}

Result<std::string> Join(const Pieces& pieces) {
  std::string out = pieces.scheme + "://";
  Status status = AppendPart(pieces.user, Part::kUser, out);
  if (!pieces.user.empty()) out += '@';
  if (status.ok()) status = AppendHost(pieces.host, out);
  if (status.ok()) status = AppendPort(pieces.scheme, pieces.port, out);
  // Dots are looked for behind the decoding, because %2E is one.
  std::string path;
  if (status.ok()) status = AppendPart(pieces.path, Part::kPath, path);
  out += path.empty() ? "/" : RemoveDotSegments(path);
  if (status.ok()) status = AppendTail(pieces.query, out);
  if (status.ok()) status = AppendTail(pieces.fragment, out);
  if (!status.ok()) return status;
  return out;
}

// Whether `text` is a scheme and an encoded colon. The plus sign of git+ssh is encoded as well.
bool IsEncodedWhole(std::string_view text) {
  bool first = true;
  while (!text.empty()) {
    const std::optional<char> byte = PercentByte(text);
    const char c = byte.value_or(text[0]);
    if (byte == ':') return !first;
    if (!(first ? IsLetter(c) : IsSchemeSymbol(c))) return false;
    first = false;
    text.remove_prefix(byte ? 3 : 1);
  }
  return false;
}

// Decodes a URL that was encoded as a whole.
Result<std::string> DecodeWhole(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::optional<char> byte = PercentByte(text);
    if (!byte && text[0] == '%') return RefusePercent(text);
    // The characters that JavaScript's encodeURIComponent leaves alone.
    if (!byte && !IsUnreserved(text[0]) && !IsOneOf("!'()*", text[0])) {
      return Refuse(
          fmt::format("it is percent-encoded from its colon on, but has a bare '{}'; "
                      "encode all of it or nothing",
                      text[0]));
    }
    out += byte.value_or(text[0]);
    text.remove_prefix(byte ? 3 : 1);
  }
  return out;
}

Status RefuseSize(std::size_t size) {
  return Refuse(fmt::format("{} bytes; at most {}", size, kCanonicalUrlSizeMax));
}

}  // namespace

Result<std::string> CanonicalUrl(std::string_view text) {
  if (text.size() > kCanonicalUrlSizeMax * 3) return RefuseSize(text.size());
  Status status = CheckCharacters(text);
  if (!status.ok()) return status;
  std::string decoded;
  if (IsEncodedWhole(text)) {
    Result<std::string> whole = DecodeWhole(text);
    if (!whole.ok()) return whole;
    decoded = *std::move(whole);
    text = decoded;
    status = CheckCharacters(text);
    if (!status.ok()) return status;
  }
  const Result<Pieces> pieces = Split(text);
  if (!pieces.ok()) return pieces.status();
  Result<std::string> joined = Join(*pieces);
  if (joined.ok() && joined->size() > kCanonicalUrlSizeMax) return RefuseSize(joined->size());
  return joined;
}

}  // namespace keymill::keys
