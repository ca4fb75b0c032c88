// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// TLS between two buffers in memory, moved to and from a plain socket by hand: OpenSSL's own
// sockets know no deadline, and raise SIGPIPE in programs that embed this library.

#include <array>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "store/etcd/plain_socket.h"
#include "store/etcd/socket.h"

namespace keymill::store::etcd {

class TlsContext {
 public:
  explicit TlsContext(bool verify) : verify_(verify) {}

  [[nodiscard]] bool verify() const { return verify_; }
  [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

 private:
  const bool verify_;
  const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_{
      ::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free};
};

namespace {

std::string OpenSslReason() {
  const unsigned long error = ::ERR_get_error();
  ::ERR_clear_error();
  if (error == 0) return "the connection ended";
  std::array<char, 256> text{};
  ::ERR_error_string_n(error, text.data(), text.size());
  return text.data();
}

class TlsSocket final : public Socket {
 public:
  TlsSocket(std::unique_ptr<Socket> below, std::shared_ptr<const TlsContext> context, HostPort peer)
      : below_(std::move(below)),
        context_(std::move(context)),
        peer_(std::move(peer)),
        ssl_(::SSL_new(context_->get()), &::SSL_free),
        from_peer_(::BIO_new(::BIO_s_mem())),
        to_peer_(::BIO_new(::BIO_s_mem())) {
    ::SSL_set_bio(ssl_.get(), from_peer_, to_peer_);
    ::SSL_set_connect_state(ssl_.get());
    if (context_->verify()) ExpectName();
  }

  Status Handshake(MonotonicTime deadline) {
    Result<int> done = Drive(deadline, [&] { return ::SSL_do_handshake(ssl_.get()); });
    if (done.ok() && *done == 1) return {};
    const long verdict = ::SSL_get_verify_result(ssl_.get());
    if (context_->verify() && verdict != X509_V_OK) {
      return {Code::kFailedPrecondition,
              fmt::format("trust {}: {}; give the file of the right authority with cacert=",
                          MemberText(peer_), ::X509_verify_cert_error_string(verdict))};
    }
    return done.ok() ? Failed("speak TLS with") : done.status();
  }

  Status WriteAll(std::string_view data, MonotonicTime deadline) override {
    Result<int> done = Drive(deadline, [&] {
      return ::SSL_write(ssl_.get(), data.data(), static_cast<int>(data.size()));
    });
    if (!done.ok()) return done.status();
    return *done > 0 ? Status() : Failed("write to");
  }

  Result<std::size_t> ReadSome(std::span<char> into, MonotonicTime deadline) override {
    Result<int> done = Drive(deadline, [&] {
      return ::SSL_read(ssl_.get(), into.data(), static_cast<int>(into.size()));
    });
    if (!done.ok()) return done.status();
    if (*done > 0) return static_cast<std::size_t>(*done);
    if ((::SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0) return std::size_t{0};
    return Failed("read from");
  }

  // Tickets that follow the handshake count as being spoken on: then a new connection is made.
  [[nodiscard]] bool Quiet() const override {
    return below_->Quiet() && ::BIO_ctrl_pending(from_peer_) == 0;
  }

 private:
  Status Failed(std::string_view what) const {
    return {Code::kUnavailable, fmt::format("{} {}: {}", what, MemberText(peer_), OpenSslReason())};
  }

  void ExpectName() {
    std::array<unsigned char, sizeof(in6_addr)> address{};
    const bool numeric = ::inet_pton(AF_INET, peer_.host.c_str(), address.data()) == 1 ||
                         ::inet_pton(AF_INET6, peer_.host.c_str(), address.data()) == 1;
    if (numeric) {
      ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_.get()), peer_.host.c_str());
    } else {
      ::SSL_set1_host(ssl_.get(), peer_.host.c_str());
      // The macro of this name casts in C's way.
      ::SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 peer_.host.data());
    }
  }

  // Repeats `step` until it needs nothing more of the peer; its last result.
  template <typename Step>
  Result<int> Drive(MonotonicTime deadline, const Step& step) {
    for (;;) {
      ::ERR_clear_error();
      const int done = step();
      const int wants = ::SSL_get_error(ssl_.get(), done);
      if (Status sent = Flush(deadline); !sent.ok()) return sent;
      if (wants == SSL_ERROR_WANT_WRITE) continue;
      if (wants != SSL_ERROR_WANT_READ) return done;
      std::array<char, 16 * 1024> piece{};
      Result<std::size_t> got = below_->ReadSome(piece, deadline);
      if (!got.ok()) return got.status();
      if (*got == 0) return Failed("read from");
      ::BIO_write(from_peer_, piece.data(), static_cast<int>(*got));
    }
  }

  Status Flush(MonotonicTime deadline) {
    std::array<char, 16 * 1024> piece{};
    for (;;) {
      const int size = ::BIO_read(to_peer_, piece.data(), static_cast<int>(piece.size()));
      if (size <= 0) return {};
      Status sent = below_->WriteAll({piece.data(), static_cast<std::size_t>(size)}, deadline);
      if (!sent.ok()) return sent;
    }
  }

  const std::unique_ptr<Socket> below_;
  const std::shared_ptr<const TlsContext> context_;
  HostPort peer_;
  const std::unique_ptr<SSL, decltype(&::SSL_free)> ssl_;
  BIO* const from_peer_;  // Both belong to ssl_.
  BIO* const to_peer_;
};

}  // namespace

Result<std::shared_ptr<const TlsContext>> MakeTlsContext(const TlsOptions& options) {
  if (!options.on) return std::shared_ptr<const TlsContext>();
  auto context = std::make_shared<const TlsContext>(options.verify);
  SSL_CTX* const ssl = context->get();
  const auto refused = [](std::string_view what) {
    return Status(Code::kFailedPrecondition, fmt::format("{}: {}", what, OpenSslReason()));
  };
  if (ssl == nullptr) return refused("set up TLS");
  ::SSL_CTX_ctrl(ssl, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  ::SSL_CTX_set_verify(ssl, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  const bool trusts = options.cacert.empty()
                          ? ::SSL_CTX_set_default_verify_paths(ssl) == 1
                          : ::SSL_CTX_load_verify_file(ssl, options.cacert.c_str()) == 1;
  if (!trusts) return refused(fmt::format("read cacert {}", options.cacert));
  if (options.cert.empty()) return std::shared_ptr<const TlsContext>(std::move(context));
  if (::SSL_CTX_use_certificate_chain_file(ssl, options.cert.c_str()) != 1) {
    return refused(fmt::format("read cert {}", options.cert));
  }
  if (::SSL_CTX_use_PrivateKey_file(ssl, options.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      ::SSL_CTX_check_private_key(ssl) != 1) {
    return refused(fmt::format("read key {}", options.key));
  }
  return std::shared_ptr<const TlsContext>(std::move(context));
}

Result<std::unique_ptr<Socket>> Connect(const HostPort& to, std::shared_ptr<const TlsContext> tls,
                                        const Clock& clock, MonotonicTime deadline) {
  Result<std::unique_ptr<Socket>> plain = ConnectPlain(to, clock, deadline);
  if (!plain.ok() || tls == nullptr) return plain;
  auto secure = std::make_unique<TlsSocket>(*std::move(plain), std::move(tls), to);
  if (Status done = secure->Handshake(deadline); !done.ok()) return done;
  return std::unique_ptr<Socket>(std::move(secure));
}

}  // namespace keymill::store::etcd
