// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What is to be written to a keyspace, put together before any of it is: the words of
// ApplyScript and of those that fill. The record comes first.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "keymill/store.h"

namespace keymill::store::redis {

// The mark of a change, see layout.h.
std::string NewChange();

class Orders {
 public:
  // Everything of a new record.
  void Create(const KeyspaceRecord& record);
  // What can change of one: state, reason, testified, next and rev.
  void Update(const KeyspaceRecord& record);

  // Quarantines a keyspace, unless that changes nothing; and what a seal notices that looked at the
  // keyspaces before this.
  void Quarantine(KeyspaceRecord record, std::string_view reason, const Witness& seen);

  // Writes a row, in place of the one that begins where it does, if there is one; and what is
  // looked up by its state.
  void Put(const LedgerRow& row);
  // `row` as the store has it.
  void Drop(const LedgerRow& row);

  [[nodiscard]] bool empty() const { return words_.empty(); }
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  void Add(std::initializer_list<std::string_view> words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }

  std::vector<std::string> words_;
};

}  // namespace keymill::store::redis
