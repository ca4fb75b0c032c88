// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The C API, on top of Mill. Nothing may be thrown through a caller that knows no exceptions.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "keymill/c.h"
#include "keymill/keymill.h"

#include "keys/codec.h"
#include "mint/recipe_words.h"
#include "store/key_rules.h"

// The names are those of the C header.
// NOLINTBEGIN(readability-identifier-naming)
struct keymill_mill {
  std::unique_ptr<keymill::Mill> mill;
};

struct keymill_keys {
  std::vector<std::string> keys;
};
// NOLINTEND(readability-identifier-naming)

namespace keymill {
namespace {

static_assert(KEYMILL_KEY_SIZE == keys::kKeySizeMax + 1);

// One code of each library, compared where they could part.
constexpr bool Same(keymill_code c, Code code) {
  return static_cast<int>(c) == static_cast<int>(code);
}
static_assert(Same(KEYMILL_OK, Code::kOk));
static_assert(Same(KEYMILL_INVALID_ARGUMENT, Code::kInvalidArgument));
static_assert(Same(KEYMILL_NOT_FOUND, Code::kNotFound));
static_assert(Same(KEYMILL_ALREADY_EXISTS, Code::kAlreadyExists));
static_assert(Same(KEYMILL_FAILED_PRECONDITION, Code::kFailedPrecondition));
static_assert(Same(KEYMILL_EXHAUSTED, Code::kExhausted));
static_assert(Same(KEYMILL_QUARANTINED, Code::kQuarantined));
static_assert(Same(KEYMILL_OVERLOADED, Code::kOverloaded));
static_assert(Same(KEYMILL_DEADLINE_EXCEEDED, Code::kDeadlineExceeded));
static_assert(Same(KEYMILL_UNAVAILABLE, Code::kUnavailable));
static_assert(Same(KEYMILL_UNKNOWN_OUTCOME, Code::kUnknownOutcome));
static_assert(Same(KEYMILL_CLOCK_REGRESSED, Code::kClockRegressed));
static_assert(Same(KEYMILL_UNAUTHENTICATED, Code::kUnauthenticated));
static_assert(Same(KEYMILL_PERMISSION_DENIED, Code::kPermissionDenied));
static_assert(Same(KEYMILL_INTERNAL, Code::kInternal));
static_assert(kCodeCount == KEYMILL_INTERNAL + 1, "a new code needs its entry in c.h");

thread_local std::string last_message;

// Runs `body`, which returns a Status, and leaves its message for keymill_message().
template <typename Body>
keymill_code Call(Body body) noexcept {
  last_message.clear();
  try {
    const Status status = body();
    last_message = status.message();
    return static_cast<keymill_code>(status.code());
  } catch (const std::exception& error) {
    // Short enough to need no memory, which may be what is missing.
    last_message.assign(error.what(), std::min<std::size_t>(std::strlen(error.what()), 15));
    return KEYMILL_INTERNAL;
  } catch (...) {
    return KEYMILL_INTERNAL;
  }
}

Status Missing(const char* what) {
  return {Code::kInvalidArgument, std::string(what) + " is NULL"};
}

// Whether a key can be written there, where none is now.
Status CheckRoom(char* key, std::size_t key_size) {
  if (key == nullptr) return Missing("key");
  if (key_size > 0) *key = '\0';
  if (key_size >= KEYMILL_KEY_SIZE) return {};
  return {Code::kInvalidArgument, "key_size: use KEYMILL_KEY_SIZE or more"};
}

// The caller's options, of which an older or newer header may have declared fewer or more.
Result<keymill_options> KnownOptions(const keymill_options* given) {
  keymill_options options{};
  if (given == nullptr) return options;
  if (given->size < sizeof(options.size)) {
    return Status(Code::kInvalidArgument, "options: set size to sizeof(keymill_options)");
  }
  const char* const bytes = reinterpret_cast<const char*>(given);
  const std::size_t known = std::min(given->size, sizeof(options));
  if (!std::all_of(bytes + known, bytes + given->size, [](char byte) { return byte == 0; })) {
    return Status(Code::kInvalidArgument,
                  "options: size is wrong, or a field is set that this library does not know");
  }
  std::memcpy(&options, bytes, known);
  return options;
}

// An older header's callers need not set what lies behind its last field: if that were padding, a
// field that is added later would be read from it.
static_assert(offsetof(keymill_options, accept_unsafe_store) + sizeof(const char*) ==
              sizeof(keymill_options));
// Nor is this one read from what an older header's last field was padded with.
static_assert(offsetof(keymill_options, accept_clock_ahead) + sizeof(int) ==
              offsetof(keymill_options, accept_unsafe_store));

Result<MillOptions> ToMillOptions(const keymill_options* given) {
  const Result<keymill_options> options = KnownOptions(given);
  if (!options.ok()) return options.status();
  MillOptions result;
  if (options->data_dir != nullptr) result.data_dir = options->data_dir;
  if (options->store != nullptr) result.store = options->store;
  if (options->block_size != 0) result.block_size = options->block_size;
  if (options->timeout_ms != 0) result.timeout = std::chrono::milliseconds(options->timeout_ms);
  result.create = options->never_create == 0;
  result.log = options->log != 0;
  if (options->worker_id != nullptr) result.worker_id = *options->worker_id;
  if (options->pool_low < -1) {
    return Status(Code::kInvalidArgument, "pool_low: use -1 to 1000000000");
  }
  if (options->pool_low != 0) {
    result.pool_low = options->pool_low == -1 ? 0 : static_cast<std::uint32_t>(options->pool_low);
  }
  result.accept_clock_ahead = options->accept_clock_ahead != 0;
  if (options->accept_unsafe_store != nullptr) {
    result.accept_unsafe_store = options->accept_unsafe_store;
  }
  return result;
}

std::string_view StateName(Mill::Explanation::State state) {
  switch (state) {
    case Mill::Explanation::State::kIssued:
      return "issued";
    case Mill::Explanation::State::kReserved:
      return "reserved";
    case Mill::Explanation::State::kAlias:
      return "alias";
    case Mill::Explanation::State::kUnknown:
      break;
  }
  return "unknown";
}

std::string ExplanationText(const Mill::Explanation& told) {
  std::string text = fmt::format("state={}", StateName(told.state));
  const auto add = [&](std::string_view word, const auto& value) {
    if (value) text += fmt::format(" {}={}", word, *value);
  };
  add("number", told.number);
  add("time_ms", told.time_ms);
  add("worker", told.worker);
  add("sequence", told.sequence);
  text += fmt::format(" kind={}", KindName(told.kind));
  add("since_ms", told.since_ms);
  add("expires_at_ms", told.expires_at_ms);
  add("generation", told.generation);
  if (!told.instance.empty()) text += fmt::format(" instance={}", told.instance);
  // Last, because somebody chose it, and it may have spaces.
  if (!told.owner.empty()) text += fmt::format(" owner={}", told.owner);
  return text;
}

// The longest that there can be.
constexpr std::string_view kAllWords =
    "state=reserved number=18446744073709551615 time_ms=-9223372036854775808 worker=4294967295 "
    "sequence=4294967295 kind=snowflake since_ms=-9223372036854775808 "
    "expires_at_ms=-9223372036854775808 generation=18446744073709551615 instance= owner=";
static_assert(kAllWords.size() + store::kKeyInstanceSizeMax + store::kKeyOwnerSizeMax <
              KEYMILL_EXPLANATION_SIZE);

// "word=value word=value …"; a word that comes again adds a value. No value holds a space.
Result<Recipe> ParseRecipe(std::string_view text) {
  std::vector<mint::RecipeWord> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return mint::RecipeFromWords(words);
    const std::string_view part = text.substr(0, text.find(' '));
    text.remove_prefix(part.size());
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return Status(Code::kInvalidArgument,
                    "recipe: \"" + std::string(part.substr(0, 32)) + "\" is not word=value");
    }
    const std::string_view word = part.substr(0, equals);
    const auto known = std::find_if(words.begin(), words.end(),
                                    [&](const auto& other) { return other.word == word; });
    const std::string value(part.substr(equals + 1));
    if (known != words.end()) {
      known->values.push_back(value);
    } else {
      words.push_back({std::string(word), {value}});
    }
  }
}

}  // namespace
}  // namespace keymill

using keymill::Call;
using keymill::Missing;
using keymill::Status;

const char* keymill_message(void) { return keymill::last_message.c_str(); }

keymill_code keymill_open(const keymill_options* options, keymill_mill** mill) {
  return Call([&]() -> Status {
    if (mill == nullptr) return Missing("mill");
    *mill = nullptr;
    const auto converted = keymill::ToMillOptions(options);
    if (!converted.ok()) return converted.status();
    auto opened = keymill::Mill::Open(*converted);
    if (!opened.ok()) return opened.status();
    *mill = std::make_unique<keymill_mill>(keymill_mill{*std::move(opened)}).release();
    return Status::Ok();
  });
}

void keymill_close(keymill_mill* mill) {
  static_cast<void>(Call([&] {
    const std::unique_ptr<keymill_mill> owned(mill);
    return Status::Ok();
  }));
}

keymill_code keymill_create(keymill_mill* mill, const char* keyspace, const char* recipe) {
  return Call([&]() -> Status {
    if (mill == nullptr) return Missing("mill");
    if (keyspace == nullptr) return Missing("keyspace");
    if (recipe == nullptr) return Missing("recipe");
    const auto parsed = keymill::ParseRecipe(recipe);
    if (!parsed.ok()) return parsed.status();
    return mill->mill->Create(keyspace, *parsed);
  });
}

keymill_code keymill_next(keymill_mill* mill, const char* keyspace, char* key, size_t key_size) {
  return Call([&]() -> Status {
    if (Status room = keymill::CheckRoom(key, key_size); !room.ok()) return room;
    if (mill == nullptr) return Missing("mill");
    if (keyspace == nullptr) return Missing("keyspace");
    const auto next = mill->mill->Next(keyspace);
    if (!next.ok()) return next.status();
    std::memcpy(key, next->c_str(), next->size() + 1);
    return Status::Ok();
  });
}

keymill_code keymill_next_many(keymill_mill* mill, const char* keyspace, uint64_t count,
                               keymill_keys** keys) {
  return Call([&]() -> Status {
    if (keys == nullptr) return Missing("keys");
    *keys = nullptr;
    if (mill == nullptr) return Missing("mill");
    if (keyspace == nullptr) return Missing("keyspace");
    auto minted = mill->mill->Next(keyspace, count);
    if (!minted.ok()) return minted.status();
    *keys = std::make_unique<keymill_keys>(keymill_keys{*std::move(minted)}).release();
    return Status::Ok();
  });
}

size_t keymill_keys_count(const keymill_keys* keys) {
  return keys == nullptr ? 0 : keys->keys.size();
}

const char* keymill_keys_get(const keymill_keys* keys, size_t index) {
  return index < keymill_keys_count(keys) ? keys->keys[index].c_str() : nullptr;
}

void keymill_keys_free(keymill_keys* keys) { const std::unique_ptr<keymill_keys> owned(keys); }

keymill_code keymill_explain(keymill_mill* mill, const char* keyspace, const char* key, char* text,
                             size_t text_size) {
  return Call([&]() -> Status {
    if (text == nullptr) return Missing("text");
    if (text_size > 0) *text = '\0';
    if (text_size < KEYMILL_EXPLANATION_SIZE) {
      return {keymill::Code::kInvalidArgument, "text_size: use KEYMILL_EXPLANATION_SIZE or more"};
    }
    if (mill == nullptr) return Missing("mill");
    if (keyspace == nullptr) return Missing("keyspace");
    if (key == nullptr) return Missing("key");
    const auto told = mill->mill->Explain(keyspace, key);
    if (!told.ok()) return told.status();
    const std::string words = keymill::ExplanationText(*told);
    // Names of instances are shorter; what somebody wrote into the store by hand may not be.
    text[words.copy(text, text_size - 1)] = '\0';
    return Status::Ok();
  });
}

keymill_code keymill_claim(keymill_mill* mill, const char* keyspace, const char* alias,
                           const char* owner) {
  return Call([&]() -> Status {
    if (mill == nullptr) return Missing("mill");
    if (keyspace == nullptr) return Missing("keyspace");
    if (alias == nullptr) return Missing("alias");
    return mill->mill->Claim(keyspace, alias, owner == nullptr ? "" : owner);
  });
}

keymill_code keymill_derive(keymill_mill* mill, const char* keyspace, const char* content,
                            size_t content_size, const char* salt, char* key, size_t key_size,
                            int* existing) {
  return Call([&]() -> Status {
    if (Status room = keymill::CheckRoom(key, key_size); !room.ok()) return room;
    if (mill == nullptr) return Missing("mill");
    if (keyspace == nullptr) return Missing("keyspace");
    if (content == nullptr) return Missing("content");
    const auto derived = mill->mill->Derive(keyspace, std::string_view(content, content_size),
                                            salt == nullptr ? "" : salt);
    if (!derived.ok()) return derived.status();
    std::memcpy(key, derived->key.c_str(), derived->key.size() + 1);
    if (existing != nullptr) *existing = derived->existing ? 1 : 0;
    return Status::Ok();
  });
}

keymill_code keymill_fill_pool(keymill_mill* mill, const char* keyspace, uint64_t count) {
  return Call([&]() -> Status {
    if (mill == nullptr) return Missing("mill");
    if (keyspace == nullptr) return Missing("keyspace");
    return mill->mill->FillPool(keyspace, count).status();
  });
}

keymill_code keymill_release(keymill_mill* mill, const char* keyspace, const char* key,
                             const uint64_t* generation) {
  return Call([&]() -> Status {
    if (mill == nullptr) return Missing("mill");
    if (keyspace == nullptr) return Missing("keyspace");
    if (key == nullptr) return Missing("key");
    return mill->mill->Release(keyspace, key,
                               generation == nullptr ? std::nullopt : std::optional(*generation));
  });
}
