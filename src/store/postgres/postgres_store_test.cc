// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What needs no server, or only one that misbehaves. The rest is tested on a real one, by
// tests/conformance and tests/integration/test_postgres.py.

#include "store/postgres/postgres_store.h"

#include <array>
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/postgres/postgres_connection.h"
#include "store/postgres/postgres_url.h"

namespace keymill::store {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Result<PostgresPlace> Read(std::string_view text) {
  const Result<StoreUrl> url = ParseStoreUrl(text);
  EXPECT_TRUE(url.ok()) << url.status().message();
  return ReadPostgresUrl(*url);
}

TEST(PostgresUrlTest, BecomesParametersOfLibpq) {
  const auto place = Read(
      "postgres://ann:s%40crt@db1:5433,db2/keys?sslmode=verify-full&schema=mill&connect_timeout=3");
  ASSERT_TRUE(place.ok()) << place.status().message();
  ASSERT_EQ(place->hosts.size(), 2U);
  EXPECT_EQ(place->hosts[0].name, "db1");
  EXPECT_EQ(place->hosts[0].port, "5433");
  EXPECT_EQ(place->hosts[1].name, "db2");
  EXPECT_EQ(place->hosts[1].port, "");
  EXPECT_EQ(place->schema, "mill");
  EXPECT_EQ(place->host_timeout, std::chrono::seconds(3));
  EXPECT_EQ(place->parameters.at("user"), "ann");
  EXPECT_EQ(place->parameters.at("password"), "s@crt");
  EXPECT_EQ(place->parameters.at("dbname"), "keys");
  EXPECT_EQ(place->parameters.at("sslmode"), "verify-full");
  EXPECT_EQ(place->parameters.at("target_session_attrs"), "read-write");
  EXPECT_EQ(place->parameters.count("schema"), 0U);
  EXPECT_EQ(place->parameters.count("connect_timeout"), 0U);
}

TEST(PostgresUrlTest, ASocketAndManyHostsCanBeParameters) {
  auto place = Read("postgresql:///keys?host=/run/postgresql&port=5433");
  ASSERT_TRUE(place.ok()) << place.status().message();
  ASSERT_EQ(place->hosts.size(), 1U);
  EXPECT_EQ(place->hosts[0].name, "/run/postgresql");
  EXPECT_EQ(place->hosts[0].port, "5433");
  EXPECT_EQ(place->schema, "keymill");
  EXPECT_EQ(place->parameters.at("target_session_attrs"), "any");
  place = Read("postgres:///keys?host=a,b&port=1,2");
  ASSERT_TRUE(place.ok()) << place.status().message();
  ASSERT_EQ(place->hosts.size(), 2U);
  EXPECT_EQ(place->hosts[1].port, "2");
  EXPECT_TRUE(Read("postgres://").ok());
}

TEST(PostgresUrlTest, WhatIsUnknownIsRefused) {
  for (const auto& [text, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"postgres://u:secret@h/d?sslmod=x", "did you mean \"sslmode\"?"},
           {"postgres://u:secret@h/d?replication=1", "there are: application_name, "},
           {"postgres://u:secret@h/d?schema=", "schema must have"},
           {"postgres://u:secret@h/d?schema=pg_x", "pg_"},
           {"postgres://u:secret@h/d?host=x", "not both"},
           {"postgres://u:secret@/d?host=x,y,z&port=1,2", "one for each host"},
           {"postgres://u:secret@h/d?connect_timeout=x", "number of seconds"},
           {"postgres://u:secret@h/d?target_session_attrs=standby", "read-write"}}) {
    const auto place = Read(text);
    EXPECT_EQ(place.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(place.status().message(), AllOf(HasSubstr(why), Not(HasSubstr("secret")))) << text;
  }
}

TEST(PostgresTextTest, PlaceholdersAreNumberedOutsideQuotes) {
  EXPECT_EQ(NumberedPlaceholders("a = ? AND b = '?' AND \"?\" = ? LIMIT ?"),
            "a = $1 AND b = '?' AND \"?\" = $2 LIMIT $3");
}

TEST(PostgresTextTest, NamesAndTextsAreQuoted) {
  EXPECT_EQ(QuoteName("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(QuoteText("a'b"), "'a''b'");
  EXPECT_EQ(QuoteText("a\\b"), "E'a\\\\b'");
}

// A port that takes connections and never says a word.
class SilentPort {
 public:
  SilentPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_, plain, size), 0);
    EXPECT_EQ(::listen(fd_, 16), 0);
    EXPECT_EQ(::getsockname(fd_, plain, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentPort() { Close(); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  [[nodiscard]] int port() const { return port_; }

 private:
  int fd_;
  int port_ = 0;
};

Status OpenBy(const std::string& text, milliseconds limit) {
  const Result<StoreUrl> url = ParseStoreUrl(text);
  EXPECT_TRUE(url.ok()) << url.status().message();
  const MonotonicTime began = SystemClock().Monotonic();
  const Status status =
      OpenPostgresStore(*url, /*create=*/true, SystemClock(), began + limit).status();
  EXPECT_LT(SystemClock().Monotonic() - began, limit + milliseconds(1000));
  return status;
}

TEST(PostgresStoreTest, AServerThatSaysNothingIsNotWaitedForBeyondTheDeadline) {
  const SilentPort silent;
  const std::string port = std::to_string(silent.port());
  const std::string here = "127.0.0.1:" + port;
  for (const std::string& hosts : {here, here + "," + here, "localhost:" + port}) {
    const Status status = OpenBy("postgres://u:secret@" + hosts + "/d", milliseconds(300));
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.message();
    EXPECT_THAT(status.message(), Not(HasSubstr("secret")));
  }
}

TEST(PostgresStoreTest, AServerThatIsNotThereIsNamed) {
  SilentPort gone;
  gone.Close();
  const std::string place = "127.0.0.1:" + std::to_string(gone.port());
  const Status status = OpenBy("postgres://u:secret@" + place + "/d", milliseconds(2000));
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("connect to " + place),
                                      HasSubstr("Connection refused"), Not(HasSubstr("secret"))));
}

TEST(PostgresStoreTest, ANameThatMeansNothingIsUnavailable) {
  const Status status = OpenBy("postgres://u:secret@nosuch.invalid/d", milliseconds(1000));
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("look up nosuch.invalid"));
}

TEST(PostgresStoreTest, TheServersWordsAreFoundInWhatLibpqSays) {
  const auto expect = [](std::string_view message, std::string_view sqlstate,
                         std::string_view said) {
    const PqAnswer answer = ReadRefusal(message);
    EXPECT_EQ(answer.sqlstate, sqlstate);
    EXPECT_EQ(answer.said, said);
    EXPECT_FALSE(answer.ok());
  };
  expect(
      "connection to server at \"h\", port 1 failed: FATAL:  57P03: the database system is "
      "starting up\nDETAIL:  Not yet.\nLOCATION:  f, a.c:1\n",
      "57P03", "the database system is starting up");
  expect(
      "connection to server at \"h\", port 1 failed: FATAL:  28000: no entry, SSL on\n"
      "LOCATION:  f, a.c:1\nconnection to server at \"h\", port 1 failed: FATAL:  28P01: no entry, "
      "SSL off\nLOCATION:  f, a.c:1\n",
      "28P01", "no entry, SSL off");
  expect("failed: Connection refused\n\tIs the server running?\n", "",
         "failed: Connection refused Is the server running?");
  expect("", "", "the connection failed");
}

TEST(PostgresStoreTest, RefusalsAreToldFromOutages) {
  const auto code = [](std::string sqlstate) {
    PqAnswer answer;
    answer.said = "said";
    answer.sqlstate = std::move(sqlstate);
    return ConnectError(answer, "db").code();
  };
  EXPECT_EQ(code("28P01"), Code::kFailedPrecondition);  // The password is wrong.
  EXPECT_EQ(code("3D000"), Code::kFailedPrecondition);  // No such database.
  EXPECT_EQ(code("57P03"), Code::kUnavailable);         // It is starting.
  EXPECT_EQ(code("53300"), Code::kUnavailable);         // Too many connections.
  EXPECT_EQ(code(""), Code::kUnavailable);
}

}  // namespace
}  // namespace keymill::store
