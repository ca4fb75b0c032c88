// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One libpq connection of which every call ends by its deadline, whatever the server or the
// network does. What an answer means is decided above (postgres_connection.cc).

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <libpq-fe.h>

#include "keymill/clock.h"

#include "store/sql/connection.h"

namespace keymill::store {

struct PqClear {
  void operator()(PGresult* result) const { PQclear(result); }
};

// What came back for one statement, or for an attempt to connect.
struct PqAnswer {
  std::unique_ptr<PGresult, PqClear> result{};  // Null when the server gave none.
  std::string said{};                           // What went wrong, in one line; "" if nothing did.
  std::string sqlstate{};                       // "" when it was not the server that spoke.
  bool fatal = false;     // The server ended the session with it, or nobody knows who spoke.
  std::string warning{};  // The last warning that came along, in one line; "" if none did.
  [[nodiscard]] bool ok() const { return said.empty(); }
};

// What a connection was refused with. libpq tells the SQLSTATE in its verbose message alone:
// "FATAL:  28P01: password authentication failed for user …\nLOCATION:  auth_failed, auth.c:337".
PqAnswer ReadRefusal(std::string_view message);

// Whether an address, as libpq tells it of the other end, is on this host; "": a Unix socket.
bool IsThisHost(std::string_view address);

// Used by one thread at a time.
class PqLink {
 public:
  // Connects; null when it could not, and then `failure` says why.
  static std::unique_ptr<PqLink> Open(const std::map<std::string, std::string>& parameters,
                                      const Clock& clock, MonotonicTime deadline,
                                      PqAnswer& failure);
  ~PqLink();
  PqLink(const PqLink&) = delete;
  PqLink& operator=(const PqLink&) = delete;

  // One statement with $1… placeholders, never prepared under a name. Columns come in binary form.
  PqAnswer Run(const std::string& sql, std::span<const sql::Value> values, MonotonicTime deadline);

  // Several statements in one round trip, without values.
  PqAnswer RunScript(const std::string& sql, MonotonicTime deadline);

  // Whether the connection is of no more use: it broke, was left in mid-answer at a deadline, or
  // belongs to the parent of this process.
  [[nodiscard]] bool lost() const;

  // Looks whether the server has hung up meanwhile, without waiting.
  void Look();

  // Whether what crosses our end of it leaves this host without being encrypted. What a pooler
  // does with it is another matter.
  [[nodiscard]] bool exposed() const;

  [[nodiscard]] bool in_transaction() const;

  // Whether there is a transaction of which nothing has failed yet.
  [[nodiscard]] bool can_commit() const;

 private:
  PqLink(PGconn* connection, const Clock& clock);

  static void OnNotice(void* self, const PGresult* notice);
  PqAnswer Connect(MonotonicTime deadline);
  PqAnswer Finish(int sent, MonotonicTime deadline);
  bool Flush(MonotonicTime deadline);
  bool AwaitResult(MonotonicTime deadline);
  // Waits until the socket is ready; false at the deadline.
  bool Wait(short events, MonotonicTime deadline, short* ready = nullptr) const;
  PqAnswer Lost(std::string_view why);

  PGconn* const connection_;
  const Clock& clock_;
  const std::uint64_t generation_;
  bool lost_ = false;
  std::string warning_;
};

}  // namespace keymill::store
