// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/content_digest.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/check.h"
#include "base/suggest.h"

namespace keymill::keys {
namespace {

constexpr std::array<std::string_view, 2> kDigestNames = {"sha256", "md5"};

constexpr std::size_t kUnusedBytes = 8;  // Of every block: the distance from uniform is 2^-64.

std::array<std::uint8_t, 8> BigEndian(std::uint64_t value) {
  std::array<std::uint8_t, 8> bytes{};
  for (std::size_t i = bytes.size(); i-- > 0; value >>= 8) {
    bytes[i] = static_cast<std::uint8_t>(value);
  }
  return bytes;
}

// The digest of some pieces, one after the other.
class Hash {
 public:
  explicit Hash(const EVP_MD* kind) : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    KEYMILL_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_.get(), kind, nullptr) == 1);
  }

  Hash& Add(const void* data, std::size_t size) {
    KEYMILL_CHECK(EVP_DigestUpdate(context_.get(), data, size) == 1);
    return *this;
  }
  Hash& AddNumber(std::uint64_t number) {
    const auto bytes = BigEndian(number);
    return Add(bytes.data(), bytes.size());
  }
  Hash& AddSized(std::string_view text) {
    return AddNumber(text.size()).Add(text.data(), text.size());
  }

  // REQUIRES: the digest has kSize bytes.
  template <std::size_t kSize>
  std::array<std::uint8_t, kSize> Finish() {
    KEYMILL_CHECK(EVP_MD_CTX_get_size(context_.get()) == static_cast<int>(kSize));
    std::array<std::uint8_t, kSize> digest{};
    KEYMILL_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

ContentId IdentifyContent(std::string_view content, std::string_view salt) {
  return Hash(EVP_sha256()).AddSized(content).AddSized(salt).Finish<32>();
}

std::string_view DigestNameText(DigestName name) {
  return kDigestNames[static_cast<std::size_t>(name)];
}

Result<DigestName> ParseDigestName(std::string_view text) {
  const auto* const found = std::find(kDigestNames.begin(), kDigestNames.end(), text);
  if (found != kDigestNames.end()) {
    return static_cast<DigestName>(found - kDigestNames.begin());
  }
  return Status(Code::kInvalidArgument,
                fmt::format("digest: there is no \"{}\"{}; use one of {}", text,
                            DidYouMean(text, kDigestNames), fmt::join(kDigestNames, ", ")));
}

ContentCandidates::ContentCandidates(Alphabet alphabet, std::uint32_t length, DigestName digest,
                                     std::string_view content, std::string_view salt)
    : alphabet_(std::move(alphabet)), length_(length), identity_(IdentifyContent(content, salt)) {
  if (digest == DigestName::kMd5) {
    Load(Hash(EVP_md5()).AddSized(content).AddSized(salt).Finish<16>());
  } else {
    Load(identity_);
  }
}

std::string ContentCandidates::Next() {
  std::string text(length_, '\0');
  for (char& symbol : text) {
    if (left_ == 0) LoadNextBlock();
    symbol = alphabet_.symbol(DivideBy(number_, alphabet_.size()));
    --left_;
  }
  return text;
}

// Divides `number` and returns the rest.
std::uint32_t ContentCandidates::DivideBy(Limbs& number, std::uint32_t divisor) {
  std::uint64_t rest = 0;
  for (std::uint32_t& limb : number) {
    const std::uint64_t part = rest << 32 | limb;
    limb = static_cast<std::uint32_t>(part / divisor);
    rest = part % divisor;
  }
  return static_cast<std::uint32_t>(rest);
}

void ContentCandidates::Load(std::span<const std::uint8_t> bytes) {
  number_ = {};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t from_end = bytes.size() - 1 - i;
    number_[number_.size() - 1 - from_end / 4] |= std::uint32_t{bytes[i]} << (from_end % 4 * 8);
  }
  // As many digits as keep size^digits at or below 2^(bits - 64), counted exactly.
  Limbs room{};
  room[room.size() - 1 - (bytes.size() - kUnusedBytes) / 4] = 1;
  left_ = 0;
  while (true) {
    DivideBy(room, alphabet_.size());
    if (room == Limbs{}) break;
    ++left_;
  }
}

// Of the identity, not of the digest: contents that were made to agree in MD5 part here.
void ContentCandidates::LoadNextBlock() {
  ++block_;
  Load(Hash(EVP_sha256()).Add(identity_.data(), identity_.size()).AddNumber(block_).Finish<32>());
}

}  // namespace keymill::keys
