// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Reads a row of which nobody knows whether it is what it should be.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "store/sql/connection.h"

namespace keymill::store::sql {

// Takes the columns of one row in order and remembers whether each had the right type.
class RowReader {
 public:
  explicit RowReader(Row& row) : row_(row) {}

  std::string TakeText() {
    auto* const text = Next<std::string>();
    return text == nullptr ? std::string() : std::move(*text);
  }
  std::string TakeBytes() {
    auto* const bytes = Next<Bytes>();
    return bytes == nullptr ? std::string() : std::move(bytes->data);
  }
  std::int64_t TakeSigned() {
    auto* const number = Next<std::int64_t>();
    return number == nullptr ? 0 : *number;
  }
  std::uint64_t TakeNumber() {
    const std::int64_t number = TakeSigned();
    if (number < 0) sound_ = false;
    return static_cast<std::uint64_t>(number);
  }
  // REQUIRES: every column was taken.
  [[nodiscard]] bool sound() const { return sound_ && at_ == row_.size(); }

 private:
  template <typename T>
  T* Next() {
    T* const value = at_ < row_.size() ? std::get_if<T>(&row_[at_]) : nullptr;
    ++at_;
    if (value == nullptr) sound_ = false;
    return value;
  }

  Row& row_;
  std::size_t at_ = 0;
  bool sound_ = true;
};

}  // namespace keymill::store::sql
