// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keymill as a library, for C and for every language that can call C. Plain C11:
//
//   keymill_mill* mill = NULL;
//   keymill_options options = {.size = sizeof options, .data_dir = "data"};
//   if (keymill_open(&options, &mill) != KEYMILL_OK) return fail(keymill_message());
//   char key[KEYMILL_KEY_SIZE];
//   if (keymill_next(mill, "default", key, sizeof key) == KEYMILL_OK) use(key);
//   keymill_close(mill);
//
// The keys are unique across threads, processes and restarts as long as they come from one
// store. Several processes may open the same one.
//
// Threads: a mill may be used by many threads at once. Only closing it needs to be alone.
//
// Fork: a child may go on using a mill that its parent opened. Its first call drops what it
// inherited and opens the store anew, so parent and child never share a key. fork() waits for
// a transaction that is under way. A store in memory cannot be shared: the child's calls give
// KEYMILL_FAILED_PRECONDITION. A child that does not use the mill may close it, or just exit.
//
// Text is UTF-8 and ends with a NUL byte. A pointer that may be NULL says so; NULL anywhere
// else gives KEYMILL_INVALID_ARGUMENT. No function throws, and none ends the process unless
// memory or store are found damaged.

#pragma once

// NOLINTBEGIN(modernize-*, readability-identifier-naming): this is C.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What happened, and what the caller should do next. Do not change existing entries: they
// are the binary interface, and equal to keymill::Code of status.h.
typedef enum keymill_code {
  KEYMILL_OK = 0,
  KEYMILL_INVALID_ARGUMENT = 1,     // The caller can fix it. Never retry unchanged.
  KEYMILL_NOT_FOUND = 2,            // No such keyspace.
  KEYMILL_ALREADY_EXISTS = 3,       // Someone else holds it. Retrying will not help.
  KEYMILL_FAILED_PRECONDITION = 4,  // Recipe differs, store refused. An operator must act.
  KEYMILL_EXHAUSTED = 5,            // The keyspace has no keys left. Permanent.
  KEYMILL_QUARANTINED = 6,          // The store went back in time. An operator must act.
  KEYMILL_OVERLOADED = 7,           // Limits reached. Retry later, slower.
  KEYMILL_DEADLINE_EXCEEDED = 8,    // Nothing was consumed. Safe to retry.
  KEYMILL_UNAVAILABLE = 9,          // Nothing happened. Safe to retry.
  KEYMILL_UNKNOWN_OUTCOME = 10,     // A write may have landed. Safe to retry.
  KEYMILL_CLOCK_REGRESSED = 11,     // The wall clock moved back too far.
  KEYMILL_UNAUTHENTICATED = 12,
  KEYMILL_PERMISSION_DENIED = 13,
  KEYMILL_INTERNAL = 14,  // A bug, or no memory is left.
} keymill_code;

// Why this thread's latest call failed, for people: "" when it did not. Valid until the next
// call of this library in the same thread. A runtime that moves its tasks between threads
// (Go, for one) must pin the task to its thread from the call until the message is copied.
const char* keymill_message(void);

// An open store and the blocks that were reserved from it.
typedef struct keymill_mill keymill_mill;

// A field that is 0 or NULL means its default, so `{.size = sizeof options}` is complete.
typedef struct keymill_options {
  size_t size;           // sizeof(keymill_options): which fields the caller knows.
  const char* data_dir;  // Directory of the database and its witness. Default: "data".
  const char* store;    // sqlite:PATH (relative to data_dir), a server's URL, or memory: for tests.
                        // Default: "sqlite:keymill.db".
  uint32_t block_size;  // Numbers in the first block, up to 2^24. Larger: fewer writes, and a
                        // larger gap after a crash. Default: 1000.
  uint32_t timeout_ms;  // The longest wait for a key when no block is at hand. Default: 2000.
  int never_create;     // Not 0: a missing database is an error instead of being created.
  int log;              // Not 0: messages go to stderr. One log per process.
  // Of keyspaces of kind snowflake: the worker id that ids are made with, and no other. Read during
  // keymill_open only. Default: one that is free, by preference the pod's ordinal.
  const uint32_t* worker_id;
  int32_t pool_low;        // Of keyspaces of kind pool: with fewer available keys, up to 10^9, new
                           // ones are made. -1: never. Default: 10,000.
  int accept_clock_ahead;  // Not 0: ids of kind snowflake are made although this machine's clock is
                           // more than 10 minutes ahead of the store's.
  // Why a store is used although it can lose what it has acknowledged, and would then give keys
  // twice: one line of up to 200 bytes, which goes to the log. Default: such a store is refused.
  const char* accept_unsafe_store;
} keymill_options;

// Opens a store, or creates it where none was, and sets *mill. On failure *mill is NULL.
// `options` may be NULL. The caller closes the mill.
//   KEYMILL_INVALID_ARGUMENT     an option cannot be.
//   KEYMILL_FAILED_PRECONDITION  the store is refused; the message says what to do.
//   KEYMILL_UNAVAILABLE          the store cannot be reached now.
keymill_code keymill_open(const keymill_options* options, keymill_mill** mill);

// Gives back what was reserved and not used, and frees the mill. `mill` may be NULL.
// REQUIRES: no other thread uses it any more.
void keymill_close(keymill_mill* mill);

// Makes sure that a keyspace with this recipe exists: once made, calling again changes
// nothing. "default" always exists. The recipe is words with values, separated by spaces:
//   "kind=sequence alphabet=decimal length=8 prefix=ord_ start=1000"
//   "kind=shuffled alphabet=base32 length=8 check=true blocklist=abc blocklist=xyz"
// Words left out have the defaults of the kind; "" is shuffled, base62, length 7. keyspace.h
// says what each word means.
//   KEYMILL_INVALID_ARGUMENT     the name or the recipe cannot be.
//   KEYMILL_FAILED_PRECONDITION  it exists with another recipe; the message says what differs. Or
//   it
//                                is a snowflake, and worker_id does not fit its layout.
keymill_code keymill_create(keymill_mill* mill, const char* keyspace, const char* recipe);

// Room for every key there can be, with its NUL.
#define KEYMILL_KEY_SIZE 97

// Writes a key that nobody was given before. On failure key[0] is NUL.
//   KEYMILL_INVALID_ARGUMENT  key_size is below KEYMILL_KEY_SIZE; no key was taken.
//   KEYMILL_NOT_FOUND         no such keyspace.
//   KEYMILL_EXHAUSTED         it has no keys left.
//   KEYMILL_QUARANTINED       its store went back in time; an operator must look.
//   KEYMILL_OVERLOADED        others use the worker id that was asked for, or every one; or too
//                             many callers wait. Try again later. Or worker_id does not fit the
//                             keyspace's layout; the message says so.
//   KEYMILL_CLOCK_REGRESSED   of a snowflake: the clock went back, or is wrong; the message says
//                             how.
//   KEYMILL_UNAVAILABLE, KEYMILL_DEADLINE_EXCEEDED  no key could be had in time; try again.
keymill_code keymill_next(keymill_mill* mill, const char* keyspace, char* key, size_t key_size);

// Keys in the order in which they were made. Never changes, so any thread may read it.
typedef struct keymill_keys keymill_keys;

// Sets *keys to `count` new keys; to fewer when the keyspace ends or not all can be had in time,
// so look at keymill_keys_count. On failure *keys is NULL: errors as for keymill_next, and
// KEYMILL_INVALID_ARGUMENT for a count of 0 or of more than 10,000,000. The caller frees the keys.
keymill_code keymill_next_many(keymill_mill* mill, const char* keyspace, uint64_t count,
                               keymill_keys** keys);

// These three take NULL as a list without keys. The text of a key lives as long as the list;
// an index that is too large gives NULL.
size_t keymill_keys_count(const keymill_keys* keys);
const char* keymill_keys_get(const keymill_keys* keys, size_t index);
void keymill_keys_free(keymill_keys* keys);

// Room for what keymill_explain writes, with its NUL.
#define KEYMILL_EXPLANATION_SIZE 1024

// Writes what is known of a key, as words with values in the order of these lines; all but state
// and kind may be missing:
//   "state=reserved number=4202497 time_ms=1735689601001 worker=2 sequence=1 kind=snowflake
//    since_ms=1735689601001 expires_at_ms=1767225601001 generation=0 instance=host/77/5a1c
//    owner=Ada Lovelace"
// in one line, with one space between any two. The state is issued, reserved, unknown or alias;
// Mill::Explanation in keymill.h says what each means, and what the others are. An owner may hold
// any characters: all that follows "owner=" is one. Asks the store. On failure text[0] is NUL.
//   KEYMILL_INVALID_ARGUMENT  text_size is below KEYMILL_EXPLANATION_SIZE.
//   KEYMILL_NOT_FOUND         no such keyspace, or nobody can have got this key from it; the
//                             message says which.
//   KEYMILL_UNAVAILABLE       the store cannot be reached now; try again.
keymill_code keymill_explain(keymill_mill* mill, const char* keyspace, const char* key, char* text,
                             size_t text_size);

// ---- Keys that the store remembers one by one. With a store that cannot (etcd), keymill_claim is
// KEYMILL_FAILED_PRECONDITION, and so is keymill_create of the kinds that the others are for. ----

// Claims `alias`, a key of the caller's own choice, for `owner`, who may claim it again. `owner`
// may be NULL: then nobody can.
//   KEYMILL_ALREADY_EXISTS    it is somebody else's.
//   KEYMILL_INVALID_ARGUMENT  nobody can have it; the message says why.
keymill_code keymill_claim(keymill_mill* mill, const char* keyspace, const char* alias,
                           const char* owner);

// Writes the key of a content, in a keyspace of kind derived: the same content, the same key, for
// ever. The content is `content_size` bytes of any kind, up to 64 KiB. `salt` may be NULL: with
// another one, such as a user's id, it is another content. *existing, which may be NULL, says
// whether it has had its key before. On failure key[0] is NUL.
//   KEYMILL_INVALID_ARGUMENT  key_size is below KEYMILL_KEY_SIZE, the keyspace is of another kind,
//                             or the content cannot be.
//   KEYMILL_EXHAUSTED         too many of the keys that it could have are taken.
keymill_code keymill_derive(keymill_mill* mill, const char* keyspace, const char* content,
                            size_t content_size, const char* salt, char* key, size_t key_size,
                            int* existing);

// Adds `count` new random keys to a keyspace of kind pool. May take long; the mill itself adds some
// whenever few are left.
//   KEYMILL_INVALID_ARGUMENT  the keyspace is of another kind.
//   KEYMILL_EXHAUSTED         most keys that there can be are there; what could be added was.
keymill_code keymill_fill_pool(keymill_mill* mill, const char* keyspace, uint64_t count);

// Gives a key back that its owner needs no more, to a keyspace of kind pool with recycle=true: it
// becomes available again after the recipe's quarantine_s. `generation` may be NULL; with the one
// that keymill_explain told, the key of a later life is not taken from whoever has it then.
//   KEYMILL_INVALID_ARGUMENT  the keyspace takes no keys back, or not this one: it was imported.
//   KEYMILL_ALREADY_EXISTS    nobody has it: it is available, or was released before; or it is of
//                             another generation. The message says which.
//   KEYMILL_UNKNOWN_OUTCOME   it may be released or not. Call again: KEYMILL_ALREADY_EXISTS if it
//                             was.
//   KEYMILL_NOT_FOUND         no such keyspace, or it has no such key.
keymill_code keymill_release(keymill_mill* mill, const char* keyspace, const char* key,
                             const uint64_t* generation);

#ifdef __cplusplus
}  // extern "C"
#endif

// NOLINTEND(modernize-*, readability-identifier-naming)
