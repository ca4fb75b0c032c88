// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/pool_fill.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "mint/keyspace.h"

namespace keymill::mint {
namespace {

// Keys of one transaction: long ones are cheaper, short ones leave others in.
constexpr std::uint64_t kBatch = 2'000;

// So many keys must have been drawn before it is said that most are there already.
constexpr std::uint64_t kTelling = 64;

// Random digits, every symbol as likely as any other.
class DigitSource {
 public:
  explicit DigitSource(const keys::Alphabet& alphabet)
      : alphabet_(alphabet), fair_end_(256 / alphabet.size() * alphabet.size()) {}

  void Draw(std::uint32_t count, std::string& out) {
    out.clear();
    while (out.size() < count) {
      const std::uint32_t byte = Byte();
      // The bytes that are left over would favour the first symbols.
      if (byte < fair_end_) out += alphabet_.symbol(byte % alphabet_.size());
    }
  }

 private:
  std::uint32_t Byte() {
    if (next_ == bytes_.size()) {
      RandomBytes(bytes_);
      next_ = 0;
    }
    return bytes_[next_++];
  }

  const keys::Alphabet& alphabet_;
  const std::uint32_t fair_end_;
  std::array<std::uint8_t, 4096> bytes_{};
  std::size_t next_ = sizeof bytes_;
};

}  // namespace

Result<PoolFill> FillPool(KeyRegister& keys, const Keyspace& keyspace, const keys::KeyShape& shape,
                          std::uint64_t count, const std::function<void(std::uint64_t)>& progress,
                          bool patient) {
  PoolFill fill;
  DigitSource source(shape.alphabet());
  std::string digits;
  std::uint64_t drawn = 0;  // Since a fair share of them was new,
  std::uint64_t fresh = 0;  // and how many of them were.
  while (fill.added < count) {
    const std::uint64_t batch = std::min(kBatch, count - fill.added);
    std::vector<KeyRow> rows;
    rows.reserve(batch);
    std::uint64_t blocked = 0;
    while (rows.size() < batch && blocked < 4 * batch) {
      source.Draw(shape.length(), digits);
      std::optional<std::string> key = shape.Dress(digits);
      if (!key) {
        ++blocked;
        continue;
      }
      rows.push_back(
          {.key = *std::move(key), .state = KeyState::kAvailable, .since_ms = keys.NowMs()});
    }
    std::uint64_t added = 0;
    if (!rows.empty()) {
      bool repeated = false;
      const Result<std::vector<std::optional<KeyRow>>> present =
          patient ? keys.AddPatiently(keyspace, rows, &repeated)
                  : keys.Add(keyspace, rows, &repeated);
      if (!present.ok()) return present.status();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::optional<KeyRow>& there = (*present)[i];
        if (!there || (repeated && *there == rows[i])) ++added;
      }
    }
    fill.added += added;
    fill.met += rows.size() - added;
    if (progress) progress(fill.added);
    drawn += rows.size() + blocked;
    fresh += added;
    if (drawn < kTelling) continue;
    if (fresh * 4 < drawn) {
      return Status(Code::kExhausted,
                    fmt::format("fill {}: {} of {} keys are added; of the last {} that were drawn "
                                "{} are there already or blocked, so the pool is too full. Make "
                                "one with longer keys",
                                keyspace.name(), fill.added, count, drawn, drawn - fresh));
    }
    drawn = fresh = 0;
  }
  return fill;
}

}  // namespace keymill::mint
