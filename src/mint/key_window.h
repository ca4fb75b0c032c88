// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The keys of the next few tickets of a reservoir, made ahead of demand. A permutation of
// one number takes ten times as long as its share of a batch; here the batch is made by
// whoever is halfway through the one before, and everybody else finds the key ready.
//
// Nothing is taken out of the reservoir for this: a ticket's number never changes, so a key
// may be made early, twice, or for nobody.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace keymill::mint {

// Safe for concurrent use by multiple threads.
class KeyWindow {
 public:
  static constexpr std::uint64_t kBatch = 64;  // Tickets from a multiple of this on.
  static constexpr std::size_t kKeySizeMax = 16;

  // REQUIRES: 1 <= key_size <= kKeySizeMax
  explicit KeyWindow(std::size_t key_size);

  // Copies the key of `ticket` to `out`. False, and perhaps a half-written `out`, when it is
  // not here: never made, or overwritten by a later one.
  bool Read(std::uint64_t ticket, char* out) const;

  // Whether the caller should make `batch` now: nobody else does, and it is not here. The
  // caller then must Publish.
  bool Claim(std::uint64_t batch);

  // The keys of a claimed batch, one behind the other. A claim is never given back: tags only
  // grow, so that a reader that sees the same tag before and after knows that nobody wrote.
  void Publish(std::uint64_t batch, const char* keys);

 private:
  static constexpr std::size_t kSlots = 4;  // A power of two.
  static constexpr std::size_t kWordsMax = kKeySizeMax / 8;

  // A slot's tag says which batch it holds, and whether it is being written.
  static constexpr std::uint64_t Ready(std::uint64_t batch) { return 2 * batch + 2; }
  static constexpr std::uint64_t Busy(std::uint64_t batch) { return 2 * batch + 3; }

  // Words are written and read whole, so that a reader that is overtaken reads nonsense but
  // no torn word; the tag tells it so.
  [[nodiscard]] std::atomic<std::uint64_t>* WordsOf(std::uint64_t ticket) const {
    return words_.get() + (ticket % (kSlots * kBatch)) * words_per_key_;
  }

  const std::size_t key_size_;
  const std::size_t words_per_key_;
  const std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
  std::array<std::atomic<std::uint64_t>, kSlots> tags_{};
};

}  // namespace keymill::mint
