// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill audit`: every key that the store remembers, as it is read, page by page.

#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "app/audit_text.h"
#include "app/cli.h"
#include "app/commands.h"
#include "app/output.h"
#include "base/utc_text.h"
#include "mint/kinds.h"
#include "store/key_rules.h"

namespace keymill::app {
namespace {

constexpr std::uint32_t kPage = 5'000;

Result<KeyTable::Query> MakeQuery(const AuditFlags& flags) {
  KeyTable::Query query{.instance = flags.instance, .rows_max = kPage};
  for (const auto& [flag, text, out] : {std::tuple("--since", &flags.since, &query.since_ms),
                                        std::tuple("--until", &flags.until, &query.until_ms)}) {
    if (text->empty()) continue;
    const Result<std::int64_t> ms = ParseUtcText(*text);
    if (!ms.ok()) {
      return Status(Code::kInvalidArgument, fmt::format("{}: {}", flag, ms.status().message()));
    }
    *out = *ms;
  }
  if (!flags.since.empty() && !flags.until.empty() && query.since_ms >= query.until_ms) {
    return Status(Code::kInvalidArgument, "--until: must be later than --since");
  }
  if (!flags.state.empty()) {
    const Result<KeyState> state = store::ParseKeyState(flags.state);
    if (!state.ok()) return state.status();
    query.state = *state;
  }
  return query;
}

bool Matches(const KeyTable::Query& query, const KeyRow& row) {
  return (!query.state || row.state == *query.state) && row.since_ms >= query.since_ms &&
         (query.until_ms == 0 || row.since_ms < query.until_ms) &&
         (query.instance.empty() || row.instance == query.instance);
}

// Those who look for keys where none are kept should know.
void Remark(std::string_view name, Kind kind) {
  if (mint::IsStoredByKey(kind)) return;
  if (mint::IsEndless(kind)) {
    Say("keymill: {} is of kind {}: the store keeps nothing of its keys but its aliases and "
        "links\n",
        name, KindName(kind));
    return;
  }
  Say("keymill: {} is of kind {}: the store keeps a ledger of {}, not of keys, which keymill "
      "explain reads; only its aliases and links are listed\n",
      name, KindName(kind), mint::TakesBlocks(kind) ? "blocks" : "times");
}

class Audit {
 public:
  Audit(mint::Engine& engine, const AuditFlags& flags, KeyTable::Query query)
      : engine_(engine),
        flags_(flags),
        query_(std::move(query)),
        format_(flags.format == "csv"    ? AuditFormat::kCsv
                : flags.format == "json" ? AuditFormat::kJson
                                         : AuditFormat::kText) {}

  Status Run() { return flags_.key.empty() ? ListAll() : ShowOne(); }

 private:
  void Write(const KeyRow& row) {
    if (row.state == KeyState::kNote) return;
    Begin();
    WriteData(AuditLine(format_, flags_.keyspace, row));
  }

  // Not before the store has answered: a header is no answer.
  void Begin() {
    if (!begun_) WriteData(AuditHeader(format_));
    begun_ = true;
  }

  Status ShowOne() {
    const Result<std::optional<KeyRow>> row = engine_.FindKey(flags_.keyspace, flags_.key);
    if (!row.ok()) return row.status();
    Begin();
    if (*row && Matches(query_, **row)) Write(**row);
    return {};
  }

  Status ListAll() {
    do {
      Result<KeyTable::Page> page = engine_.ListKeys(flags_.keyspace, query_);
      if (!page.ok()) return page.status();
      Begin();
      for (const KeyRow& row : page->rows) Write(row);
      query_.cursor = std::move(page->cursor);
    } while (!query_.cursor.empty() && DataIsWritten());
    return {};
  }

  mint::Engine& engine_;
  const AuditFlags& flags_;
  KeyTable::Query query_;
  const AuditFormat format_;
  bool begun_ = false;
};

}  // namespace

int RunAudit(const AuditFlags& flags) {
  const Result<KeyTable::Query> query = MakeQuery(flags);
  if (!query.ok()) return Fail(query.status());
  Result<embed::Opened> opened = OpenToLook(flags.common);
  if (!opened.ok()) return Fail(opened.status());
  mint::Engine& engine = *opened->engine;
  const Result<mint::Keyspace*> keyspace = engine.Lookup(flags.keyspace);
  if (keyspace.code() == Code::kNotFound) return Fail(NoSuchKeyspace(engine, flags.keyspace));
  if (!keyspace.ok()) return Fail(keyspace.status());
  Remark(flags.keyspace, (*keyspace)->recipe().kind);
  const Status done = Audit(engine, flags, *query).Run();
  return done.ok() ? kExitOk : Fail(done);
}

}  // namespace keymill::app
