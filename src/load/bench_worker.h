// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One thread of the load generator: an epoll loop over its share of the connections.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keymill/clock.h"

#include "base/mutex.h"
#include "load/bench.h"
#include "load/bench_stats.h"
#include "load/key_checker.h"
#include "load/schedule.h"

namespace keymill::load {

// What all workers of a run share.
struct BenchRun {
  const BenchOptions& options;
  const Schedule* schedule = nullptr;  // Null: closed loop.
  KeyChecker* checker = nullptr;       // Null: keys are not compared.
  const std::atomic<bool>& stop;
  MonotonicTime start;
  std::int64_t end_ns = 0;            // From the start on.
  std::uint64_t requests_max = 0;     // Over all workers.
  std::atomic<std::uint64_t> sent{};  // Closed loop: requests that were dealt out.
  static constexpr std::int64_t kNotReached = -1;
  std::atomic<std::int64_t> reached_ns{kNotReached};  // When the first connection was made.
};

// Run() belongs to one thread; TakeStats() may be called from any.
class BenchWorker : private AnswerSink {
 public:
  // REQUIRES: `run` outlives this; index < the number of workers.
  BenchWorker(BenchRun& run, std::size_t index, std::size_t workers);
  ~BenchWorker() override;
  BenchWorker(const BenchWorker&) = delete;
  BenchWorker& operator=(const BenchWorker&) = delete;

  // Puts load on the servers until the run is over and the last answers are in.
  // Errors: kUnavailable: no file descriptors are left.
  Status Run();

  // Adds what happened since the last call to `to`. All of it has been published when Run()
  // has returned, and up to a tenth of a second late before.
  void TakeStats(BenchStats& to) KEYMILL_EXCLUDES(mu_);

 private:
  enum class State : std::uint8_t { kClosed, kConnecting, kOpen };

  struct Connection {
    int fd = -1;
    State state = State::kClosed;
    bool watches_output = false;
    bool closing = false;  // The server said that nothing more will come.
    bool in_ready = false;
    bool in_dirty = false;
    const Target* target = nullptr;
    // As many requests as may be under way. All are equal, so what is unsent is always the
    // end of this text.
    const std::string* requests = nullptr;
    std::size_t unsent = 0;
    std::unique_ptr<AnswerReader> reader;
    std::vector<std::int64_t> due_ns;  // A ring, of the requests under way.
    std::size_t first = 0;
    std::size_t under_way = 0;
  };

  void OnKey(std::string_view key) override;
  void OnAnswer(int status, bool close) override;

  [[nodiscard]] std::int64_t NowNs() const;
  void Turn(std::int64_t now);
  [[nodiscard]] bool Finished(std::int64_t now);
  [[nodiscard]] std::int64_t Pause() const;

  void Open(Connection& connection);
  void Reopen();
  void Lose(Connection& connection);
  [[nodiscard]] bool Knocking() const;
  void OnEvent(Connection& connection, std::uint32_t events);
  void OnConnected(Connection& connection);
  void OnReadable(Connection& connection);

  // Sending. Queue adds requests that are due at a time; Flush writes what is unsent.
  void Refill(Connection& connection);
  std::size_t TakeTurns(std::size_t wanted);
  void SendDue();
  void MarkReady(Connection& connection);
  void Queue(Connection& connection, std::size_t count, std::int64_t due_ns);
  void Flush(Connection& connection);
  void Watch(Connection& connection, int operation, bool output);

  void Publish() KEYMILL_EXCLUDES(mu_);
  void CountUnsent();

  BenchRun& run_;
  const std::size_t workers_;
  const int epoll_;
  std::vector<char> buffer_;
  std::vector<std::string> requests_;  // By target.
  std::vector<Connection> connections_;
  std::deque<std::pair<std::int64_t, Connection*>> closed_;  // When to open again.
  std::deque<Connection*> ready_;  // Open loop: connections with room for a request.
  std::vector<Connection*> dirty_;
  std::uint64_t next_;            // Open loop: the next request of this worker …
  std::int64_t next_due_ns_ = 0;  // … and when it is due; -1 when there is none.
  std::int64_t now_ns_ = 0;       // When the event that is being handled was seen.
  std::int64_t heard_ns_ = 0;     // When a server last showed a sign of life.
  std::int64_t publish_ns_ = 0;
  std::int64_t give_up_ns_ = 0;
  std::uint64_t under_way_ = 0;
  bool stopping_ = false;
  Connection* current_ = nullptr;  // Whose answer is being read.
  bool unasked_ = false;           // It answered more than it was asked.
  Status failure_;
  BenchStats stats_;  // Not yet published.
  std::unique_ptr<KeyBatch> keys_;

  Mutex mu_;
  BenchStats published_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::load
