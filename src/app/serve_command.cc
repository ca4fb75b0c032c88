// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill serve`: opens the store, listens, and stops when told to. A store that cannot be
// reached yet does not keep the server from starting: it answers 503 until it can.

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/http/reply.h"
#include "api/http/service.h"
#include "app/cli.h"
#include "app/commands.h"
#include "app/config/listen_address.h"
#include "app/output.h"
#include "base/log.h"
#include "net/server.h"

namespace keymill::app {
namespace {

constexpr std::chrono::milliseconds kOpenRetry{200};
constexpr int kFailureSignal = SIGUSR1;  // From ourselves: something failed for good.

// The signals that end the server, blocked in every thread and awaited in the main one.
sigset_t EndSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, kFailureSignal);
  return set;
}

// Every connection is a file; the soft limit is meant for programs that have few.
void RaiseFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) {
    Log(LogLevel::kInfo, "serve", "file limit raised from {} to {}", before, limit.rlim_max);
  }
}

Result<std::string> ResolveHost(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); code != 0) {
    return Status(Code::kFailedPrecondition,
                  fmt::format("listen on {}: {}", host, ::gai_strerror(code)));
  }
  std::array<char, NI_MAXHOST> text{};
  const int code = ::getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(),
                                 nullptr, 0, NI_NUMERICHOST);
  ::freeaddrinfo(found);
  if (code != 0) return Status(Code::kFailedPrecondition, fmt::format("listen on {}", host));
  return std::string(text.data());
}

std::string BusyAnswer() {
  std::string answer;
  api::http::AppendReply(
      answer, api::http::StatusProblem({Code::kOverloaded, "too many connections are open"}),
      {.keep_alive = false});
  return answer;
}

class ServeRun {
 public:
  ServeRun(Settings settings, std::string print_ports)
      : settings_(std::move(settings)),
        print_ports_(std::move(print_ports)),
        service_({.request_timeout = settings_.request_timeout,
                  .router = {.forge = Serves("forge")},
                  .version = std::string(Version())}) {}

  ~ServeRun() {
    stop_opening_ = true;
    if (opener_.joinable()) opener_.join();
  }
  ServeRun(const ServeRun&) = delete;
  ServeRun& operator=(const ServeRun&) = delete;

  int Run() {
    Status opened = OpenStore();
    if (!opened.ok() && opened.code() != Code::kUnavailable) return Fail(opened);
    if (Status listening = Listen(); !listening.ok()) {
      // A port that is taken is a failure of this start, not of the configuration.
      return Fail(listening.code() == Code::kAlreadyExists
                      ? listening
                      : Status(Code::kFailedPrecondition, listening.message()));
    }
    if (opened.ok()) {
      if (!AnnounceReady()) return kExitFailure;
    } else {
      Log(LogLevel::kWarn, "serve", "{}; trying again", opened.message());
      opener_ = std::thread([this] { KeepOpening(); });
    }
    return AwaitEnd();
  }

 private:
  bool Serves(std::string_view peer) const {
    return std::find(settings_.compat.begin(), settings_.compat.end(), peer) !=
           settings_.compat.end();
  }

  Status OpenStore() {
    mint::EngineOptions engine;
    engine.on_fatal = [this](const Status& why) { EndWith(why); };
    Result<embed::Opened> opened = OpenConfigured(settings_, std::move(engine));
    if (!opened.ok()) return opened.status();
    opened_ = *std::move(opened);
    for (const auto& [name, recipe] : settings_.keyspaces) {
      if (mint::Keyspace* const keyspace = opened_.engine->Find(name)) {
        opened_.engine->WarmUp(*keyspace);
      }
    }
    service_.SetEngine(opened_.engine.get());
    return {};
  }

  // From any thread: the main one ends the server with this failure.
  void EndWith(const Status& why) {
    {
      const MutexLock lock(mu_);
      if (failure_.ok()) failure_ = why;
    }
    ::kill(::getpid(), kFailureSignal);
  }

  void KeepOpening() {
    while (!stop_opening_) {
      std::this_thread::sleep_for(kOpenRetry);
      Status opened = OpenStore();
      if (opened.ok()) {
        if (!AnnounceReady()) EndWith({Code::kUnavailable, "cannot write the ports file"});
        return;
      }
      if (opened.code() != Code::kUnavailable) return EndWith(opened);
    }
  }

  Status Listen() {
    if (settings_.listen_http.empty()) {
      return {Code::kFailedPrecondition,
              "nothing to listen on: set listen.http, for example to 127.0.0.1:8080"};
    }
    Result<ListenAddress> address = ParseListenAddress(settings_.listen_http);
    if (!address.ok()) return address.status();
    Result<std::string> host = ResolveHost(address->host);
    if (!host.ok()) return host.status();
    net::ServerOptions options;
    options.address = *host;
    options.port = address->port;
    options.threads = settings_.threads != 0 ? settings_.threads
                                             : std::max(1U, std::thread::hardware_concurrency());
    options.connections_max = settings_.connections_max;
    options.busy_answer = BusyAnswer();
    Result<std::unique_ptr<net::Server>> server = net::Server::Start(options, service_.Sessions());
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    const bool v6 = host->find(':') != std::string::npos;
    base_url_ =
        fmt::format("http://{}{}{}:{}", v6 ? "[" : "", *host, v6 ? "]" : "", server_->port());
    return {};
  }

  bool AnnounceReady() {
    Say("keymill {}\n"
        "  store      {} ({})\n"
        "  http       {}\n"
        "  keyspaces  {}\n"
        "  try        curl {}/get-key\n",
        Version(), opened_.location, opened_.created ? "created" : "opened", base_url_,
        KeyspaceNames(), base_url_);
    if (settings_.store == "memory:") {
      Log(LogLevel::kWarn, "serve", "the store is in memory: keys will repeat after a restart");
    }
    return print_ports_.empty() || WritePorts();
  }

  std::string KeyspaceNames() const {
    std::string names;
    for (const auto& [name, recipe] : settings_.keyspaces) {
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", name, KindName(recipe.kind));
    }
    return names.empty() ? "none configured" : names;
  }

  // Whole or not at all: whoever waits for the file may read it as soon as it is there.
  bool WritePorts() const {
    const std::string fresh = print_ports_ + ".new";
    std::ofstream out(fresh, std::ios::trunc);
    out << fmt::format("{{\"http\":{}}}\n", server_->port());
    out.close();
    std::error_code error;
    if (out) std::filesystem::rename(fresh, print_ports_, error);
    if (out && !error) return true;
    Log(LogLevel::kError, "serve", "write {}: not possible", print_ports_);
    return false;
  }

  int AwaitEnd() {
    const sigset_t set = EndSignals();
    int signal = 0;
    while (sigwait(&set, &signal) != 0) {
    }
    Status failure;
    {
      const MutexLock lock(mu_);
      failure = failure_;
    }
    if (signal == kFailureSignal && failure.ok()) return AwaitEnd();  // Somebody else's.
    Log(LogLevel::kInfo, "serve", "stopping ({} connections)", server_->connections());
    // A second signal means now: what is held is burned, which is always safe.
    std::thread([set] {
      int second = 0;
      while (sigwait(&set, &second) != 0) {
      }
      Say("keymill: stopped at once\n");
      std::_Exit(kExitFailure);
    }).detach();
    Stop();
    return failure.ok() ? kExitOk : Fail(failure);
  }

  void Stop() {
    service_.SetDraining();
    const MonotonicTime deadline = SystemClock().Monotonic() + settings_.shutdown_timeout;
    std::this_thread::sleep_for(settings_.drain_delay);
    stop_opening_ = true;
    if (opener_.joinable()) opener_.join();
    const auto left = std::max(std::chrono::milliseconds(0),
                               std::chrono::duration_cast<std::chrono::milliseconds>(
                                   deadline - SystemClock().Monotonic()));
    if (!server_->Drain(left)) {
      Log(LogLevel::kWarn, "serve", "{} connections were cut off", server_->connections());
    }
    server_.reset();
    if (opened_.engine) {
      const std::uint64_t given_back = opened_.engine->Close();
      Log(LogLevel::kInfo, "serve", "stopped; {} unused numbers went back", given_back);
    }
  }

  const Settings settings_;
  const std::string print_ports_;
  embed::Opened opened_;
  api::http::Service service_;  // After the engine: its worker must end first.
  std::unique_ptr<net::Server> server_;
  std::string base_url_;
  std::atomic<bool> stop_opening_{false};
  std::thread opener_;
  Mutex mu_;
  Status failure_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace

int RunServe(const ServeFlags& flags) {
  Result<Config> config = ReadConfig(flags.common, /*read_dot_env=*/true);
  if (!config.ok()) return Fail(config.status());
  const sigset_t set = EndSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  RaiseFileLimit();
  return ServeRun(config->settings, flags.print_ports).Run();
}

}  // namespace keymill::app
