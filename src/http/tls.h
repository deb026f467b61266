// TLS on OpenSSL: versions 1.2 and 1.3, ALPN http/1.1, no renegotiation, no early data.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct bio_st;
struct ssl_ctx_st;
struct ssl_st;

namespace stator::http {

// PEM files.
struct TlsPaths {
  std::string certificate;  // the server's own first, then those between it and its CA
  std::string key;
  std::string client_ca;  // empty: clients need no certificate
};

// Certificate, key and rules that new connections begin with. Immutable, so thread-safe.
class TlsContext {
 public:
  // Reads the files. kValidation names the file that cannot be read or does not fit, and why.
  static Result<std::shared_ptr<const TlsContext>> Load(const TlsPaths& paths);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // Seconds since the epoch at which the certificate expires.
  int64_t expires_seconds() const { return expires_seconds_; }
  ssl_ctx_st* native() const { return context_; }

 private:
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}

  ssl_ctx_st* const context_;
  int64_t expires_seconds_ = 0;
};

// TLS of one connection, on a socket that does not block. The socket belongs to the caller and
// outlives the session. Calls are for one thread at a time.
class TlsSession {
 public:
  // Begins a session. The context need not outlive it. kInternal if OpenSSL has no memory.
  static Result<std::unique_ptr<TlsSession>> Begin(const TlsContext& context, int fd);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  enum class Progress {
    kDone,       // keys are agreed on: established() from here on
    kAgain,      // waits for the socket
    kPlainHttp,  // the client speaks HTTP without TLS; nothing was written to the socket
    kFailed      // error() says why
  };
  // Goes on with the handshake. Costs up to one operation of the private key.
  Progress Shake();
  bool established() const { return established_; }
  // Why the handshake failed, in OpenSSL's words.
  const std::string& error() const { return error_; }

  // Reads decrypted bytes as recv() does: 0 at the end, -1 with errno EAGAIN if there is nothing
  // for now, EINTR to be called again at once, EPROTO after a failure. `ended`: epoll has told of
  // the end of what the client sends, and will not tell again.
  ssize_t Read(char* to, size_t size, bool ended);
  // Whether the last Read took all that the socket had.
  bool drained() const { return drained_; }
  // Encrypts and writes as send() does: -1 with errno EAGAIN if the socket takes no more for now;
  // the next call must then begin with the same bytes. At most 16 KB are written at once.
  ssize_t Write(std::string_view bytes);
  // The last Shake or Read waits until the socket can be written.
  bool wants_write() const { return wants_write_; }
  // Tells the client that nothing follows, if it can be told at once. Idempotent.
  void SayGoodbye();

  // Bytes written to the socket.
  int64_t wire_bytes() const { return wire_bytes_; }

 private:
  friend struct TlsSocket;  // OpenSSL's way to the socket

  explicit TlsSession(int fd) : fd_(fd) {}
  // Resets the state of a read; called before each call that reads. `take_all`: this read asks the
  // socket until it has no more bytes.
  void Prepare(bool take_all);
  // Converts the result of an OpenSSL call to an errno.
  int Explain(int result);

  const int fd_;
  ssl_st* ssl_ = nullptr;
  bool established_ = false;
  bool failed_ = false;
  bool ended_ = false;  // the client sends no more
  bool drained_ = false;
  bool wants_write_ = false;
  bool known_as_tls_ = false;  // the first byte was that of a TLS record
  bool plain_http_ = false;
  bool take_all_ = true;
  bool held_back_ = false;  // the call had its receives, and the socket may have more
  int receives_left_ = 0;
  int64_t received_bytes_ = 0;
  int64_t wire_bytes_ = 0;
  std::string error_;
};

}  // namespace stator::http
