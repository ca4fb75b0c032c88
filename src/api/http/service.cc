// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/service.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/details.h"
#include "api/http/index_page.h"
#include "api/http/keyspace_json.h"
#include "api/http/session.h"
#include "api/status_map.h"
#include "base/json.h"
#include "mint/kinds.h"
#include "mint/recipe_words.h"

namespace keymill::api::http {
namespace {

Reply NoSuchCheck(std::string_view checks) {
  return Problem(404, "not-found", "No such check", fmt::format("checks: {}", checks));
}

// Why nothing can be minted from `keyspace`, now or soon; OK when something can.
Status LastingVerdict(mint::Keyspace& keyspace) {
  Status verdict = keyspace.Verdict();
  const mint::Keyspace::Stats stats = keyspace.stats();
  const bool sealed = !verdict.ok() && stats.state == KeyspaceState::kSealed;
  // What was granted before is handed out to the end.
  if ((verdict.code() == Code::kExhausted || sealed) && (stats.ahead > 0 || stats.endless)) {
    return {};
  }
  if (sealed) return {Code::kUnavailable, MovedDetail(keyspace.name())};
  if (verdict.ok() && stats.ahead == 0 && !stats.endless) {
    // Who asks waits in vain until a worker id is free, or the clock is right.
    const Status waits = keyspace.DeadlineVerdict();
    if (waits.code() == Code::kOverloaded || waits.code() == Code::kClockRegressed) verdict = waits;
  }
  // Nothing is wrong with it: it makes keys of what callers bring.
  if (verdict.code() == Code::kInvalidArgument) return {};
  const std::string_view fixed = PublicDetail(verdict.code());
  return fixed.empty() ? verdict : Status(verdict.code(), std::string(fixed));
}

// Of a sealed keyspace the reason is the address of another store, which may be internal.
std::string PublicJson(mint::KeyspaceInfo info) {
  if (info.record.state == KeyspaceState::kSealed) info.record.reason.clear();
  return KeyspaceJson(info);
}

// Whether the store was sealed: it then tells so of every keyspace that was open.
bool IsMoved(mint::Engine& mill) {
  const Result<std::vector<mint::KeyspaceInfo>> infos = mill.List();
  return infos.ok() && std::any_of(infos->begin(), infos->end(), [](const auto& info) {
           return info.record.state == KeyspaceState::kSealed;
         });
}

}  // namespace

Service::Service(ServiceOptions options, Backend& backend)
    : options_(std::move(options)), backend_(backend) {}

Service::~Service() { backend_.Stop(); }

net::SessionFactory Service::Sessions() {
  return
      [this](net::Waker waker) { return std::make_unique<HttpSession>(*this, std::move(waker)); };
}

std::shared_ptr<Service::Deferred> Service::Defer(Queue queue, Work work, net::Waker wake) {
  auto deferred = std::make_shared<Deferred>();
  const bool begun = backend_.Run(
      queue, deferred, [this, &answer = *deferred, work = std::move(work)] { work(*this, answer); },
      std::move(wake));
  return begun ? deferred : nullptr;
}

Reply Service::NoEngine() {
  return StatusProblem({Code::kUnavailable, "the store has not been reached yet"});
}

Reply Service::KeyspaceNotFound(std::string_view name) {
  return StatusProblem({Code::kNotFound, NoKeyspaceDetail(name)});
}

mint::Keyspace* Service::LookUp(const std::string& name, Reply& refusal) {
  const Result<mint::Keyspace*> found = backend_.LookUp(name);
  if (found.ok()) return *found;
  refusal =
      found.code() == Code::kNotFound ? KeyspaceNotFound(name) : StatusProblem(found.status());
  return nullptr;
}

Reply Service::ListKeyspaces(const ListPage& page) {
  mint::Engine* const mill = engine();
  if (mill == nullptr) return NoEngine();
  Result<std::vector<mint::KeyspaceInfo>> all = mill->List();
  if (!all.ok()) return StatusProblem(all.status());
  const auto name = [](const mint::KeyspaceInfo& info) {
    return std::string_view(info.record.name);
  };
  std::ranges::sort(*all, {}, name);
  const auto begin = std::ranges::upper_bound(*all, std::string_view(page.after), {}, name);
  const auto left = static_cast<std::size_t>(all->end() - begin);
  const std::span shown(begin, std::min(left, page.limit));
  std::string json = "{\"keyspaces\":[";
  for (const mint::KeyspaceInfo& info : shown) {
    if (json.back() != '[') json += ',';
    json += PublicJson(info);
  }
  json += ']';
  if (left > shown.size()) json += fmt::format(",\"next\":{}", JsonQuote(name(shown.back())));
  return JsonReply(200, json + "}");
}

Reply Service::ShowKeyspace(const std::string& name) {
  mint::Engine* const mill = engine();
  if (mill == nullptr) return NoEngine();
  Result<mint::KeyspaceInfo> info = mill->Describe(name);
  if (info.code() == Code::kNotFound) return KeyspaceNotFound(name);
  if (!info.ok()) return StatusProblem(info.status());
  return JsonReply(200, PublicJson(*std::move(info)));
}

Reply Service::CreateKeyspace(const std::string& name, std::string_view body) {
  mint::Engine* const mill = engine();
  if (mill == nullptr) return NoEngine();
  std::vector<mint::RecipeWord> words;
  if (!body.empty()) {
    Result<std::vector<mint::RecipeWord>> parsed = ParseWords(body);
    if (!parsed.ok()) return StatusProblem(parsed.status());
    words = *std::move(parsed);
  }
  Result<Recipe> recipe = mint::RecipeFromWords(words);
  if (!recipe.ok()) return StatusProblem(recipe.status());
  Result<mint::Engine::Created> created = mill->Create(name, *recipe);
  if (!created.ok() && created.code() != Code::kFailedPrecondition) {
    return StatusProblem(created.status());
  }
  if (!created.ok() && mint::IsStoredByKey(recipe->kind) && !mill->remembers_keys()) {
    return NotSupportedByStore(created.status().message());
  }
  Result<mint::KeyspaceInfo> info = mill->Describe(name);
  if (!created.ok() && !info.ok() && IsMoved(*mill)) return KeyspaceMoved(name);
  // It is not there, and cannot be: it would meet another one.
  if (!created.ok() && info.code() == Code::kNotFound) return StatusProblem(created.status());
  if (!info.ok()) return StatusProblem(info.status());
  if (info->record.state == KeyspaceState::kRetired) return KeyspaceRetired(name);
  if (!created.ok()) return StatusProblem(created.status());  // It has another recipe.
  Reply reply = JsonReply(created->fresh ? 201 : 200, PublicJson(*std::move(info)));
  if (created->fresh) reply.headers += fmt::format("Location: /v1/keyspaces/{}\r\n", name);
  return reply;
}

Reply Service::RetireKeyspace(const std::string& name) {
  mint::Engine* const mill = engine();
  if (mill == nullptr) return NoEngine();
  Status retired = mill->Retire(name);
  if (retired.code() == Code::kNotFound) return KeyspaceNotFound(name);
  if (retired.code() == Code::kFailedPrecondition && IsMoved(*mill)) return KeyspaceMoved(name);
  if (!retired.ok()) return StatusProblem(retired);
  return ShowKeyspace(name);
}

Reply Service::Explain(const std::string& keyspace, const std::string& key) {
  Reply refusal;
  if (LookUp(keyspace, refusal) == nullptr) return refusal;
  Result<mint::Explanation> explanation = engine()->Explain(keyspace, key);
  if (explanation.code() == Code::kNotFound) {
    return Problem(404, "key-not-found", "No such key", explanation.status().message());
  }
  if (!explanation.ok()) return StatusProblem(explanation.status());
  Reply reply = JsonReply(200, ExplanationJson(*explanation, key));
  // What a DELETE may name in If-Match. A link has one life, and its count of followers is no name.
  if (explanation->record && explanation->record->state != KeyState::kLink) {
    reply.headers += fmt::format("ETag: \"{}\"\r\n", explanation->record->generation);
  }
  return reply;
}

Reply Service::ShowBounds(const std::string& keyspace, const TimeRange& range) {
  mint::Engine* const mill = engine();
  if (mill == nullptr) return NoEngine();
  const Result<mint::Engine::Bounds> bounds = mill->BoundsOf(keyspace, range.from_ms, range.to_ms);
  if (bounds.code() == Code::kNotFound) return KeyspaceNotFound(keyspace);
  if (!bounds.ok()) return StatusProblem(bounds.status());
  return JsonReply(200, BoundsJson(keyspace, range, *bounds));
}

Reply Service::Index(std::string_view accept, std::string_view host) {
  if (!IsPlainHost(host)) host = options_.address;
  const bool html = accept.find("text/html") != std::string_view::npos;
  return {.status = 200,
          .content_type = html ? "text/html; charset=utf-8" : kTextType,
          .body = html ? IndexHtml(options_.version) : IndexText(options_.version, host),
          .headers = "Cache-Control: no-cache\r\n"};
}

Reply Service::Metrics() const {
  if (!options_.metrics_page) {
    return Problem(404, "not-found", ReasonPhrase(404), "this server keeps no metrics");
  }
  return {.status = 200,
          .content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = options_.metrics_page(),
          .headers = std::string(kNoStore)};
}

Reply Service::Live(std::string_view only, bool verbose) {
  if (!only.empty() && only != "process") return NoSuchCheck("process");
  return {.status = 200,
          .content_type = kTextType,
          .body = verbose ? "[+]process ok\nlivez check passed\n" : "ok\n",
          .headers = std::string(kNoStore)};
}

Status Service::GetKeyVerdict() const {
  mint::Engine* const mill = engine();
  if (mill == nullptr || !options_.router.forge) return {};
  mint::Keyspace* const keyspace = mill->Find(options_.default_keyspace);
  return keyspace == nullptr ? Status() : LastingVerdict(*keyspace);
}

std::string Service::AcceptedRisk() const {
  mint::Engine* const mill = engine();
  if (mill == nullptr) return "";
  const std::string risk = mill->store_safety().accepted_risk();
  if (risk.empty()) return "";
  return fmt::format("[!]store unsafe, accepted: {} ({})\n",
                     mill->store_safety().accepted_because(), risk);
}

std::string Service::TroubledKeyspaces() const {
  std::string lines;
  mint::Engine* const mill = engine();
  if (mill == nullptr) return lines;
  for (mint::Keyspace* const keyspace : mill->Known()) {
    if (keyspace->stats().state == KeyspaceState::kRetired) continue;
    const Status verdict = LastingVerdict(*keyspace);
    if (!verdict.ok())
      lines += fmt::format("[!]keyspace {}: {}\n", keyspace->name(), verdict.message());
  }
  return lines;
}

Reply Service::Ready(std::string_view name, std::string_view only, bool verbose,
                     const std::vector<std::string_view>& excluded) {
  mint::Engine* const mill = engine();
  struct Check {
    std::string_view name;
    Status status;
  };
  std::vector<Check> checks;
  checks.push_back(
      {"drain", backend_.draining() ? Status(Code::kUnavailable, "draining") : Status()});
  checks.push_back({"mint", mill == nullptr
                                ? Status(Code::kUnavailable, "the store has not been reached yet")
                                : mill->Ready()});
  checks.push_back({"keyspace", GetKeyVerdict()});
  std::string report;
  bool passed = true;
  bool found = only.empty();
  for (const Check& check : checks) {
    if (!only.empty() && check.name != only) continue;
    found = true;
    const bool skip = std::find(excluded.begin(), excluded.end(), check.name) != excluded.end();
    if (!check.status.ok() && !skip) passed = false;
    report += check.status.ok() ? fmt::format("[+]{} ok\n", check.name)
                                : fmt::format("[-]{} {}: {}\n", check.name,
                                              skip ? "excluded" : "failed", check.status.message());
  }
  if (!found) return NoSuchCheck("drain, mint, keyspace");
  // One keyspace's trouble must not take the instance out of rotation, but is worth a look.
  if (verbose && only.empty()) report += AcceptedRisk() + TroubledKeyspaces();
  report += fmt::format("{} check {}\n", name, passed ? "passed" : "failed");
  Reply reply{.status = passed ? 200 : 503,
              .content_type = kTextType,
              .body = passed && !verbose ? "ok\n" : report,
              .headers = std::string(kNoStore)};
  if (!passed) reply.headers += "Retry-After: 1\r\n";
  return reply;
}

}  // namespace keymill::api::http
