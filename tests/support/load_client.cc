// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// An HTTP load client for the tests: many keep-alive connections, one request at a time on
// each, and every key of a complete 200 answer on record. It shares no code with the server,
// so that a mistake there cannot hide itself here.
//
// A request whose answer did not arrive whole is `unknown`: its key may be out, but nobody
// was told, so it is not on record. With --rate, latency counts from the time at which a
// request was due, so that a server that stalls cannot slow the clock down with the client.

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using SteadyClock = std::chrono::steady_clock;
using Time = SteadyClock::time_point;
using Seconds = std::chrono::duration<double>;

// By SIGTERM, as if the duration were over. Atomic: a handler may set what is lock-free.
std::atomic<bool> told_to_end{false};

constexpr std::chrono::milliseconds kReconnectPause{25};
constexpr std::chrono::seconds kLastAnswers{10};  // How long the end waits for answers.
constexpr std::size_t kKeysFlush = 1 << 16;
constexpr std::size_t kReadSize = 16 * 1024;

struct Options {
  std::vector<sockaddr_in> servers;
  std::string path = "/get-key";
  std::string method = "GET";
  std::string keys_out;
  std::uint64_t connections = 64;
  std::uint64_t requests = 0;  // 0: until the duration is over.
  std::uint64_t threads = 1;
  double rate = 0;      // Requests per second over all; 0: as fast as answers come.
  double duration = 0;  // Seconds; 0: until all requests are answered.
  bool reconnect = false;
};

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "load_client: %s\n", message.c_str());
  std::exit(2);
}

// Keys from all threads, whole lines at a time.
class KeyFile {
 public:
  explicit KeyFile(const std::string& path) {
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), "wb");
    if (file_ == nullptr) Die("cannot write " + path);
  }
  ~KeyFile() {
    if (file_ != nullptr && std::fclose(file_) != 0) Die("cannot write the keys");
  }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;

  void Append(std::string& lines) {
    if (file_ != nullptr) {
      const std::lock_guard lock(mu_);
      if (std::fwrite(lines.data(), 1, lines.size(), file_) != lines.size()) {
        Die("cannot write the keys");
      }
    }
    lines.clear();
  }

 private:
  std::mutex mu_;
  std::FILE* file_ = nullptr;
};

struct Totals {
  std::uint64_t requests = 0;
  std::uint64_t ok = 0;
  std::uint64_t keys = 0;
  std::uint64_t unknown = 0;
  std::uint64_t reconnects = 0;
  std::map<std::string, std::uint64_t> failures;
  std::vector<std::uint32_t> latency_us;
};

// What all threads share.
struct Run {
  const Options& options;
  KeyFile& keys;
  Time start;
  std::atomic<std::uint64_t> sent{0};
};

// One answer at the beginning of `input`, or nothing yet.
struct Answer {
  int status = 0;
  std::string_view body;
  std::size_t size = 0;
  bool close = false;
};

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Throws std::runtime_error for what is no HTTP answer with a Content-Length.
std::optional<Answer> ParseAnswer(std::string_view input) {
  const std::size_t head_end = input.find("\r\n\r\n");
  if (head_end == std::string_view::npos) return {};
  if (!input.starts_with("HTTP/1.1 ") || input.size() < 12) throw std::runtime_error("malformed");
  Answer answer;
  std::from_chars(input.data() + 9, input.data() + 12, answer.status);
  std::optional<std::size_t> length;
  std::string_view head = input.substr(0, head_end + 2);
  head.remove_prefix(head.find("\r\n") + 2);
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(line.size() + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) throw std::runtime_error("malformed");
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    // The two names that matter are told by length first: this runs for every header.
    if (colon == 14 && LowerCase(line.substr(0, colon)) == "content-length") {
      std::size_t number = 0;
      std::from_chars(value.data(), value.data() + value.size(), number);
      length = number;
    } else if (colon == 10 && LowerCase(line.substr(0, colon)) == "connection") {
      answer.close = LowerCase(value) == "close";
    }
  }
  if (!length) throw std::runtime_error("malformed");
  answer.size = head_end + 4 + *length;
  if (input.size() < answer.size) return {};
  answer.body = input.substr(head_end + 4, *length);
  return answer;
}

struct Connection {
  enum class State : std::uint8_t { kClosed, kConnecting, kIdle, kWaiting };
  int fd = -1;
  State state = State::kClosed;
  const sockaddr_in* server = nullptr;
  Time due;           // Of the request that waits for its answer.
  std::string input;  // The beginning of an answer.
};

// One thread with its share of the connections and of the rate.
class Worker {
 public:
  Worker(Run& run, std::uint64_t index)
      : run_(run), epoll_(::epoll_create1(EPOLL_CLOEXEC)), buffer_(kReadSize) {
    const Options& options = run.options;
    if (epoll_ < 0) Die("epoll_create1 failed");
    request_ = options.method + " " + options.path + " HTTP/1.1\r\nHost: test\r\n";
    if (options.method != "GET") request_ += "Content-Length: 0\r\nAccept: text/plain\r\n";
    request_ += "\r\n";
    for (std::uint64_t i = index; i < options.connections; i += options.threads) {
      auto connection = std::make_unique<Connection>();
      connection->server = &options.servers[i % options.servers.size()];
      connections_.push_back(std::move(connection));
    }
    if (options.rate > 0) {
      interval_ = Seconds(static_cast<double>(options.threads) / options.rate);
      next_due_ = run.start + Elapsed(static_cast<double>(index) / options.rate);
    }
    if (options.duration > 0) end_ = run.start + Elapsed(options.duration);
  }
  ~Worker() {
    for (const auto& connection : connections_) {
      if (connection->fd >= 0) ::close(connection->fd);
    }
    ::close(epoll_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void Work() {
    for (const auto& connection : connections_) Open(*connection);
    std::vector<epoll_event> events(1024);
    for (;;) {
      const Time now = SteadyClock::now();
      if (told_to_end.load(std::memory_order_relaxed) || (end_ && now >= *end_)) stopping_ = true;
      Reopen(now);
      SendDue(now);
      if (Finished(now)) break;
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                     Timeout(SteadyClock::now()));
      for (int i = 0; i < count; ++i) {
        OnEvent(*static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr),
                events[static_cast<std::size_t>(i)].events);
      }
    }
    for (const auto& connection : connections_) {
      if (connection->state == Connection::State::kWaiting) ++totals_.unknown;
    }
    run_.keys.Append(lines_);
  }

  Totals& totals() { return totals_; }

 private:
  using State = Connection::State;

  static SteadyClock::duration Elapsed(double seconds) {
    return std::chrono::duration_cast<SteadyClock::duration>(Seconds(seconds));
  }

  bool Finished(Time now) {
    if (!stopping_) return false;
    if (waiting_ == 0) return true;
    if (!give_up_) give_up_ = now + kLastAnswers;
    return now >= *give_up_;
  }

  int Timeout(Time now) const {
    Time next = now + std::chrono::milliseconds(200);
    if (!stopping_ && end_) next = std::min(next, *end_);
    if (!stopping_ && interval_ && !idle_.empty()) next = std::min(next, next_due_);
    if (!closed_.empty()) next = std::min(next, closed_.front().first);
    if (next <= now) return 0;
    return static_cast<int>(
        std::chrono::duration_cast<std::chrono::milliseconds>(next - now).count() + 1);
  }

  void Watch(Connection& connection, int operation, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.ptr = &connection;
    if (::epoll_ctl(epoll_, operation, connection.fd, &event) != 0) Die("epoll_ctl failed");
  }

  void Open(Connection& connection) {
    connection.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connection.fd < 0) Die("socket: " + std::string(std::strerror(errno)));
    const int one = 1;
    ::setsockopt(connection.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connection.input.clear();
    connection.state = State::kConnecting;
    const auto* const address = reinterpret_cast<const sockaddr*>(connection.server);
    if (::connect(connection.fd, address, sizeof(sockaddr_in)) != 0 && errno != EINPROGRESS) {
      return Lose(connection, "connect");
    }
    Watch(connection, EPOLL_CTL_ADD, EPOLLOUT);
  }

  void Reopen(Time now) {
    while (!closed_.empty() && closed_.front().first <= now) {
      Connection& connection = *closed_.front().second;
      closed_.pop_front();
      if (!stopping_) Open(connection);
    }
  }

  // The connection is gone. A request on it has no answer: known as a failure unless losses
  // are expected here.
  void Lose(Connection& connection, const char* why) {
    const State before = connection.state;
    Shut(connection);
    if (before == State::kWaiting) {
      --waiting_;
      if (run_.options.reconnect) {
        ++totals_.unknown;
      } else {
        ++totals_.failures["connection lost"];
      }
    } else if (before == State::kConnecting && !run_.options.reconnect) {
      ++totals_.failures[why];
      if (++connect_failures_ > 1000) stopping_ = true;
    }
    if (before == State::kIdle) std::erase(idle_, &connection);
    ++totals_.reconnects;
    closed_.emplace_back(SteadyClock::now() + kReconnectPause, &connection);
  }

  static void Shut(Connection& connection) {
    if (connection.fd >= 0) ::close(connection.fd);
    connection.fd = -1;
    connection.state = State::kClosed;
  }

  void OnEvent(Connection& connection, std::uint32_t events) {
    if (connection.state == State::kConnecting) {
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(connection.fd, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0 || (events & EPOLLERR) != 0) return Lose(connection, "connect");
      Watch(connection, EPOLL_CTL_MOD, EPOLLIN);
      return Ready(connection);
    }
    if (connection.state != State::kClosed) OnReadable(connection);
  }

  void OnReadable(Connection& connection) {
    const ssize_t got = ::recv(connection.fd, buffer_.data(), buffer_.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return Lose(connection, "connection lost");
    const std::string_view fresh(buffer_.data(), static_cast<std::size_t>(got));
    if (connection.state != State::kWaiting) {
      ++totals_.failures["unasked"];  // Bytes that nobody asked for.
      return Lose(connection, "unasked");
    }
    std::string_view input = fresh;
    if (!connection.input.empty()) {
      connection.input.append(fresh);
      input = connection.input;
    }
    try {
      const std::optional<Answer> answer = ParseAnswer(input);
      if (!answer) {
        if (connection.input.empty()) connection.input.assign(fresh);
        return;
      }
      if (answer->size != input.size()) throw std::runtime_error("unasked");
      Record(connection, *answer);
      connection.input.clear();
      --waiting_;
      connection.state = State::kIdle;
      if (answer->close) {
        Shut(connection);
        closed_.emplace_back(SteadyClock::now() + kReconnectPause, &connection);
        return;
      }
      Ready(connection);
    } catch (const std::runtime_error& error) {
      ++totals_.failures[error.what()];
      --waiting_;
      connection.state = State::kClosed;
      Lose(connection, error.what());
    }
  }

  void Record(const Connection& connection, const Answer& answer) {
    const auto latency = SteadyClock::now() - connection.due;
    totals_.latency_us.push_back(static_cast<std::uint32_t>(std::min<std::int64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(latency).count(), 0xffffffff)));
    if (answer.status != 200) {
      ++totals_.failures[std::to_string(answer.status)];
      return;
    }
    ++totals_.ok;
    lines_.append(answer.body);
    if (!answer.body.ends_with('\n')) lines_.push_back('\n');
    totals_.keys += static_cast<std::uint64_t>(
        std::max<std::ptrdiff_t>(1, std::count(answer.body.begin(), answer.body.end(), '\n')));
    if (lines_.size() >= kKeysFlush) run_.keys.Append(lines_);
  }

  // The connection can take a request: at once, or when the next one is due.
  void Ready(Connection& connection) {
    connection.state = State::kIdle;
    if (!interval_) {
      const Time now = SteadyClock::now();
      if (told_to_end.load(std::memory_order_relaxed) || (end_ && now >= *end_)) stopping_ = true;
      if (!stopping_ && TakeTurn()) return Send(connection, now);
    }
    idle_.push_back(&connection);
  }

  // Whether one more request may be sent.
  bool TakeTurn() {
    const std::uint64_t most = run_.options.requests;
    if (most == 0) return true;
    if (run_.sent.fetch_add(1, std::memory_order_relaxed) < most) return true;
    stopping_ = true;
    return false;
  }

  void SendDue(Time now) {
    if (stopping_ || !interval_) return;
    while (!idle_.empty() && next_due_ <= now) {
      if (!TakeTurn()) return;
      Connection& connection = *idle_.front();
      idle_.pop_front();
      const Time due = next_due_;
      next_due_ += std::chrono::duration_cast<SteadyClock::duration>(*interval_);
      Send(connection, due);
    }
  }

  void Send(Connection& connection, Time due) {
    connection.due = due;
    connection.state = State::kWaiting;
    ++waiting_;
    ++totals_.requests;
    const ssize_t sent = ::send(connection.fd, request_.data(), request_.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(request_.size())) Lose(connection, "connection lost");
  }

  Run& run_;
  const int epoll_;
  std::string request_;
  std::vector<char> buffer_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::deque<Connection*> idle_;
  std::deque<std::pair<Time, Connection*>> closed_;  // When to open again; in that order.
  std::optional<Seconds> interval_;
  Time next_due_;
  std::optional<Time> end_;
  std::optional<Time> give_up_;
  std::string lines_;
  std::uint64_t waiting_ = 0;
  std::uint64_t connect_failures_ = 0;
  bool stopping_ = false;
  Totals totals_;
};

sockaddr_in ParseServer(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const std::string host = text.substr(0, colon == std::string::npos ? 0 : colon);
  const int port = colon == std::string::npos ? 0 : std::atoi(text.c_str() + colon + 1);
  if (port < 1 || port > 65535 ||
      ::inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host.c_str(), &address.sin_addr) !=
          1) {
    Die("--urls: \"" + text + "\" is not ADDRESS:PORT");
  }
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--reconnect") {
      options.reconnect = true;
      continue;
    }
    if (++i >= argc) Die(flag + " needs a value");
    const std::string value = argv[i];
    if (flag == "--urls") {
      for (std::size_t at = 0; at <= value.size();) {
        const std::size_t comma = std::min(value.find(',', at), value.size());
        options.servers.push_back(ParseServer(value.substr(at, comma - at)));
        at = comma + 1;
      }
    } else if (flag == "--connections") {
      options.connections = std::strtoull(value.c_str(), nullptr, 10);
    } else if (flag == "--requests") {
      options.requests = std::strtoull(value.c_str(), nullptr, 10);
    } else if (flag == "--threads") {
      options.threads = std::strtoull(value.c_str(), nullptr, 10);
    } else if (flag == "--rate") {
      options.rate = std::strtod(value.c_str(), nullptr);
    } else if (flag == "--duration") {
      options.duration = std::strtod(value.c_str(), nullptr);
    } else if (flag == "--path") {
      options.path = value;
    } else if (flag == "--method") {
      options.method = value;
    } else if (flag == "--keys-out") {
      options.keys_out = value;
    } else {
      Die("unknown flag " + flag);
    }
  }
  if (options.servers.empty()) Die("--urls is missing");
  if (options.connections == 0 || options.threads == 0) Die("nothing to do it with");
  if (options.requests == 0 && options.duration <= 0) Die("--requests or --duration is missing");
  options.threads = std::min(options.threads, options.connections);
  return options;
}

void RaiseFileLimit(std::uint64_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < connections + 32) Die("the file limit is too low for the connections");
}

double Percentile(std::vector<std::uint32_t>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(share * last + 0.5)] / 1000.0;
}

void Merge(Totals& all, Totals& one) {
  all.requests += one.requests;
  all.ok += one.ok;
  all.keys += one.keys;
  all.unknown += one.unknown;
  all.reconnects += one.reconnects;
  for (const auto& [what, count] : one.failures) all.failures[what] += count;
  all.latency_us.insert(all.latency_us.end(), one.latency_us.begin(), one.latency_us.end());
  one = {};
}

void Print(Totals& all, double seconds) {
  std::sort(all.latency_us.begin(), all.latency_us.end());
  std::string failures;
  for (const auto& [what, count] : all.failures) {
    failures += (failures.empty() ? "\"" : ",\"") + what + "\":" + std::to_string(count);
  }
  std::printf(
      "{\"requests\":%llu,\"ok\":%llu,\"keys\":%llu,\"failures\":{%s},\"unknown\":%llu,"
      "\"reconnects\":%llu,\"p50_ms\":%.3f,\"p95_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,"
      "\"seconds\":%.3f}\n",
      static_cast<unsigned long long>(all.requests), static_cast<unsigned long long>(all.ok),
      static_cast<unsigned long long>(all.keys), failures.c_str(),
      static_cast<unsigned long long>(all.unknown), static_cast<unsigned long long>(all.reconnects),
      Percentile(all.latency_us, 0.50), Percentile(all.latency_us, 0.95),
      Percentile(all.latency_us, 0.99), Percentile(all.latency_us, 1.0), seconds);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  RaiseFileLimit(options.connections);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, [](int) { told_to_end = true; });
  KeyFile keys(options.keys_out);
  Run run{options, keys, SteadyClock::now()};
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint64_t i = 0; i < options.threads; ++i) {
    workers.push_back(std::make_unique<Worker>(run, i));
  }
  std::vector<std::thread> threads;
  threads.reserve(workers.size());
  for (const auto& worker : workers) threads.emplace_back([&worker] { worker->Work(); });
  for (std::thread& thread : threads) thread.join();
  const double seconds = Seconds(SteadyClock::now() - run.start).count();
  Totals all;
  for (const auto& worker : workers) Merge(all, worker->totals());
  Print(all, seconds);
  return 0;
}
