// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/service.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/http/index_page.h"
#include "api/http/keyspace_json.h"
#include "api/http/session.h"
#include "api/status_map.h"
#include "base/json.h"
#include "mint/recipe_words.h"

namespace keymill::api::http {
namespace {

constexpr std::size_t kDeferredMax = 4096;
constexpr std::size_t kPagesMax = 64;
constexpr std::size_t kMissingMax = 1024;
constexpr std::chrono::milliseconds kMissingFor{250};

Reply NoSuchCheck(std::string_view checks) {
  return Problem(404, "not-found", "No such check", fmt::format("checks: {}", checks));
}

Reply JsonReply(int status, std::string json) {
  json += '\n';
  return {.status = status,
          .content_type = kJsonType,
          .body = std::move(json),
          .headers = std::string(kNoStore)};
}

// Why nothing can be minted from `keyspace`, now or soon; OK when something can.
Status LastingVerdict(mint::Keyspace& keyspace) {
  Status verdict = keyspace.Verdict();
  if (verdict.code() == Code::kExhausted && keyspace.stats().ahead > 0) return {};
  const std::string_view fixed = PublicDetail(verdict.code());
  return fixed.empty() ? verdict : Status(verdict.code(), std::string(fixed));
}

}  // namespace

Service::Service(ServiceOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      request_timeout_(options_.request_timeout),
      worker_(kDeferredMax),
      pages_(kPagesMax) {}

net::SessionFactory Service::Sessions() {
  return
      [this](net::Waker waker) { return std::make_unique<HttpSession>(*this, std::move(waker)); };
}

std::shared_ptr<Service::Deferred> Service::Defer(Work work, net::Waker wake) {
  return Post(worker_, std::move(work), std::move(wake));
}

std::shared_ptr<Service::Deferred> Service::DeferPage(Work work, net::Waker wake) {
  return Post(pages_, std::move(work), std::move(wake));
}

std::shared_ptr<Service::Deferred> Service::Post(Worker& worker, Work work, net::Waker wake) {
  auto deferred = std::make_shared<Deferred>();
  const bool posted = worker.Post([this, deferred, work = std::move(work), wake = std::move(wake)] {
    if (deferred->abandoned.load(std::memory_order_relaxed)) return;
    work(*this, *deferred);
    deferred->done.store(true, std::memory_order_release);
    wake();
  });
  return posted ? deferred : nullptr;
}

Reply Service::NoEngine() {
  return StatusProblem({Code::kUnavailable, "the store has not been reached yet"});
}

Reply Service::KeyspaceNotFound(std::string_view name) {
  return StatusProblem(
      {Code::kNotFound, fmt::format("there is no keyspace \"{0}\". To create it: keymill keyspace "
                                    "create {0}, or PUT /v1/keyspaces/{0} with a recipe such as "
                                    "{{\"kind\":\"shuffled\",\"length\":7}}",
                                    name)});
}

bool Service::RecentlyMissing(const std::string& name) {
  const MonotonicTime now = clock_.Monotonic();
  const auto found = missing_.find(name);
  if (found == missing_.end()) return false;
  if (now < found->second) return true;
  missing_.erase(found);
  return false;
}

void Service::LookUp(const std::string& name, Deferred& deferred) {
  mint::Engine* const mill = engine();
  if (mill == nullptr) {
    deferred.reply = NoEngine();
    return;
  }
  if (mill->Find(name) == nullptr && RecentlyMissing(name)) {
    deferred.reply = KeyspaceNotFound(name);
    return;
  }
  Result<mint::Keyspace*> found = mill->Lookup(name);
  if (found.ok()) {
    deferred.keyspace = *found;
    return;
  }
  if (found.code() != Code::kNotFound) {
    deferred.reply = StatusProblem(found.status());
    return;
  }
  if (missing_.size() >= kMissingMax) missing_.clear();
  missing_[name] = clock_.Monotonic() + kMissingFor;
  deferred.reply = KeyspaceNotFound(name);
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
    json += KeyspaceJson(info);
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
  return JsonReply(200, KeyspaceJson(*info));
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
  Result<mint::KeyspaceInfo> info = mill->Describe(name);
  if (!info.ok()) return StatusProblem(info.status());
  if (info->record.state == KeyspaceState::kRetired) return KeyspaceRetired(name);
  if (!created.ok()) return StatusProblem(created.status());  // It has another recipe.
  Reply reply = JsonReply(created->fresh ? 201 : 200, KeyspaceJson(*info));
  if (created->fresh) reply.headers += fmt::format("Location: /v1/keyspaces/{}\r\n", name);
  return reply;
}

Reply Service::RetireKeyspace(const std::string& name) {
  mint::Engine* const mill = engine();
  if (mill == nullptr) return NoEngine();
  Status retired = mill->Retire(name);
  if (retired.code() == Code::kNotFound) return KeyspaceNotFound(name);
  if (!retired.ok()) return StatusProblem(retired);
  return ShowKeyspace(name);
}

Reply Service::Explain(const std::string& keyspace, const std::string& key) {
  mint::Engine* const mill = engine();
  if (mill == nullptr) return NoEngine();
  if (Result<mint::Keyspace*> found = mill->Lookup(keyspace); !found.ok()) {
    return found.code() == Code::kNotFound ? KeyspaceNotFound(keyspace)
                                           : StatusProblem(found.status());
  }
  Result<mint::Explanation> explanation = mill->Explain(keyspace, key);
  if (explanation.code() == Code::kNotFound) {
    return Problem(404, "key-not-found", "No such key", explanation.status().message());
  }
  if (!explanation.ok()) return StatusProblem(explanation.status());
  return JsonReply(200, ExplanationJson(*explanation, key));
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
  checks.push_back({"drain", draining_.load(std::memory_order_relaxed)
                                 ? Status(Code::kUnavailable, "draining")
                                 : Status()});
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
  if (verbose && only.empty()) report += TroubledKeyspaces();
  report += fmt::format("{} check {}\n", name, passed ? "passed" : "failed");
  Reply reply{.status = passed ? 200 : 503,
              .content_type = kTextType,
              .body = passed && !verbose ? "ok\n" : report,
              .headers = std::string(kNoStore)};
  if (!passed) reply.headers += "Retry-After: 1\r\n";
  return reply;
}

}  // namespace keymill::api::http
