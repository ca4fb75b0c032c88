// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/key_window.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace keymill::mint {

KeyWindow::KeyWindow(std::size_t key_size)
    : key_size_(key_size),
      words_per_key_((key_size + 7) / 8),
      words_(new std::atomic<std::uint64_t>[kSlots * kBatch * words_per_key_] {}) {
  KEYMILL_CHECK(key_size >= 1 && key_size <= kKeySizeMax);
}

bool KeyWindow::Read(std::uint64_t ticket, char* out) const {
  const std::uint64_t batch = ticket / kBatch;
  const std::atomic<std::uint64_t>& tag = tags_[batch % kSlots];
  if (tag.load(std::memory_order_acquire) != Ready(batch)) return false;
  const std::atomic<std::uint64_t>* const words = WordsOf(ticket);
  std::array<std::uint64_t, kWordsMax> key;
  // Acquire: whoever sees a word of a later batch sees the tag that was set before it.
  for (std::size_t i = 0; i < words_per_key_; ++i)
    key[i] = words[i].load(std::memory_order_acquire);
  std::memcpy(out, key.data(), key_size_);
  return tag.load(std::memory_order_relaxed) == Ready(batch);
}

bool KeyWindow::Claim(std::uint64_t batch) {
  std::atomic<std::uint64_t>& tag = tags_[batch % kSlots];
  std::uint64_t seen = tag.load(std::memory_order_relaxed);
  if (seen % 2 == 1 || seen >= Ready(batch)) return false;
  return tag.compare_exchange_strong(seen, Busy(batch), std::memory_order_acq_rel,
                                     std::memory_order_relaxed);
}

void KeyWindow::Publish(std::uint64_t batch, const char* keys) {
  std::atomic<std::uint64_t>& tag = tags_[batch % kSlots];
  KEYMILL_CHECK(tag.load(std::memory_order_relaxed) == Busy(batch));
  for (std::uint64_t i = 0; i < kBatch; ++i, keys += key_size_) {
    std::array<std::uint64_t, kWordsMax> key{};
    std::memcpy(key.data(), keys, key_size_);
    std::atomic<std::uint64_t>* const words = WordsOf(batch * kBatch + i);
    for (std::size_t k = 0; k < words_per_key_; ++k) {
      words[k].store(key[k], std::memory_order_release);
    }
  }
  tag.store(Ready(batch), std::memory_order_release);
}

}  // namespace keymill::mint
