// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/tls.h"

#include <array>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/check.h"

namespace keymill::store::redis {
namespace {

bool IsAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

// The oldest of this thread's OpenSSL errors, which is the cause of the others.
std::string TakeError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown error" : reason;
}

}  // namespace

Result<std::unique_ptr<TlsSession>> TlsSession::Make(const RedisSettings& settings) {
  std::unique_ptr<TlsSession> made(new TlsSession());
  ERR_clear_error();
  if (Status ready = made->Prepare(settings); !ready.ok()) return ready;
  return made;
}

Status TlsSession::Failed(std::string_view what) const {
  return {Code::kFailedPrecondition,
          fmt::format("connect to {} with TLS: {}: {}", place_, what, TakeError())};
}

Status TlsSession::Prepare(const RedisSettings& settings) {
  place_ = settings.Place();
  context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const context = context_.get();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
    return Failed("set up");
  }
  SSL_CTX_set_verify(context, settings.tls_verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (settings.tls_ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) != 1) return Failed("the system's certificates");
  } else if (SSL_CTX_load_verify_locations(context, settings.tls_ca.c_str(), nullptr) != 1) {
    return Failed(fmt::format("tls_ca {}", settings.tls_ca));
  }
  if (!settings.tls_cert.empty()) {
    if (SSL_CTX_use_certificate_chain_file(context, settings.tls_cert.c_str()) != 1) {
      return Failed(fmt::format("tls_cert {}", settings.tls_cert));
    }
    if (SSL_CTX_use_PrivateKey_file(context, settings.tls_key.c_str(), SSL_FILETYPE_PEM) != 1) {
      return Failed(fmt::format("tls_key {}", settings.tls_key));
    }
  }
  session_.reset(SSL_new(context));
  if (session_ == nullptr) return Failed("set up");
  input_ = BIO_new(BIO_s_mem());
  output_ = BIO_new(BIO_s_mem());
  KEYMILL_CHECK(input_ != nullptr && output_ != nullptr);  // Out of memory.
  SSL_set_bio(session_.get(), input_, output_);
  SSL_set_connect_state(session_.get());
  const std::string& host = settings.host;
  if (IsAddress(host)) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_.get()), host.c_str()) != 1) {
      return Failed("the host's address");
    }
  } else if (SSL_set1_host(session_.get(), host.c_str()) != 1 ||
             // SSL_set_tlsext_host_name, a macro with casts of C.
             SSL_ctrl(session_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                      const_cast<char*>(host.c_str())) != 1) {
    return Failed("the host's name");
  }
  return {};
}

Result<bool> TlsSession::Handshake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(session_.get());
  if (done == 1) return true;
  const int error = SSL_get_error(session_.get(), done);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return false;
  if (const long verified = SSL_get_verify_result(session_.get()); verified != X509_V_OK) {
    ERR_clear_error();
    return Status(Code::kFailedPrecondition,
                  fmt::format("connect to {} with TLS: its certificate was refused: {}. Name the "
                              "authority that signed it: ?tls_ca=FILE",
                              place_, X509_verify_cert_error_string(verified)));
  }
  return Failed("handshake");
}

Status TlsSession::Encrypt(std::string_view plain) {
  while (!plain.empty()) {
    std::size_t written = 0;
    ERR_clear_error();
    if (SSL_write_ex(session_.get(), plain.data(), plain.size(), &written) != 1) {
      return {Code::kUnavailable, fmt::format("send to {}: {}", place_, TakeError())};
    }
    plain.remove_prefix(written);
  }
  return {};
}

Result<bool> TlsSession::Decrypt(std::string& plain) {
  std::array<char, 16 * 1024> buffer{};
  for (;;) {
    std::size_t read = 0;
    ERR_clear_error();
    const int done = SSL_read_ex(session_.get(), buffer.data(), buffer.size(), &read);
    if (done == 1) {
      plain.append(buffer.data(), read);
      continue;
    }
    const int error = SSL_get_error(session_.get(), done);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return true;
    if (error == SSL_ERROR_ZERO_RETURN) return false;
    return Status(Code::kUnavailable, fmt::format("read from {}: {}", place_, TakeError()));
  }
}

void TlsSession::PutInput(std::string_view bytes) {
  std::size_t written = 0;
  const int done = BIO_write_ex(input_, bytes.data(), bytes.size(), &written);
  KEYMILL_CHECK(done == 1 && written == bytes.size());  // Out of memory.
}

std::string TlsSession::TakeOutput() {
  std::string bytes(BIO_ctrl_pending(output_), '\0');
  std::size_t read = 0;
  if (!bytes.empty() && BIO_read_ex(output_, bytes.data(), bytes.size(), &read) != 1) read = 0;
  bytes.resize(read);
  return bytes;
}

}  // namespace keymill::store::redis
