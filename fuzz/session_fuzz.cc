// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A whole HTTP session over a memory store. Whatever is sent, the answers are well-formed
// HTTP, one after the other, and neither they nor what is kept grow without bound.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/http/service.h"
#include "api/http/session.h"
#include "base/check.h"
#include "base/log.h"
#include "base/mutex.h"
#include "mint/engine.h"
#include "store/memory/memory_store.h"

namespace keymill {
namespace {

constexpr std::size_t kStepOutputMax = 1 << 20;
constexpr std::size_t kStreamMax = 1 << 22;  // Then the client goes away.

class Server {
 public:
  Server() {
    DisableLog();
    mint::EngineOptions options;
    options.background = false;
    engine_ = *mint::Engine::Open(options, store::OpenMemoryStore(), nullptr);
    KEYMILL_CHECK(engine_->Create("default", DefaultRecipe(Kind::kShuffled)).ok());
    KEYMILL_CHECK(engine_->Create("orders", DefaultRecipe(Kind::kSequence)).ok());
    backend_.SetEngine(engine_.get());
  }
  mint::Engine& engine() { return *engine_; }
  api::http::Service& service() { return service_; }

 private:
  std::unique_ptr<mint::Engine> engine_;
  api::Backend backend_;
  api::http::Service service_{{.version = "fuzz"}, backend_};
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

std::size_t Number(std::string_view text, int base) {
  std::size_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, base);
  KEYMILL_CHECK(parsed.ec == std::errc() && parsed.ptr == text.data() + text.size());
  return number;
}

// Behind the chunks of a body, or npos when it was cut off.
std::size_t SkipChunks(std::string_view bytes) {
  for (std::size_t at = 0;;) {
    const std::size_t eol = bytes.find("\r\n", at);
    if (eol == std::string_view::npos) return eol;
    const std::size_t size = Number(bytes.substr(at, eol - at), 16);
    at = eol + 2 + size + 2;
    if (at > bytes.size()) return std::string_view::npos;
    KEYMILL_CHECK(bytes.substr(at - 2, 2) == "\r\n");
    if (size == 0) return at;
  }
}

std::string_view FieldOf(std::string_view header, std::string_view name) {
  const std::size_t at = header.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view value = header.substr(at + name.size());
  return value.substr(0, value.find("\r\n"));
}

// Answers to HEAD have a length and no body: then the next answer, or the end, comes at once.
void CheckAnswers(std::string_view bytes, bool cut_off) {
  while (!bytes.empty()) {
    KEYMILL_CHECK(bytes.starts_with("HTTP/1.1 "));
    const std::size_t end = bytes.find("\r\n\r\n");
    KEYMILL_CHECK(end != std::string_view::npos);
    const std::string_view header = bytes.substr(0, end + 2);
    bytes.remove_prefix(end + 4);
    KEYMILL_CHECK(Number(header.substr(9, 3), 10) >= 100);
    if (FieldOf(header, "\r\nTransfer-Encoding: ") == "chunked") {
      const std::size_t behind = SkipChunks(bytes);
      KEYMILL_CHECK(behind != std::string_view::npos || cut_off);
      if (behind == std::string_view::npos) return;
      bytes.remove_prefix(behind);
      continue;
    }
    const std::string_view length = FieldOf(header, "\r\nContent-Length: ");
    if (length.empty() || bytes.empty() || bytes.starts_with("HTTP/1.1 ")) continue;
    const std::size_t size = Number(length, 10);
    KEYMILL_CHECK(size <= bytes.size());
    bytes.remove_prefix(size);
  }
}

void Play(Server& server, std::string_view bytes, std::size_t piece) {
  const auto bell = std::make_shared<Bell>();
  api::http::HttpSession session(server.service(), [bell] {
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
      cut_off = all.size() > kStreamMax;
      if (step.want != net::Want::kWake) continue;
      KEYMILL_CHECK(step.wake_at.has_value());
      server.engine().StepForTest();
      Await(*bell);
    }
    KEYMILL_CHECK(input.size() < (1U << 18));
  }
  CheckAnswers(all, closed || cut_off);
}

}  // namespace
}  // namespace keymill

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::unique_ptr<keymill::Server> server;
  static int rounds = 0;
  if (size == 0) return 0;
  // Keyspaces that the inputs create pile up in the store, as they should.
  if (rounds++ % 1000 == 0) server = std::make_unique<keymill::Server>();
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  keymill::Play(*server, bytes, 1 + data[0] * std::size_t{4});
  return 0;
}
