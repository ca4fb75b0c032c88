// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The hardware path is written out instead of left to OpenSSL because a call through EVP
// costs more than the eight blocks that it encrypts.

#include "keys/aes.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <climits>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/check.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define KEYMILL_AES_NI __attribute__((target("aes,sse4.1")))
#endif

namespace keymill::keys {
namespace {

using Block = AesEncryptor::Block;

#if defined(__x86_64__)

constexpr std::size_t kLanes = 8;

KEYMILL_AES_NI std::uint32_t SubWord(std::uint32_t word) {
  const __m128i words = _mm_set1_epi32(static_cast<int>(word));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_aeskeygenassist_si128(words, 0)));
}

// FIPS 197, section 5.2. Words are little-endian here, so RotWord turns to the right and
// the round constant goes into the lowest byte.
KEYMILL_AES_NI void ExpandKey(std::span<const std::uint8_t> key, std::span<Block> round_keys) {
  const std::size_t key_words = key.size() / 4;
  const std::size_t words_size = round_keys.size() * 4;
  std::array<std::uint32_t, 60> words{};
  std::memcpy(words.data(), key.data(), key.size());
  std::uint32_t constant = 1;
  for (std::size_t i = key_words; i < words_size; ++i) {
    std::uint32_t word = words[i - 1];
    if (i % key_words == 0) {
      word = SubWord(std::rotr(word, 8)) ^ constant;
      constant = (constant << 1) ^ ((constant >> 7) * 0x11b);
    } else if (key_words > 6 && i % key_words == 4) {
      word = SubWord(word);
    }
    words[i] = words[i - key_words] ^ word;
  }
  std::memcpy(static_cast<void*>(round_keys.data()), words.data(), words_size * 4);
}

KEYMILL_AES_NI __m128i Load(const Block& block) {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(&block));
}

KEYMILL_AES_NI void Save(Block& block, __m128i value) {
  _mm_store_si128(reinterpret_cast<__m128i*>(&block), value);
}

KEYMILL_AES_NI void EncryptOne(const Block* keys, std::size_t rounds, Block& block) {
  __m128i lane = _mm_xor_si128(Load(block), Load(keys[0]));
  for (std::size_t round = 1; round < rounds; ++round) {
    lane = _mm_aesenc_si128(lane, Load(keys[round]));
  }
  Save(block, _mm_aesenclast_si128(lane, Load(keys[rounds])));
}

// The lanes have names because an array of them would live in memory at -O2.
KEYMILL_AES_NI void EncryptEight(const Block* keys, std::size_t rounds, Block* blocks) {
  __m128i key = Load(keys[0]);
  __m128i a = _mm_xor_si128(Load(blocks[0]), key);
  __m128i b = _mm_xor_si128(Load(blocks[1]), key);
  __m128i c = _mm_xor_si128(Load(blocks[2]), key);
  __m128i d = _mm_xor_si128(Load(blocks[3]), key);
  __m128i e = _mm_xor_si128(Load(blocks[4]), key);
  __m128i f = _mm_xor_si128(Load(blocks[5]), key);
  __m128i g = _mm_xor_si128(Load(blocks[6]), key);
  __m128i h = _mm_xor_si128(Load(blocks[7]), key);
  for (std::size_t round = 1; round < rounds; ++round) {
    key = Load(keys[round]);
    a = _mm_aesenc_si128(a, key);
    b = _mm_aesenc_si128(b, key);
    c = _mm_aesenc_si128(c, key);
    d = _mm_aesenc_si128(d, key);
    e = _mm_aesenc_si128(e, key);
    f = _mm_aesenc_si128(f, key);
    g = _mm_aesenc_si128(g, key);
    h = _mm_aesenc_si128(h, key);
  }
  key = Load(keys[rounds]);
  Save(blocks[0], _mm_aesenclast_si128(a, key));
  Save(blocks[1], _mm_aesenclast_si128(b, key));
  Save(blocks[2], _mm_aesenclast_si128(c, key));
  Save(blocks[3], _mm_aesenclast_si128(d, key));
  Save(blocks[4], _mm_aesenclast_si128(e, key));
  Save(blocks[5], _mm_aesenclast_si128(f, key));
  Save(blocks[6], _mm_aesenclast_si128(g, key));
  Save(blocks[7], _mm_aesenclast_si128(h, key));
}

void EncryptHardware(const Block* keys, std::size_t rounds, std::span<Block> blocks) {
  for (; blocks.size() >= kLanes; blocks = blocks.subspan(kLanes)) {
    EncryptEight(keys, rounds, blocks.data());
  }
  for (Block& block : blocks) EncryptOne(keys, rounds, block);
}

#else  // No AES-NI: HaveHardwareAes() says so, and these are never called.

void ExpandKey(std::span<const std::uint8_t>, std::span<Block>) {}
void EncryptHardware(const Block*, std::size_t, std::span<Block>) {}

#endif

const EVP_CIPHER* FetchCipher(std::size_t key_size) {
  // A fetch searches the providers under a lock: once per process, and never freed.
  static const std::array<const EVP_CIPHER*, 3> ciphers = {
      EVP_CIPHER_fetch(nullptr, "AES-128-ECB", nullptr),
      EVP_CIPHER_fetch(nullptr, "AES-192-ECB", nullptr),
      EVP_CIPHER_fetch(nullptr, "AES-256-ECB", nullptr)};
  const EVP_CIPHER* cipher = ciphers.at((key_size - 16) / 8);
  KEYMILL_CHECK(cipher != nullptr);
  return cipher;
}

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

// An EVP context must not be shared between threads, and setting one up costs more than
// using it. So each thread keeps one, set up for the key that it used last.
struct ThreadContext {
  std::unique_ptr<EVP_CIPHER_CTX, FreeContext> context{EVP_CIPHER_CTX_new()};
  std::uint64_t id = 0;  // AesEncryptor::id_ of that key; 0 at first.
};

}  // namespace

bool HaveHardwareAes() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1");
#else
  return false;
#endif
}

bool HaveVectorAes() {
#if defined(__x86_64__)
  // VAES by hand: clang 14 does not know its name.
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  const bool vaes = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_VAES) != 0;
  return vaes && HaveHardwareAes() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

Result<AesEncryptor> AesEncryptor::Make(std::span<const std::uint8_t> key, AesPath path) {
  if (key.size() != 16 && key.size() != 24 && key.size() != 32) {
    return {Code::kInvalidArgument,
            fmt::format("AES key: {} bytes, 16, 24 or 32 are allowed", key.size())};
  }
  if ((path == AesPath::kHardware && !HaveHardwareAes()) ||
      (path == AesPath::kVector && !HaveVectorAes())) {
    return {Code::kFailedPrecondition, "AES: this processor has no instructions for it"};
  }
  AesEncryptor aes;
  if (path != AesPath::kPortable && HaveHardwareAes()) {
    const bool wide = path != AesPath::kHardware && HaveVectorAes();
    aes.lanes_ = wide ? AesLanes::kWide : AesLanes::kEight;
  }
  if (aes.lanes_ != AesLanes::kNone) {
    aes.rounds_ = key.size() / 4 + 6;
    ExpandKey(key, std::span(aes.round_keys_).first(aes.rounds_ + 1));
  } else {
    static std::atomic<std::uint64_t> last_id{0};
    aes.id_ = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
    aes.key_size_ = key.size();
    std::copy(key.begin(), key.end(), aes.key_.begin());
  }
  return aes;
}

void AesEncryptor::EncryptBlocks(std::span<Block> blocks) const {
  if (lanes_ != AesLanes::kNone) {
    EncryptHardware(round_keys_.data(), rounds_, blocks);
  } else {
    EncryptPortable(blocks);
  }
}

void AesEncryptor::EncryptPortable(std::span<Block> blocks) const {
  if (blocks.empty()) return;
  thread_local ThreadContext thread;
  EVP_CIPHER_CTX* context = thread.context.get();
  if (thread.id != id_) {
    KEYMILL_CHECK(context != nullptr);
    KEYMILL_CHECK(
        EVP_EncryptInit_ex2(context, FetchCipher(key_size_), key_.data(), nullptr, nullptr) == 1);
    KEYMILL_CHECK(EVP_CIPHER_CTX_set_padding(context, 0) == 1);
    thread.id = id_;
  }
  KEYMILL_CHECK(blocks.size() <= INT_MAX / sizeof(Block));
  const int size = static_cast<int>(blocks.size_bytes());
  auto* const bytes = reinterpret_cast<std::uint8_t*>(blocks.data());
  int written = 0;
  // A block that was left as it was would go on to look like any other key.
  KEYMILL_CHECK(EVP_EncryptUpdate(context, bytes, &written, bytes, size) == 1);
  KEYMILL_CHECK(written == size);
}

}  // namespace keymill::keys
