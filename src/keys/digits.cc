// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/digits.h"

#include <map>
#include <string>

#include "base/check.h"
#include "base/fork.h"
#include "base/mutex.h"

namespace keymill::keys {

Divisor::Divisor(std::uint64_t value)
    : value_(value), inverse_(static_cast<std::uint64_t>((static_cast<Uint128>(1) << 64) / value)) {
  KEYMILL_CHECK(value >= 2 && value < (std::uint64_t{1} << 63));
}

Digits::Digits(std::string_view symbols)
    : radix_(static_cast<std::uint32_t>(symbols.size())),
      pair_(symbols.size() * symbols.size()),
      pairs_(PairsOf(symbols)) {}

std::shared_ptr<const Digits::Pairs> Digits::PairsOf(std::string_view symbols) {
  // Thousands of keyspaces share a handful of alphabets.
  struct Tables {
    Mutex mu;
    std::map<std::string, std::weak_ptr<const Pairs>, std::less<>> by_symbols
        KEYMILL_GUARDED_BY(mu);
  };
  static auto* const tables = new Tables;
  const ForkHold no_child_inherits_the_lock;
  const MutexLock lock(tables->mu);
  auto found = tables->by_symbols.find(symbols);
  if (found != tables->by_symbols.end()) {
    if (auto pairs = found->second.lock()) return pairs;
    tables->by_symbols.erase(found);
  }
  auto pairs = std::make_shared<Pairs>();
  pairs->reserve(symbols.size() * symbols.size());
  for (const char high : symbols) {
    for (const char low : symbols) pairs->push_back({high, low});
  }
  std::erase_if(tables->by_symbols, [](const auto& each) { return each.second.expired(); });
  tables->by_symbols.emplace(symbols, pairs);
  return pairs;
}

}  // namespace keymill::keys
