// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill serve`: opens the store, listens, and stops when told to. A store that cannot be
// reached yet does not keep the server from starting: it answers 503 until it can.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include "api/http/service.h"
#include "api/links/service.h"
#include "api/resp/service.h"
#include "app/banner.h"
#include "app/cli.h"
#include "app/commands.h"
#include "app/grpc_listener.h"
#include "app/listeners.h"
#include "app/log_level_switch.h"
#include "app/metrics_page.h"
#include "app/output.h"
#include "app/reload.h"
#include "app/signals.h"
#include "base/log.h"
#include "base/mutex.h"
#include "net/server.h"

namespace keymill::app {
namespace {

constexpr std::chrono::milliseconds kOpenRetry{200};
// A store that does not answer for this long does not keep the listener waiting any more.
constexpr std::chrono::seconds kListenAnyway{3};
constexpr std::chrono::seconds kSayAgain{10};
// A stop waits this long for an attempt to open the store; one that ends later hangs.
constexpr std::chrono::seconds kOpenGrace{3};
// However long the connections took, there is time to give numbers back.
constexpr std::chrono::seconds kGiveBackGrace{5};
constexpr std::string_view kForge = "forge";

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

bool MayPass(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded ||
         code == Code::kUnknownOutcome;
}

std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Whole or not at all: whoever waits for the file may read it as soon as it is there.
Status WriteWhole(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const auto failed = [&](int error) {
    return Status(Code::kUnavailable,
                  fmt::format("write {}: {}", path, std::generic_category().message(error)));
  };
  std::FILE* const file = std::fopen(fresh.c_str(), "we");
  if (file == nullptr) return failed(errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) != 0) return failed(errno);
  if (!written) return failed(error);
  std::error_code renamed;
  std::filesystem::rename(fresh, path, renamed);
  return renamed ? failed(renamed.value()) : Status();
}

class ServeRun {
 public:
  ServeRun(Config config, ServeFlags flags)
      : resp_by_default_(RespByDefault(config)),
        settings_(std::move(config.settings)),
        file_(std::move(config.file)),
        flags_(std::move(flags)),
        backend_(settings_.request_timeout),
        links_({.keyspace = settings_.links_keyspace, .public_url = settings_.links_public_url}),
        service_({.router = {.forge = Serves(kForge),
                             .generate_id = Serves("generate-id"),
                             .leaf = Serves("leaf"),
                             .tinyid = Serves("tinyid")},
                  .version = std::string(Version()),
                  .pod_name = FromEnvironment("POD_NAME"),
                  .pod_uid = FromEnvironment("POD_UID"),
                  .node_name = FromEnvironment("NODE_NAME"),
                  .address = settings_.listen_http,
                  .links = &links_,
                  .metrics_page = [this] { return RenderMetrics(); }},
                 backend_),
        resp_({.version = std::string(Version())}, backend_),
        link_service_({.homepage = settings_.links_homepage}, backend_, links_) {}

  ~ServeRun() {
    RequestStop();
    if (opener_.joinable()) opener_.join();
  }
  ServeRun(const ServeRun&) = delete;
  ServeRun& operator=(const ServeRun&) = delete;

  // From any thread: Run ends cleanly.
  void RequestStop() {
    const MutexLock lock(mu_);
    news_.stop = true;
    Publish();
  }

  // From any thread: the configuration is read again, as soon as the store is open.
  void RequestReload() {
    const MutexLock lock(mu_);
    reload_ = true;
    bell_.NotifyAll();
  }

  // From any thread: logs more, or as configured again.
  void ChangeLogLevel() {
    const LogLevel level = log_level_.Flip();
    SetLogLevel(std::min(LogLevel::kInfo, level));  // Or nobody would see it.
    Log(LogLevel::kInfo, "serve", "log level {} now (SIGUSR2)", LogLevelName(level));
    SetLogLevel(level);
  }

  int Run() {
    ConfigureLogLevel();
    if (Status loaded = grpc_.Load(settings_.listen_grpc); !loaded.ok()) return Fail(loaded);
    opener_ = std::thread([this] { KeepOpening(); });
    // Nobody can connect before a store that answers at once is open.
    News news = AwaitNews(SystemClock().Monotonic() + kListenAnyway);
    if (!news.stop && news.failure.ok()) {
      if (Status listening = Listen(); !listening.ok()) Fatal(listening);
      news = ServeUntilEnd();
    }
    const int code = news.failure.ok() ? kExitOk : Fail(news.failure);
    Stop(code);
    return code;
  }

 private:
  // What the main thread waits for.
  struct News {
    bool stop = false;    // Somebody asked for a clean stop.
    bool open = false;    // The store is open: `opened_` may be read.
    Status failure = {};  // Ends the server.
    Status waiting = {};  // Why the store is not open yet.
  };

  void Publish() KEYMILL_REQUIRES(mu_) {
    changed_ = true;
    bell_.NotifyAll();
  }

  // The news, when there are any, or at `deadline`.
  News AwaitNews(MonotonicTime deadline) {
    const MutexLock lock(mu_);
    while (!changed_ && bell_.WaitUntil(mu_, deadline)) {
    }
    changed_ = false;
    return news_;
  }

  // From any thread: the main one ends the server with this failure.
  void Fatal(const Status& why) {
    const MutexLock lock(mu_);
    if (news_.failure.ok()) news_.failure = why;
    Publish();
  }

  News ServeUntilEnd() {
    bool announced = false;
    MonotonicTime say_at;
    while (true) {
      const MonotonicTime now = SystemClock().Monotonic();
      News news = AwaitNews(now);
      if (news.stop || !news.failure.ok()) return news;
      if (news.open && !announced) {
        announced = true;
        if (Status said = AnnounceReady(); !said.ok()) Fatal(said);
      } else if (!news.open && now >= say_at) {
        say_at = now + kSayAgain;
        Log(LogLevel::kWarn, "serve", "{}; trying again, {} answers 503 meanwhile",
            news.waiting.ok() ? "the store does not answer" : news.waiting.message(), BaseUrl());
      }
      if (AwaitChange(announced ? now + std::chrono::hours(1) : say_at) && announced) Reload();
    }
  }

  // Whether a reload is what changed.
  bool AwaitChange(MonotonicTime deadline) {
    const MutexLock lock(mu_);
    while (!changed_ && !(reload_ && news_.open) && bell_.WaitUntil(mu_, deadline)) {
    }
    return !changed_ && news_.open && std::exchange(reload_, false);
  }

  // All that is wrong with the new configuration is found before any of it takes effect.
  void Reload() {
    const Result<Config> fresh = LoadServeConfig(flags_.common);
    if (!fresh.ok()) return KeepAsItWas(fresh.status());
    if (fresh->file.empty() && !file_.empty()) {
      return KeepAsItWas({Code::kNotFound, fmt::format("{} is gone", file_)});
    }
    const Settings& wanted = fresh->settings;
    const app::Reload reload = CompareSettings(settings_, wanted);
    for (const std::string& name : reload.keyspaces_gained) {
      if (StopAsked()) return;
      Status possible = opened_.engine->CheckCreate(name, wanted.keyspaces.at(name));
      if (!possible.ok()) return KeepAsItWas(possible);
    }
    // What fails from here on is the store's doing. A keyspace that is made stays made.
    for (const std::string& name : reload.keyspaces_gained) {
      if (StopAsked()) return;
      Result<mint::Engine::Created> created =
          opened_.engine->Create(name, wanted.keyspaces.at(name));
      if (!created.ok()) return KeepAsItWas(created.status());
      opened_.engine->WarmUp(*created->keyspace);
    }
    SetLogLevel(std::min(Level(settings_), Level(wanted)));  // Whoever sees either, sees this.
    TellReload(fresh->file, reload);
    AdoptReloaded(wanted, settings_);
    opened_.engine->SetRefill(ConfiguredRefill(settings_));
    backend_.SetRequestTimeout(settings_.request_timeout);
    ConfigureLogLevel();
  }

  bool StopAsked() {
    const MutexLock lock(mu_);
    return news_.stop;
  }

  static void KeepAsItWas(const Status& why) {
    Log(LogLevel::kError, "serve", "not reloaded, everything stays as it was: {}", why.message());
  }

  static void TellReload(const std::string& file, const app::Reload& reload) {
    const auto tell = [](LogLevel level, std::string_view what,
                         const std::vector<std::string>& list) {
      if (!list.empty()) Log(level, "serve", "{}: {}", what, fmt::join(list, ", "));
    };
    Log(LogLevel::kInfo, "serve", "read {} again{}", file.empty() ? "the configuration" : file,
        reload.empty() ? ": nothing changed" : "");
    tell(LogLevel::kInfo, "changed", reload.now);
    tell(LogLevel::kInfo, "new keyspaces", reload.keyspaces_gained);
    tell(LogLevel::kWarn, "changed in the configuration, but needs a restart", reload.at_restart);
    tell(LogLevel::kWarn,
         "no longer in the configuration, but served until `keymill keyspace retire` ends them",
         reload.keyspaces_dropped);
  }

  static LogLevel Level(const Settings& settings) {
    const Result<LogLevel> level = ParseLogLevel(settings.log_level);
    return level.ok() ? *level : LogLevel::kInfo;
  }

  void ConfigureLogLevel() { log_level_.Configure(Level(settings_)); }

  std::string RenderMetrics() {
    const MutexLock lock(serving_mu_);
    return MetricsPage(service_, resp_, grpc_, link_service_, serving_);
  }

  void SetServing(const Listening* listening) {
    const MutexLock lock(serving_mu_);
    serving_ = listening;
  }

  bool Serves(std::string_view peer) const {
    return std::find(settings_.compat.begin(), settings_.compat.end(), peer) !=
           settings_.compat.end();
  }

  Status OpenStore() {
    mint::EngineOptions engine;
    engine.on_fatal = [this](const Status& why) { Fatal(why); };
    Result<embed::Opened> opened = OpenConfigured(settings_, std::move(engine));
    if (!opened.ok()) return opened.status();
    opened_ = *std::move(opened);
    for (const auto& [name, recipe] : settings_.keyspaces) {
      if (mint::Keyspace* const keyspace = opened_.engine->Find(name)) {
        opened_.engine->WarmUp(*keyspace);
      }
    }
    backend_.SetEngine(opened_.engine.get());
    links_.SetEngine(opened_.engine.get());
    return {};
  }

  // The opener's thread.
  void KeepOpening() {
    while (true) {
      const Status opened = OpenStore();
      const MutexLock lock(mu_);
      news_.open = opened.ok();
      news_.waiting = opened;
      const bool again = !opened.ok() && MayPass(opened.code());
      if (!opened.ok() && !again && news_.failure.ok()) news_.failure = opened;
      Publish();
      const MonotonicTime retry_at = SystemClock().Monotonic() + kOpenRetry;
      while (again && !news_.stop && news_.failure.ok() && bell_.WaitUntil(mu_, retry_at)) {
      }
      if (again && !news_.stop && news_.failure.ok()) continue;
      opener_ended_ = true;
      Publish();
      return;
    }
  }

  Status Listen() {
    Result<Listening> opened = OpenListeners(
        settings_, resp_by_default_, {.http = service_, .resp = resp_, .links = link_service_});
    if (!opened.ok()) return opened.status();
    if (Status grpc = grpc_.Listen(settings_.listen_grpc); !grpc.ok()) return grpc;
    listening_ = *std::move(opened);
    SetServing(&*listening_);
    return {};
  }

  // Where to find the server, for messages.
  std::string_view BaseUrl() const {
    if (listening_->listeners.empty()) return grpc_.address();
    return listening_->listeners[0].url;
  }

  // Those that are configured, and those that were created otherwise.
  std::map<std::string, Recipe> OpenKeyspaces() const {
    std::map<std::string, Recipe> keyspaces = settings_.keyspaces;
    if (opened_.created) return keyspaces;
    const Result<std::vector<mint::KeyspaceInfo>> stored = opened_.engine->List();
    if (!stored.ok()) return keyspaces;  // It is only for the banner.
    for (const mint::KeyspaceInfo& info : *stored) {
      if (info.record.state != KeyspaceState::kOpen) continue;
      keyspaces.emplace(info.record.name, info.recipe);
    }
    return keyspaces;
  }

  Status AnnounceReady() const {
    const std::map<std::string, Recipe> keyspaces = OpenKeyspaces();
    const Banner banner{.version = Version(),
                        .store = opened_.location,
                        .created = opened_.created,
                        .url = listening_->UrlOf("http"),
                        .resp = listening_->UrlOf("resp"),
                        .grpc = grpc_.address(),
                        .links = listening_->UrlOf("links"),
                        .keyspaces = keyspaces,
                        .get_key = Serves(kForge)};
    if (LogIsJson()) {
      Log(LogLevel::kInfo, "serve", "{}", BannerLine(banner));
    } else {
      WriteMessage(BannerText(banner));
    }
    if (flags_.print_ports.empty()) return {};
    return WriteWhole(flags_.print_ports, listening_->PortsJson(grpc_.port()) + "\n");
  }

  // Ends the process with `code` when the store hangs in the middle of being opened: nothing
  // was handed out, and no thread can be made to leave a system call.
  void JoinOpener(int code) {
    {
      const MutexLock lock(mu_);
      const MonotonicTime deadline = SystemClock().Monotonic() + kOpenGrace;
      news_.stop = true;
      Publish();
      while (!opener_ended_ && bell_.WaitUntil(mu_, deadline)) {
      }
      if (!opener_ended_) {
        Log(LogLevel::kWarn, "serve", "stopped while the store was being opened");
        std::_Exit(code);
      }
    }
    opener_.join();
  }

  void Stop(int code) {
    backend_.SetDraining();
    const MonotonicTime deadline = SystemClock().Monotonic() + settings_.shutdown_timeout;
    const bool listened = listening_.has_value();
    if (listened) {
      net::Server& server = *listening_->server;
      const std::size_t open = server.connections();
      Log(LogLevel::kInfo, "serve", "stopping ({} {})", open,
          open == 1 ? "connection" : "connections");
      std::this_thread::sleep_for(settings_.drain_delay);
      const auto left = std::max(std::chrono::milliseconds(0),
                                 std::chrono::duration_cast<std::chrono::milliseconds>(
                                     deadline - SystemClock().Monotonic()));
      grpc_.BeginStop(deadline);
      if (!server.Drain(left)) {
        Log(LogLevel::kWarn, "serve", "{} connections were cut off", server.connections());
      }
      SetServing(nullptr);
      listening_.reset();
      grpc_.AwaitStop();
    }
    JoinOpener(code);
    links_.Stop();
    if (opened_.engine) {
      const std::uint64_t given_back =
          opened_.engine->Close(std::max(deadline, SystemClock().Monotonic() + kGiveBackGrace));
      // One that never listened has said why; that it also took numbers is nobody's concern.
      Log(listened ? LogLevel::kInfo : LogLevel::kDebug, "serve",
          "stopped; {} unused numbers went back to the store", given_back);
    }
  }

  const bool resp_by_default_;
  Settings settings_;       // The main thread's, and changes only once the opener is done.
  const std::string file_;  // The configuration's; "" without one.
  const ServeFlags flags_;
  LogLevelSwitch log_level_;
  embed::Opened opened_;  // The opener's until there is news of it.
  // listening_ for whoever writes /metrics, who keeps it from ending meanwhile.
  Mutex serving_mu_;
  const Listening* serving_ KEYMILL_GUARDED_BY(serving_mu_) = nullptr;
  api::Backend backend_;
  GrpcListener grpc_{backend_};
  links::LinkBook links_;
  api::http::Service service_;  // After all that the backend uses: it stops that one first.
  api::resp::RespService resp_;
  api::links::LinkService link_service_;
  std::optional<Listening> listening_;
  std::thread opener_;

  Mutex mu_;
  CondVar bell_;
  News news_ KEYMILL_GUARDED_BY(mu_);
  bool changed_ KEYMILL_GUARDED_BY(mu_) = false;  // Since the main thread looked.
  bool reload_ KEYMILL_GUARDED_BY(mu_) = false;   // Asked for and not yet begun.
  bool opener_ended_ KEYMILL_GUARDED_BY(mu_) = false;
};

}  // namespace

int RunServe(const ServeFlags& flags) {
  Signals::Block();  // First: one that arrives during the start waits until it can be heeded.
  Result<Config> config = ReadConfig(flags.common, /*serving=*/true);
  if (!config.ok()) return Fail(config.status());
  // Before the store is opened, which takes numbers and a worker id from it.
  if (Status listening = CheckListening(*config); !listening.ok()) return Fail(listening);
  std::signal(SIGPIPE, SIG_IGN);
  RaiseFileLimit();
  ServeRun run(*std::move(config), flags);
  const Signals signals({.stop = [&run] { run.RequestStop(); },
                         .reload = [&run] { run.RequestReload(); },
                         .change_log_level = [&run] { run.ChangeLogLevel(); }});
  return run.Run();
}

}  // namespace keymill::app
