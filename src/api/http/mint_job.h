// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One mint request that is being answered: numbers from the reservoir become keys in the
// output. Whenever the reservoir is empty the job waits for a block. When no block comes, JSON
// holds the keys that there are; lines, of which nobody could tell that some are missing, are
// cut off without their last chunk; and without a single key the answer says why.

#pragma once

#include <cstdint>
#include <string>

#include "api/http/reply.h"
#include "api/http/service.h"
#include "mint/keyspace.h"
#include "net/session.h"

namespace keymill::api::http {

// What became of a piece of work.
enum class Progress : std::uint8_t {
  kDone,    // It is answered.
  kParked,  // It goes on when the session is woken.
  kFlush,   // It goes on when the output has left.
  kCut,     // It failed in the middle of its answer: only closing the connection can tell.
};

class MintJob {
 public:
  enum class Format : std::uint8_t {
    kBare,    // The key and nothing else.
    kText,    // One key per line; becomes kStream when it has to wait for some of its keys.
    kJson,    // {"keyspace":…,"keys":[…]}
    kStream,  // One key per line, in chunks: the only one whose answer is not held in memory.
              // Not for HTTP/1.0, which has no chunks.
  };

  // `service` outlives the job; `waker` wakes the session that it belongs to.
  MintJob(const Service& service, std::string keyspace_name, Format format, std::uint64_t count,
          net::Waker waker);
  ~MintJob();
  MintJob(const MintJob&) = delete;
  MintJob& operator=(const MintJob&) = delete;

  [[nodiscard]] const std::string& keyspace_name() const { return keyspace_name_; }
  // When the job gives up waiting.
  [[nodiscard]] MonotonicTime deadline() const { return deadline_; }
  // Whether the answer's header has left.
  [[nodiscard]] bool started() const { return started_; }

  // The keyspace was found. It outlives the job.
  void SetKeyspace(mint::Keyspace& keyspace) { keyspace_ = &keyspace; }

  // Mints as much as it can.
  // REQUIRES: the keyspace is set.
  Progress Continue(const ReplyContext& context, std::string& output);

 private:
  enum class Wait : std::uint8_t { kParked, kRetry, kOver };

  Progress FillBody(const ReplyContext& context, std::string& output);
  Progress FinishBody(const ReplyContext& context, std::string& output);
  Progress Stream(const ReplyContext& context, std::string& output);
  void StartStream(const ReplyContext& context, std::string& output);
  // The keys in body_ leave as the stream's first chunk, and the others will follow.
  void BecomeStream(const ReplyContext& context, std::string& output);
  void AppendChunk(const mint::Reservoir::Run& run, std::string& output);
  // The reservoir is empty: waits for a block, or leaves in verdict_ why that is no use.
  Wait AwaitBlock();
  void StopWaiting();
  // The answer when no further key can be had.
  Progress Conclude(const ReplyContext& context, std::string& output);

  const Service& service_;
  const std::string keyspace_name_;
  Format format_;
  const net::Waker waker_;
  mint::Keyspace* keyspace_ = nullptr;
  std::uint64_t left_;
  MonotonicTime deadline_;
  std::uint64_t waiter_ = 0;  // 0: does not wait for a block.
  Status verdict_;
  bool started_ = false;
  std::string body_;
};

}  // namespace keymill::api::http
