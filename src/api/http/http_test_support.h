// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The HTTP front end without sockets: a service over a memory store that can be made to
// fail, and a client that plays the network for one session.

#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "keymill/store.h"

#include "api/api_test_support.h"
#include "api/http/service.h"
#include "api/http/session.h"
#include "base/mutex.h"
#include "mint/engine.h"
#include "store/memory/memory_store.h"
#include "support/fake_clock.h"

namespace keymill::api::http {

struct Keyless {};

// A service with keyspaces `default` (shuffled) and `orders` (1, 2, 3, …). With the system's
// clock a thread refills; with a fake one only Refill does.
class TestServer {
 public:
  TestServer() : TestServer(SystemClock(), true) {}
  explicit TestServer(const FakeClock& clock) : TestServer(clock, false) {}
  // Of a store that remembers no keys by name.
  explicit TestServer(Keyless /*unused*/) : TestServer(SystemClock(), true, true) {}
  // With a thread that refills.
  explicit TestServer(ServiceOptions options)
      : TestServer(SystemClock(), true, false, std::move(options)) {}

  mint::Engine& engine() { return *engine_; }
  Service& service() { return service_; }
  FaultyStore& store() { return *store_; }
  [[nodiscard]] bool background() const { return background_; }
  void Refill() { engine_->StepForTest(); }

  mint::Keyspace& Create(const std::string& name, const Recipe& recipe) {
    Result<mint::Engine::Created> created = engine_->Create(name, recipe);
    EXPECT_TRUE(created.ok()) << created.status().message();
    return *created->keyspace;
  }
  // Numbers that left any reservoir.
  std::uint64_t issued() {
    std::uint64_t sum = 0;
    for (const char* const name : {"default", "orders"}) sum += engine_->Find(name)->stats().issued;
    return sum;
  }

 private:
  TestServer(const Clock& clock, bool background, bool keyless = false,
             ServiceOptions http = {.version = "1.2.3"})
      : background_(background),
        backend_(std::chrono::milliseconds(2'000), clock),
        service_(std::move(http), backend_) {
    auto store = std::make_unique<FaultyStore>(clock, keyless);
    store_ = store.get();
    mint::EngineOptions options;
    options.background = background;
    auto opened = mint::Engine::Open(options, std::move(store), nullptr, clock);
    EXPECT_TRUE(opened.ok());
    engine_ = *std::move(opened);
    Create("default", DefaultRecipe(Kind::kShuffled));
    Recipe orders = DefaultRecipe(Kind::kSequence);
    orders.alphabet = "decimal";
    Create("orders", orders);
    backend_.SetEngine(engine_.get());
  }

  const bool background_;
  FaultyStore* store_ = nullptr;
  std::unique_ptr<mint::Engine> engine_;
  Backend backend_;
  Service service_;  // After the engine: work must end first.
};

struct Response {
  int status = 0;
  std::string reason;
  std::map<std::string, std::string> headers;  // Names in lower case.
  std::string body;                            // Without its chunks.
  bool whole = false;                          // Ended as its header said.

  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
  [[nodiscard]] bool closes() const { return header("connection") == "close"; }
};

// Takes the chunks of a body apart. Returns the bytes used, 0 when it is not whole.
inline std::size_t ReadChunks(std::string_view bytes, std::string& body) {
  std::size_t at = 0;
  for (;;) {
    const std::size_t eol = bytes.find("\r\n", at);
    if (eol == std::string_view::npos) return 0;
    std::size_t size = 0;
    const auto parsed = std::from_chars(bytes.data() + at, bytes.data() + eol, size, 16);
    EXPECT_TRUE(parsed.ec == std::errc() && parsed.ptr == bytes.data() + eol);
    at = eol + 2;
    if (bytes.size() < at + size + 2) return 0;
    body += bytes.substr(at, size);
    EXPECT_EQ(bytes.substr(at + size, 2), "\r\n");
    at += size + 2;
    if (size == 0) return at;
  }
}

// Takes the first response off `bytes`. `head`: it answers a HEAD request.
inline Response TakeResponse(std::string_view& bytes, bool head = false) {
  Response response;
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos || !bytes.starts_with("HTTP/1.1 ")) {
    ADD_FAILURE() << "no response: " << bytes.substr(0, 200);
    bytes = {};
    return response;
  }
  std::string_view header = bytes.substr(0, end + 2);
  bytes.remove_prefix(end + 4);
  std::from_chars(header.data() + 9, header.data() + 12, response.status);
  response.reason = header.substr(13, header.find("\r\n") - 13);
  header.remove_prefix(header.find("\r\n") + 2);
  while (!header.empty()) {
    const std::string_view line = header.substr(0, header.find("\r\n"));
    header.remove_prefix(line.size() + 2);
    const std::size_t colon = line.find(": ");
    EXPECT_NE(colon, std::string_view::npos) << line;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), ::tolower);
    EXPECT_TRUE(response.headers.emplace(name, line.substr(colon + 2)).second) << name;
  }
  if (response.header("transfer-encoding") == "chunked") {
    const std::size_t used = ReadChunks(bytes, response.body);
    response.whole = used > 0;
    bytes.remove_prefix(used > 0 ? used : bytes.size());
    return response;
  }
  const std::string length = response.header("content-length");
  const bool bodiless = response.status == 100 || response.status == 204 || response.status == 304;
  EXPECT_EQ(length.empty(), bodiless);
  const std::size_t size = head || length.empty() ? 0 : std::stoul(length);
  response.whole = bytes.size() >= size;
  response.body = bytes.substr(0, size);
  bytes.remove_prefix(response.body.size());
  return response;
}

// One connection of which the test plays the network's part.
class Client {
 public:
  explicit Client(TestServer& server)
      : server_(server),
        session_(std::make_unique<HttpSession>(server.service(),
                                               [signal = signal_] { signal->Raise(); })) {}

  // Gives bytes to the session and lets it work until it waits for input, is parked or closed.
  void Feed(std::string_view bytes) {
    input_ += bytes;
    Poke();
  }
  void Poke() {
    do {
      Step();
    } while (step_.want == net::Want::kFlush);
  }
  // Lets it work once, whatever it wants next.
  void Step(std::string_view bytes = {}) {
    input_ += bytes;
    signal_->Lower();
    std::string output;
    session_->SetRound(server_.service().clock().Monotonic());
    step_ = session_->Advance(input_, output);
    EXPECT_LE(step_.consumed, input_.size());
    input_.erase(0, step_.consumed);
    output_max_ = std::max(output_max_, output.size());
    output_ += output;
  }
  // Also sees to it that parked requests go on, as the network and the refiller would.
  void Send(std::string_view bytes) {
    Feed(bytes);
    while (parked()) Unpark();
  }
  void Unpark() {
    if (!server_.background()) server_.Refill();
    ASSERT_TRUE(signal_->Await()) << "parked for ever";
    Poke();
  }

  // Sends one request and returns its response.
  Response Ask(std::string_view method, std::string_view target, std::string_view fields = {},
               std::string_view body = {}) {
    std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: a\r\n{}", method, target, fields);
    if (!body.empty()) request += fmt::format("Content-Length: {}\r\n", body.size());
    Send(request + "\r\n" + std::string(body));
    return Take(method == "HEAD");
  }
  Response AskJson(std::string_view method, std::string_view target, std::string_view body) {
    return Ask(method, target, "Content-Type: application/json\r\n", body);
  }
  // The next response of those that have arrived.
  Response Take(bool head = false) {
    std::string_view rest = output_;
    Response response = TakeResponse(rest, head);
    output_.erase(0, output_.size() - rest.size());
    return response;
  }

  [[nodiscard]] bool parked() const { return step_.want == net::Want::kWake; }
  [[nodiscard]] bool closed() const { return step_.want == net::Want::kClose; }
  [[nodiscard]] const net::Step& step() const { return step_; }
  [[nodiscard]] const std::string& output() const { return output_; }
  [[nodiscard]] std::size_t output_max() const { return output_max_; }
  [[nodiscard]] HttpSession& session() { return *session_; }
  [[nodiscard]] const std::shared_ptr<Signal>& signal() const { return signal_; }
  void Destroy() { session_.reset(); }

 private:
  TestServer& server_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  std::unique_ptr<HttpSession> session_;
  std::string input_;
  std::string output_;
  std::size_t output_max_ = 0;
  net::Step step_;
};

inline std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    EXPECT_NE(end, std::string_view::npos);
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), lines.back().size() + 1));
  }
  return lines;
}

inline bool AllDistinct(const std::vector<std::string>& keys) {
  return std::set<std::string>(keys.begin(), keys.end()).size() == keys.size();
}

}  // namespace keymill::api::http
