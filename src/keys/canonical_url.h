// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One spelling for all spellings of a URL, so that they have one derived key. The rules are those
// of RFC 3986 sections 6.2.2 and 6.2.3, under which no two different resources become one.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::keys {

// The longest canonical URL, in bytes.
inline constexpr std::size_t kCanonicalUrlSizeMax = 8192;

// The canonical spelling of the URL `text`; of a canonical one, itself.
//
// - Scheme and host in lower case.
// - Percent-encoded letters, digits and -._~ decoded; all other percent-encodings kept, with their
//   digits in upper case. Reserved characters are never decoded: /a%2Fb is not /a/b.
// - What may not stand in a path, query or fragment percent-encoded: "<>[]^`{|} and UTF-8.
// - . and .. in the path resolved, an empty path is /.
// - The port dropped when it is empty or the scheme's own (http, https, ws, wss, ftp), leading
//   zeros too; a user that is empty dropped.
// - A URL that was percent-encoded as a whole (http%3A%2F%2Fh%2Fa%3Fx%3D1) decoded once first.
//
// Query and fragment stay, empty ones too, and so does the order of parameters: servers may tell
// them apart.
//
// Errors:
//   kInvalidArgument  no URL with a scheme and a host, or one too long, or one with a character
//                     that could mean two things (a space, a backslash, a bare %). The message
//                     says what and where.
Result<std::string> CanonicalUrl(std::string_view text);

}  // namespace keymill::keys
