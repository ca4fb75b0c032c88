// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The promise of ids that are made of time, in many short histories: whatever clocks do, and
// whoever crashes, sleeps or stops, no id comes twice, and no unit of a worker's time has two
// owners. All of a history happens within a few units of the same time, where two that believe to
// have it would meet.

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "keys/snowflake_layout.h"
#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<milliseconds, 8> kJumps = {
    milliseconds(-1), milliseconds(-5), milliseconds(-128), seconds(-1),
    hours(-1),        hours(-24),       hours(1),           hours(24 * 3'652)};  // Ten years.

constexpr milliseconds kShortWindow{2'000};
constexpr milliseconds kLongWindow{60'000};

// Shorter and longer than a window, and up to where a short one ends in a moment.
constexpr std::array<milliseconds, 8> kPauses = {
    milliseconds(5),     milliseconds(300),   milliseconds(1'100), milliseconds(1'985),
    milliseconds(1'990), milliseconds(2'100), milliseconds(4'000), milliseconds(61'000)};

// With two worker ids, whoever cannot have the one that it wants has no choice: the seed alone
// decides what happens.
Recipe Ids(std::uint32_t unit_ms) {
  Recipe recipe = DefaultRecipe(Kind::kSnowflake);
  recipe.layout.worker_bits = 1;
  recipe.layout.sequence_bits = 4;
  recipe.layout.unit_ms = unit_ms;
  return recipe;
}

// What a history has put to the test.
struct Met {
  bool two_owners = false;  // Of one worker id, each of which made ids.
  bool adjoining = false;   // Two units of time in a row were made by different ones.
  bool step_back = false;   // One was asked for ids by a clock that was before its last one.
  bool moved = false;       // One made ids with both worker ids.
  bool refusal = false;     // One had no worker id, or its clock was too wrong.
  bool overtaken = false;   // One went on that had slept while its worker id got another owner.
};

// A machine with a clock of its own, and the instances that lived on it one after the other.
struct Machine {
  explicit Machine(std::int64_t wall_ms) : clock(wall_ms) {}

  FakeClock clock;
  milliseconds wrong{0};  // What was added to its clock.
  WorkerChoice choice;
  // Also those that crashed: to end an engine would be a clean stop.
  std::vector<std::unique_ptr<Engine>> engines;
  Keyspace* keyspace = nullptr;  // Of the last one. None when it does not run.
  bool frozen = false;
  // Of the instance that runs now.
  int life = 0;
  std::optional<keys::SnowflakeParts> last;
};

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed), recipe_(Ids(Below(4) == 0 ? 10 : 1)) {
    const std::uint64_t machines = 2 + std::min(Below(3), Below(3));
    for (std::uint64_t i = 0; i < machines; ++i) {
      Machine& one = machines_.emplace_back(kStartMs + static_cast<std::int64_t>(Below(6)));
      if (Below(4) == 0) {
        one.choice.fixed = 0;
      } else {
        one.choice.preferred = 0;
      }
    }
  }

  void Run() {
    for (Machine& one : machines_) {
      if (Below(4) > 0) Start(one);
    }
    TakeAll();
    const std::uint64_t steps = 4 + Below(7);
    for (std::uint64_t i = 0; i < steps && problem_.empty(); ++i) {
      Step(machines_[Below(machines_.size())]);
      TakeAll();
    }
  }

  // The first thing that must not be; "" if all is well.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // What happened until then, for people.
  [[nodiscard]] const std::string& told() const { return told_; }
  [[nodiscard]] const Met& met() const { return met_; }
  [[nodiscard]] std::size_t ids() const { return ids_.size(); }

 private:
  static constexpr std::int64_t kStartMs = 1'750'000'000'000;

  std::uint64_t Below(std::uint64_t end) { return random_() % end; }

  void Tell(const Machine& one, std::string_view what) {
    const auto differs = [&](const Machine& each) { return &each != &one; };
    const auto at = std::find_if_not(machines_.begin(), machines_.end(), differs);
    told_ += fmt::format("\n  machine {}, life {}: {}", at - machines_.begin(), one.life, what);
  }

  void Start(Machine& one) {
    one.life = ++lives_;
    one.last.reset();
    Tell(one, "starts");
    EngineOptions options;
    options.background = false;
    options.location = "test";
    options.refill.runway_target = Below(4) == 0 ? kLongWindow : kShortWindow;
    options.snowflake.choice = one.choice;
    auto engine = Engine::Open(std::move(options), std::make_unique<FaultyStore>(memory_, faults_),
                               nullptr, one.clock);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    one.engines.push_back(*std::move(engine));
    auto created = one.engines.back()->Create("ids", recipe_);
    ASSERT_TRUE(created.ok()) << created.status().message();
    one.keyspace = created->keyspace;
    one.keyspace->Want();
    one.engines.back()->StepForTest();
  }

  void Step(Machine& one) {
    if (one.keyspace == nullptr) return Start(one);
    if (one.frozen) return GoOn(one);
    switch (Below(10)) {
      case 0:
      case 1:
      case 2:
        return Jump(one);
      case 3:
        Tell(one, "crashes");
        one.keyspace = nullptr;
        break;
      case 4:
        Tell(one, "stops");
        one.engines.back()->Close();
        one.keyspace = nullptr;
        break;
      case 5:
      case 6:
        Tell(one, "freezes");
        one.frozen = true;
        return;
      default:
        return Pass(kPauses[Below(kPauses.size())]);
    }
    if (Below(2) == 0) Start(one);
  }

  // A clock that is wrong is also set right, to where it has been before.
  void Jump(Machine& one) {
    const bool right = one.wrong != milliseconds(0) && Below(2) == 0;
    const milliseconds by = right ? -one.wrong : kJumps[Below(kJumps.size())];
    Tell(one, fmt::format("its clock jumps by {} ms", by.count()));
    one.clock.StepWall(by);
    one.wrong += by;
  }

  void Pass(milliseconds time) {
    told_ += fmt::format("\n  {} ms pass", time.count());
    for (Machine& one : machines_) one.clock.Advance(time);
  }

  // It does not look before it makes ids.
  void GoOn(Machine& one) {
    Tell(one, "goes on");
    one.frozen = false;
    if (one.last && makers_[one.last->worker].back() != one.life) met_.overtaken = true;
    Take(one, 40);
  }

  // A few milliseconds, in which all that are awake make some ids, or as many as they can.
  void TakeAll() {
    const std::uint64_t rounds = 1 + Below(6);
    const std::uint32_t dense = Below(2) == 0 ? 40 : 4;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      for (Machine& one : machines_) {
        if (one.keyspace == nullptr || one.frozen) continue;
        if (Below(2) == 0) one.engines.back()->StepForTest();
        Take(one, static_cast<std::uint32_t>(1 + Below(dense)));
      }
      for (Machine& one : machines_) one.clock.Advance(milliseconds(1));
    }
  }

  void Take(Machine& one, std::uint32_t count) {
    const auto now = keys::SnowflakeTicks(recipe_.layout, one.clock.WallMs());
    if (one.last && *now < one.last->ticks) met_.step_back = true;
    std::string text(count * (one.keyspace->key_size_max() + 1), '\0');
    text.resize(one.keyspace->TakeKeys(count, "\n", text.data()).bytes);
    if (text.empty()) return SeeWhy(one);
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end; ++at) {
      std::uint64_t id = 0;
      at = std::from_chars(at, end, id).ptr;
      See(one, id);
    }
  }

  // Why there are none: time has to pass, or it was refused a worker id.
  void SeeWhy(Machine& one) {
    const Status why = one.keyspace->DeadlineVerdict();
    switch (why.code()) {
      case Code::kDeadlineExceeded:
        return;
      case Code::kExhausted:
      case Code::kOverloaded:
      case Code::kClockRegressed: {
        const bool time = why.message().find("no id is due yet") != std::string::npos ||
                          why.message().find("went to others") != std::string::npos;
        met_.refusal = met_.refusal || !time;
        return;
      }
      default:
        Complain(one, std::string(why.message()));
    }
  }

  void See(Machine& one, std::uint64_t id) {
    const keys::SnowflakeParts parts = *keys::DecomposeSnowflake(recipe_.layout, id);
    if (!ids_.insert(id).second) {
      Complain(one, fmt::format("id {} of worker {} was made before", id, parts.worker));
    }
    // Whoever gives time back keeps the unit that it has begun, so there is no exception.
    std::unordered_map<std::uint64_t, int>& owners = owners_[parts.worker];
    const int owner = owners.try_emplace(parts.ticks, one.life).first->second;
    if (owner != one.life) {
      Complain(one,
               fmt::format("unit {} of worker {} was life {}'s", parts.ticks, parts.worker, owner));
    }
    const auto before = owners.find(parts.ticks - 1);
    if (before != owners.end() && before->second != one.life) met_.adjoining = true;
    if (one.last && one.last->worker != parts.worker) met_.moved = true;
    std::vector<int>& makers = makers_[parts.worker];
    if (makers.empty() || makers.back() != one.life) makers.push_back(one.life);
    if (makers.size() > 1) met_.two_owners = true;
    one.last = parts;
  }

  void Complain(const Machine& one, const std::string& what) {
    if (!problem_.empty()) return;
    Tell(one, what);
    problem_ = what;
  }

  std::mt19937_64 random_;
  const Recipe recipe_;
  FakeClock store_clock_;
  std::shared_ptr<Store> memory_ = store::OpenMemoryStore(store_clock_);
  std::shared_ptr<Faults> faults_ = std::make_shared<Faults>();
  std::deque<Machine> machines_;
  int lives_ = 0;
  std::unordered_set<std::uint64_t> ids_;
  // By worker id: who made a unit of time, and who made ids one after the other.
  std::array<std::unordered_map<std::uint64_t, int>, 2> owners_;
  std::array<std::vector<int>, 2> makers_;
  std::string problem_;
  std::string told_;
  Met met_;
};

TEST(SnowflakeSimulationTest, NoClockMakesAnIdTwice) {
  DisableLog();
  constexpr std::uint64_t kSeed = 20'261'116;
  constexpr std::uint64_t kCases = 10'000;
  std::size_t ids = 0;
  std::size_t two_owners = 0;
  std::size_t adjoining = 0;
  std::size_t steps_back = 0;
  std::size_t moved = 0;
  std::size_t refusals = 0;
  std::size_t overtaken = 0;
  for (std::uint64_t seed = kSeed; seed < kSeed + kCases; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    History history(seed);
    ASSERT_NO_FATAL_FAILURE(history.Run());
    ASSERT_EQ(history.problem(), "") << history.told();
    ids += history.ids();
    two_owners += history.met().two_owners ? 1 : 0;
    adjoining += history.met().adjoining ? 1 : 0;
    steps_back += history.met().step_back ? 1 : 0;
    moved += history.met().moved ? 1 : 0;
    refusals += history.met().refusal ? 1 : 0;
    overtaken += history.met().overtaken ? 1 : 0;
  }
  RecordProperty("cases", std::to_string(kCases));
  RecordProperty("ids", std::to_string(ids));
  // What would find nothing, whatever is wrong, is no test.
  EXPECT_GT(ids, 100 * kCases);
  EXPECT_GT(two_owners, kCases / 4);
  EXPECT_GT(adjoining, kCases / 25);
  EXPECT_GT(steps_back, kCases / 4);
  EXPECT_GT(moved, kCases / 25);
  EXPECT_GT(refusals, kCases / 2);
  EXPECT_GT(overtaken, kCases / 100);
}

}  // namespace
}  // namespace keymill::mint
