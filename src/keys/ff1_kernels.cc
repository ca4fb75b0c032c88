// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The loops over lanes are unrolled by pragma, because an array that is indexed by a loop
// lives in memory at -O2.

#include "keys/ff1_kernels.h"

#include <cstdint>

#if defined(__x86_64__)
// GCC 12's own header leaves a value undefined on purpose and then warns of it (PR 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace keymill::keys {

#if defined(__x86_64__)

#define KEYMILL_NARROW __attribute__((target("aes,sse4.1")))
#define KEYMILL_WIDE __attribute__((target("vaes,avx512f,avx512bw,avx512dq,avx512vl")))

namespace {

using Halves = Ff1::Halves;

KEYMILL_NARROW inline __m128i Load(const AesEncryptor::Block& block) {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(&block));
}

template <std::size_t kLanes>
KEYMILL_NARROW void EncryptNarrow(const Ff1Rounds& rounds, Halves* strings) {
  // The half goes into the last eight bytes, most significant byte first.
  const __m128i place = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, -1, -1, -1, -1, -1);
  const std::size_t last = rounds.aes_keys.size() - 1;
  for (std::size_t round = 0; round < Ff1Rounds::kCount; ++round) {
    const Divisor modulus = round % 2 == 0 ? rounds.left : rounds.right;
    const __m128i before = _mm_xor_si128(Load(rounds.before_half[round]), Load(rounds.aes_keys[0]));
    __m128i lanes[kLanes];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLanes; ++i) {
      const __m128i half = _mm_cvtsi64_si128(static_cast<long long>(strings[i].right));
      lanes[i] = _mm_xor_si128(before, _mm_shuffle_epi8(half, place));
    }
    for (std::size_t k = 1; k < last; ++k) {
      const __m128i key = Load(rounds.aes_keys[k]);
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = _mm_aesenc_si128(lanes[i], key);
    }
    const __m128i key = Load(rounds.aes_keys[last]);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLanes; ++i) {
      const __m128i mac = _mm_aesenclast_si128(lanes[i], key);
      const auto y = __builtin_bswap64(static_cast<std::uint64_t>(_mm_cvtsi128_si64(mac)));
      const std::uint64_t sum = strings[i].left + modulus.Divide(y).rest;
      strings[i] = {strings[i].right, sum >= modulus.value() ? sum - modulus.value() : sum};
    }
  }
}

// The upper 64 bits of each product.
KEYMILL_WIDE inline __m512i MultiplyHigh(__m512i a, __m512i b) {
  const __m512i low = _mm512_set1_epi64(0xffffffff);
  const __m512i a_high = _mm512_srli_epi64(a, 32);
  const __m512i b_high = _mm512_srli_epi64(b, 32);
  const __m512i carry =
      _mm512_add_epi64(_mm512_mul_epu32(a_high, b), _mm512_srli_epi64(_mm512_mul_epu32(a, b), 32));
  const __m512i middle =
      _mm512_add_epi64(_mm512_mul_epu32(a, b_high), _mm512_and_si512(carry, low));
  return _mm512_add_epi64(
      _mm512_add_epi64(_mm512_mul_epu32(a_high, b_high), _mm512_srli_epi64(carry, 32)),
      _mm512_srli_epi64(middle, 32));
}

// x mod m for x < 2m: below m, the subtraction wraps and the minimum is x itself.
KEYMILL_WIDE inline __m512i ReduceOnce(__m512i x, __m512i m) {
  return _mm512_min_epu64(x, _mm512_sub_epi64(x, m));
}

KEYMILL_WIDE inline __m512i Broadcast(const AesEncryptor::Block& block) {
  return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(&block)));
}

// Eight strings to a vector of left and one of right halves; kVectors of each side by side.
template <std::size_t kVectors>
KEYMILL_WIDE void EncryptWide(const Ff1Rounds& rounds, Halves* strings) {
  const __m512i reverse =
      _mm512_broadcast_i32x4(_mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  const __m512i zero = _mm512_setzero_si512();
  const std::size_t last = rounds.aes_keys.size() - 1;
  __m512i left[kVectors];
  __m512i right[kVectors];
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kVectors; ++v) {
    const __m512i a = _mm512_loadu_si512(strings + 8 * v);
    const __m512i b = _mm512_loadu_si512(strings + 8 * v + 4);
    left[v] = _mm512_unpacklo_epi64(a, b);
    right[v] = _mm512_unpackhi_epi64(a, b);
  }
  for (std::size_t round = 0; round < Ff1Rounds::kCount; ++round) {
    const Divisor& modulus = round % 2 == 0 ? rounds.left : rounds.right;
    const __m512i m = _mm512_set1_epi64(static_cast<long long>(modulus.value()));
    const __m512i inverse = _mm512_set1_epi64(static_cast<long long>(modulus.inverse()));
    const __m512i before =
        _mm512_xor_si512(Broadcast(rounds.before_half[round]), Broadcast(rounds.aes_keys[0]));
    __m512i blocks[2 * kVectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      const __m512i half = _mm512_shuffle_epi8(right[v], reverse);
      blocks[2 * v] = _mm512_xor_si512(before, _mm512_unpacklo_epi64(zero, half));
      blocks[2 * v + 1] = _mm512_xor_si512(before, _mm512_unpackhi_epi64(zero, half));
    }
    for (std::size_t k = 1; k < last; ++k) {
      const __m512i key = Broadcast(rounds.aes_keys[k]);
#pragma GCC unroll 8
      for (std::size_t i = 0; i < 2 * kVectors; ++i) {
        blocks[i] = _mm512_aesenc_epi128(blocks[i], key);
      }
    }
    const __m512i key = Broadcast(rounds.aes_keys[last]);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 2 * kVectors; ++i) {
      blocks[i] = _mm512_aesenclast_epi128(blocks[i], key);
    }
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      const __m512i mac = _mm512_unpacklo_epi64(blocks[2 * v], blocks[2 * v + 1]);
      const __m512i y = _mm512_shuffle_epi8(mac, reverse);
      const __m512i quotient = MultiplyHigh(y, inverse);
      const __m512i rest = ReduceOnce(_mm512_sub_epi64(y, _mm512_mullo_epi64(quotient, m)), m);
      const __m512i sum = ReduceOnce(_mm512_add_epi64(left[v], rest), m);
      left[v] = right[v];
      right[v] = sum;
    }
  }
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kVectors; ++v) {
    _mm512_storeu_si512(strings + 8 * v, _mm512_unpacklo_epi64(left[v], right[v]));
    _mm512_storeu_si512(strings + 8 * v + 4, _mm512_unpackhi_epi64(left[v], right[v]));
  }
}

}  // namespace

std::size_t EncryptGroups(AesLanes lanes, const Ff1Rounds& rounds, std::span<Halves> strings) {
  std::size_t done = 0;
  if (lanes == AesLanes::kWide) {
    for (; done + 32 <= strings.size(); done += 32) EncryptWide<4>(rounds, &strings[done]);
    for (; done + 8 <= strings.size(); done += 8) EncryptWide<1>(rounds, &strings[done]);
  } else if (lanes == AesLanes::kEight) {
    for (; done + 8 <= strings.size(); done += 8) EncryptNarrow<8>(rounds, &strings[done]);
  }
  return done;
}

#else

std::size_t EncryptGroups(AesLanes, const Ff1Rounds&, std::span<Ff1::Halves>) { return 0; }

#endif

}  // namespace keymill::keys
