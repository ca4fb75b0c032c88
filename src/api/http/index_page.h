// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What / shows: every endpoint on one page.

#pragma once

#include <string>
#include <string_view>

namespace keymill::api::http {

std::string IndexText(std::string_view version);
std::string IndexHtml(std::string_view version);

}  // namespace keymill::api::http
