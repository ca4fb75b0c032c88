// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// TLS between two buffers. OpenSSL never sees the socket, so that waiting, deadlines and broken
// pipes stay in one place (link.h).

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "keymill/status.h"

#include "store/redis/settings.h"

namespace keymill::store::redis {

// Used by one thread at a time.
class TlsSession {
 public:
  // Errors: kFailedPrecondition when a file cannot be used.
  static Result<std::unique_ptr<TlsSession>> Make(const RedisSettings& settings);

  // Goes on with the handshake. True when it is done; false when it waits for the server.
  // Before and after, send what TakeOutput gives.
  // Errors: kFailedPrecondition when the server's certificate does not prove who it is, or TLS
  // cannot be agreed upon.
  Result<bool> Handshake();

  // REQUIRES: the handshake is done.
  Status Encrypt(std::string_view plain);
  // Appends what can be decrypted so far. False when the server ended the session.
  Result<bool> Decrypt(std::string& plain);

  void PutInput(std::string_view bytes);  // From the server.
  std::string TakeOutput();               // For the server.

 private:
  struct FreeContext {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  struct FreeSession {
    void operator()(SSL* session) const { SSL_free(session); }
  };

  TlsSession() = default;
  Status Prepare(const RedisSettings& settings);
  [[nodiscard]] Status Failed(std::string_view what) const;

  std::string place_;
  std::unique_ptr<SSL_CTX, FreeContext> context_;
  std::unique_ptr<SSL, FreeSession> session_;
  BIO* input_ = nullptr;  // Both belong to the session.
  BIO* output_ = nullptr;
};

}  // namespace keymill::store::redis
