// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One RESP connection: reads commands in order, answers them in order. Minting happens right here,
// on the event loop's thread, straight from the reservoir into the output. Whatever has to wait (an
// empty reservoir, anything that asks the store) parks the connection.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/resp/commands.h"
#include "api/resp/mint_job.h"
#include "api/resp/service.h"
#include "net/session.h"
#include "wire/resp.h"
#include "wire/resp_command.h"

namespace keymill::api::resp {

// Whatever is larger is refused before memory is set aside for it.
inline constexpr wire::RespCommandLimits kCommandLimits{
    .line_max = 64 * 1024, .words_max = 1024, .word_max = 64 * 1024, .total_max = 1024UL * 1024};

// What MULTI collects at most.
inline constexpr std::size_t kQueuedMax = 1024;
inline constexpr std::size_t kQueuedBytesMax = 1024UL * 1024;

class RespSession final : public net::Session {
 public:
  // `service` outlives the session.
  RespSession(RespService& service, net::Waker waker);
  ~RespSession() override;

  net::Step Advance(std::string_view input, std::string& output) override;
  void OnTimeout(std::string& output) override;
  void OnDrain() override { draining_ = true; }

 private:
  using Words = std::span<const std::string_view>;

  // Something that another thread does for the command being answered.
  struct Errand {
    std::shared_ptr<RespService::Deferred> deferred;
    MonotonicTime deadline;
    MintWish wish = {};  // What to mint when the errand has found the keyspace.
  };

  // What to do with commands that repeat the one before, byte for byte.
  struct Repeat {
    std::string bytes;
    mint::Keyspace* keyspace = nullptr;         // Null: nothing that can be repeated.
    mint::CounterKeyspace* sequence = nullptr;  // Its numbers are wanted, not its keys.
    const Command* command = nullptr;
  };

  // A command that waits for EXEC.
  struct Queued {
    const Command* command = nullptr;
    std::vector<std::string> words;
  };

  // Answers what it can; see net::Session::Advance.
  net::Step Work(std::string_view input, std::string& output);
  [[nodiscard]] net::Step StepFor(Progress progress, std::size_t consumed);
  // Answers commands at the beginning of `input` that repeat the one before, as far as there are
  // keys right now. Returns how many bytes they had.
  std::size_t AnswerRepeats(std::string_view input, std::string& output);

  // A new command; `bytes` is what it was read from.
  Progress Begin(Words words, std::string_view bytes, std::string& output);
  // Keeps it for EXEC.
  Progress Queue(const Command& command, Words words, std::string& output);
  Progress RunQueued(std::string& output);
  // Runs it, and counts it once it is answered.
  Progress Run(const Command& command, Words words, std::string& output);
  Progress Dispatch(const Command& command, Words words, std::string& output);
  // What has nothing to do with keys.
  Progress DispatchOther(const Command& command, Words words, std::string& output);
  Progress Count(Progress progress);
  [[nodiscard]] bool busy() const { return errand_ || job_ || running_; }
  Progress Resume(std::string& output);
  Progress ResumeErrand(std::string& output);
  Progress ContinueJob(std::string& output);

  Progress Ok(std::string& output);
  Progress Error(std::string_view error, std::string& output);
  wire::RespWriter Writer(std::string& output) const { return wire::RespWriter(output, version_); }

  // ---- Keys: session_keys.cc ----
  Progress Mint(Words words, std::string& output);
  Progress Pop(Words words, MintWish::Form form, std::string& output);
  Progress IncrBy(Words words, std::string& output);
  Progress BeginMint(std::string_view name, const MintWish& wish, std::string& output);
  Progress RunJob(mint::Keyspace& keyspace, const MintWish& wish, MonotonicTime deadline,
                  std::string& output);
  Progress Explain(Words words, std::string& output);
  Progress Claim(Words words, std::string& output);
  Progress Derive(Words words, std::string& output);
  Progress List(std::string& output);
  Progress AnswerLater(api::Queue queue, RespService::Work work, std::string& output,
                       const MintWish& wish = {});

  // ---- The connection and the server: session_server.cc ----
  Progress Hello(Words words, std::string& output);
  Progress Auth(Words words, std::string& output);
  Progress Client(Words words, std::string& output);
  Progress SetName(std::string_view name, std::string& output);
  Progress SetInfo(Words words, std::string& output);
  Progress TellCommands(Words words, std::string& output);
  Progress GetKeys(Words words, std::string& output);
  Progress Config(Words words, std::string& output);
  Progress Info(Words words, std::string& output);
  Progress Ping(Words words, std::string& output);
  Progress Select(std::string_view index, std::string& output);
  Progress Time(std::string& output);
  Progress Reset(std::string& output);
  Progress Help(std::span<const std::string_view> lines, std::string& output);
  [[nodiscard]] std::string ClientLine() const;

  // ---- Transactions ----
  Progress Multi(std::string& output);
  Progress Exec(std::string& output);
  Progress Discard(std::string& output);
  void DropQueue();

  RespService& service_;
  const net::Waker waker_;
  RespCounters& counters_;  // Of the thread that runs the session.
  const std::uint64_t id_;
  wire::RespCommandReader reader_{kCommandLimits};
  int version_ = 2;
  std::string name_;
  std::string library_;
  std::string library_version_;

  const Command* command_ = nullptr;  // Being answered.
  bool failed_ = false;               // Its answer is an error.
  MonotonicTime began_;               // When it was read, if it had to wait.
  std::uint64_t answered_ = 0;        // Commands that were answered in this call.
  Repeat repeat_;
  std::optional<MintJob> job_;
  std::optional<Errand> errand_;

  bool collecting_ = false;  // Between MULTI and EXEC.
  bool spoilt_ = false;      // One of them was refused.
  std::vector<Queued> queue_;
  std::size_t queue_bytes_ = 0;
  bool running_ = false;  // EXEC is at work on queue_,
  std::size_t next_ = 0;  // this one being next.

  bool parked_ = false;
  bool draining_ = false;
  bool closing_ = false;  // Nothing more is read.
};

}  // namespace keymill::api::resp
