// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A whole RESP session over a memory store. Whatever is sent, the answers are well-formed RESP, one
// after the other, no integer among them passes 2^53, and neither they nor what is kept grow
// without bound.
//
// The first byte of an input says how long the pieces are.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/resp/service.h"
#include "api/resp/session.h"
#include "base/check.h"
#include "base/log.h"
#include "base/mutex.h"
#include "mint/engine.h"
#include "store/memory/memory_store.h"

namespace keymill {
namespace {

constexpr std::size_t kStepOutputMax = 1 << 21;
constexpr std::size_t kAllMax = 1 << 22;  // Then the client goes away.

class Server {
 public:
  Server() {
    DisableLog();
    mint::EngineOptions options;
    options.background = false;
    engine_ = *mint::Engine::Open(options, store::OpenMemoryStore(), nullptr);
    KEYMILL_CHECK(engine_->Create("default", DefaultRecipe(Kind::kShuffled)).ok());
    KEYMILL_CHECK(engine_->Create("orders", DefaultRecipe(Kind::kSequence)).ok());
    Recipe high = DefaultRecipe(Kind::kSequence);
    high.start = api::resp::kIntegerLast - 100;
    KEYMILL_CHECK(engine_->Create("high", high).ok());
    backend_.SetEngine(engine_.get());
  }
  mint::Engine& engine() { return *engine_; }
  api::resp::RespService& service() { return service_; }

 private:
  std::unique_ptr<mint::Engine> engine_;
  api::Backend backend_;
  api::resp::RespService service_{{.version = "fuzz"}, backend_};
};

struct Bell {
  Mutex mu;
  CondVar rung;
  bool ringing KEYMILL_GUARDED_BY(mu) = false;
};

void Await(Bell& bell) {
  const MonotonicTime deadline = SystemClock().Monotonic() + std::chrono::seconds(5);
  const MutexLock lock(bell.mu);
  while (!bell.ringing) KEYMILL_CHECK(bell.rung.WaitUntil(bell.mu, deadline) || bell.ringing);
  bell.ringing = false;
}

void CheckIntegers(const wire::RespValue& value) {
  if (value.type == wire::RespType::kInteger) {
    KEYMILL_CHECK(value.integer <= static_cast<std::int64_t>(api::resp::kIntegerLast));
  }
  for (const wire::RespValue& item : value.items) CheckIntegers(item);
}

void CheckAnswers(std::string_view bytes, bool cut_off) {
  wire::RespReader reader;
  while (!bytes.empty()) {
    const auto outcome = reader.Read(bytes);
    KEYMILL_CHECK(outcome != wire::RespReader::Outcome::kMalformed);
    KEYMILL_CHECK(outcome == wire::RespReader::Outcome::kWhole || cut_off);
    if (outcome == wire::RespReader::Outcome::kWhole) CheckIntegers(reader.Take());
  }
}

void Play(Server& server, std::string_view bytes, std::size_t piece) {
  const auto bell = std::make_shared<Bell>();
  api::resp::RespSession session(server.service(), [bell] {
    const MutexLock lock(bell->mu);
    bell->ringing = true;
    bell->rung.NotifyAll();
  });
  std::string input;
  std::string all;
  bool closed = false;
  bool cut_off = false;
  while (!closed && !cut_off && !bytes.empty()) {
    input += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(bytes.size(), piece));
    for (bool more = true; more && !closed && !cut_off;) {
      std::string output;
      const net::Step step = session.Advance(input, output);
      KEYMILL_CHECK(step.consumed <= input.size() && output.size() <= kStepOutputMax);
      input.erase(0, step.consumed);
      all += output;
      more = step.want == net::Want::kFlush || step.want == net::Want::kWake;
      closed = step.want == net::Want::kClose;
      cut_off = all.size() > kAllMax;
      if (step.want != net::Want::kWake) continue;
      KEYMILL_CHECK(step.wake_at.has_value());
      server.engine().StepForTest();
      Await(*bell);
    }
    KEYMILL_CHECK(closed || cut_off || input.empty());
  }
  CheckAnswers(all, cut_off);
}

}  // namespace
}  // namespace keymill

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::unique_ptr<keymill::Server> server;
  static int rounds = 0;
  if (size == 0) return 0;
  // What the inputs claim piles up in the store, as it should.
  if (rounds++ % 1000 == 0) server = std::make_unique<keymill::Server>();
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  keymill::Play(*server, bytes, 1 + data[0] * std::size_t{4});
  return 0;
}
