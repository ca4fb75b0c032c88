// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/store_url.h"

#include <fmt/format.h>

#include "app/config/quote.h"
#include "embed/stores.h"
#include "store/store_url.h"

namespace keymill::app {

Status CheckStoreUrl(std::string_view url) {
  // sqlite://x.db would be the file /x.db, which is hardly what anybody means by it.
  const bool odd_path = url.starts_with("sqlite://") || url.find('\0') != std::string_view::npos;
  const Status checked = embed::CheckStore(url);
  if (checked.ok() && !odd_path) return {};
  // A path is told as it is; of anything else only what cannot be a password.
  const std::string shown =
      QuoteValue(url.starts_with("sqlite:") ? std::string(url) : store::ShownScheme(url));
  const bool server = !odd_path && url.find("://") != std::string_view::npos;
  if (!server || checked.message().starts_with("use ")) {
    return {Code::kInvalidArgument, fmt::format("expected {}, not {}", embed::StoreForms(), shown)};
  }
  return {Code::kInvalidArgument, fmt::format("{}: {}", shown, checked.message())};
}

}  // namespace keymill::app
