// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The RESP front end without sockets: a service over a memory store that can be made to fail, and a
// client that plays the network for one session.

#pragma once

#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/api_test_support.h"
#include "api/resp/service.h"
#include "api/resp/session.h"
#include "mint/engine.h"
#include "support/fake_clock.h"
#include "wire/resp.h"

namespace keymill::api::resp {

using wire::RespType;
using wire::RespValue;

// A service with keyspaces `default` (shuffled), `orders` (1, 2, 3, …) and `pages` (derived). With
// the system's clock a thread refills; with a fake one only Refill does.
class TestServer {
 public:
  TestServer() : TestServer(SystemClock(), true) {}
  explicit TestServer(const FakeClock& clock) : TestServer(clock, false) {}

  mint::Engine& engine() { return *engine_; }
  Backend& backend() { return backend_; }
  RespService& service() { return service_; }
  FaultyStore& store() { return *store_; }
  [[nodiscard]] bool background() const { return background_; }
  void Refill() { engine_->StepForTest(); }

  mint::Keyspace& Create(const std::string& name, const Recipe& recipe) {
    Result<mint::Engine::Created> created = engine_->Create(name, recipe);
    EXPECT_TRUE(created.ok()) << created.status().message();
    return *created->keyspace;
  }

 private:
  TestServer(const Clock& clock, bool background)
      : background_(background), backend_(std::chrono::milliseconds(2'000), clock) {
    auto store = std::make_unique<FaultyStore>(clock);
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
    Create("pages", DefaultRecipe(Kind::kDerived));
    backend_.SetEngine(engine_.get());
  }

  const bool background_;
  FaultyStore* store_ = nullptr;
  std::unique_ptr<mint::Engine> engine_;
  Backend backend_;  // After the engine: work must end first.
  RespService service_{{.version = "1.2.3"}, backend_};
};

// One connection of which the test plays the network's part.
class TestClient {
 public:
  explicit TestClient(TestServer& server)
      : server_(server),
        session_(std::make_unique<RespSession>(server.service(),
                                               [signal = signal_] { signal->Raise(); })) {}

  // Sends bytes, and goes on until the session wants something that is not there: input, or to be
  // woken, or the end.
  void Send(std::string_view bytes) {
    if (closed()) return;
    input_ += bytes;
    if (parked()) return;
    Poke();
  }
  // As when the session is woken, or its time is up.
  void Poke() {
    do {
      std::string output;
      step_ = session_->Advance(input_, output);
      EXPECT_LE(step_.consumed, input_.size());
      input_.erase(0, step_.consumed);
      output_max_ = std::max(output_max_, output.size());
      output_ += output;
    } while (step_.want == net::Want::kFlush);
  }
  // Waits for what it is parked for, until it is not any more.
  void Settle() {
    while (parked()) {
      if (!server_.background()) server_.Refill();
      ASSERT_TRUE(signal_->Await()) << "parked for ever";
      signal_->Lower();
      Poke();
    }
  }

  void SendCommand(const std::vector<std::string_view>& words) {
    std::string bytes;
    wire::AppendRespCommand(words, bytes);
    Send(bytes);
  }
  // Sends one command, waits, and returns its answer.
  RespValue Ask(const std::vector<std::string_view>& words) {
    SendCommand(words);
    Settle();
    return Take();
  }
  // The error that a command is answered with, or "" when there is none.
  std::string Error(const std::vector<std::string_view>& words) {
    const RespValue value = Ask(words);
    return value.is_error() ? value.text : "";
  }
  // The next answer of those that have arrived.
  RespValue Take() {
    std::string_view rest = output_;
    wire::RespReader reader;
    if (reader.Read(rest) != wire::RespReader::Outcome::kWhole) {
      ADD_FAILURE() << "no answer: " << output_.substr(0, 200);
      return {};
    }
    output_.erase(0, output_.size() - rest.size());
    return reader.Take();
  }
  std::vector<RespValue> TakeAll() {
    std::vector<RespValue> all;
    while (!output_.empty() && !testing::Test::HasFailure()) all.push_back(Take());
    return all;
  }

  [[nodiscard]] bool parked() const { return step_.want == net::Want::kWake; }
  [[nodiscard]] bool closed() const { return step_.want == net::Want::kClose; }
  [[nodiscard]] const net::Step& step() const { return step_; }
  [[nodiscard]] const std::string& output() const { return output_; }
  [[nodiscard]] std::size_t output_max() const { return output_max_; }
  [[nodiscard]] RespSession& session() { return *session_; }
  void Destroy() { session_.reset(); }

 private:
  TestServer& server_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  std::unique_ptr<RespSession> session_;
  std::string input_;
  std::string output_;
  std::size_t output_max_ = 0;
  net::Step step_;
};

// The value of a map, whichever version it was written in; null when it is not there.
inline RespValue ValueOf(const RespValue& map, std::string_view name) {
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    if (map.items[i].text == name) return map.items[i + 1];
  }
  return {};
}

}  // namespace keymill::api::resp
