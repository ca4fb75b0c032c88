// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The mint: keyspaces by name, kept supplied from the store by one background thread.
// Everything that a front end can do with keys is a call of this class.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "keymill/clock.h"
#include "keymill/key_table.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "base/mutex.h"
#include "mint/aliases.h"
#include "mint/catalog.h"
#include "mint/code_import.h"
#include "mint/derived_keyspace.h"
#include "mint/explanation.h"
#include "mint/key_register.h"
#include "mint/keyspace.h"
#include "mint/kinds.h"
#include "mint/lending.h"
#include "mint/pool_fill.h"
#include "mint/pool_options.h"
#include "mint/refill_policy.h"
#include "mint/releases.h"
#include "mint/snowflake_keyspace.h"
#include "mint/store_safety.h"
#include "mint/ticket_overlap.h"
#include "mint/timeline_watch.h"
#include "mint/witness_file.h"
#include "mint/witnessed_store.h"

namespace keymill::mint {

struct EngineOptions {
  RefillOptions refill;

  // How long one call to the store may take. Longer than a busy store needs, shorter than
  // people wait.
  std::chrono::milliseconds store_timeout{1'000};

  // How often the store is looked at although nothing is needed, so that a rollback is
  // noticed while the reservoir still lasts.
  std::chrono::milliseconds audit_interval{2'000};

  // How often it is asked whether its timeline has changed, which ends the wait for an audit.
  std::chrono::milliseconds watch_interval{500};

  // How long nobody reserves once the timeline has changed: long enough for every live instance to
  // notice (watch_interval), ask for the timeline, look and object (three times store_timeout).
  // All instances therefore need the same.
  std::chrono::milliseconds timeline_grace{3'500};

  // How often the store is asked for settings under which it loses what it has acknowledged;
  // also at the start, where it is refused, and whenever it comes back.
  std::chrono::milliseconds inspect_interval{60'000};
  // Off for those who only look.
  bool inspect = true;
  // Why a store that does so is used all the same; "": it is not.
  std::string accept_unsafe_store;

  // Requests that may wait for a block of one keyspace at once.
  std::uint32_t waiters_max = 100'000;

  // Of keyspaces that are made of time.
  SnowflakeOptions snowflake;

  // Of keyspaces whose keys are made ahead.
  PoolOptions pool;

  // Where the store is, for messages and for the witness.
  std::string location;

  // Keyspaces that are there when the engine is open: created if they are absent, with a first
  // block unless nothing is to be reserved ahead of need.
  std::map<std::string, Recipe> keyspaces;

  // Whether a thread keeps the reservoirs supplied. Off in tests that call StepForTest.
  bool background = true;

  // The store failed in a way that no retry can mend (X1). Called once, from the refiller.
  std::function<void(const Status&)> on_fatal;
};

// A keyspace for people: what it is and how far it has come.
struct KeyspaceInfo {
  KeyspaceRecord record;
  Recipe recipe;
  bool endless = false;  // Nobody counts its keys: the next three say nothing.
  std::uint64_t capacity = 0;
  std::uint64_t used = 0;  // Reserved at some time, by anybody.
  std::uint64_t left = 0;
  double rate = 0;                              // Keys per second, this instance, now.
  std::optional<std::int64_t> exhausted_at_ms;  // At the present rate, or the average one.
  std::uint64_t ahead = 0;                      // Numbers in this instance's reservoir.
  std::optional<double> runway_seconds;         // How long those last; none without demand.
  std::uint64_t waited = 0;                     // How often a request had to wait for a block here.
  std::optional<double> years_left;             // Of a snowflake, whatever the rate.
  // Keys by state, of a keyspace whose keys the store remembers; only Describe counts them.
  std::optional<KeyTable::Counts> counts;

  // Whether `used` and `left` say anything.
  [[nodiscard]] bool counted() const {
    return !endless && (counts.has_value() || !IsStoredByKey(recipe.kind));
  }
};

// Whether a stored keyspace is one of this recipe that can be used: kFailedPrecondition when its
// recipe is another one (the message says in what) or when it is retired.
Status CheckRecipe(const KeyspaceRecord& record, const Recipe& recipe);

// Safe for concurrent use by multiple threads. Only Find, and what Find returns, is made for
// the path of a request; everything else may wait for the store.
class Engine {
 public:
  // Takes the store and, except for stores without a memory, a witness. What is not there yet
  // of store and keyspaces is made in one call of Store::Establish. Starts the refiller.
  // Errors: kFailedPrecondition when the witness knows another store at this location, or the
  // store is not safe; those of Create for the keyspaces.
  static Result<std::unique_ptr<Engine>> Open(EngineOptions options, std::unique_ptr<Store> store,
                                              std::unique_ptr<WitnessFile> witness,
                                              const Clock& clock = SystemClock());
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The keyspace, if this instance has used it before. Lock-free.
  [[nodiscard]] Keyspace* Find(std::string_view name) const { return catalog_.Find(name); }

  // The same, but asks the store when this instance does not know it.
  // Errors: kNotFound, kUnavailable; kQuarantined when it is not the one that was here before.
  Result<Keyspace*> Lookup(std::string_view name);

  // All that this instance has used so far.
  [[nodiscard]] std::vector<Keyspace*> Known() const { return catalog_.All(); }

  struct Created {
    Keyspace* keyspace = nullptr;
    bool fresh = false;  // Whether this call created it.
  };
  // Creates the keyspace, or finds that it exists with the same recipe.
  // Errors:
  //   kInvalidArgument     the name or the recipe cannot be, or its blocklist leaves no keys.
  //   kFailedPrecondition  it exists with another recipe (the message says what differs), or
  //                        it is retired; or it is a ticket that would meet another one.
  //   kQuarantined         the store has lost the one that had this name.
  Result<Created> Create(std::string_view name, const Recipe& recipe);

  // What Create would say now, and a start with it among the configured keyspaces: also
  // kFailedPrecondition when the worker id that this instance insists on does not fit its layout.
  // Changes nothing.
  Status CheckCreate(std::string_view name, const Recipe& recipe);

  // Ends the keyspace for ever. Errors: kNotFound.
  Status Retire(std::string_view name);

  Result<std::vector<KeyspaceInfo>> List();
  Result<KeyspaceInfo> Describe(std::string_view name);

  // Errors: kNotFound when the keyspace does not exist, or the key cannot have been issued.
  Result<Explanation> Explain(std::string_view name, std::string_view key);

  // The smallest and the largest id whose time lies in [from_ms, to_ms), as keys of the keyspace,
  // so that a database can be asked for a time without a column of its own.
  // Errors: kNotFound; kInvalidArgument when it is no snowflake, or the range holds no id.
  struct Bounds {
    std::string first;
    std::string last;
  };
  Result<Bounds> BoundsOf(std::string_view name, std::int64_t from_ms, std::int64_t to_ms);

  // ---- Numbers for those who hand them out themselves; see lending.h. ----

  Result<Loan> Lend(Keyspace& keyspace, std::uint32_t count, std::chrono::seconds time) {
    return lender_.Lend(keyspace, count, time);
  }
  Result<LoanReturn> TakeBack(Keyspace& keyspace, std::string_view loan_id, std::uint64_t used) {
    return lender_.TakeBack(keyspace, loan_id, used);
  }
  // A segment of a size that suits whoever asks often, and never more than a part of what is left.
  Result<Loan> GrantSegment(Keyspace& keyspace);

  // ---- Keys by name. All errors of Lookup, and of the functions that the types come from; all of
  // it needs a store that remembers keys (kFailedPrecondition otherwise). ----

  // Claims `alias` for `owner`; see aliases.h.
  Result<Claim> ClaimKey(std::string_view name, std::string_view alias, std::string_view owner);

  // The key of a content; see derived_keyspace.h. kInvalidArgument when the kind is another one.
  using Derived = DerivedKeyspace::Derived;
  Result<Derived> Derive(std::string_view name, std::string_view content, std::string_view salt);

  // Releases a key of a pool; see releases.h.
  Result<Release> ReleaseKey(std::string_view name, std::string_view key,
                             std::optional<std::uint64_t> generation);

  // Adds `count` new random keys to a pool; see pool_fill.h. `progress` hears how many there are
  // so far. kInvalidArgument when the kind is another one.
  Result<PoolFill> FillPool(std::string_view name, std::uint64_t count,
                            const std::function<void(std::uint64_t)>& progress);

  // Makes the keyspace such that it never gives out one of `codes`, which another service has, and
  // creates it where it is not there; see code_import.h. One that is there must have come of the
  // same codes, unless it is a pool or derived. Errors: Create's and ImportCodes'.
  // REQUIRES: `codes` are sorted, each once, and keys as KeyRow has them.
  Result<CodeImport> Import(std::string_view name, const Recipe& recipe,
                            const std::vector<std::string>& codes,
                            const std::function<void(std::uint64_t)>& progress);

  // The record of every key that the store remembers.
  Result<KeyTable::Counts> CountKeys(std::string_view name);
  Result<KeyTable::Page> ListKeys(std::string_view name, const KeyTable::Query& query);
  Result<std::optional<KeyRow>> FindKey(std::string_view name, std::string_view key);

  // Mints `count` keys, each followed by a newline, or gives those again that a call with the same
  // `retry` got; see retries.h. Errors: Mint's, too.
  Result<std::string> MintOnce(Keyspace& keyspace, std::string_view retry, std::uint64_t count,
                               MonotonicTime deadline);

  // Quarantines the keyspace if it is behind the witness. Whether it is quarantined now, by
  // whomever. Errors: kNotFound.
  Result<bool> QuarantineIfBehind(std::string_view name);

  // Reopens a keyspace that is quarantined, or is behind the witness and ought to be, above
  // everything that the store and the witness know, and that other instances have testified:
  // each does so at its next audit, so leave a fresh quarantine that much time. Of a pool every key
  // is burned first that may have been handed out in the time that the store has lost.
  // Errors: kNotFound; kFailedPrecondition when nothing is wrong with it. After any other the
  // keyspace is still closed: call again.
  Result<RecoverReport> Recover(std::string_view name);

  // From now on blocks are reserved by these rules. May wait for a refill that is under way.
  void SetRefill(const RefillOptions& refill);

  // Reserves the first block ahead of the first request.
  void WarmUp(Keyspace& keyspace);

  // Mints `count` keys and gives them to `sink` in order, several at a time, each followed by
  // a newline. Waits for blocks until `deadline`. For callers that may block.
  // Errors: those of Keyspace::Verdict and DeadlineVerdict; kFailedPrecondition when the
  // blocklist skipped a million numbers in a row. Keys that `sink` got are issued.
  Status Mint(Keyspace& keyspace, std::uint64_t count, MonotonicTime deadline,
              const std::function<void(std::string_view)>& sink);

  // Whether minting works: OK, or why not. Does not touch the store.
  Status Ready() const;

  // Waits until numbers may be reserved after a change of the store's timeline; how long that may
  // take, the options say. For those who live so shortly that nobody would ever be there in time.
  void AwaitSettled();

  // Gives back what was not used and ends the refiller. Nothing can be minted afterwards. What is
  // not given back by `deadline` is burned. Returns how many numbers were given back. Works once.
  std::uint64_t Close(MonotonicTime deadline = MonotonicTime::max());

  // One round of the refiller, for tests that have no background thread.
  void StepForTest() {
    Tick();
    Step();
  }

  // What the store remembers by name, for those who keep more there than keys.
  [[nodiscard]] KeyRegister& keys() { return keys_; }

  [[nodiscard]] const std::string& instance() const { return store_.instance(); }
  [[nodiscard]] const StoreIdentity& identity() const { return store_.identity(); }
  [[nodiscard]] const EngineOptions& options() const { return options_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }

  // Whether the store can carry keys by name, without which all calls for them are
  // kFailedPrecondition.
  [[nodiscard]] bool remembers_keys() const { return keys_.CheckPossible().ok(); }

  // Whether the last attempt to reach the store succeeded, and how its calls went so far. Neither
  // touches the store.
  [[nodiscard]] bool store_up() const { return store_up_.load(std::memory_order_relaxed); }
  [[nodiscard]] const StoreSafety& store_safety() const { return safety_; }
  [[nodiscard]] const MetricSource& store_metrics() const { return store_.store(); }

 private:
  Engine(EngineOptions options, std::unique_ptr<Store> store, std::unique_ptr<WitnessFile> witness,
         const Clock& clock);

  // Without its locks: nobody else knows the engine yet. Whoever opens it keeps forks away, which
  // is otherwise done inside of them.
  Status Start() KEYMILL_UNSHARED;
  [[nodiscard]] MonotonicTime StoreDeadline() const { return store_.Deadline(); }
  [[nodiscard]] Supply MakeSupply() KEYMILL_REQUIRES(refill_mu_) {
    return {store_, timeline_.timeline(), refill_};
  }

  // For KeyRegister: the timeline, if anything may be changed now.
  Result<std::string> Permit();
  // Whether the store can carry a keyspace of this kind. kFailedPrecondition.
  [[nodiscard]] Status CheckCarried(Kind kind) const;
  // Whether this instance can have the worker id that it insists on. kFailedPrecondition.
  [[nodiscard]] Status CheckWorker(std::string_view name, const Recipe& recipe) const;

  // Part of BurnPool: what is used lives another life from now on, until `end_ms`.
  static Status RaiseGenerations(KeyRegister& keys, const Keyspace& keyspace, std::int64_t now_ms,
                                 std::int64_t end_ms);

  // Finds or makes the keyspaces of the options. `empty`: the store, too, has to be made.
  Status EstablishKeyspaces(bool empty) KEYMILL_UNSHARED;
  // The keyspace as the store has it.
  // Errors: kNotFound; kQuarantined when the witness has seen another one under this name.
  Result<KeyspaceRecord> FindRecord(std::string_view name);
  // The tickets in the store that are not retired; none, without asking it, unless `recipe` is
  // one.
  Result<std::vector<Ticket>> OtherTickets(const Recipe& recipe);
  // Two that would meet may have been made at once. `fresh`: one is by this call, and is retired
  // when it cannot stay.
  Status SettleTicket(std::string_view name, const Recipe& recipe, bool fresh);
  // The keyspace that the store holds, if it is what somebody wants to have there.
  Result<Keyspace*> Accept(const KeyspaceRecord& record, const Recipe& recipe);
  Result<Keyspace*> Adopt(const KeyspaceRecord& record);
  Result<KeyspaceInfo> Inform(KeyspaceRecord record);
  // Quarantines a record that is behind the witness. Whether it is quarantined now.
  Result<bool> ProbeQuarantine(const KeyspaceRecord& record);
  Result<RecoverReport> RecoverOne(const KeyspaceRecord& record);
  // What can be told of a recovery whose answer was lost, if it took place.
  Result<RecoverReport> RecoveredBefore(const KeyspaceRecord& record);
  Status RecoverLines(const KeyspaceRecord& keyspace);
  // What cannot be told from what was handed out is used from now on. How many keys were not.
  Result<std::uint64_t> BurnPool(const KeyspaceRecord& record);
  // What a recovery cannot bring back; "" for nothing.
  std::string ForgottenBy(const KeyspaceRecord& record);
  // The lines of the keyspace's worker ids, if it has any.
  Result<std::vector<KeyspaceRecord>> LinesOf(std::string_view name);

  // The refiller.
  void Run();
  void Notify();
  MonotonicTime Step();  // When the next one is due.
  // What comes with time comes whatever the store does: a thread of its own, from the first
  // keyspace on that is made of time.
  void StartTicks();
  void RunTicks();
  MonotonicTime Tick();  // When the next one is due.
  // The store does not answer: when to ask it again.
  MonotonicTime LeaveAlone(const Status& why) KEYMILL_REQUIRES(refill_mu_);
  // Both return false when the store should be left alone for a while.
  bool Refill(Keyspace& keyspace) KEYMILL_REQUIRES(refill_mu_);
  bool RefillFailed(Keyspace& keyspace, const Status& failure) KEYMILL_REQUIRES(refill_mu_);
  void SetReserving(bool works, std::string_view why) KEYMILL_REQUIRES(refill_mu_);
  void SetStoreUp(bool up, std::string_view why);
  // Whether numbers may be reserved now; kUnavailable with the reason otherwise.
  Status MayReserve() KEYMILL_REQUIRES(refill_mu_);
  // Asks the store for its settings if that is due, or `now` whatever is due.
  Status Inspect(bool now) KEYMILL_REQUIRES(refill_mu_);
  // Notices another timeline. kUnavailable when the store does not answer.
  Status WatchTimeline() KEYMILL_REQUIRES(refill_mu_);
  // Looks at the store's settings, if that is due, and stops reserving when they are not safe.
  Status WatchSafety(bool now) KEYMILL_REQUIRES(refill_mu_);
  // After the grace period: the last comparison, and word of it to the others.
  Status Agree() KEYMILL_REQUIRES(refill_mu_);
  // S4: what the keyspace holds is still its own in the store, or it is quarantined.
  Status VerifyHeld(Keyspace& keyspace) KEYMILL_REQUIRES(refill_mu_);
  // kUnavailable when the store should be left alone for a while.
  Status Audit(bool full) KEYMILL_REQUIRES(refill_mu_);
  Status AuditKeyspaces() KEYMILL_REQUIRES(refill_mu_);
  // `kept`: the revision that is in the witness's file, whatever else was seen.
  Status AuditOne(Keyspace& keyspace, const KeyspaceRecord& record, const Witness& seen,
                  std::uint64_t kept) KEYMILL_REQUIRES(refill_mu_);
  // What the witness knows and nobody has asked this process for: others may be asked for it.
  Status AuditUnasked(const WitnessFile::Sighting& seen, const KeyspaceRecord& record)
      KEYMILL_REQUIRES(refill_mu_);
  Status AuditSighting(const WitnessFile::Sighting& seen, const KeyspaceRecord* record,
                       const std::vector<KeyspaceRecord>& records) KEYMILL_REQUIRES(refill_mu_);
  // The same for the line of a worker id, whoever has it now. `record`: null if it is gone.
  Status AuditLine(const WitnessFile::Sighting& seen, const KeyspaceRecord* record,
                   const std::vector<KeyspaceRecord>& records) KEYMILL_REQUIRES(refill_mu_);
  // Whether a recovery has made the line in the place of one that the store has lost, or has lifted
  // it since above all that was seen of that: nobody else writes it into this witness.
  bool IsRecovered(const KeyspaceRecord& line, std::uint64_t lost_next);
  // Q1: what has happened to one line may have happened to all.
  Status QuarantineForLine(const KeyspaceRecord& keyspace, const std::string& reason);
  Status AuditVanished(Keyspace& keyspace, const std::vector<KeyspaceRecord>& records)
      KEYMILL_REQUIRES(refill_mu_);
  // The keyspace of this name, which is made if there is none, with its last number only.
  Result<KeyspaceRecord> MakeAnew(std::string_view name, const Recipe& recipe);
  // Q1: the name of a keyspace that the store has lost is of no use to anybody.
  Status Occupy(std::string_view name, std::string_view id, const Recipe& recipe,
                const std::vector<KeyspaceRecord>& records) KEYMILL_REQUIRES(refill_mu_);
  void Fatal(const Status& why);

  const EngineOptions options_;
  const Clock& clock_;
  WitnessedStore store_;
  KeyRegister keys_;
  Lender lender_;
  Catalog catalog_;

  StoreSafety safety_;
  std::atomic<bool> store_up_{true};
  std::atomic<bool> pausing_{false};  // The store is there, and may not be reserved from.
  std::atomic<bool> failed_{false};
  std::atomic<bool> closed_{false};

  Mutex refill_mu_;  // Held while a step runs: one at a time.
  RefillOptions refill_ KEYMILL_GUARDED_BY(refill_mu_);
  MonotonicTime audit_due_ KEYMILL_GUARDED_BY(refill_mu_);
  MonotonicTime watch_due_ KEYMILL_GUARDED_BY(refill_mu_);
  std::int64_t looked_ms_ KEYMILL_GUARDED_BY(refill_mu_) = 0;  // When the last audit began to read.
  bool compare_ KEYMILL_GUARDED_BY(refill_mu_) = false;  // The timeline is another one; compare.
  std::set<std::string> vanished_ KEYMILL_GUARDED_BY(refill_mu_);  // Ids that a look did not find.
  // Why keyspaces, by id, are to be quarantined, as long as the store has not taken it.
  std::map<std::string, std::string> unsaid_ KEYMILL_GUARDED_BY(refill_mu_);
  std::size_t quarantined_ KEYMILL_GUARDED_BY(refill_mu_) = 0;  // Keyspaces, at the last look,
  std::size_t objected_ KEYMILL_GUARDED_BY(refill_mu_) = 0;     // and when the wait began.
  MonotonicTime retry_not_before_ KEYMILL_GUARDED_BY(refill_mu_);
  MonotonicTime inspect_due_ KEYMILL_GUARDED_BY(refill_mu_);
  TimelineWatch timeline_ KEYMILL_GUARDED_BY(refill_mu_);
  bool reserving_ KEYMILL_GUARDED_BY(refill_mu_) = true;  // The last attempt worked.

  // What MayReserve has found last, for those who cannot wait for a step to end: the timeline, if
  // changes are allowed in it. The store refuses them in any other (S4).
  Mutex permit_mu_;
  std::optional<std::string> permitted_ KEYMILL_GUARDED_BY(permit_mu_);

  Mutex mu_;
  CondVar wake_;
  CondVar tick_wake_;
  bool notified_ KEYMILL_GUARDED_BY(mu_) = false;
  bool tick_notified_ KEYMILL_GUARDED_BY(mu_) = false;
  bool stop_ KEYMILL_GUARDED_BY(mu_) = false;
  std::thread thread_;
  std::thread ticker_;  // Never started once stop_ is set.
};

}  // namespace keymill::mint
