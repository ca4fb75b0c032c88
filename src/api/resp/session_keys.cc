// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The session's commands for keys.

#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "api/resp/errors.h"
#include "api/resp/session.h"
#include "base/utc_text.h"
#include "mint/aliases.h"

namespace keymill::api::resp {
namespace {

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::string TooMany(std::uint64_t max) {
  return ErrorOf({Code::kInvalidArgument, fmt::format("at most {} at once", max)});
}

std::string NotASequence(const mint::Keyspace& keyspace) {
  const bool sequence = keyspace.recipe().kind == Kind::kSequence;
  return fmt::format(
      "WRONGTYPE Operation against a key holding the wrong kind of value: keyspace \"{}\" is {}; "
      "use KEYMILL.MINT",
      keyspace.name(),
      sequence ? "a sequence with a blocklist"
               : fmt::format("of kind {}, and numbers come from sequences",
                             KindName(keyspace.recipe().kind)));
}

// An answer that is being prepared by another thread.
class Answer {
 public:
  Answer(RespService::Deferred& deferred, int version)
      : deferred_(deferred), writer_(deferred.reply, version) {}

  wire::RespWriter& writer() { return writer_; }
  void Fail(std::string_view error) {
    deferred_.failed = true;
    writer_.Error(error);
  }
  // What became of a keyspace by this name.
  void Fail(const Status& status, std::string_view name) {
    Fail(status.code() == Code::kNotFound ? NoSuchKeyspace(name) : ErrorOf(status));
  }

 private:
  RespService::Deferred& deferred_;
  wire::RespWriter writer_;
};

// A map of which nobody has to say beforehand how large it is. Values are texts: a number of ours
// may pass 2^53.
class TextMap {
 public:
  void Add(std::string_view name, std::string value) {
    pairs_.emplace_back(name, std::move(value));
  }
  void AddNumber(std::string_view name, std::uint64_t value) { Add(name, fmt::to_string(value)); }
  void Write(wire::RespWriter& writer) const {
    writer.Map(pairs_.size());
    for (const auto& [name, value] : pairs_) {
      writer.Bulk(name);
      writer.Bulk(value);
    }
  }

 private:
  std::vector<std::pair<std::string_view, std::string>> pairs_;
};

// Clients turn a map of texts into a dictionary at once, a map in a map not all of them: so what
// HTTP puts into objects stands here with the object's name in front where it could be mistaken.
void AddBlock(const LedgerRow& block, TextMap& map) {
  map.Add("block", block.block_id);
  map.AddNumber("block_first", block.first);
  map.AddNumber("block_count", block.count);
  map.Add("block_state", std::string(BlockStateName(block.state)));
  map.Add("instance", block.instance);
  map.Add("reserved_at", UtcText(block.reserved_at_ms));
}

void AddRecord(const KeyRow& row, TextMap& map) {
  map.Add("record_state", std::string(KeyStateName(row.state)));
  map.Add("since", UtcText(row.since_ms));
  if (!row.owner.empty()) map.Add("owner", row.owner);
  if (row.expires_at_ms != 0) map.Add("expires_at", UtcText(row.expires_at_ms));
  // Of a link the field counts who followed it.
  if (row.state != KeyState::kLink) map.AddNumber("generation", row.generation);
}

TextMap Told(const mint::Explanation& told, std::string_view key) {
  TextMap map;
  map.Add("keyspace", told.keyspace);
  map.Add("key", std::string(key));
  map.Add("state", std::string(mint::ExplanationStateName(told.state)));
  map.Add("kind", std::string(KindName(told.kind)));
  if (told.number) map.AddNumber("number", *told.number);
  if (told.index) map.AddNumber("index", *told.index);
  if (told.time_ms) map.Add("time", UtcText(*told.time_ms));
  if (told.worker) map.AddNumber("worker", *told.worker);
  if (told.sequence) map.AddNumber("sequence", *told.sequence);
  if (told.block) AddBlock(*told.block, map);
  if (!told.record) return map;
  AddRecord(*told.record, map);
  // A link's key may have both: whose block it is from made the link, and no name comes twice.
  if (!told.block && !told.record->instance.empty()) map.Add("instance", told.record->instance);
  return map;
}

void ExplainIn(Backend& backend, const std::string& keyspace, const std::string& key,
               Answer& answer) {
  if (const Result<mint::Keyspace*> found = backend.LookUp(keyspace); !found.ok()) {
    return answer.Fail(found.status(), keyspace);
  }
  const Result<mint::Explanation> told = backend.engine()->Explain(keyspace, key);
  if (!told.ok()) return answer.Fail(ErrorOf(told.status()));
  Told(*told, key).Write(answer.writer());
}

// The first keyspace that knows the key, of all that there are.
void ExplainAnywhere(Backend& backend, const std::string& key, Answer& answer) {
  const Result<mint::Engine*> mill = backend.Mill();
  if (!mill.ok()) return answer.Fail(ErrorOf(mill.status()));
  const Result<std::vector<mint::KeyspaceInfo>> all = (*mill)->List();
  if (!all.ok()) return answer.Fail(ErrorOf(all.status()));
  for (const mint::KeyspaceInfo& info : *all) {
    const Result<mint::Explanation> told = (*mill)->Explain(info.record.name, key);
    if (told.ok()) return Told(*told, key).Write(answer.writer());
    if (told.code() != Code::kNotFound) return answer.Fail(ErrorOf(told.status()));
  }
  answer.Fail(ErrorOf({Code::kNotFound, "no keyspace can have issued this key"}));
}

void ClaimIn(Backend& backend, const std::string& keyspace, const std::string& alias,
             const std::string& owner, Answer& answer) {
  if (const Result<mint::Keyspace*> found = backend.LookUp(keyspace); !found.ok()) {
    return answer.Fail(found.status(), keyspace);
  }
  const Result<mint::Claim> claim = backend.engine()->ClaimKey(keyspace, alias, owner);
  if (!claim.ok()) return answer.Fail(ErrorOf(claim.status()));
  switch (claim->verdict) {
    case mint::ClaimVerdict::kClaimed:
    case mint::ClaimVerdict::kYours:
      return answer.writer().Simple("OK");
    case mint::ClaimVerdict::kTaken:
      return answer.Fail(ErrorOf({Code::kAlreadyExists, claim->detail}));
    case mint::ClaimVerdict::kInvalid:
    case mint::ClaimVerdict::kReserved:
    case mint::ClaimVerdict::kLooksGenerated:
      break;
  }
  answer.Fail(ErrorOf({Code::kInvalidArgument, claim->detail}));
}

void DeriveIn(Backend& backend, const std::string& keyspace, const std::string& content,
              const std::string& salt, Answer& answer) {
  if (const Result<mint::Keyspace*> found = backend.LookUp(keyspace); !found.ok()) {
    return answer.Fail(found.status(), keyspace);
  }
  const Result<mint::Engine::Derived> derived = backend.engine()->Derive(keyspace, content, salt);
  if (!derived.ok()) return answer.Fail(ErrorOf(derived.status()));
  answer.writer().Bulk(derived->key);
}

void ListAll(Backend& backend, Answer& answer) {
  const Result<mint::Engine*> mill = backend.Mill();
  if (!mill.ok()) return answer.Fail(ErrorOf(mill.status()));
  const Result<std::vector<mint::KeyspaceInfo>> all = (*mill)->List();
  if (!all.ok()) return answer.Fail(ErrorOf(all.status()));
  answer.writer().Array(all->size());
  for (const mint::KeyspaceInfo& info : *all) {
    TextMap map;
    map.Add("name", info.record.name);
    map.Add("kind", std::string(KindName(info.recipe.kind)));
    map.Add("state", std::string(KeyspaceStateName(info.record.state)));
    if (!info.endless) {
      map.AddNumber("capacity", info.capacity);
    }
    if (info.counted()) {
      map.AddNumber("used", info.used);
      map.AddNumber("left", info.left);
    }
    map.Write(answer.writer());
  }
}

}  // namespace

Progress RespSession::Mint(Words words, std::string& output) {
  if (words.size() == 2) return BeginMint(words[1], {MintWish::Form::kKey, 1}, output);
  if (words.size() != 4 || !SameWord(words[2], "COUNT")) return Error(kSyntaxError, output);
  const std::optional<std::int64_t> count = ParseInteger(words[3]);
  if (!count) return Error(kNotAnInteger, output);
  if (*count < 1) return Error(kNotPositive, output);
  if (static_cast<std::uint64_t>(*count) > kCountMax) return Error(TooMany(kCountMax), output);
  return BeginMint(words[1], {MintWish::Form::kArray, static_cast<std::uint64_t>(*count)}, output);
}

Progress RespSession::Pop(Words words, MintWish::Form form, std::string& output) {
  if (words.size() == 2) return BeginMint(words[1], {MintWish::Form::kKey, 1}, output);
  if (words.size() != 3) return Error(kSyntaxError, output);
  const std::optional<std::int64_t> count = ParseInteger(words[2]);
  if (!count || *count < 0) return Error(kNotPositive, output);
  if (static_cast<std::uint64_t>(*count) > kCountMax) return Error(TooMany(kCountMax), output);
  return BeginMint(words[1], {form, static_cast<std::uint64_t>(*count)}, output);
}

Progress RespSession::IncrBy(Words words, std::string& output) {
  const std::optional<std::int64_t> count = ParseInteger(words[2]);
  if (!count || *count < 1) return Error(kNotAnInteger, output);
  const auto numbers = static_cast<std::uint64_t>(*count);
  if (numbers > mint::CounterKeyspace::kRunMax) {
    return Error(TooMany(mint::CounterKeyspace::kRunMax), output);
  }
  return BeginMint(words[1], {MintWish::Form::kInteger, numbers}, output);
}

Progress RespSession::BeginMint(std::string_view name, const MintWish& wish, std::string& output) {
  mint::Engine* const engine = service_.engine();
  if (engine == nullptr) return Error(ErrorOf(service_.backend().Mill().status()), output);
  if (mint::Keyspace* const keyspace = engine->Find(name)) {
    const bool integer = wish.form == MintWish::Form::kInteger;
    repeat_.sequence = integer ? mint::AsPlainSequence(*keyspace) : nullptr;
    const bool single = integer ? wish.count == 1 && repeat_.sequence != nullptr
                                : wish.form == MintWish::Form::kKey;
    repeat_.keyspace = single ? keyspace : nullptr;
    return RunJob(*keyspace, wish, service_.backend().Deadline(), output);
  }
  return AnswerLater(
      api::Queue::kKeyspaces,
      [k = std::string(name), version = version_](Backend& backend,
                                                  RespService::Deferred& deferred) {
        const Result<mint::Keyspace*> found = backend.LookUp(k);
        if (!found.ok()) return Answer(deferred, version).Fail(found.status(), k);
        deferred.keyspace = *found;
      },
      output, wish);
}

Progress RespSession::RunJob(mint::Keyspace& keyspace, const MintWish& wish, MonotonicTime deadline,
                             std::string& output) {
  const bool integer = wish.form == MintWish::Form::kInteger;
  if (integer && mint::AsPlainSequence(keyspace) == nullptr)
    return Error(NotASequence(keyspace), output);
  job_.emplace(service_.backend(), keyspace, wish, version_, deadline, waker_);
  return ContinueJob(output);
}

Progress RespSession::AnswerLater(api::Queue queue, RespService::Work work, std::string& output,
                                  const MintWish& wish) {
  auto deferred = service_.Defer(queue, std::move(work), waker_);
  if (deferred == nullptr) {
    return Error(ErrorOf({Code::kOverloaded, "too many requests wait for the store"}), output);
  }
  errand_ = {std::move(deferred), service_.backend().Deadline(), wish};
  return Progress::kParked;
}

Progress RespSession::Explain(Words words, std::string& output) {
  if (words.size() > 3) return Error(WrongArity("keymill.explain"), output);
  std::string keyspace(words.size() == 3 ? words[1] : std::string_view());
  return AnswerLater(
      api::Queue::kKeys,
      [anywhere = words.size() == 2, k = std::move(keyspace), key = std::string(words.back()),
       version = version_](Backend& backend, RespService::Deferred& deferred) {
        Answer answer(deferred, version);
        anywhere ? ExplainAnywhere(backend, key, answer) : ExplainIn(backend, k, key, answer);
      },
      output);
}

Progress RespSession::Claim(Words words, std::string& output) {
  const bool owned = words.size() == 5 && SameWord(words[3], "OWNER");
  if (words.size() != 3 && !owned) return Error(kSyntaxError, output);
  return AnswerLater(
      api::Queue::kKeys,
      [k = std::string(words[1]), alias = std::string(words[2]),
       owner = std::string(owned ? words[4] : std::string_view()),
       version = version_](Backend& backend, RespService::Deferred& deferred) {
        Answer answer(deferred, version);
        ClaimIn(backend, k, alias, owner, answer);
      },
      output);
}

Progress RespSession::Derive(Words words, std::string& output) {
  const bool salted = words.size() == 5 && SameWord(words[3], "SALT");
  if (words.size() != 3 && !salted) return Error(kSyntaxError, output);
  return AnswerLater(
      api::Queue::kKeys,
      [k = std::string(words[1]), content = std::string(words[2]),
       salt = std::string(salted ? words[4] : std::string_view()),
       version = version_](Backend& backend, RespService::Deferred& deferred) {
        Answer answer(deferred, version);
        DeriveIn(backend, k, content, salt, answer);
      },
      output);
}

Progress RespSession::List(std::string& output) {
  return AnswerLater(
      api::Queue::kKeyspaces,
      [version = version_](Backend& backend, RespService::Deferred& deferred) {
        Answer answer(deferred, version);
        ListAll(backend, answer);
      },
      output);
}

}  // namespace keymill::api::resp
