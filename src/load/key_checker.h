// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The duplicate check of a running load: keys from many threads, compared on one of its own.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "keymill/status.h"

#include "base/mutex.h"
#include "load/duplicate_finder.h"

namespace keymill::load {

// Some thousand keys on their way to the checker.
class KeyBatch {
 public:
  // False, and nothing happens, when it is full.
  // REQUIRES: key.size() < 2^15
  bool Append(std::string_view key) {
    const auto length = static_cast<std::uint16_t>(key.size());
    if (bytes_.size() - size_ < sizeof length + key.size()) return false;
    std::memcpy(bytes_.data() + size_, &length, sizeof length);
    std::memcpy(bytes_.data() + size_ + sizeof length, key.data(), key.size());
    size_ += sizeof length + key.size();
    return true;
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void Clear() { size_ = 0; }

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (std::size_t at = 0; at < size_;) {
      std::uint16_t length = 0;
      std::memcpy(&length, bytes_.data() + at, sizeof length);
      visit(std::string_view(bytes_.data() + at + sizeof length, length));
      at += sizeof length + length;
    }
  }

 private:
  std::array<char, std::size_t{1} << 16> bytes_;
  std::size_t size_ = 0;
};

// Every key that was submitted is compared, by bytes. The result of Finish() is exact. While
// keys still come, live() is exact for the keys compared so far as long as all of them fit in
// memory; after that (`spilled`) its count stands still until Finish(), a lower bound.
//
// Memory is bounded: when the checker falls behind, Submit waits for it, and stalled() says
// for how long, because a load that waits for its own check measures less than the server.
class KeyChecker {
 public:
  // `producers` is the number of threads that submit.
  KeyChecker(const DuplicateFinderOptions& options, std::size_t producers);
  ~KeyChecker();
  KeyChecker(const KeyChecker&) = delete;
  KeyChecker& operator=(const KeyChecker&) = delete;

  // Takes the batch over and leaves an empty one. Any thread. An error of the checker is kept
  // for Finish().
  void Submit(std::unique_ptr<KeyBatch>& batch);

  struct Live {
    std::uint64_t keys = 0;     // Compared so far.
    std::uint64_t repeats = 0;  // Keys among them that had been seen before.
    bool spilled = false;
  };
  [[nodiscard]] Live live() const;
  [[nodiscard]] std::chrono::nanoseconds stalled() const;

  // Compares all that was submitted. Errors: as DuplicateFinder::Add. The finder lives as
  // long as this.
  // REQUIRES: nobody submits any more; called once.
  Result<const DuplicateFinder*> Finish();

 private:
  void Work();
  void Compare(const KeyBatch& batch);
  void Stop();

  DuplicateFinder finder_;  // The checker's thread; after Stop() anybody.
  Status failure_;
  std::vector<std::string_view> keys_at_hand_;  // Of the batch that is being compared.

  std::atomic<std::uint64_t> keys_{0};
  std::atomic<std::uint64_t> repeats_{0};
  std::atomic<bool> spilled_{false};
  std::atomic<std::int64_t> stalled_ns_{0};

  Mutex mu_;
  CondVar changed_;
  std::deque<std::unique_ptr<KeyBatch>> full_ KEYMILL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<KeyBatch>> empty_ KEYMILL_GUARDED_BY(mu_);
  std::size_t batches_left_ KEYMILL_GUARDED_BY(mu_);  // That may still be made.
  bool stopping_ KEYMILL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace keymill::load
