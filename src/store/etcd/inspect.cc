// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/inspect.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace keymill::store::etcd {
namespace {

using Json = nlohmann::json;

using Version = std::array<int, 3>;

// 3.4.23 of "3.4.23" and of "3.5.0-rc.1"; nothing of anything else.
std::optional<Version> ParseVersion(std::string_view text) {
  Version version{};
  for (std::size_t i = 0; i < version.size(); ++i) {
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), version.at(i));
    if (error != std::errc()) return {};
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (i + 1 == version.size()) break;
    if (!text.starts_with('.')) return {};
    text.remove_prefix(1);
  }
  return version;
}

// Whether a version lacks a fix that came in these releases, one of each line, oldest line first.
bool Lacks(const Version& version, std::initializer_list<Version> fixed) {
  for (const Version& fix : fixed) {
    if (version[0] == fix[0] && version[1] == fix[1]) return version < fix;
  }
  return version < *fixed.begin();
}

void JudgeVersion(const MemberFacts& member, std::size_t voters,
                  std::vector<StoreFinding>& findings) {
  const std::optional<Version> version = ParseVersion(member.version);
  if (!version) {
    findings.push_back({"version", false, fmt::format("{} does not tell its version", member.name),
                        "use etcd 3.4.42, 3.5.28, 3.6.9 or later"});
    return;
  }
  const auto add = [&](bool unsafe, std::string_view what, std::string_view fix) {
    findings.push_back({"version", unsafe,
                        fmt::format("{} is etcd {}: {}", member.name, member.version, what),
                        fmt::format("upgrade to etcd {} or later", fix)});
  };
  if (*version >= Version{3, 5, 0} && *version <= Version{3, 5, 2}) {
    add(true,
        "a member that crashes can go on with other data than the rest, and the same block is then "
        "granted twice",
        "3.5.28");
  }
  if (voters == 1 && Lacks(*version, {{3, 4, 21}, {3, 5, 5}})) {
    add(true,
        "without other members it acknowledges blocks before they are on its disk, and a crash "
        "loses them",
        "3.4.42 or 3.5.28");
  }
  if (Lacks(*version, {{3, 4, 42}, {3, 5, 28}, {3, 6, 9}})) {
    add(false,
        "a member that stood still for a while can answer with old data afterwards; "
        "blocks are safe, because every change is compared, but what is shown may be old",
        "3.4.42, 3.5.28 or 3.6.9");
  }
  if (*version >= Version{3, 5, 0} && *version < Version{3, 5, 14}) {
    add(false,
        "its revision can be lower after a crash, which looks like an older copy of the data: "
        "nothing is reserved then until every instance has compared what it has seen",
        "3.5.28");
  }
}

void JudgeFsync(const MemberFacts& member, const std::map<std::string, FsyncMark>& before,
                std::vector<StoreFinding>& findings) {
  if (!member.has_metrics) {
    findings.push_back(
        {"fsync", false,
         fmt::format("{} shows no metrics, so nobody can tell whether it writes to disk before it "
                     "answers",
                     member.name),
         fmt::format("let this host read http://{}/metrics, or see that etcd runs without "
                     "--unsafe-no-fsync",
                     member.name)});
    return;
  }
  const auto found = before.find(member.name);
  const bool flat = found != before.end() &&
                    member.started_at_seconds == found->second.started_at_seconds &&
                    member.raft_index > found->second.raft_index &&
                    member.fsync_count == found->second.fsync_count;
  // Nobody becomes leader without writing down its vote. A log that was just made was written to
  // disk twice before --unsafe-no-fsync counts, so then only writes by clients tell.
  constexpr std::uint64_t kFsyncsOfANewLog = 2;
  constexpr std::uint64_t kPutsMany = 10;
  const bool never = member.is_leader &&
                     (member.fsync_count == 0 ||
                      (member.fsync_count <= kFsyncsOfANewLog && member.put_count >= kPutsMany));
  if (!flat && !never) return;
  findings.push_back({"fsync", true,
                      fmt::format("{} does not call fsync: a power failure loses acknowledged "
                                  "blocks",
                                  member.name),
                      "start etcd without --unsafe-no-fsync"});
}

void JudgeSpace(const MemberFacts& member, std::vector<StoreFinding>& findings) {
  constexpr std::int64_t kRevisionsMany = 100'000;
  constexpr std::int64_t kRevisionsManySince = 1'000'000;
  if (member.quota_bytes > 0 && member.db_size_bytes / 4 > member.quota_bytes / 5) {
    findings.push_back(
        {"space", false,
         fmt::format("{} has filled {} of {} MiB of its quota; when it is full it takes no more "
                     "blocks",
                     member.name, member.db_size_bytes >> 20, member.quota_bytes >> 20),
         fmt::format("etcdctl --endpoints={0} compact {1} && etcdctl --endpoints={0} defrag; or "
                     "raise --quota-backend-bytes",
                     member.name, member.revision)});
  }
  if (member.has_metrics && member.revision > kRevisionsMany && member.compacted_revision <= 0) {
    findings.push_back(
        {"compaction", false,
         fmt::format(
             "{} keeps all {} revisions: nothing was ever compacted, and its database grows "
             "with every block",
             member.name, member.revision),
         "start etcd with --auto-compaction-mode=periodic --auto-compaction-retention=1h"});
  } else if (member.has_metrics &&
             member.revision - member.compacted_revision > kRevisionsManySince) {
    findings.push_back(
        {"compaction", false,
         fmt::format("{} keeps {} revisions since it was last compacted, and its database grows "
                     "with every block",
                     member.name, member.revision - member.compacted_revision),
         "start etcd with --auto-compaction-mode=periodic --auto-compaction-retention=1h"});
  }
}

// What frees a cluster that is full, by way of the first member that answered.
std::string MakeRoom(const ClusterFacts& facts) {
  if (facts.members.empty()) return "etcdctl compact, etcdctl defrag, then etcdctl alarm disarm";
  const MemberFacts& member = facts.members.front();
  return fmt::format(
      "etcdctl --endpoints={0} compact {1}; etcdctl --endpoints={0} defrag --cluster && "
      "etcdctl --endpoints={0} alarm disarm",
      member.name, member.revision);
}

void JudgeCluster(const ClusterFacts& facts, std::vector<StoreFinding>& findings) {
  for (const std::string& alarm : facts.alarms) {
    const bool corrupt = alarm == "CORRUPT";
    findings.push_back(
        {"alarm", corrupt,
         corrupt ? "the alarm CORRUPT is raised: members hold different data"
                 : fmt::format("the alarm {} is raised: the cluster takes no more blocks", alarm),
         corrupt ? "replace the member that differs: etcdctl endpoint hashkv --cluster, then "
                   "etcdctl member remove and member add"
                 : MakeRoom(facts)});
  }
  if (facts.voters > 0 && facts.voters < 3) {
    findings.push_back({"members", false,
                        fmt::format("the cluster has {} voting member{}: the loss of one stops it",
                                    facts.voters, facts.voters == 1 ? "" : "s"),
                        "grow it to three: etcdctl member add NAME --peer-urls=URL"});
  }
  for (const std::string& member : facts.unreachable) {
    findings.push_back({"member", false, fmt::format("a member does not answer: {}", member),
                        "start it, or take it out of the store's URL"});
  }
}

std::int64_t NumberOf(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) return 0;
  const auto& text = found->get_ref<const std::string&>();
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string TextOf(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// An object, whatever was read.
Json ObjectOf(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : Json::object();
}

Json ListOf(std::string_view text, const char* name) {
  Json json = ObjectOf(text);
  return json.contains(name) && json[name].is_array() ? json[name] : Json::array();
}

}  // namespace

std::vector<StoreFinding> Judge(const ClusterFacts& facts,
                                const std::map<std::string, FsyncMark>& before) {
  std::vector<StoreFinding> findings;
  JudgeCluster(facts, findings);
  for (const MemberFacts& member : facts.members) {
    JudgeVersion(member, facts.voters, findings);
    JudgeFsync(member, before, findings);
    JudgeSpace(member, findings);
    if (!member.has_leader) {
      findings.push_back(
          {"leader", false,
           fmt::format("{} knows no leader: it is cut off, or an election is on", member.name),
           fmt::format("etcdctl --endpoints={} endpoint status", member.name)});
    }
    if (member.is_learner) {
      findings.push_back({"learner", false,
                          fmt::format("{} is a learner, which serves nobody", member.name),
                          "etcdctl member promote ID; or take it out of the store's URL"});
    }
  }
  return findings;
}

void ReadStatus(std::string_view json, MemberFacts& facts) {
  const Json status = ObjectOf(json);
  facts.version = TextOf(status, "version");
  facts.db_size_bytes = NumberOf(status, "dbSize");
  facts.raft_index = static_cast<std::uint64_t>(NumberOf(status, "raftIndex"));
  facts.applied_index = static_cast<std::uint64_t>(NumberOf(status, "raftAppliedIndex"));
  const std::string leader = TextOf(status, "leader");
  facts.has_leader = !leader.empty() && leader != "0";
  const auto header = status.find("header");
  if (header != status.end() && header->is_object()) {
    facts.is_leader = facts.has_leader && leader == TextOf(*header, "member_id");
    facts.revision = NumberOf(*header, "revision");
  }
  const auto learner = status.find("isLearner");
  facts.is_learner = learner != status.end() && learner->is_boolean() && learner->get<bool>();
}

void ReadMetrics(std::string_view text, MemberFacts& facts) {
  // Prometheus writes large numbers as 2.147483648e+09.
  const auto read = [&](std::string_view name) -> std::optional<double> {
    for (std::size_t at = text.find(name); at != std::string_view::npos;
         at = text.find(name, at + 1)) {
      const bool begins = at == 0 || text[at - 1] == '\n';
      std::string_view rest = text.substr(at + name.size());
      if (!begins || !rest.starts_with(' ')) continue;
      rest.remove_prefix(1);
      double number = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
      if (error == std::errc()) return number;
    }
    return {};
  };
  const auto fsyncs = read("etcd_disk_wal_fsync_duration_seconds_count");
  facts.has_metrics = fsyncs.has_value();
  facts.fsync_count = static_cast<std::uint64_t>(fsyncs.value_or(0));
  facts.put_count = static_cast<std::uint64_t>(read("etcd_mvcc_put_total").value_or(0));
  facts.started_at_seconds = read("process_start_time_seconds").value_or(0);
  facts.quota_bytes =
      static_cast<std::int64_t>(read("etcd_server_quota_backend_bytes").value_or(0));
  // Where this is not told, nothing is said about compaction.
  facts.compacted_revision = static_cast<std::int64_t>(
      read("etcd_debugging_mvcc_compact_revision").value_or(static_cast<double>(facts.revision)));
}

Result<MemberFacts> Inspector::LookAt(std::size_t member, MonotonicTime deadline) {
  MemberFacts facts;
  facts.name = MemberText(client_.options().members[member]);
  Result<HttpAnswer> status = client_.AskMember(member, "/v3/maintenance/status", "{}", deadline);
  if (!status.ok()) return status.status();
  ReadStatus(status->body, facts);
  Result<HttpAnswer> metrics = client_.AskMember(member, "/metrics", "", deadline);
  if (metrics.ok()) ReadMetrics(metrics->body, facts);
  return facts;
}

void Inspector::LookAtCluster(std::size_t member, ClusterFacts& facts, MonotonicTime deadline) {
  Result<HttpAnswer> members = client_.AskMember(member, "/v3/cluster/member/list", "{}", deadline);
  if (members.ok()) {
    for (const Json& each : ListOf(members->body, "members")) {
      const bool learner = each.is_object() && each.value("isLearner", false);
      if (!learner) ++facts.voters;
    }
  }
  Result<HttpAnswer> alarms =
      client_.AskMember(member, "/v3/maintenance/alarm", R"({"action":"GET"})", deadline);
  if (!alarms.ok()) return;
  std::set<std::string> raised;
  for (const Json& each : ListOf(alarms->body, "alarms")) {
    if (each.is_object()) raised.insert(TextOf(each, "alarm"));
  }
  facts.alarms.assign(raised.begin(), raised.end());
}

Result<MemberFacts> Inspector::LookTwice(std::size_t member, MonotonicTime deadline) {
  Result<MemberFacts> first = LookAt(member, deadline);
  if (!first.ok() || !first->has_metrics) return first;
  {
    const MutexLock lock(mu_);
    const FsyncMark mark{first->raft_index, first->fsync_count, first->started_at_seconds};
    // Where there is one, what others have written since tells.
    if (!seen_.emplace(first->name, mark).second) return first;
  }
  // What can never come true changes nothing, and is written to the log of every member all the
  // same, because of what it would change. Who answers has it in its own.
  const std::string key = Base64(client_.options().prefix + "/probe");
  const std::string nothing = fmt::format(
      R"({{"compare":[{{"target":"CREATE","result":"LESS","key":"{0}","create_revision":"0"}}],)"
      R"("success":[{{"request_put":{{"key":"{0}","value":""}}}}]}})",
      key);
  // One that may not write, or is full, is judged by what it was seen to do.
  if (!client_.AskMember(member, "/v3/kv/txn", nothing, deadline).ok()) return first;
  Result<MemberFacts> second = LookAt(member, deadline);
  return second.ok() ? std::move(second) : std::move(first);
}

Result<std::vector<StoreFinding>> Inspector::Inspect(MonotonicTime deadline) {
  ClusterFacts facts;
  Status failed;
  for (std::size_t member = 0; member < client_.options().members.size(); ++member) {
    Result<MemberFacts> found = LookTwice(member, client_.ShareOf(deadline, member));
    // A token that has run out is replaced by the next question.
    if (found.code() == Code::kUnauthenticated) {
      found = LookTwice(member, client_.ShareOf(deadline, member));
    }
    if (!found.ok()) {
      failed = found.status();
      facts.unreachable.push_back(failed.message());
      continue;
    }
    if (facts.members.empty()) LookAtCluster(member, facts, client_.ShareOf(deadline, member));
    facts.members.push_back(*std::move(found));
  }
  if (facts.members.empty()) {
    const bool refused = failed.code() == Code::kFailedPrecondition;
    return Status(refused ? Code::kFailedPrecondition : Code::kUnavailable, failed.message());
  }
  const MutexLock lock(mu_);
  std::vector<StoreFinding> findings = Judge(facts, seen_);
  for (const MemberFacts& member : facts.members) {
    seen_[member.name] = {member.raft_index, member.fsync_count, member.started_at_seconds};
  }
  return findings;
}

}  // namespace keymill::store::etcd
