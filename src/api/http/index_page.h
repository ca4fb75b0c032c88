// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What / shows: every endpoint on one page.

#pragma once

#include <string>
#include <string_view>

namespace keymill::api::http {

// `host` is where the examples go; it was checked with IsPlainHost.
std::string IndexText(std::string_view version, std::string_view host);
std::string IndexHtml(std::string_view version);

// Whether a Host can be shown to people, and pasted into a shell, as it is.
bool IsPlainHost(std::string_view host);

}  // namespace keymill::api::http
