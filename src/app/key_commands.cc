// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill claim` and `keymill derive`: keys that somebody chose, and keys that are made from
// content; in the store, or by asking a server.

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli.h"
#include "app/commands.h"
#include "app/http_client.h"
#include "app/output.h"
#include "base/json.h"
#include "base/utf8.h"

namespace keymill::app {
namespace {

// The key itself is the answer, so what stands against it is a failure, not a wrong call.
Status Refused(std::string why) { return {Code::kAlreadyExists, std::move(why)}; }

Status ClaimFromServer(const ClaimFlags& flags) {
  HttpCaller server(flags.server);
  const std::string body =
      flags.owner.empty() ? "" : fmt::format("{{\"owner\":{}}}", JsonQuote(flags.owner));
  const Result<HttpAnswer> answer =
      server.Call({.method = "PUT",
                   .path = fmt::format("/v1/keyspaces/{}/keys/{}", PathSegment(flags.keyspace),
                                       PathSegment(flags.alias)),
                   .body = body});
  if (!answer.ok()) return answer.status();
  if (answer->status == 200 || answer->status == 201) return {};
  Status said = ServerSaid(answer->status, answer->body);
  if (answer->status == 409 || answer->status == 422) return Refused(said.message());
  return said;
}

Status ClaimFromStore(const ClaimFlags& flags) {
  Result<embed::Opened> opened = OpenToUse(flags.common);
  if (!opened.ok()) return opened.status();
  mint::Engine& engine = *opened->engine;
  const Result<mint::Claim> claim = engine.ClaimKey(flags.keyspace, flags.alias, flags.owner);
  if (claim.code() == Code::kNotFound) return NoSuchKeyspace(engine, flags.keyspace);
  if (!claim.ok()) return claim.status();
  const bool theirs = claim->verdict == mint::ClaimVerdict::kClaimed ||
                      claim->verdict == mint::ClaimVerdict::kYours;
  return theirs ? Status() : Refused(claim->detail);
}

struct Derived {
  std::string key;
  bool existing = false;
};

// One content after another, from wherever keys are made.
class Source {
 public:
  explicit Source(const DeriveFlags& flags) : flags_(flags), server_(flags.server) {}

  Status Open() {
    if (!flags_.server.empty()) return {};
    Result<embed::Opened> opened = OpenToUse(flags_.common);
    if (!opened.ok()) return opened.status();
    opened_ = *std::move(opened);
    return {};
  }

  Result<Derived> Derive(std::string_view content) {
    return flags_.server.empty() ? FromStore(content) : FromServer(content);
  }

 private:
  Result<Derived> FromStore(std::string_view content) {
    mint::Engine& engine = *opened_.engine;
    Result<mint::Engine::Derived> derived = engine.Derive(flags_.keyspace, content, flags_.salt);
    if (derived.code() == Code::kNotFound) {
      return NoSuchKeyspace(engine, flags_.keyspace, "--kind derived");
    }
    if (!derived.ok()) return derived.status();
    return Derived{std::move(derived->key), derived->existing};
  }

  Result<Derived> FromServer(std::string_view content) {
    std::string body = fmt::format("{{\"content\":{}", JsonQuote(content));
    if (!flags_.salt.empty()) body += fmt::format(",\"salt\":{}", JsonQuote(flags_.salt));
    const Result<HttpAnswer> answer =
        server_.Call({.method = "POST",
                      .path = fmt::format("/v1/keyspaces/{}/derive", PathSegment(flags_.keyspace)),
                      .body = body + "}"});
    if (!answer.ok()) return answer.status();
    if (answer->status != 200) return ServerSaid(answer->status, answer->body);
    const auto json = nlohmann::json::parse(answer->body, nullptr, false);
    if (!json.is_object() || !json.contains("key") || !json["key"].is_string()) {
      return Status(Code::kUnavailable, "the server sent something that is no key");
    }
    const auto existing = json.find("existing");
    return Derived{json["key"], existing != json.end() && existing->is_boolean() && *existing};
  }

  const DeriveFlags& flags_;
  HttpCaller server_;
  embed::Opened opened_;
};

// The next line of standard input, without its end; nothing after the last one. One that is longer
// than a content can be is cut, but not to one that could be.
std::optional<std::string> ReadLine() {
  std::string line;
  int c = std::getc(stdin);
  if (c == EOF) return {};
  for (; c != EOF && c != '\n' && line.size() <= mint::kContentSizeMax; c = std::getc(stdin)) {
    line += static_cast<char>(c);
  }
  return line;
}

// JSON has no way to say bytes that are no text, and another content must not get their key.
Status CheckText(const DeriveFlags& flags, std::string_view content) {
  if (flags.server.empty() || (IsUtf8(content) && IsUtf8(flags.salt))) return {};
  return {Code::kInvalidArgument, "content and salt must be UTF-8 to be sent to a server"};
}

Status DeriveOne(Source& source, const DeriveFlags& flags, std::string_view content) {
  if (Status text = CheckText(flags, content); !text.ok()) return text;
  const Result<Derived> derived = source.Derive(content);
  if (!derived.ok()) return derived.status();
  if (flags.json) {
    Print("{{\"keyspace\":{},\"key\":{},\"existing\":{}}}\n", JsonQuote(flags.keyspace),
          JsonQuote(derived->key), derived->existing);
  } else {
    Print("{}\n", derived->key);
  }
  // Whoever sends the next line may wait for the key of this one. RunCli tells what went wrong.
  static_cast<void>(FinishData());
  return {};
}

}  // namespace

int RunClaim(const ClaimFlags& flags) {
  const Status claimed = flags.server.empty() ? ClaimFromStore(flags) : ClaimFromServer(flags);
  if (!claimed.ok()) return Fail(claimed);
  Print("{}\n", flags.alias);
  return kExitOk;
}

int RunDerive(const DeriveFlags& flags) {
  Source source(flags);
  if (Status opened = source.Open(); !opened.ok()) return Fail(opened);
  if (flags.content != "-") {
    const Status done = DeriveOne(source, flags, flags.content);
    return done.ok() ? kExitOk : Fail(done);
  }
  std::uint64_t number = 0;
  while (const std::optional<std::string> line = ReadLine()) {
    ++number;
    const Status done = DeriveOne(source, flags, *line);
    if (!DataIsWritten()) return kExitFailure;  // RunCli says why.
    if (!done.ok()) return Fail({done.code(), fmt::format("line {}: {}", number, done.message())});
  }
  return kExitOk;
}

}  // namespace keymill::app
