// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The authority on what has been handed out, and the only part of Keymill that must
// agree with other machines. Everything above works from the blocks that a store grants.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"

namespace keymill {

class KeyTable;

// How far a keyspace has come: the yardstick by which a store that went back in time is
// noticed. `rev` grows with every change of the keyspace in the store, `next` never falls.
struct Witness {
  std::uint64_t rev = 0;
  std::uint64_t next = 0;
  friend bool operator==(const Witness&, const Witness&) = default;
};

// Do not change existing entries: their names are kept in stores.
enum class KeyspaceState : std::uint8_t {
  kOpen,
  kRetired,      // For ever.
  kQuarantined,  // Until somebody recovers it.
  kSealed,       // The store was closed to be moved; see Store::Seal.
};
std::string_view KeyspaceStateName(KeyspaceState state);

// A keyspace as the store keeps it.
struct KeyspaceRecord {
  std::string name;
  std::string id;           // Random, so that an equal name in another store is another keyspace.
  std::string recipe;       // keys::RecipeText: opaque to a store.
  std::string recipe_hash;  // Binds recipe and secret.
  std::string secret;       // Raw bytes; empty for a sequence.
  KeyspaceState state = KeyspaceState::kOpen;
  std::string reason;       // Why it is quarantined, or whereto it was moved; "" otherwise.
  std::uint64_t first = 0;  // Numbers lie in [first, end).
  std::uint64_t end = 0;
  std::uint64_t next = 0;  // The first number that no block has held yet.
  std::uint64_t rev = 0;
  std::int64_t created_at_ms = 0;
  Witness testified = {};  // Of a quarantined one: the highest that any instance says it has seen.
};

// What a caller brings to create a keyspace.
struct NewKeyspace {
  std::string name;
  std::string id;  // Random. What comes back with another id was somebody else's first.
  std::string recipe;
  std::string recipe_hash;
  std::string secret;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

struct ReserveRequest {
  std::string keyspace_id;
  std::string recipe_hash;
  std::uint32_t count = 0;  // Range: [1, kBlockCountMax].
  Witness witness;          // The highest that the caller has ever seen.
  // The timeline in which the caller has compared its witness; "" for any.
  std::string timeline = {};
  std::string instance;     // Who asks; kept in the ledger.
  std::string reservation;  // Random: tells this attempt from every other.
  // Numbers that were given back are granted again only from here on, so that a process
  // that must count upwards stays above its own last number.
  std::uint64_t above = 0;
  // Where numbers are moments: none below this one is granted, and those that would have been are
  // skipped for ever. 0 skips nothing.
  std::uint64_t skip_to = 0;
  // Blocks of this instance of which every number was handed out: marked spent in passing,
  // so that the ledger tells issued numbers from held ones. Ids that are not held are ignored.
  std::vector<std::string> spent;
  // The block is for somebody outside who may give it back by its id, `reservation`, at any
  // instance: its ledger row is its own, and no other grant extends it.
  bool lend = false;
};

// What a start needs of a store.
struct EstablishRequest {
  struct Part {
    NewKeyspace keyspace;
    // Numbers to reserve at once if this call creates the keyspace; 0 for none.
    // Range: [0, kBlockCountMax].
    std::uint32_t count = 0;
    std::string reservation;  // Random, as in ReserveRequest.
  };
  std::vector<Part> keyspaces;
  std::string instance;  // Who asks; kept in the ledger.
};

// How a block that is held or lent ends.
struct GiveBackRequest {
  std::string keyspace_id;
  std::string block_id;
  std::uint64_t first_unused = 0;
  Witness witness;            // The highest that the caller has ever seen.
  std::string timeline = {};  // As in ReserveRequest.
};

// A run of numbers that belongs to the instance that reserved it.
struct Block {
  // Of its ledger row; adjacent blocks of one instance share a row, unless they are lent.
  std::string id;
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  Witness seen;  // The keyspace after this reservation.
};

// Do not change existing entries: their names are kept in stores.
enum class BlockState : std::uint8_t {
  kHeld,      // An instance has it, or had it when it crashed.
  kSpent,     // Every number was handed out; the instance said so at a clean stop.
  kReturned,  // Never handed out and free to be granted again.
  kBurned,    // Given up: its fate is unknown.
  kLent,      // Somebody outside has it, and may give it back once.
};
std::string_view BlockStateName(BlockState state);

// One row of the durable record of every block. The rows of a keyspace never overlap.
struct LedgerRow {
  std::string block_id;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::string instance;
  std::string reservation;  // The latest that added to this row.
  std::int64_t reserved_at_ms = 0;
  BlockState state = BlockState::kHeld;
};

struct StoreIdentity {
  std::string store_id;  // Random, written once when the store is created. Moves with its data.
  // Names what is behind the store at present: changes whenever the data may have been replaced,
  // as when its server was started anew or another one took its place.
  std::string timeline = {};
  // The timeline that was last agreed on, see AgreeOnTimeline. It is part of the data, so that an
  // old copy brings an old one. The same as `timeline` where nothing outlives what it names.
  std::string agreed_timeline = {};
  std::uint32_t schema_version = 0;
  // What the server's clock says, in milliseconds since 1970. 0 where nobody but this process has
  // one.
  std::int64_t now_ms = 0;
};

// Something about a store, or the server behind it, that an operator should know.
struct StoreFinding {
  std::string check;    // "fsync": stable, for scripts.
  bool unsafe = false;  // Whether keys may be handed out twice if nothing is done about it.
  std::string says;     // "fsync is off: a crash of the server loses acknowledged blocks"
  std::string fix;      // A command, or a line of the server's configuration.
  bool passes = false;  // Whether the server mends it by itself, in a while.
};

// What a store holds when Establish returns.
struct Established {
  struct Part {
    KeyspaceRecord record;
    std::optional<Block> block;  // Only of a keyspace that this very call created.
  };
  StoreIdentity identity;
  std::vector<Part> keyspaces;  // In the order of the request.
};

struct RecoverReport {
  std::uint64_t next_before = 0;
  std::uint64_t next_after = 0;
  // Numbers in returned blocks that were given up; none where the store's answer was lost.
  std::optional<std::uint64_t> returned_burned = 0;
  Witness seen;
  // ---- Not by the store, but by whoever recovers more than numbers. ----
  std::uint64_t keys_burned = 0;  // Of a pool: keys that nobody gets any more.
  std::string forgotten = {};     // What cannot be mended, for people; "" for nothing.
};

// All Store implementations are safe for concurrent use by multiple threads. Every call
// returns by its deadline, give or take the time of one disk write.
//
// Errors that every call may return:
//   kUnavailable     the store could not be reached or was busy until the deadline;
//                    nothing happened.
//   kUnknownOutcome  the deadline passed, or the link broke, with a write in flight
//                    (calls that write only).
//   kInternal        the store answered what it cannot answer; stop using it.
//   kFailedPrecondition  the store was sealed (calls that write), or is being filled (all but
//                    Inspect and those that fill it).
class Store {
 public:
  static constexpr std::uint32_t kBlockCountMax = 1U << 24;

  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Errors: kNotFound when nothing was established here yet.
  virtual Result<StoreIdentity> Identity(MonotonicTime deadline) = 0;

  // Makes the store ready: its schema and identity unless they are there, the keyspaces of
  // `request` that are absent, and a first block of each keyspace that this call creates.
  // All of it is durable before this returns. A store that can does it in one transaction, so
  // that a crash leaves all or nothing; any other does it in this order, and leaves what a
  // repeated call completes. Whoever calls at once agree on one identity and, for each name,
  // on one keyspace: as for CreateKeyspace, use only what was returned.
  //
  // Of a keyspace that was there already nothing is reserved and nothing is changed: it may
  // have a witness and another recipe, which only Reserve compares. One that is created here
  // has neither.
  // REQUIRES: no witness of the caller has seen one of the absent names in this store.
  //
  // Errors:
  //   kFailedPrecondition  the schema is newer than this program. Nothing changed.
  //   kUnknownOutcome      call again: what was created is found then, without its block,
  //                        which is lost like one of Reserve.
  virtual Result<Established> Establish(const EstablishRequest& request,
                                        MonotonicTime deadline) = 0;

  // REQUIRES, for this and all that follows: Identity or Establish has succeeded.

  // Looks for settings of the server, and of its replicas, under which an acknowledged write can
  // be lost. Nothing found is good; a store without such settings finds nothing. Changes nothing,
  // and needs neither Identity nor Establish.
  virtual Result<std::vector<StoreFinding>> Inspect(MonotonicTime /*deadline*/) {
    return std::vector<StoreFinding>();
  }

  // Creates the keyspace unless its name exists, durably, and returns what the store then
  // holds: the caller's own, or another's that came first. Use only what was returned. Where the
  // store is gone this fails, and never makes another: Establish alone does.
  virtual Result<KeyspaceRecord> CreateKeyspace(const NewKeyspace& keyspace,
                                                MonotonicTime deadline) = 0;

  // kNotFound when the name was never created.
  virtual Result<KeyspaceRecord> FindKeyspace(std::string_view name, MonotonicTime deadline) = 0;

  // All keyspaces by name, retired ones included.
  virtual Result<std::vector<KeyspaceRecord>> ListKeyspaces(MonotonicTime deadline) = 0;

  // Ends a keyspace for ever; its name stays taken. Retiring twice is fine.
  // Errors: kNotFound.
  virtual Result<KeyspaceRecord> RetireKeyspace(std::string_view name, MonotonicTime deadline) = 0;

  // Reserves up to `count` numbers and returns them: at least one, fewer than `count` near
  // the end or when a returned block is granted again. The block is durable before this
  // returns: a crash after a successful call never causes the same numbers to be granted
  // again, to this process or another one. Numbers may be skipped; they are never repeated.
  //
  // Errors:
  //   kNotFound            no keyspace has this id.
  //   kExhausted           no number is left; nothing was reserved.
  //   kFailedPrecondition  the keyspace is retired, or its recipe_hash is another one.
  //   kQuarantined         the keyspace is behind `witness`: it is now quarantined in the
  //                        store, for everybody; or it already was.
  //   kUnknownOutcome      whatever was reserved is lost; ask for a fresh block, and never
  //                        assume which numbers the lost one held.
  //   kUnavailable         also when `timeline` is no longer the store's: see Identity.
  //
  // REQUIRES: 1 <= count <= kBlockCountMax
  virtual Result<Block> Reserve(const ReserveRequest& request, MonotonicTime deadline) = 0;

  // Settles a block at a clean stop, or one that was lent: its numbers below `first_unused` were
  // handed out, the others never were and may be granted again. Works once: afterwards the block
  // is no longer held.
  //
  // Errors:
  //   kNotFound         no block of this id is held or lent: it was settled before. Nothing
  //                     changed.
  //   kInvalidArgument  `first_unused` lies outside the block. Nothing changed.
  //   kQuarantined, kFailedPrecondition  as for Reserve; the numbers stay burned. A store
  //                     that went back must not accept this either: every change moves its
  //                     revision on, and would hide from the witness what was lost.
  //   kUnknownOutcome   do not repeat, and do not hand them out.
  //   kUnavailable      as for Reserve.
  virtual Result<Witness> GiveBack(const GiveBackRequest& request, MonotonicTime deadline) = 0;

  // The ledger row that holds `number`, or nothing when no block ever did.
  virtual Result<std::optional<LedgerRow>> FindBlock(std::string_view keyspace_id,
                                                     std::uint64_t number,
                                                     MonotonicTime deadline) = 0;

  // Up to `rows_max` ledger rows from `from` on, in order.
  virtual Result<std::vector<LedgerRow>> ListLedger(std::string_view keyspace_id,
                                                    std::uint64_t from, std::uint32_t rows_max,
                                                    MonotonicTime deadline) = 0;

  // Stops the keyspace for every instance and keeps, for Recover, the highest that `seen` and
  // those of earlier calls say. Quarantining twice keeps the first reason. One that is retired or
  // sealed stays as it is.
  // Errors: kNotFound.
  virtual Status Quarantine(std::string_view keyspace_id, std::string_view reason,
                            const Witness& seen, MonotonicTime deadline) = 0;

  // Reopens a quarantined keyspace above `floor`, above what was testified and above everything
  // in the store. Blocks that were given back are burned: whether they were used in the lost
  // time is unknown. So are those that are lent: whoever has one may have given it back in the
  // lost time, to be granted again, and must not do so twice.
  // Errors: kNotFound; kFailedPrecondition when it is not quarantined.
  virtual Result<RecoverReport> Recover(std::string_view keyspace_id, const Witness& floor,
                                        MonotonicTime deadline) = 0;

  // Says that everybody who might know better has had the time to object to `timeline`: from now
  // on it is the agreed one. Does nothing when it is not the store's present one.
  virtual Status AgreeOnTimeline(std::string_view /*timeline*/, MonotonicTime /*deadline*/) {
    return {};
  }

  // ---- Moving everything to another store: Seal here, then fill there. A store that lives no
  // longer than its process need not be able to. ----

  // Closes the store for ever, for everybody, in favour of `moved_to`: open keyspaces become
  // sealed, and from then on no call changes anything. No write that was begun before lands
  // afterwards. Sealing again for the same `moved_to` is fine, and for another one only with
  // `instead`: whoever says so knows that the first was never used.
  // Errors: kFailedPrecondition when a keyspace is quarantined, or it is sealed for another one.
  virtual Status Seal(std::string_view /*moved_to*/, bool /*instead*/, MonotonicTime /*deadline*/) {
    return CannotMove();
  }

  // Makes an empty store that nobody can use before EndFill. `store_id` is that of the store it is
  // filled from. `fill` is random: it ends the fill that an earlier call began from the same
  // store, with all that this one has written.
  // Errors: kFailedPrecondition when there is a store already, or one is being filled from
  // another.
  virtual Status BeginFill(std::string_view /*store_id*/, std::string_view /*fill*/,
                           MonotonicTime /*deadline*/) {
    return CannotMove();
  }

  // Both errors: kFailedPrecondition when the fill of this name is not, or no longer, under way.
  // A sealed keyspace is written as an open one; it keeps everything else, `rev` included.
  // REQUIRES: each is written once; the keyspace before its rows; at most kFillRowsMax rows.
  virtual Status FillKeyspace(std::string_view /*fill*/, const KeyspaceRecord& /*record*/,
                              MonotonicTime /*deadline*/) {
    return CannotMove();
  }
  virtual Status FillLedger(std::string_view /*fill*/, std::string_view /*keyspace_id*/,
                            const std::vector<LedgerRow>& /*rows*/, MonotonicTime /*deadline*/) {
    return CannotMove();
  }

  // From here on it is a store like any other. `keyspaces`, `rows` of the ledger and `keys` (see
  // KeyTable::FillKeys): how many it must hold. They are counted in the same transaction, because
  // whoever finds the store afterwards changes them.
  // Errors: kFailedPrecondition as above; kInternal when it holds other numbers of them: it can
  // still not be used then.
  virtual Status EndFill(std::string_view /*fill*/, std::uint64_t /*keyspaces*/,
                         std::uint64_t /*rows*/, std::uint64_t /*keys*/,
                         MonotonicTime /*deadline*/) {
    return CannotMove();
  }
  static constexpr std::size_t kFillRowsMax = 500;

  // Keys one by one, see key_table.h. Null where the store keeps none. Lives as long as the store.
  virtual KeyTable* key_table() { return nullptr; }

 protected:
  Store() = default;

 private:
  static Status CannotMove() {
    return {Code::kFailedPrecondition, "this store cannot be moved to another"};
  }
};

}  // namespace keymill
