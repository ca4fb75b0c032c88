// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/postgres/pq_link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "base/fork.h"

namespace keymill::store {
namespace {

// Object ids of pg_type.
constexpr Oid kBytea = 17;
constexpr Oid kInt8 = 20;
constexpr Oid kText = 25;

constexpr std::string_view kTimedOut = "no answer by the deadline";

// libpq's messages have several lines, each with its indentation.
std::string OneLine(std::string_view text) {
  std::string line;
  bool gap = false;
  for (const char c : text) {
    if (c == '\n' || c == '\t' || c == ' ') {
      gap = !line.empty();
      continue;
    }
    if (gap) line += ' ';
    gap = false;
    line += c;
  }
  return line;
}

bool IsSqlstate(std::string_view text) {
  return text.size() == 5 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
         });
}

// What the server said of a statement.
std::string Field(const PGresult* result, int field) {
  const char* const text = PQresultErrorField(result, field);
  return text == nullptr ? "" : text;
}

// Values as libpq wants them: all in binary form.
class Binary {
 public:
  explicit Binary(std::span<const sql::Value> values) : numbers_(values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) Add(values[i], numbers_[i]);
  }

  [[nodiscard]] int count() const { return static_cast<int>(types_.size()); }
  [[nodiscard]] const Oid* types() const { return types_.data(); }
  [[nodiscard]] const char* const* data() const { return data_.data(); }
  [[nodiscard]] const int* sizes() const { return sizes_.data(); }
  [[nodiscard]] const int* formats() const { return formats_.data(); }

 private:
  using Number = std::array<char, sizeof(std::int64_t)>;

  void Add(const sql::Value& value, Number& number) {
    if (const auto* const signed_number = std::get_if<std::int64_t>(&value)) {
      auto bits = static_cast<std::uint64_t>(*signed_number);
      for (std::size_t i = number.size(); i-- > 0; bits >>= 8) {
        number[i] = static_cast<char>(bits & 0xff);
      }
      Push(kInt8, number.data(), number.size());
    } else if (const auto* const bytes = std::get_if<sql::Bytes>(&value)) {
      Push(kBytea, bytes->data.data(), bytes->data.size());
    } else {
      const auto& text = std::get<std::string>(value);
      Push(kText, text.data(), text.size());
    }
  }

  void Push(Oid type, const char* data, std::size_t size) {
    types_.push_back(type);
    data_.push_back(data);
    sizes_.push_back(static_cast<int>(size));
    formats_.push_back(1);
  }

  std::vector<Number> numbers_;
  std::vector<Oid> types_;
  std::vector<const char*> data_;
  std::vector<int> sizes_;
  std::vector<int> formats_;
};

}  // namespace

PqAnswer ReadRefusal(std::string_view message) {
  PqAnswer answer;
  answer.fatal = true;
  constexpr std::string_view kMark = ":  ";
  for (std::size_t at = message.find(kMark); at != std::string_view::npos;
       at = message.find(kMark, at + 1)) {
    const std::string_view rest = message.substr(at + kMark.size());
    if (rest.size() < 7 || !IsSqlstate(rest.substr(0, 5)) || rest.substr(5, 2) != ": ") continue;
    // Of several attempts (with TLS, then without) the last one counts.
    answer.sqlstate = rest.substr(0, 5);
    answer.said = OneLine(rest.substr(7, rest.find('\n') - 7));
  }
  if (answer.said.empty()) answer.said = OneLine(message);
  if (answer.said.empty()) answer.said = "the connection failed";
  return answer;
}

bool IsThisHost(std::string_view address) {
  return address.empty() || address.starts_with("127.") || address == "::1" ||
         address.starts_with("::ffff:127.");
}

PqLink::PqLink(PGconn* connection, const Clock& clock)
    : connection_(connection), clock_(clock), generation_(ForkGeneration()) {}

PqLink::~PqLink() {
  if (generation_ != ForkGeneration() && connection_ != nullptr && PQsocket(connection_) >= 0) {
    // The session is the parent's: a goodbye from here would end it.
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0) {
      ::dup2(nowhere, PQsocket(connection_));
      ::close(nowhere);
    }
  }
  PQfinish(connection_);
}

std::unique_ptr<PqLink> PqLink::Open(const std::map<std::string, std::string>& parameters,
                                     const Clock& clock, MonotonicTime deadline,
                                     PqAnswer& failure) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : parameters) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  PGconn* const connection = PQconnectStartParams(names.data(), values.data(), /*expand_dbname=*/0);
  std::unique_ptr<PqLink> link(new PqLink(connection, clock));
  failure = link->Connect(deadline);
  if (!failure.ok()) return nullptr;
  return link;
}

PqAnswer PqLink::Connect(MonotonicTime deadline) {
  if (connection_ == nullptr) return Lost("out of memory");
  PQsetErrorVerbosity(connection_, PQERRORS_VERBOSE);
  PQsetNoticeReceiver(connection_, &PqLink::OnNotice, this);
  PostgresPollingStatusType next = PGRES_POLLING_WRITING;
  while (PQstatus(connection_) != CONNECTION_BAD && next != PGRES_POLLING_OK) {
    if (!Wait(next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline)) return Lost(kTimedOut);
    next = PQconnectPoll(connection_);
    if (next == PGRES_POLLING_FAILED) break;
  }
  if (PQstatus(connection_) != CONNECTION_OK) {
    lost_ = true;
    PqAnswer refused = ReadRefusal(PQerrorMessage(connection_));
    // As if the server had said so: invalid_password.
    if (PQconnectionNeedsPassword(connection_) != 0) refused.sqlstate = "28P01";
    return refused;
  }
  PQsetErrorVerbosity(connection_, PQERRORS_DEFAULT);
  // Otherwise sending would wait for a network that takes nothing.
  if (PQsetnonblocking(connection_, 1) != 0) return Lost(PQerrorMessage(connection_));
  return {};
}

PqAnswer PqLink::Run(const std::string& sql, std::span<const sql::Value> values,
                     MonotonicTime deadline) {
  if (lost()) return Lost("the connection was lost");
  const Binary binary(values);
  return Finish(PQsendQueryParams(connection_, sql.c_str(), binary.count(), binary.types(),
                                  binary.data(), binary.sizes(), binary.formats(),
                                  /*resultFormat=*/1),
                deadline);
}

PqAnswer PqLink::RunScript(const std::string& sql, MonotonicTime deadline) {
  if (lost()) return Lost("the connection was lost");
  return Finish(PQsendQuery(connection_, sql.c_str()), deadline);
}

bool PqLink::lost() const {
  return lost_ || generation_ != ForkGeneration() || PQstatus(connection_) != CONNECTION_OK;
}

void PqLink::Look() {
  // The server says goodbye first, and only then comes the end. Other things that come unasked
  // (parameters, notices) are few.
  for (int reads = 0; reads < 4 && !lost(); ++reads) {
    if (!Wait(POLLIN, clock_.Monotonic())) return;
    if (PQconsumeInput(connection_) == 0) lost_ = true;
  }
}

bool PqLink::exposed() const {
  if (PQsslInUse(connection_) != 0 || PQgssEncInUse(connection_) != 0) return false;
  const char* const address = PQhostaddr(connection_);
  return !IsThisHost(address == nullptr ? "" : address);
}

bool PqLink::in_transaction() const { return PQtransactionStatus(connection_) != PQTRANS_IDLE; }

bool PqLink::can_commit() const { return PQtransactionStatus(connection_) == PQTRANS_INTRANS; }

void PqLink::OnNotice(void* self, const PGresult* notice) {
  if (Field(notice, PG_DIAG_SEVERITY_NONLOCALIZED) != "WARNING") return;
  std::string& warning = static_cast<PqLink*>(self)->warning_;
  warning = OneLine(Field(notice, PG_DIAG_MESSAGE_PRIMARY));
  const std::string detail = OneLine(Field(notice, PG_DIAG_MESSAGE_DETAIL));
  if (!detail.empty()) warning += fmt::format(" ({})", detail);
}

// Takes all results of what was sent, and keeps the first that is an error, else the last.
PqAnswer PqLink::Finish(int sent, MonotonicTime deadline) {
  warning_.clear();
  if (sent == 0) return Lost(PQerrorMessage(connection_));
  if (!Flush(deadline)) return Lost(lost_ ? PQerrorMessage(connection_) : kTimedOut);
  PqAnswer answer;
  while (true) {
    if (!AwaitResult(deadline)) {
      if (!answer.ok()) break;  // The server said why before it went away.
      return Lost(lost_ ? PQerrorMessage(connection_) : kTimedOut);
    }
    std::unique_ptr<PGresult, PqClear> result(PQgetResult(connection_));
    if (!result) break;
    const ExecStatusType status = PQresultStatus(result.get());
    if (!answer.ok()) continue;
    answer.result = std::move(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) continue;
    answer.sqlstate = Field(answer.result.get(), PG_DIAG_SQLSTATE);
    answer.said = OneLine(Field(answer.result.get(), PG_DIAG_MESSAGE_PRIMARY));
    if (answer.said.empty()) answer.said = OneLine(PQresultErrorMessage(answer.result.get()));
    if (answer.said.empty()) answer.said = "an answer that cannot be";
    answer.fatal = Field(answer.result.get(), PG_DIAG_SEVERITY_NONLOCALIZED) != "ERROR";
  }
  if (PQstatus(connection_) != CONNECTION_OK) lost_ = true;
  answer.warning = std::move(warning_);
  return answer;
}

bool PqLink::Flush(MonotonicTime deadline) {
  while (true) {
    const int left = PQflush(connection_);
    if (left == 0) return true;
    short ready = 0;
    if (left > 0 && !Wait(POLLIN | POLLOUT, deadline, &ready)) return false;
    // A server that cannot send does not read either.
    if (left < 0 || ((ready & POLLIN) != 0 && PQconsumeInput(connection_) == 0)) {
      lost_ = true;
      return false;
    }
  }
}

bool PqLink::AwaitResult(MonotonicTime deadline) {
  while (PQisBusy(connection_) != 0) {
    if (!Wait(POLLIN, deadline)) return false;
    if (PQconsumeInput(connection_) == 0 && PQisBusy(connection_) != 0) {
      lost_ = true;
      return false;
    }
  }
  return true;
}

bool PqLink::Wait(short events, MonotonicTime deadline, short* ready) const {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock_.Monotonic());
    constexpr std::int64_t kLongestMs = 60'000;
    const auto timeout_ms = std::clamp<std::int64_t>(left.count(), 0, kLongestMs);
    pollfd polled{PQsocket(connection_), events, 0};
    const int count = ::poll(&polled, 1, static_cast<int>(timeout_ms));
    if (count > 0) {
      if (ready != nullptr) *ready = polled.revents;
      return true;
    }
    if (count < 0 && errno != EINTR) return false;
    if (count == 0 && clock_.Monotonic() >= deadline) return false;
  }
}

PqAnswer PqLink::Lost(std::string_view why) {
  lost_ = true;
  PqAnswer answer;
  answer.said = OneLine(why);
  if (answer.said.empty()) answer.said = "the connection was lost";
  answer.fatal = true;
  return answer;
}

}  // namespace keymill::store
