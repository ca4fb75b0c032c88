// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The digits of consecutive numbers. Each follows from the one before by turning the last
// wheel, which is cheaper than dividing a number down to its digits again.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace keymill::keys {

class Odometer {
 public:
  static constexpr std::size_t kDigitsMax = 64;

  // `symbols` stand for the digits and must outlive this object. `length` digits, zeros in
  // front; or 0 for as many as the number needs.
  // REQUIRES: symbols has 2 to 256, length <= kDigitsMax, number < symbols^length unless
  //           length is 0.
  Odometer(std::string_view symbols, std::uint32_t length, std::uint64_t number)
      : symbols_(symbols) {
    std::array<std::uint8_t, kDigitsMax> reversed{};
    do {
      reversed[size_++] = static_cast<std::uint8_t>(number % symbols.size());
      number /= symbols.size();
    } while (length == 0 ? number > 0 : size_ < length);
    for (std::size_t i = 0; i < size_; ++i) Set(i, reversed[size_ - 1 - i]);
  }

  // Valid until the next Step.
  [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }

  // On to the next number. After the last one of a fixed length comes nothing of use.
  void Step() {
    std::size_t wheel = size_;
    while (wheel-- > 0) {
      if (digits_[wheel] + std::size_t{1} < symbols_.size()) {
        Set(wheel, static_cast<std::uint8_t>(digits_[wheel] + 1));
        return;
      }
      Set(wheel, 0);
    }
    Grow();
  }

 private:
  void Set(std::size_t wheel, std::uint8_t digit) {
    digits_[wheel] = digit;
    text_[wheel] = symbols_[digit];
  }

  // 99 is followed by 100: all wheels stand at 0 now.
  void Grow() {
    if (size_ == kDigitsMax) return;
    Set(size_++, 0);
    Set(0, 1);
  }

  std::string_view symbols_;
  std::size_t size_ = 0;
  std::array<std::uint8_t, kDigitsMax> digits_;
  std::array<char, kDigitsMax> text_;
};

}  // namespace keymill::keys
