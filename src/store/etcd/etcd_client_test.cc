// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/etcd_client.h"

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/descriptor.h"
#include "base/mutex.h"

namespace keymill::store::etcd {
namespace {

using namespace std::chrono_literals;

// A member that says what a test wants: the body of each answer, with its status before it; "" to
// hang up instead, "-" to say nothing at all.
class FakeMember {
 public:
  using Says = std::function<std::string(const std::string& request)>;

  explicit FakeMember(Says says) : says_(std::move(says)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), generic, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    ::getsockname(listener_.get(), generic, &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~FakeMember() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  FakeMember(const FakeMember&) = delete;
  FakeMember& operator=(const FakeMember&) = delete;

  [[nodiscard]] HostPort place() const { return {"127.0.0.1", port_}; }

  std::vector<std::string> requests() {
    const MutexLock lock(mu_);
    return requests_;
  }

 private:
  void Run() {
    std::vector<Descriptor> silent;
    for (;;) {
      Descriptor peer(::accept(listener_.get(), nullptr, nullptr));
      if (!peer.open()) return;
      while (Answer(peer)) {
      }
      silent.push_back(std::move(peer));
      if (!keep_) silent.clear();
    }
  }

  // One request whole, and its answer; false when the connection is not to be used again.
  bool Answer(const Descriptor& peer) {
    std::string text;
    std::size_t wanted = std::string::npos;
    while (text.size() < wanted) {
      std::array<char, 4096> piece{};
      const ssize_t got = ::recv(peer.get(), piece.data(), piece.size(), 0);
      if (got <= 0) return false;
      text.append(piece.data(), static_cast<std::size_t>(got));
      const std::size_t head = text.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      const std::size_t length = text.find("Content-Length: ");
      wanted = head + 4;
      if (length < head) wanted += std::stoul(text.substr(length + 16));
    }
    {
      const MutexLock lock(mu_);
      requests_.push_back(text);
    }
    const std::string said = says_(text);
    keep_ = said == "-";
    if (said.empty() || keep_) return false;
    const std::string answer = fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n\r\n{}",
                                           said.substr(0, 3), said.size() - 3, said.substr(3));
    return ::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL) > 0;
  }

  const Says says_;
  const Descriptor listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
  bool keep_ = false;  // Of thread_ alone.
  Mutex mu_;
  std::vector<std::string> requests_ KEYMILL_GUARDED_BY(mu_);
  std::thread thread_;
};

std::string Reply(std::int64_t revision) {
  return fmt::format(
      R"(200{{"header":{{"cluster_id":"1","revision":"{}"}},"succeeded":true,"responses":)"
      R"([{{"response_range":{{}}}}]}})",
      revision);
}

FakeMember::Says Always(std::string said) {
  return [said](const std::string&) { return said; };
}

MonotonicTime In(std::chrono::milliseconds time) { return SystemClock().Monotonic() + time; }

EtcdClient Client(std::vector<HostPort> members, std::string user = "") {
  EtcdOptions options;
  options.members = std::move(members);
  options.user = std::move(user);
  options.password = "pw";
  return {std::move(options), nullptr, SystemClock()};
}

Transaction Write() { return {.ranges = {}, .unchanged = {{"k", 1}}, .writes = {{"k", "v"}}}; }

constexpr const char* kNoLeader = R"(503{"error":"etcdserver: no leader","code":14})";

TEST(EtcdClientTest, AReadGoesOnToTheMemberThatAnswers) {
  FakeMember cut_off(Always(kNoLeader));
  FakeMember hangs_up(Always(""));
  FakeMember mute(Always("-"));
  FakeMember good(Always(Reply(5)));
  EtcdClient client =
      Client({cut_off.place(), {"127.0.0.1", 1}, hangs_up.place(), mute.place(), good.place()});
  const auto reply = client.Read({{.key = "k"}}, In(2000ms));
  ASSERT_TRUE(reply.ok()) << reply.status().message();
  EXPECT_EQ(reply->header.revision, 5);
  ASSERT_TRUE(client.Read({{.key = "k"}}, In(2000ms)).ok());
  EXPECT_EQ(cut_off.requests().size(), 1U) << "the good one is remembered";
  EXPECT_EQ(good.requests().size(), 2U);
}

TEST(EtcdClientTest, AWriteWithoutAnAnswerIsUnknownAndNotSentAgain) {
  for (const char* said : {"", "-", R"(503{"error":"etcdserver: request timed out","code":14})"}) {
    FakeMember first(Always(said));
    FakeMember second(Always(Reply(5)));
    EtcdClient client = Client({first.place(), second.place()});
    EXPECT_EQ(client.Commit(Write(), In(300ms)).code(), Code::kUnknownOutcome) << said;
    EXPECT_EQ(first.requests().size(), 1U);
    EXPECT_TRUE(second.requests().empty());
  }
}

TEST(EtcdClientTest, AWriteThatWasRefusedIsSentToTheNext) {
  FakeMember cut_off(Always(kNoLeader));
  FakeMember good(Always(R"(200{"header":{"cluster_id":"1","revision":"5"}})"));
  EtcdClient client = Client({{"127.0.0.1", 1}, cut_off.place(), good.place()});
  const auto reply = client.Commit(Write(), In(2000ms));
  ASSERT_TRUE(reply.ok()) << reply.status().message();
  EXPECT_FALSE(reply->succeeded);
  EXPECT_EQ(good.requests().size(), 1U);
}

TEST(EtcdClientTest, NobodyThereIsSaidAtOnceAndNoLeaderAtTheDeadline) {
  EtcdClient nobody = Client({{"127.0.0.1", 1}, {"127.0.0.1", 2}});
  const MonotonicTime far = In(60'000ms);
  EXPECT_EQ(nobody.Commit(Write(), far).code(), Code::kUnavailable);
  EXPECT_LT(SystemClock().Monotonic(), far - 30'000ms);
  FakeMember cut_off(Always(kNoLeader));
  EtcdClient client = Client({cut_off.place()});
  EXPECT_EQ(client.Commit(Write(), In(200ms)).code(), Code::kUnavailable);
  EXPECT_GE(cut_off.requests().size(), 2U) << "an election ends soon";
}

// A member that lags behind is not believed while another one knows more.
TEST(EtcdClientTest, AnOldAnswerIsAskedAgainElsewhere) {
  FakeMember stale(Always(Reply(3)));
  std::int64_t revision = 9;
  FakeMember fresh([&](const std::string&) { return Reply(revision); });
  EtcdClient client = Client({fresh.place(), stale.place()});
  ASSERT_EQ(client.Read({{.key = "k"}}, In(2000ms))->header.revision, 9);
  revision = 8;  // Now both are behind what was seen: it was restored.
  const auto fallen = client.Read({{.key = "k"}}, In(2000ms));
  EXPECT_LT(fallen->header.revision, 9);
  EXPECT_EQ(fallen->header.falls, 1U);
  EXPECT_FALSE(stale.requests().empty());
}

TEST(EtcdClientTest, ATokenIsFetchedSentAndRenewed) {
  int tokens = 0;
  FakeMember member([&](const std::string& request) -> std::string {
    if (request.starts_with("POST /v3/auth/authenticate")) {
      return fmt::format(R"(200{{"token":"t{}"}})", ++tokens);
    }
    if (request.find("Authorization: t2\r\n") != std::string::npos) return Reply(5);
    return R"(401{"error":"etcdserver: invalid auth token","code":16})";
  });
  EtcdClient client = Client({member.place()}, "mill");
  const auto reply = client.Read({{.key = "k"}}, In(2000ms));
  EXPECT_TRUE(reply.ok()) << reply.status().message();
  EXPECT_EQ(tokens, 2);
}

TEST(EtcdClientTest, AWrongPasswordIsNotTriedAgain) {
  FakeMember member(Always(
      R"(400{"error":"etcdserver: authentication failed, invalid user ID or password","code":3})"));
  EtcdClient client = Client({member.place()}, "mill");
  EXPECT_EQ(client.Commit(Write(), In(2000ms)).code(), Code::kFailedPrecondition);
  EXPECT_EQ(member.requests().size(), 1U);
}

// Somebody took a right away, or a proxy lost its way: it may be given back while we serve.
TEST(EtcdClientTest, ARefusalAfterServiceIsAnOutage) {
  for (const char* refusal :
       {R"(403{"error":"etcdserver: permission denied","code":7})",
        R"(400{"error":"etcdserver: authentication failed, invalid user ID or password","code":3})",
        "404not found"}) {
    std::string said = refusal;
    FakeMember member([&](const std::string&) { return said; });
    EtcdClient client = Client({member.place()});
    EXPECT_EQ(client.Commit(Write(), In(2000ms)).code(), Code::kFailedPrecondition) << refusal;
    said = Reply(5);
    ASSERT_TRUE(client.Read({{.key = "k"}}, In(2000ms)).ok());
    said = refusal;
    EXPECT_EQ(client.Commit(Write(), In(2000ms)).code(), Code::kUnavailable) << refusal;
    EXPECT_EQ(client.Read({{.key = "k"}}, In(2000ms)).code(), Code::kUnavailable) << refusal;
    EXPECT_EQ(member.requests().size(), 4U) << "asked once each";
    said = Reply(6);
    EXPECT_TRUE(client.Read({{.key = "k"}}, In(2000ms)).ok());
  }
}

}  // namespace
}  // namespace keymill::store::etcd
