// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One connection of MariaDB Connector/C, driven by its non-blocking calls and poll(2): whatever
// the server or the network does, every call here ends by its deadline. It knows statements and
// error numbers, not what they mean.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"

#include "store/mariadb/mariadb_options.h"
#include "store/sql/connection.h"

// The connector's MYSQL.
struct st_mysql;

namespace keymill::store {

// `sql` with its placeholders replaced: numbers as digits, text and bytes as hexadecimal literals,
// which no character set and no sql_mode can misread.
// REQUIRES: as many values as placeholders; no ? inside quotes.
std::string WithValues(std::string_view sql, std::span<const sql::Value> values);

// What became of a statement.
enum class Sent : std::uint8_t {
  kDone,
  kRefused,  // The server answered with an error.
  kLost,     // No answer by the deadline, or the connection broke: it may have run, or may yet.
};

// Used by one thread at a time.
class MariadbLink {
 public:
  explicit MariadbLink(const Clock& clock);
  ~MariadbLink();
  MariadbLink(const MariadbLink&) = delete;
  MariadbLink& operator=(const MariadbLink&) = delete;

  // To `host`, or to the Unix socket when it is nullptr.
  // REQUIRES: called once, first.
  Sent Connect(const MariadbOptions& options, const HostPort* host, bool use_database,
               MonotonicTime deadline);

  // Runs one statement. Rows go to `rows` if it is not nullptr; NULL is read as "".
  Sent Run(std::string_view sql, MonotonicTime deadline, std::vector<sql::Row>* rows);

  // Of the last statement.
  [[nodiscard]] std::int64_t changed() const { return changed_; }
  // Of the last call that was not kDone.
  [[nodiscard]] unsigned error_number() const { return error_number_; }
  [[nodiscard]] const std::string& error_text() const { return error_text_; }

  // Whether it is of no more use: a call was lost, the server has closed it, or it belongs to the
  // parent of this process.
  [[nodiscard]] bool dead() const;

 private:
  template <typename Start, typename Continue>
  void Drive(MonotonicTime deadline, Start start, Continue go_on);
  // Waits for what the connector waits for and says what happened.
  int Await(int wanted, MonotonicTime deadline);
  void SetOptions(const MariadbOptions& options, bool socket, MonotonicTime deadline);
  Sent Failed();
  void HangUp();

  const Clock& clock_;
  const std::uint64_t fork_generation_;
  st_mysql* const mysql_;
  bool lost_ = false;
  bool timed_out_ = false;
  std::int64_t changed_ = 0;
  unsigned error_number_ = 0;
  std::string error_text_;
};

}  // namespace keymill::store
