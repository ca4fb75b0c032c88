// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/key_pile.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace keymill::mint {

void KeyPile::Add(const Batch& batch) {
  const auto gone = stacks_.begin() + static_cast<std::ptrdiff_t>(front_);
  // Those that were given up stay until somebody takes them.
  stacks_.erase(std::remove_if(stacks_.begin(), gone, [](const Stack& each) { return !each.old; }),
                gone);
  front_ = 0;
  Stack stack{.token = batch.token, .text = {}, .use_by = batch.use_by};
  stack.text.reserve(batch.keys.size() * key_size_);
  for (const std::string& key : batch.keys) {
    KEYMILL_CHECK(key.size() == key_size_);
    stack.text += key;
  }
  ages_ = ages_ || batch.use_by.wall_ms != INT64_MAX;
  size_ += batch.keys.size();
  stacks_.push_back(std::move(stack));
}

keys::Written KeyPile::Take(std::uint32_t count, std::string_view after, char* out) {
  keys::Written written;
  for (; front_ < stacks_.size() && written.keys < count; ++front_) {
    Stack& stack = stacks_[front_];
    if (stack.old) continue;
    for (; stack.next < stack.text.size() && written.keys < count; stack.next += key_size_) {
      stack.text.copy(out + written.bytes, key_size_, stack.next);
      after.copy(out + written.bytes + key_size_, after.size());
      written.bytes += key_size_ + after.size();
      ++written.keys;
    }
    if (stack.next < stack.text.size()) break;
  }
  size_ -= written.keys;
  return written;
}

void KeyPile::GiveUpOld(MonotonicTime now, std::int64_t wall_ms) {
  for (std::size_t i = front_; i < stacks_.size(); ++i) {
    Stack& stack = stacks_[i];
    if (!stack.use_by.IsOver(now, wall_ms) || !stack.HasAny()) continue;
    size_ -= (stack.text.size() - stack.next) / key_size_;
    stack.old = true;
    has_old_ = true;
  }
}

std::vector<KeyPile::Batch> KeyPile::TakeOld() {
  std::vector<Batch> batches;
  if (!std::exchange(has_old_, false)) return batches;
  for (const Stack& stack : stacks_) {
    if (stack.old) batches.push_back(RestOf(stack));
  }
  std::erase_if(stacks_, [](const Stack& stack) { return stack.old || !stack.HasAny(); });
  front_ = 0;
  return batches;
}

std::vector<KeyPile::Batch> KeyPile::Clear() {
  std::vector<Batch> batches;
  for (const Stack& stack : stacks_) {
    if (stack.next < stack.text.size()) batches.push_back(RestOf(stack));
  }
  stacks_.clear();
  front_ = 0;
  size_ = 0;
  has_old_ = false;
  return batches;
}

KeyPile::Batch KeyPile::RestOf(const Stack& stack) const {
  Batch batch{.token = stack.token, .keys = {}, .use_by = stack.use_by};
  if (stack.next > 0) batch.gone = stack.text.substr(0, key_size_);
  for (std::size_t at = stack.next; at < stack.text.size(); at += key_size_) {
    batch.keys.push_back(stack.text.substr(at, key_size_));
  }
  return batch;
}

std::optional<KeyPile::Sample> KeyPile::Newest() const {
  if (stacks_.empty() || !stacks_.back().HasAny()) return {};
  const Stack& newest = stacks_.back();
  return Sample{newest.text.substr(newest.text.size() - key_size_), newest.token};
}

}  // namespace keymill::mint
