#include "http/tls.h"

#include <errno.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <ctime>

namespace stator::http {
namespace {

constexpr unsigned char kHandshakeRecord = 0x16;
// A client may send this in a handshake; the largest ClientHello that OpenSSL takes has 128 KB.
constexpr int64_t kMaxHandshakeBytes = 256 << 10;
constexpr int kMaxClientChainBytes = 32 << 10;
constexpr int kMaxClientChainDepth = 4;
// The maximum number of receives in one Read: a client that sends nothing but key updates must not
// occupy the loop.
constexpr int kReceivesPerRead = 2;
// The cipher suites of TLS 1.2 with forward secrecy and authenticated encryption.
constexpr char kCiphersOfTls12[] = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr std::string_view kHttp11 = "http/1.1";
constexpr unsigned char kSessionIdContext[] = "stator";

// The oldest error of this thread, in OpenSSL's words. Forgets all of them.
std::string TakeError() {
  const unsigned long code = ERR_peek_error();
  const char* const reason =
      ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);
  std::string text = reason != nullptr ? reason : code != 0 ? fmt::format("error {:x}", code) : "";
  ERR_clear_error();
  return text;
}

// Empties OpenSSL's error queue, because SSL_get_error would take an error that an earlier call has
// left there for its own. ERR_clear_error costs 2,100 instructions even for an empty queue, so it
// is called only if there is an error.
void ForgetErrors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

Error FileError(std::string_view what, const std::string& path) {
  return ValidationError(fmt::format("cannot use the {} {}: {}", what, path, TakeError()));
}

int SelectProtocol(SSL*, const unsigned char** out, unsigned char* out_size,
                   const unsigned char* in, unsigned int in_size, void*) {
  for (unsigned int at = 0; at < in_size; at += 1u + in[at]) {
    const std::string_view name(reinterpret_cast<const char*>(in + at + 1), in[at]);
    if (name != kHttp11) continue;
    *out = in + at + 1;
    *out_size = in[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// An encrypted key would make OpenSSL ask for its passphrase on the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

int64_t SecondsOf(const ASN1_TIME* time) {
  tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::Load(const TlsPaths& paths) {
  ERR_clear_error();
  SSL_CTX* const native = SSL_CTX_new(TLS_server_method());
  if (native == nullptr) return InternalError("OpenSSL: " + TakeError());
  std::shared_ptr<TlsContext> context(new TlsContext(native));
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                  // HTTP says where a message ends: no attacker can cut one short.
                                  SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(native, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                               SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(native, 1);
  // Sessions are resumed by tickets, which cost the server no memory.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(native, 1);
  SSL_CTX_set_session_id_context(native, kSessionIdContext, sizeof(kSessionIdContext) - 1);
  SSL_CTX_set_alpn_select_cb(native, SelectProtocol, nullptr);
  SSL_CTX_set_default_passwd_cb(native, NoPassphrase);
  SSL_CTX_set_max_cert_list(native, kMaxClientChainBytes);
  if (SSL_CTX_set_cipher_list(native, kCiphersOfTls12) != 1)
    return InternalError("OpenSSL: " + TakeError());

  if (SSL_CTX_use_certificate_chain_file(native, paths.certificate.c_str()) != 1)
    return FileError("certificate", paths.certificate);
  if (SSL_CTX_use_PrivateKey_file(native, paths.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(native) != 1)
    return FileError("key", paths.key);
  context->expires_seconds_ = SecondsOf(X509_get0_notAfter(SSL_CTX_get0_certificate(native)));
  if (!paths.client_ca.empty()) {
    STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(paths.client_ca.c_str());
    if (names == nullptr || SSL_CTX_load_verify_file(native, paths.client_ca.c_str()) != 1) {
      sk_X509_NAME_pop_free(names, X509_NAME_free);
      return FileError("client CA", paths.client_ca);
    }
    SSL_CTX_set_client_CA_list(native, names);
    SSL_CTX_set_verify(native, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    SSL_CTX_set_verify_depth(native, kMaxClientChainDepth);
  }
  return std::shared_ptr<const TlsContext>(std::move(context));
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

// In place of OpenSSL's own socket BIO, whose write() raises SIGPIPE.
struct TlsSocket {
  static TlsSession& Of(BIO* bio) { return *static_cast<TlsSession*>(BIO_get_data(bio)); }

  static int Write(BIO* bio, const char* bytes, int size) {
    TlsSession& session = Of(bio);
    BIO_clear_retry_flags(bio);
    ssize_t sent;
    do {
      sent = ::send(session.fd_, bytes, size, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0) {
      session.wire_bytes_ += sent;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      BIO_set_retry_write(bio);
    }
    return static_cast<int>(sent);
  }

  static int Read(BIO* bio, char* to, int size) {
    TlsSession& session = Of(bio);
    BIO_clear_retry_flags(bio);
    if (session.drained_ && !session.take_all_) {
      BIO_set_retry_read(bio);
      return -1;
    }
    if (session.receives_left_ == 0) {
      session.held_back_ = true;
      BIO_set_retry_read(bio);
      return -1;
    }
    --session.receives_left_;
    ssize_t got;
    do {
      got = ::recv(session.fd_, to, size, 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) return -1;
      session.drained_ = true;
      BIO_set_retry_read(bio);
      return -1;
    }
    session.ended_ = got == 0;
    session.drained_ = got < size;
    session.received_bytes_ += got;
    if (got > 0 && !session.known_as_tls_) {
      const auto first = static_cast<unsigned char>(to[0]);
      session.known_as_tls_ = first == kHandshakeRecord;
      session.plain_http_ = first >= 'A' && first <= 'Z';
      // The bytes are not TLS. End here, because OpenSSL would send an alert, which an HTTP client
      // cannot read.
      if (!session.known_as_tls_) return -1;
    }
    return static_cast<int>(got);
  }

  static long Control(BIO* bio, int command, long, void*) {
    switch (command) {
      case BIO_CTRL_FLUSH: return 1;
      case BIO_CTRL_EOF: return Of(bio).ended_ ? 1 : 0;
      default: return 0;
    }
  }

  static int Create(BIO* bio) {
    BIO_set_init(bio, 1);
    return 1;
  }

  static const BIO_METHOD* Method() {
    static const BIO_METHOD* const method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stator socket");
      if (made == nullptr) return made;
      BIO_meth_set_write(made, Write);
      BIO_meth_set_read(made, Read);
      BIO_meth_set_ctrl(made, Control);
      BIO_meth_set_create(made, Create);
      return made;
    }();
    return method;
  }
};

Result<std::unique_ptr<TlsSession>> TlsSession::Begin(const TlsContext& context, int fd) {
  std::unique_ptr<TlsSession> session(new TlsSession(fd));
  session->ssl_ = SSL_new(context.native());
  BIO* const bio = TlsSocket::Method() == nullptr ? nullptr : BIO_new(TlsSocket::Method());
  if (session->ssl_ == nullptr || bio == nullptr) {
    BIO_free(bio);
    return InternalError("OpenSSL: " + TakeError());
  }
  BIO_set_data(bio, session.get());
  SSL_set_bio(session->ssl_, bio, bio);
  SSL_set_accept_state(session->ssl_);
  return session;
}

TlsSession::~TlsSession() { SSL_free(ssl_); }

void TlsSession::Prepare(bool take_all) {
  ForgetErrors();
  take_all_ = take_all;
  receives_left_ = kReceivesPerRead;
  drained_ = held_back_ = wants_write_ = false;
}

int TlsSession::Explain(int result) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ: return held_back_ ? EINTR : EAGAIN;
    case SSL_ERROR_WANT_WRITE: wants_write_ = true; return EAGAIN;
    case SSL_ERROR_ZERO_RETURN: return 0;
    default:
      failed_ = true;
      error_ = TakeError();
      if (error_.empty() && received_bytes_ > 0 && !known_as_tls_)
        error_ = "the client does not speak TLS";
      if (error_.empty()) error_ = ended_ ? "the client went away" : "the connection broke";
      return EPROTO;
  }
}

TlsSession::Progress TlsSession::Shake() {
  while (true) {
    Prepare(/*take_all=*/true);
    const int result = SSL_do_handshake(ssl_);
    if (result == 1) {
      established_ = true;
      return Progress::kDone;
    }
    const int why = Explain(result);
    if (plain_http_) return Progress::kPlainHttp;
    if (why == EAGAIN) return Progress::kAgain;
    if (why == EINTR && received_bytes_ <= kMaxHandshakeBytes) continue;
    if (why == EINTR) error_ = "the handshake is too long";
    if (why == 0) error_ = "the client went away";
    failed_ = true;
    return Progress::kFailed;
  }
}

ssize_t TlsSession::Read(char* to, size_t size, bool ended) {
  Prepare(/*take_all=*/ended);
  size_t got = 0;
  const int result = SSL_read_ex(ssl_, to, size, &got);
  if (result == 1) {
    // OpenSSL may hold records that it has received and not decrypted.
    drained_ = drained_ && SSL_has_pending(ssl_) == 0;
    return static_cast<ssize_t>(got);
  }
  errno = Explain(result);
  return errno == 0 ? 0 : -1;
}

ssize_t TlsSession::Write(std::string_view bytes) {
  ForgetErrors();
  size_t written = 0;
  const int result = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &written);
  if (result == 1) return static_cast<ssize_t>(written);
  if (SSL_get_error(ssl_, result) == SSL_ERROR_WANT_WRITE) {
    errno = EAGAIN;
    return -1;
  }
  // A write waits for the client only to negotiate anew, which is refused.
  failed_ = true;
  ERR_clear_error();
  errno = EPROTO;
  return -1;
}

void TlsSession::SayGoodbye() {
  if (!established_ || failed_ || (SSL_get_shutdown(ssl_) & SSL_SENT_SHUTDOWN) != 0) return;
  ERR_clear_error();
  if (SSL_shutdown(ssl_) < 0) ERR_clear_error();
}

}  // namespace stator::http
