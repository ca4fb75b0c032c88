// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One mint request that is being answered: numbers from the reservoir become keys in the
// output. Whenever the reservoir is empty the job waits for a block. When no block comes, JSON
// holds the keys that there are; lines, of which nobody could tell that some are missing, are
// cut off without their last chunk; and without a single key the answer says why.

#pragma once

#include <cstdint>
#include <string>

#include "api/http/key_answer.h"
#include "api/http/reply.h"
#include "api/http/service.h"
#include "mint/keyspace.h"
#include "net/session.h"

namespace keymill::api::http {

// What became of a piece of work.
enum class Progress : std::uint8_t {
  kDone,    // It is answered.
  kParked,  // It goes on when the session is woken.
  kFlush,   // It goes on when the output has left and others have had their turn.
  kCut,     // It failed in the middle of its answer: only closing the connection can tell.
};

// How many keys a request wants, and in which form. kText becomes kStream when it has to wait
// for some of its keys.
struct MintWish {
  KeyFormat format = KeyFormat::kBare;
  std::uint64_t count = 1;
};

class MintJob {
 public:
  // `service`, `keyspace` and `waker`, which wakes the session that the job belongs to, outlive
  // the job.
  MintJob(const Service& service, mint::Keyspace& keyspace, const MintWish& wish,
          MonotonicTime deadline, const net::Waker& waker);
  ~MintJob();
  MintJob(const MintJob&) = delete;
  MintJob& operator=(const MintJob&) = delete;

  // When the job gives up waiting.
  [[nodiscard]] MonotonicTime deadline() const { return deadline_; }

  // The status of the answer, once it is done.
  [[nodiscard]] int status() const { return status_; }

  // Mints as much as it can.
  Progress Continue(const ReplyContext& context, std::string& output);

 private:
  enum class Wait : std::uint8_t { kParked, kRetry, kOver };

  Progress FillBody(const ReplyContext& context, std::string& output);
  Progress Stream(const ReplyContext& context, std::string& output);
  // The keys in body_ leave as the stream's first chunk, and the others will follow.
  void BecomeStream(const ReplyContext& context, std::string& output);
  // False when there is no key right now; nothing was appended then.
  bool AppendPiece(const ReplyContext& context, std::string& output);
  // The reservoir is empty: waits for a block, or leaves in verdict_ why that is no use.
  Wait AwaitBlock();
  // There may be some again already.
  Progress Again();
  void StopWaiting();
  // The answer when no further key can be had.
  Progress Conclude(const ReplyContext& context, std::string& output);

  const Service& service_;
  mint::Keyspace& keyspace_;
  const net::Waker& waker_;
  KeyFormat format_;
  std::uint64_t left_;
  MonotonicTime deadline_;
  std::uint64_t waiter_ = 0;  // 0: does not wait for a block.
  bool again_ = false;        // It did not have to wait, and has not got any yet.
  Status verdict_;
  int status_ = 200;
  bool started_ = false;  // The head of a stream has left.
  std::string body_;
};

}  // namespace keymill::api::http
