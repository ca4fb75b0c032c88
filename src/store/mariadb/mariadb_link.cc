// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/mariadb/mariadb_link.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <mariadb/errmsg.h>
#include <mariadb/mysql.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/fork.h"

namespace keymill::store {
namespace {

constexpr unsigned kBinaryCharset = 63;

// The connector writes to TLS sockets without MSG_NOSIGNAL. Whoever embeds Keymill may not have
// thought of SIGPIPE, and must not die of it.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec now{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

MYSQL* NewHandle() {
  static std::once_flag once;
  std::call_once(once, [] { KEYMILL_CHECK(mysql_library_init(0, nullptr, nullptr) == 0); });
  MYSQL* const mysql = mysql_init(nullptr);
  KEYMILL_CHECK(mysql != nullptr);  // Out of memory.
  return mysql;
}

bool IsInteger(enum_field_types type) {
  switch (type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
      return true;
    default:
      return false;
  }
}

bool IsBlob(const MYSQL_FIELD& field) {
  const bool blob = field.type == MYSQL_TYPE_BLOB || field.type == MYSQL_TYPE_TINY_BLOB ||
                    field.type == MYSQL_TYPE_MEDIUM_BLOB || field.type == MYSQL_TYPE_LONG_BLOB;
  return blob && field.charsetnr == kBinaryCharset;
}

sql::Value ReadValue(const MYSQL_FIELD& field, std::string_view text) {
  if (IsInteger(field.type)) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return number;
  }
  if (IsBlob(field)) return sql::Bytes{std::string(text)};
  return std::string(text);
}

std::vector<sql::Row> ReadRows(MYSQL_RES* result) {
  std::vector<sql::Row> rows;
  const unsigned columns = mysql_num_fields(result);
  const MYSQL_FIELD* const fields = mysql_fetch_fields(result);
  while (MYSQL_ROW row = mysql_fetch_row(result)) {
    const unsigned long* const sizes = mysql_fetch_lengths(result);
    sql::Row values;
    for (unsigned i = 0; i < columns; ++i) {
      values.push_back(row[i] == nullptr ? sql::Value(std::string())
                                         : ReadValue(fields[i], {row[i], sizes[i]}));
    }
    rows.push_back(std::move(values));
  }
  return rows;
}

void AppendHex(std::string& out, std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  out += "x'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  out += '\'';
}

const char* OrNull(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

std::string WithValues(std::string_view sql, std::span<const sql::Value> values) {
  std::string text;
  std::size_t next = 0;
  for (const char c : sql) {
    if (c != '?') {
      text += c;
      continue;
    }
    KEYMILL_CHECK(next < values.size());
    const sql::Value& value = values[next++];
    if (const auto* const number = std::get_if<std::int64_t>(&value)) {
      text += std::to_string(*number);
    } else if (const auto* const bytes = std::get_if<sql::Bytes>(&value)) {
      AppendHex(text, bytes->data);
    } else {
      AppendHex(text, std::get<std::string>(value));
    }
  }
  KEYMILL_CHECK(next == values.size());
  return text;
}

MariadbLink::MariadbLink(const Clock& clock)
    : clock_(clock), fork_generation_(ForkGeneration()), mysql_(NewHandle()) {}

MariadbLink::~MariadbLink() {
  if (fork_generation_ != ForkGeneration()) {
    // The parent talks on. Only this copy of the descriptor may go: a goodbye would end the
    // parent's session. The handle is left alone, for closing it says goodbye.
    const my_socket inherited = mysql_get_socket(mysql_);
    if (inherited >= 0) ::close(inherited);
    return;
  }
  const NoSigpipe no_signal;
  if (lost_) HangUp();
  mysql_close(mysql_);
}

int MariadbLink::Await(int wanted, MonotonicTime deadline) {
  pollfd waiting{.fd = mysql_get_socket(mysql_), .events = 0, .revents = 0};
  if ((wanted & MYSQL_WAIT_READ) != 0) waiting.events |= POLLIN;
  if ((wanted & MYSQL_WAIT_WRITE) != 0) waiting.events |= POLLOUT;
  if ((wanted & MYSQL_WAIT_EXCEPT) != 0) waiting.events |= POLLPRI;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock_.Monotonic());
    // A server that always has one more byte must not keep us either.
    if (left.count() <= 0) break;
    const int ready =
        ::poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
    if (ready > 0) {
      // An error or the end shows itself to whichever call the connector makes next.
      return wanted & (MYSQL_WAIT_READ | MYSQL_WAIT_WRITE | MYSQL_WAIT_EXCEPT);
    }
  }
  // TLS does not know time-outs and would only wait again; a closed socket it understands.
  if (std::exchange(timed_out_, true)) HangUp();
  return MYSQL_WAIT_TIMEOUT;
}

template <typename Start, typename Continue>
void MariadbLink::Drive(MonotonicTime deadline, Start start, Continue go_on) {
  const NoSigpipe no_signal;
  for (int wanted = start(); wanted != 0;) wanted = go_on(Await(wanted, deadline));
}

void MariadbLink::HangUp() {
  const my_socket socket = mysql_get_socket(mysql_);
  if (socket >= 0) ::shutdown(socket, SHUT_RDWR);
}

void MariadbLink::SetOptions(const MariadbOptions& options, bool socket, MonotonicTime deadline) {
  mysql_options(mysql_, MYSQL_OPT_NONBLOCK, nullptr);
  // They make the connector stop when Await says that time is up; how long they are matters only
  // for the handshake of TLS, which waits by itself.
  const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - clock_.Monotonic());
  const auto seconds = static_cast<unsigned>(std::clamp<std::int64_t>(left.count(), 1, 3600));
  for (const mysql_option option :
       {MYSQL_OPT_CONNECT_TIMEOUT, MYSQL_OPT_READ_TIMEOUT, MYSQL_OPT_WRITE_TIMEOUT}) {
    mysql_options(mysql_, option, &seconds);
  }
  const unsigned protocol = socket ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
  mysql_options(mysql_, MYSQL_OPT_PROTOCOL, &protocol);
  mysql_options(mysql_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  // Or a server could ask for the files of this machine.
  const unsigned no_files = 0;
  mysql_options(mysql_, MYSQL_OPT_LOCAL_INFILE, &no_files);
  if (!options.tls) return;
  const my_bool yes = 1;
  const my_bool verify = options.tls_verify ? 1 : 0;
  mysql_ssl_set(mysql_, OrNull(options.tls_key), OrNull(options.tls_cert), OrNull(options.tls_ca),
                nullptr, nullptr);
  mysql_options(mysql_, MYSQL_OPT_SSL_ENFORCE, &yes);
  mysql_options(mysql_, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
}

Sent MariadbLink::Connect(const MariadbOptions& options, const HostPort* host, bool use_database,
                          MonotonicTime deadline) {
  SetOptions(options, host == nullptr, deadline);
  MYSQL* connected = nullptr;
  Drive(
      deadline,
      [&] {
        // Rows that a statement found count as changed, even if they were so already.
        return mysql_real_connect_start(
            &connected, mysql_, host == nullptr ? nullptr : host->host.c_str(),
            OrNull(options.user), options.password.c_str(),
            use_database ? options.database.c_str() : nullptr, host == nullptr ? 0 : host->port,
            OrNull(options.socket), CLIENT_FOUND_ROWS);
      },
      [&](int events) { return mysql_real_connect_cont(&connected, mysql_, events); });
  if (connected != nullptr) {
    // Nor may a program that this process starts keep the session open.
    ::fcntl(mysql_get_socket(mysql_), F_SETFD, FD_CLOEXEC);
    return Sent::kDone;
  }
  const Sent failed = Failed();
  lost_ = true;
  return failed;
}

Sent MariadbLink::Run(std::string_view sql, MonotonicTime deadline, std::vector<sql::Row>* rows) {
  int failed = 0;
  Drive(
      deadline, [&] { return mysql_real_query_start(&failed, mysql_, sql.data(), sql.size()); },
      [&](int events) { return mysql_real_query_cont(&failed, mysql_, events); });
  if (failed != 0) return Failed();
  changed_ = static_cast<std::int64_t>(mysql_affected_rows(mysql_));
  if (mysql_field_count(mysql_) == 0) return Sent::kDone;
  MYSQL_RES* stored = nullptr;
  Drive(
      deadline, [&] { return mysql_store_result_start(&stored, mysql_); },
      [&](int events) { return mysql_store_result_cont(&stored, mysql_, events); });
  if (stored == nullptr) return Failed();
  const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> result(stored, mysql_free_result);
  if (rows != nullptr) *rows = ReadRows(stored);
  return Sent::kDone;
}

Sent MariadbLink::Failed() {
  error_number_ = mysql_errno(mysql_);
  error_text_ = timed_out_ ? "no answer in time" : mysql_error(mysql_);
  // The connector's own errors; the server's lie outside.
  const bool own = error_number_ >= CR_MIN_ERROR && error_number_ <= CR_MAX_ERROR;
  const bool own_too = error_number_ >= CER_MIN_ERROR && error_number_ <= CER_MAX_ERROR;
  if (!timed_out_ && !own && !own_too && error_number_ != 0) return Sent::kRefused;
  lost_ = true;
  return Sent::kLost;
}

bool MariadbLink::dead() const {
  if (lost_ || fork_generation_ != ForkGeneration()) return true;
  // Nothing is under way, so whatever can be read is an end or a last word.
  pollfd idle{.fd = mysql_get_socket(mysql_), .events = POLLIN, .revents = 0};
  return ::poll(&idle, 1, 0) != 0;
}

}  // namespace keymill::store
