// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/taken_list.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/hex.h"
#include "mint/keyspace.h"

namespace keymill::mint {
namespace {

// Numbers in a row: read as a whole for a block, and far from a note's limit.
constexpr std::size_t kPageMax = 8'000;
constexpr std::size_t kRowsPerCall = 50;
constexpr std::uint32_t kPageBitsMax = 62;

// No key can have these names.
constexpr std::string_view kComplete = "#taken";

std::string PageName(std::uint64_t page) { return fmt::format("#taken/{:016x}", page); }

// The widest ranges of which none holds too many.
std::uint32_t ChoosePageBits(const std::vector<std::uint64_t>& numbers) {
  for (std::uint32_t bits = kPageBitsMax; bits > 0; --bits) {
    bool fits = true;
    for (std::size_t i = 0; fits && i + kPageMax < numbers.size(); ++i) {
      fits = numbers[i] >> bits != numbers[i + kPageMax] >> bits;
    }
    if (fits) return bits;
  }
  return 0;
}

template <typename Number>
bool TakeNumber(std::string_view& text, char end, Number& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto size = static_cast<std::size_t>(stop - text.data());
  if (error != std::errc() || size == text.size() || *stop != end) return false;
  text.remove_prefix(size + 1);
  return true;
}

Status Unreadable(std::string_view row) {
  return {Code::kFailedPrecondition,
          fmt::format("the list of codes that were in use before is damaged: row {}", row)};
}

}  // namespace

std::string TakenDigest(const std::vector<std::string>& codes) {
  std::string text;
  for (const std::string& code : codes) text += fmt::format("{}\n", code);
  return Sha256Hex(text).substr(0, 32);
}

Status WriteTaken(KeyRegister& keys, const Keyspace& keyspace,
                  const std::vector<std::uint64_t>& numbers,
                  const std::function<void(std::uint64_t)>& progress) {
  const std::uint32_t bits = ChoosePageBits(numbers);
  const auto row = [&](std::string name, std::string note) {
    return KeyRow{.key = std::move(name),
                  .state = KeyState::kNote,
                  .since_ms = keys.NowMs(),
                  .instance = keys.instance(),
                  .note = std::move(note)};
  };
  std::vector<KeyRow> rows;
  std::size_t written = 0;
  while (written < numbers.size()) {
    rows.clear();
    while (rows.size() < kRowsPerCall && written < numbers.size()) {
      const std::uint64_t page = numbers[written] >> bits;
      std::string note;
      for (; written < numbers.size() && numbers[written] >> bits == page; ++written) {
        note += fmt::format("{}\n", numbers[written]);
      }
      rows.push_back(row(PageName(page), std::move(note)));
    }
    const auto present = keys.Add(keyspace, rows);
    if (!present.ok()) return present.status();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if ((*present)[i] && (*present)[i]->note != rows[i].note) return Unreadable(rows[i].key);
    }
    if (progress) progress(written);
  }
  return keys.Add(keyspace, {row(std::string(kComplete), fmt::format("{} {}\n", bits, written))})
      .status();
}

Result<std::optional<KeyRow>> TakenList::Find(WitnessedStore& store, const std::string& row) const {
  KeyTable* const table = store.store().key_table();
  if (table == nullptr) {
    return Status(Code::kFailedPrecondition, "this store cannot keep a list of codes");
  }
  return table->FindKey(keyspace_id_, row, store.Deadline());
}

Status TakenList::Incomplete() {
  return {
      Code::kUnavailable,
      "the list of codes that were in use before is not complete yet: run keymill import again"};
}

Result<bool> TakenList::CheckComplete(WitnessedStore& store) {
  if (page_bits_) return true;
  const Result<std::optional<KeyRow>> row = Find(store, std::string(kComplete));
  if (!row.ok()) return row.status();
  if (!*row) return false;
  std::uint32_t bits = 0;
  std::string_view note = (*row)->note;
  if (!TakeNumber(note, ' ', bits) || bits > kPageBitsMax) return Unreadable(kComplete);
  page_bits_ = bits;
  return true;
}

Result<const std::vector<std::uint64_t>*> TakenList::ReadPage(WitnessedStore& store,
                                                              std::uint64_t page) {
  if (page_ == page) return &numbers_;
  const std::string name = PageName(page);
  const Result<std::optional<KeyRow>> row = Find(store, name);
  if (!row.ok()) return row.status();
  page_.reset();
  numbers_.clear();
  if (*row) {
    std::string_view note = (*row)->note;
    while (!note.empty()) {
      std::uint64_t number = 0;
      const bool sound = TakeNumber(note, '\n', number) && number >> *page_bits_ == page &&
                         (numbers_.empty() || numbers_.back() < number);
      if (!sound) return Unreadable(name);
      numbers_.push_back(number);
    }
  }
  page_ = page;
  return &numbers_;
}

Result<std::vector<NumberRun>> TakenList::FreeOf(WitnessedStore& store, std::uint64_t first,
                                                 std::uint64_t count) {
  const Result<bool> complete = CheckComplete(store);
  if (!complete.ok()) return complete.status();
  if (!*complete) return Incomplete();
  std::vector<NumberRun> runs;
  const std::uint64_t end = first + count;
  const auto add = [&](std::uint64_t from, std::uint64_t to) {
    if (from < to) runs.push_back({from, to - from});
  };
  std::uint64_t from = first;
  for (std::uint64_t page = first >> *page_bits_; page <= (end - 1) >> *page_bits_; ++page) {
    const Result<const std::vector<std::uint64_t>*> numbers = ReadPage(store, page);
    if (!numbers.ok()) return numbers.status();
    for (auto taken = std::lower_bound((*numbers)->begin(), (*numbers)->end(), from);
         taken != (*numbers)->end() && *taken < end; ++taken) {
      add(from, *taken);
      from = *taken + 1;
    }
  }
  add(from, end);
  return runs;
}

}  // namespace keymill::mint
