// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keymill inside a C program: two threads share one mill and print the keys they got.
//
//   embed_c DATA_DIR COUNT     prints COUNT keys of the keyspace "codes", one per line
//
// Run it twice with the same DATA_DIR, or twice at once: no key comes again.
// With pkg-config: cc -std=c11 embed.c $(pkg-config --cflags --libs keymill)

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

#include <keymill/c.h>

enum { PORTION = 1000 };  // Keys per call: few calls, and not much to hold.

struct share {
  keymill_mill* mill;
  uint64_t count;
};

static int fail(const char* what) {
  fprintf(stderr, "embed: %s: %s\n", what, keymill_message());
  return 1;
}

// What one thread does. A mill is safe for use by many threads; so is stdio.
static int mint(void* argument) {
  const struct share* share = argument;
  uint64_t left = share->count;
  while (left > 0) {
    keymill_keys* keys = NULL;
    if (keymill_next_many(share->mill, "codes", left < PORTION ? left : PORTION, &keys) !=
        KEYMILL_OK) {
      return fail("mint codes");
    }
    const size_t got = keymill_keys_count(keys);  // May be fewer than were asked for.
    for (size_t i = 0; i < got; ++i) puts(keymill_keys_get(keys, i));
    keymill_keys_free(keys);
    left -= got;
  }
  return 0;
}

static int run(keymill_mill* mill, uint64_t count) {
  // Eight symbols that nobody confuses on paper, and a ninth that catches typing errors.
  if (keymill_create(mill, "codes", "kind=shuffled alphabet=base32 length=8 check=true") !=
      KEYMILL_OK) {
    return fail("create codes");
  }
  struct share first = {mill, count / 2};
  struct share second = {mill, count - count / 2};
  thrd_t other;
  if (thrd_create(&other, mint, &second) != thrd_success) return fail("start a thread");
  int failed = mint(&first);
  int other_failed = 0;
  thrd_join(other, &other_failed);
  return failed || other_failed;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s DATA_DIR COUNT\n", argv[0]);
    return 2;
  }
  keymill_options options = {.size = sizeof options, .data_dir = argv[1]};
  keymill_mill* mill = NULL;
  if (keymill_open(&options, &mill) != KEYMILL_OK) return fail("open");
  const int failed = run(mill, strtoumax(argv[2], NULL, 10));
  keymill_close(mill);
  return failed;
}
