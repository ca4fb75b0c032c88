// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/mariadb/mariadb_link.h"

#include <array>
#include <chrono>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace keymill::store {
namespace {

TEST(MariadbStatementTest, ValuesAreDigitsOrHexadecimal) {
  const std::array<sql::Value, 4> values = {std::int64_t{-9223372036854775807},
                                            std::string("it's ?"),
                                            sql::Bytes{std::string("\0\xff", 2)}, std::string()};
  EXPECT_EQ(WithValues("a = ?, b = ?, c = ?, d = ? LIMIT 1", values),
            "a = -9223372036854775807, b = x'69742773203f', c = x'00ff', d = x'' LIMIT 1");
}

// Listens and says nothing: connections are accepted by the kernel.
class MuteServer {
 public:
  MuteServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, plain, size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, plain, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~MuteServer() { ::close(socket_); }
  MuteServer(const MuteServer&) = delete;
  MuteServer& operator=(const MuteServer&) = delete;
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  const int socket_;
  std::uint16_t port_ = 0;
};

int OpenDescriptors() {
  int open = 0;
  for (int fd = 0; fd < 256; ++fd) open += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return open;
}

TEST(MariadbLinkTest, AServerThatNeverAnswersIsLeftAtTheDeadline) {
  const MuteServer server;
  const HostPort host{"127.0.0.1", server.port()};
  const int before = OpenDescriptors();
  for (const bool tls : {false, true}) {
    MariadbOptions options;
    options.tls = tls;
    const MonotonicTime begun = SystemClock().Monotonic();
    {
      MariadbLink link(SystemClock());
      EXPECT_EQ(link.Connect(options, &host, false, begun + std::chrono::milliseconds(100)),
                Sent::kLost);
      EXPECT_TRUE(link.dead());
      EXPECT_EQ(link.error_text(), "no answer in time");
    }
    const auto took = SystemClock().Monotonic() - begun;
    EXPECT_GE(took, std::chrono::milliseconds(100));
    EXPECT_LT(took, std::chrono::milliseconds(1000));
  }
  EXPECT_EQ(OpenDescriptors(), before) << "nothing stays open";
}

TEST(MariadbLinkTest, APortThatNobodyListensOnIsLostAtOnce) {
  std::uint16_t port = 0;
  {
    const MuteServer gone;
    port = gone.port();
  }
  const HostPort host{"127.0.0.1", port};
  MariadbLink link(SystemClock());
  EXPECT_EQ(link.Connect({}, &host, false, SystemClock().Monotonic() + std::chrono::seconds(20)),
            Sent::kLost);
  EXPECT_NE(link.error_text(), "no answer in time");
}

}  // namespace
}  // namespace keymill::store
