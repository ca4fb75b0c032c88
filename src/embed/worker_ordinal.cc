// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "embed/worker_ordinal.h"

#include <array>
#include <charconv>
#include <cstdlib>

#include <unistd.h>

namespace keymill::embed {
namespace {

std::optional<std::uint32_t> NumberOf(std::string_view text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return {};
  return number;
}

}  // namespace

std::optional<std::uint32_t> OrdinalOf(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return {};
  return NumberOf(name.substr(dash + 1));
}

std::optional<std::uint32_t> PreferredWorker() {
  if (const char* const index = std::getenv("POD_INDEX")) {
    if (const auto number = NumberOf(index)) return number;
  }
  if (const char* const name = std::getenv("POD_NAME")) {
    if (const auto number = OrdinalOf(name)) return number;
  }
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) return {};
  return OrdinalOf(host.data());
}

}  // namespace keymill::embed
