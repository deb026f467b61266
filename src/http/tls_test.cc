#include "http/tls.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "http/certificates.h"
#include "http/test_client.h"
#include "http/tls_keeper.h"

namespace stator::http {
namespace {

// A blocking client.
class TlsClient {
 public:
  struct Options {
    std::string authority;  // in PEM
    int version = TLS1_3_VERSION;
    std::string protocols = std::string("\x08http/1.1");  // of ALPN; empty: none
    KeyedCertificate own = {};
    std::string host = "localhost";
    SSL_SESSION* resume = nullptr;
    bool half = false;  // only connects
  };
  TlsClient(uint16_t port, const Options& options) {
    context_ = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_, options.version);
    SSL_CTX_set_security_level(context_, 0);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_CLIENT);
    BIO* pem =
        BIO_new_mem_buf(options.authority.data(), static_cast<int>(options.authority.size()));
    X509* authority = PEM_read_bio_X509(pem, nullptr, nullptr, nullptr);
    if (authority != nullptr) X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), authority);
    X509_free(authority);
    BIO_free(pem);
    if (!options.own.key.empty()) Use(options.own);
    ssl_ = SSL_new(context_);
    if (!options.protocols.empty()) {
      SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(options.protocols.data()),
                          static_cast<unsigned>(options.protocols.size()));
    }
    SSL_set1_host(ssl_, options.host.c_str());
    if (options.resume != nullptr) SSL_set_session(ssl_, options.resume);
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval guard{30, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &guard, sizeof(guard));
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return;
    SSL_set_fd(ssl_, fd_);
    ERR_clear_error();
    if (!options.half) connected_ = SSL_connect(ssl_) == 1;
    if (!connected_) KeepError();
  }
  ~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    if (fd_ >= 0) ::close(fd_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  bool connected() const { return connected_; }
  const std::string& error() const { return error_; }
  SSL* ssl() { return ssl_; }
  int fd() const { return fd_; }

  bool Send(std::string_view bytes) {
    return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) ==
           static_cast<int>(bytes.size());
  }
  ClientReply Read() {
    ClientReply reply;
    size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!More()) return reply;
    }
    reply.head = buffer_.substr(0, end + 4);
    buffer_.erase(0, end + 4);
    reply.status = std::atoi(reply.head.c_str() + 9);
    const size_t at = reply.head.find("Content-Length: ");
    const size_t length = std::strtoull(reply.head.c_str() + at + 16, nullptr, 10);
    while (buffer_.size() < length) {
      if (!More()) return {};
    }
    reply.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return reply;
  }
  ClientReply Ask(std::string_view bytes) { return Send(bytes) ? Read() : ClientReply(); }
  // Whether the server ends with close_notify.
  bool ReadEnd() {
    return buffer_.empty() && !More() && (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0 &&
           error_.empty();
  }

 private:
  void Use(const KeyedCertificate& own) {
    BIO* pem = BIO_new_mem_buf(own.certificate.data(), static_cast<int>(own.certificate.size()));
    X509* certificate = PEM_read_bio_X509(pem, nullptr, nullptr, nullptr);
    BIO_free(pem);
    pem = BIO_new_mem_buf(own.key.data(), static_cast<int>(own.key.size()));
    EVP_PKEY* key = PEM_read_bio_PrivateKey(pem, nullptr, nullptr, nullptr);
    BIO_free(pem);
    SSL_CTX_use_certificate(context_, certificate);
    SSL_CTX_use_PrivateKey(context_, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  bool More() {
    char bytes[64 * 1024];
    ERR_clear_error();
    const int got = SSL_read(ssl_, bytes, sizeof(bytes));
    if (got <= 0) {
      KeepError();
      return false;
    }
    buffer_.append(bytes, got);
    return true;
  }
  void KeepError() {
    const char* reason = ERR_reason_error_string(ERR_peek_last_error());
    error_ = reason != nullptr ? reason : "";
  }

  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  int fd_ = -1;
  bool connected_ = false;
  std::string error_;
  std::string buffer_;
};

constexpr int kDays = 30;

KeyedCertificate Made(Result<KeyedCertificate> made) {
  if (!made.ok()) {
    ADD_FAILURE() << made.error().message();
    return {};
  }
  return *std::move(made);
}

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/stator-tls-XXXXXX";
    directory_ = mkdtemp(name);
    authority_ = Made(MakeAuthority("test CA", kDays));
    Write(Made(MakeServerCertificate(authority_, {"localhost", "127.0.0.1", "::1"}, kDays)));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string PathOf(const std::string& name) const { return (directory_ / name).string(); }
  void WriteFile(const std::string& name, const std::string& text) const {
    std::ofstream(PathOf(name), std::ios::binary | std::ios::trunc) << text;
  }
  void Write(const KeyedCertificate& made) const {
    WriteFile("server.pem", made.certificate);
    WriteFile("server.key", made.key);
  }
  TlsPaths Paths() const { return {PathOf("server.pem"), PathOf("server.key"), ""}; }
  std::shared_ptr<TlsKeeper> Keeper(const TlsPaths& paths) const {
    Result<std::unique_ptr<TlsKeeper>> keeper = TlsKeeper::Open(paths);
    if (!keeper.ok()) {
      ADD_FAILURE() << keeper.error().message();
      std::abort();
    }
    return *std::move(keeper);
  }
  ServerOptions Secure() const {
    ServerOptions options;
    options.secure = true;
    options.tls = Keeper(Paths());
    return options;
  }
  TlsClient::Options Client() const { return {.authority = authority_.certificate}; }

  SystemClock clock_;
  std::filesystem::path directory_;
  KeyedCertificate authority_;
};

TEST_F(TlsTest, ServesTls12AndTls13) {
  auto server = ServeEcho(Secure(), clock_);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient::Options options = Client();
    options.version = version;
    TlsClient client(server->port(), options);
    ASSERT_TRUE(client.connected()) << client.error();
    EXPECT_EQ(SSL_version(client.ssl()), version);
    for (int i = 0; i < 100; ++i) {
      const std::string body = "body " + std::to_string(i);
      ASSERT_EQ(client.Ask(Post(body)).body, "POST /|" + body);
    }
  }
  EXPECT_EQ(server->state().handshakes, 2);
  EXPECT_EQ(server->state().failed_handshakes, 0);
}

TEST_F(TlsTest, RefusesOlderVersions) {
  auto server = ServeEcho(Secure(), clock_);
  TlsClient::Options options = Client();
  options.version = TLS1_1_VERSION;
  TlsClient client(server->port(), options);
  EXPECT_FALSE(client.connected());
  EXPECT_TRUE(Eventually([&] { return server->state().failed_handshakes == 1; }));
}

TEST_F(TlsTest, AClientChecksAuthorityAndName) {
  auto server = ServeEcho(Secure(), clock_);
  TlsClient::Options stranger;
  stranger.authority = Made(MakeAuthority("another", kDays)).certificate;
  EXPECT_FALSE(TlsClient(server->port(), stranger).connected());
  TlsClient::Options misnamed = Client();
  misnamed.host = "db.example";
  EXPECT_FALSE(TlsClient(server->port(), misnamed).connected());
  TlsClient::Options by_address = Client();
  by_address.host = "127.0.0.1";
  TlsClient client(server->port(), by_address);
  EXPECT_TRUE(client.connected()) << client.error();
}

TEST_F(TlsTest, AgreesOnHttp11Only) {
  auto server = ServeEcho(Secure(), clock_);
  const auto agreed = [&](const std::string& protocols, std::string* protocol) {
    TlsClient::Options options = Client();
    options.protocols = protocols;
    TlsClient client(server->port(), options);
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(client.ssl(), &name, &size);
    *protocol = std::string(reinterpret_cast<const char*>(name), size);
    if (!client.connected()) *protocol = client.error();
    return client.connected() && client.Ask(Post("x")).status == 200;
  };
  std::string protocol;
  EXPECT_TRUE(agreed("", &protocol));
  EXPECT_EQ(protocol, "");
  EXPECT_TRUE(agreed("\x02h2\x08http/1.1", &protocol));
  EXPECT_EQ(protocol, "http/1.1");
  EXPECT_FALSE(agreed("\x02h2", &protocol));
  EXPECT_NE(protocol.find("no application protocol"), std::string::npos) << protocol;
}

TEST_F(TlsTest, MovesLongBodiesBothWays) {
  auto server = ServeEcho(Secure(), clock_);
  TlsClient client(server->port(), Client());
  ASSERT_TRUE(client.connected());
  for (const size_t size : {0u, 1u, 16'000u, 16'384u, 16'385u, 70'000u, 3'000'000u}) {
    std::string body(size, 'x');
    for (size_t i = 0; i < size; i += 97) body[i] = static_cast<char>('a' + i % 26);
    ASSERT_TRUE(client.Send(Post(body)));
    const ClientReply reply = client.Read();
    ASSERT_EQ(reply.status, 200);
    ASSERT_EQ(reply.body, "POST /|" + body) << size;
  }
}

TEST_F(TlsTest, AnswersPipelinedRequestsInOrder) {
  auto server = ServeEcho(Secure(), clock_);
  TlsClient client(server->port(), Client());
  ASSERT_TRUE(client.connected());
  std::string all;
  for (int i = 0; i < 500; ++i) all += Post(std::to_string(i) + std::string(i % 97, '.'));
  ASSERT_TRUE(client.Send(all));
  for (int i = 0; i < 500; ++i)
    ASSERT_EQ(client.Read().body, "POST /|" + std::to_string(i) + std::string(i % 97, '.'));
}

// Each byte of a request in a record of its own, some of them in pieces.
TEST_F(TlsTest, ReadsByteByByte) {
  auto server = ServeEcho(Secure(), clock_);
  TlsClient client(server->port(), Client());
  ASSERT_TRUE(client.connected());
  for (const char c : Post("hello")) ASSERT_TRUE(client.Send(std::string_view(&c, 1)));
  EXPECT_EQ(client.Read().body, "POST /|hello");
}

TEST_F(TlsTest, EndsWithCloseNotify) {
  auto server = ServeEcho(Secure(), clock_);
  TlsClient client(server->port(), Client());
  const ClientReply reply = client.Ask("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(client.ReadEnd()) << client.error();
  // A refusal, behind which the server waits for what the client still sends.
  TlsClient refused(server->port(), Client());
  EXPECT_EQ(refused.Ask("NONSENSE\r\n\r\n").status, 400);
  EXPECT_TRUE(refused.ReadEnd()) << refused.error();
}

TEST_F(TlsTest, AnswersAClientThatSaysItSendsNoMore) {
  auto server = ServeEcho(Secure(), clock_);
  for (const bool politely : {true, false}) {
    TlsClient client(server->port(), Client());
    ASSERT_TRUE(
        client.Send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n"));
    if (politely) SSL_shutdown(client.ssl());
    ::shutdown(client.fd(), SHUT_WR);
    EXPECT_EQ(client.Read().body, "GET /1|");
    EXPECT_EQ(client.Read().body, "GET /2|");
    EXPECT_TRUE(client.ReadEnd()) << client.error();
  }
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
}

// The server does not start the handshake anew, which would cost it and not the client.
TEST_F(TlsTest, RefusesToNegotiateAnew) {
  auto server = ServeEcho(Secure(), clock_);
  TlsClient::Options options = Client();
  options.version = TLS1_2_VERSION;
  TlsClient client(server->port(), options);
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(SSL_renegotiate(client.ssl()), 1);
  EXPECT_LT(SSL_do_handshake(client.ssl()), 1);
  TlsClient other(server->port(), options);
  EXPECT_EQ(other.Ask(Post("x")).status, 200);
}

TEST_F(TlsTest, FollowsKeyUpdates) {
  auto server = ServeEcho(Secure(), clock_);
  TlsClient client(server->port(), Client());
  ASSERT_TRUE(client.connected());
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_EQ(client.Ask(Post("x")).body, "POST /|x");
  }
}

// A client that sends nothing but key updates gets no more of the loop than others.
TEST_F(TlsTest, AFloodOfKeyUpdatesLeavesOthersTheirTurn) {
  auto server = ServeEcho(Secure(), clock_);
  std::atomic<bool> stop = false;
  std::thread flood([&] {
    TlsClient client(server->port(), Client());
    SSL_set_mode(client.ssl(), SSL_MODE_AUTO_RETRY);
    while (!stop) {
      if (SSL_key_update(client.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1 ||
          SSL_do_handshake(client.ssl()) != 1)
        break;
    }
  });
  TlsClient other(server->port(), Client());
  int64_t slowest = 0;
  for (int i = 0; i < 50; ++i) {
    const int64_t begin = clock_.TicksMicros();
    ASSERT_EQ(other.Ask(Post("x")).status, 200);
    slowest = std::max(slowest, clock_.TicksMicros() - begin);
  }
  stop = true;
  flood.join();
  EXPECT_LT(slowest, 20'000'000);
}

TEST_F(TlsTest, ResumesASessionByItsTicket) {
  auto server = ServeEcho(Secure(), clock_);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient::Options options = Client();
    options.version = version;
    TlsClient first(server->port(), options);
    ASSERT_EQ(first.Ask(Post("x")).status, 200);
    options.resume = SSL_get1_session(first.ssl());
    TlsClient second(server->port(), options);
    EXPECT_EQ(second.Ask(Post("x")).status, 200) << second.error();
    EXPECT_EQ(SSL_session_reused(second.ssl()), 1);
    SSL_SESSION_free(options.resume);
  }
}

TEST_F(TlsTest, TellsAPlainClientToUseHttps) {
  auto server = ServeEcho(Secure(), clock_);
  for (const char* method : {"GET", "POST", "DELETE", "OPTIONS"}) {
    TestClient client(server->port());
    const ClientReply reply =
        client.Ask(std::string(method) + " / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(reply.status, 400) << method;
    EXPECT_EQ(reply.body, Refusals().not_tls);
    EXPECT_TRUE(client.ReadEnd());
  }
  // Bytes of no protocol: the connection ends without a word.
  TestClient noise(server->port());
  ASSERT_TRUE(noise.Send(std::string("\x01\x02\x03\x04", 4)));
  EXPECT_TRUE(noise.ReadEnd());
  EXPECT_EQ(server->state().failed_handshakes, 5);
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
}

TEST_F(TlsTest, ServesPlainAndTlsOnTwoPorts) {
  ServerOptions options;
  options.tls = Keeper(Paths());
  options.more.push_back({.secure = true});
  std::atomic<int> secure = 0, listeners = 0;
  auto server = Serve(options, clock_, [&](Executor&) -> Handler {
    return [&](std::unique_ptr<Exchange> exchange) {
      secure += exchange->IsSecure() ? 1 : 0;
      listeners += exchange->listener();
      Echo(std::move(exchange));
    };
  });
  ASSERT_NE(server->port(0), server->port(1));
  TestClient plain(server->port(0));
  EXPECT_EQ(plain.Ask(Post("x")).status, 200);
  EXPECT_EQ(secure, 0);
  EXPECT_EQ(listeners, 0);
  TlsClient client(server->port(1), Client());
  EXPECT_EQ(client.Ask(Post("x")).status, 200);
  EXPECT_EQ(secure, 1);
  EXPECT_EQ(listeners, 1);
}

TEST_F(TlsTest, ClosesAHalfOpenHandshakeInTime) {
  ServerOptions options = Secure();
  options.handshake_timeout_micros = 300'000;
  auto server = ServeEcho(options, clock_);
  const int64_t begin = clock_.TicksMicros();
  TestClient silent(server->port());
  TestClient partial(server->port());
  ASSERT_TRUE(partial.Send(std::string("\x16\x03\x01\x02\x00\x01", 6)));
  // Sends now and then: the time runs from the start.
  TestClient trickle(server->port());
  std::thread sender([&] {
    for (int i = 0; i < 100 && trickle.Send("\x16"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  EXPECT_TRUE(silent.ReadEnd());
  EXPECT_GE(clock_.TicksMicros() - begin, 200'000);
  EXPECT_TRUE(partial.ReadEnd());
  sender.join();
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
  EXPECT_EQ(server->state().failed_handshakes, 3);
}

TEST_F(TlsTest, AnEstablishedConnectionHasNoHandshakeTimeout) {
  ManualClock manual;
  ServerOptions options = Secure();
  options.handshake_timeout_micros = 100'000;
  auto server = ServeEcho(options, manual);
  TlsClient client(server->port(), Client());
  ASSERT_TRUE(client.connected());
  manual.AdvanceMicros(400'000);
  // The second answer comes after the loop has looked at its timeouts.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.Ask(Post("x")).status, 200);
}

TEST_F(TlsTest, TooManyHandshakesCloseTheOldestOnly) {
  ServerOptions options = Secure();
  options.max_handshakes = 8;
  auto server = ServeEcho(options, clock_);
  TlsClient established(server->port(), Client());
  ASSERT_TRUE(established.connected());
  std::vector<std::unique_ptr<TestClient>> half;
  for (int i = 0; i < 100; ++i) {
    half.push_back(std::make_unique<TestClient>(server->port()));
    ASSERT_TRUE(half.back()->connected());
    if (i % 10 == 0) {
      TlsClient honest(server->port(), Client());
      EXPECT_EQ(honest.Ask(Post("x")).status, 200) << i;
    }
  }
  EXPECT_TRUE(Eventually([&] { return server->state().crowded_out_handshakes == 92; }))
      << server->state().crowded_out_handshakes;
  EXPECT_TRUE(Eventually([&] { return server->connections() == 9; })) << server->connections();
  EXPECT_TRUE(half.front()->ReadEnd());
  EXPECT_EQ(established.Ask(Post("x")).status, 200);
}

TEST_F(TlsTest, RefusesAConnectionBeyondTheLimitInsideTls) {
  ServerOptions options = Secure();
  options.max_connections = 1;
  auto server = ServeEcho(options, clock_);
  TlsClient first(server->port(), Client());
  ASSERT_EQ(first.Ask(Post("x")).status, 200);
  TlsClient second(server->port(), Client());
  EXPECT_EQ(second.Ask(Post("x")).status, 503);
}

TEST_F(TlsTest, ClientsNeedACertificateIfThereIsAnAuthorityOfClients) {
  const KeyedCertificate clients = Made(MakeAuthority("clients", kDays));
  WriteFile("clients.pem", clients.certificate);
  ServerOptions options;
  options.secure = true;
  options.tls = Keeper({PathOf("server.pem"), PathOf("server.key"), PathOf("clients.pem")});
  auto server = ServeEcho(options, clock_);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient::Options known = Client();
    known.version = version;
    known.own = Made(MakeClientCertificate(clients, "app", kDays));
    TlsClient client(server->port(), known);
    EXPECT_EQ(client.Ask(Post("x")).status, 200) << client.error();
    // By its ticket, too.
    known.resume = SSL_get1_session(client.ssl());
    TlsClient again(server->port(), known);
    EXPECT_EQ(again.Ask(Post("x")).status, 200) << again.error();
    SSL_SESSION_free(known.resume);

    TlsClient::Options without = Client();
    without.version = version;
    TlsClient none(server->port(), without);
    EXPECT_EQ(none.Ask(Post("x")).status, 0);
    TlsClient::Options unknown = without;
    unknown.own = Made(MakeClientCertificate(authority_, "app", kDays));
    TlsClient stranger(server->port(), unknown);
    EXPECT_EQ(stranger.Ask(Post("x")).status, 0);
    // A server's certificate is no client's.
    TlsClient::Options server_like = without;
    server_like.own = Made(MakeServerCertificate(clients, {"app"}, kDays));
    TlsClient impostor(server->port(), server_like);
    EXPECT_EQ(impostor.Ask(Post("x")).status, 0);
  }
}

TEST_F(TlsTest, ReplacesTheCertificateWithoutClosingConnections) {
  ServerOptions options = Secure();
  const std::shared_ptr<TlsKeeper> keeper = options.tls;
  auto server = ServeEcho(options, clock_);
  TlsClient old(server->port(), Client());
  ASSERT_EQ(old.Ask(Post("x")).status, 200);
  EXPECT_EQ(keeper->Reload(false), TlsKeeper::Outcome::kSame);

  const KeyedCertificate next = Made(MakeAuthority("next CA", kDays));
  Write(Made(MakeServerCertificate(next, {"localhost"}, kDays)));
  EXPECT_EQ(keeper->Reload(false), TlsKeeper::Outcome::kReplaced);
  EXPECT_EQ(old.Ask(Post("y")).status, 200);
  TlsClient::Options of_next;
  of_next.authority = next.certificate;
  TlsClient client(server->port(), of_next);
  EXPECT_EQ(client.Ask(Post("x")).status, 200) << client.error();
  EXPECT_FALSE(TlsClient(server->port(), Client()).connected());
}

TEST_F(TlsTest, KeepsTheCertificateIfTheNewOneIsBroken) {
  ServerOptions options = Secure();
  const std::shared_ptr<TlsKeeper> keeper = options.tls;
  auto server = ServeEcho(options, clock_);
  const KeyedCertificate next = Made(MakeServerCertificate(authority_, {"localhost"}, kDays));
  // The key of another certificate, no certificate at all, and no file.
  WriteFile("server.key", next.key);
  EXPECT_EQ(keeper->Reload(false), TlsKeeper::Outcome::kKept);
  EXPECT_EQ(keeper->Reload(false), TlsKeeper::Outcome::kSame);  // and is not logged again
  EXPECT_EQ(keeper->Reload(true), TlsKeeper::Outcome::kKept);
  WriteFile("server.pem", "no certificate");
  EXPECT_EQ(keeper->Reload(false), TlsKeeper::Outcome::kKept);
  std::filesystem::remove(PathOf("server.pem"));
  EXPECT_EQ(keeper->Reload(false), TlsKeeper::Outcome::kKept);
  EXPECT_TRUE(TlsClient(server->port(), Client()).connected());
  Write(next);
  EXPECT_EQ(keeper->Reload(false), TlsKeeper::Outcome::kReplaced);
  EXPECT_TRUE(TlsClient(server->port(), Client()).connected());
}

TEST_F(TlsTest, SaysWhichFileIsWrong) {
  const auto why = [](const TlsPaths& paths) {
    const auto loaded = TlsContext::Load(paths);
    return loaded.ok() ? std::string() : loaded.error().message();
  };
  EXPECT_EQ(why(Paths()), "");
  TlsPaths paths = Paths();
  paths.certificate = PathOf("none.pem");
  EXPECT_EQ(why(paths),
            "cannot use the certificate " + paths.certificate + ": No such file or directory");
  paths = Paths();
  paths.key = paths.certificate;
  EXPECT_NE(why(paths).find("cannot use the key"), std::string::npos) << why(paths);
  paths = Paths();
  WriteFile("other.key", Made(MakeAuthority("another", kDays)).key);
  paths.key = PathOf("other.key");
  EXPECT_NE(why(paths).find("key values mismatch"), std::string::npos) << why(paths);
  paths = Paths();
  paths.client_ca = paths.key;
  EXPECT_NE(why(paths).find("cannot use the client CA"), std::string::npos) << why(paths);
}

TEST_F(TlsTest, ClosesConnectionsInTheirHandshakeWhenItDrains) {
  auto server = ServeEcho(Secure(), clock_);
  TestClient half(server->port());
  ASSERT_TRUE(Eventually([&] { return server->connections() == 1; }));
  TlsClient idle(server->port(), Client());
  ASSERT_TRUE(idle.connected());
  server->Drain(5'000'000);
  EXPECT_EQ(server->connections(), 0);
  EXPECT_TRUE(half.ReadEnd());
  EXPECT_TRUE(idle.ReadEnd()) << idle.error();
}

TEST(Certificates, RefusesHostsThatAreNone) {
  const KeyedCertificate authority = Made(MakeAuthority("CA", kDays));
  for (const char* host : {"", "a b", "a,DNS:evil.example", "http://x", "db:8000", ".example", "ü"})
    EXPECT_FALSE(MakeServerCertificate(authority, {host}, kDays).ok()) << host;
  EXPECT_FALSE(MakeServerCertificate(authority, {}, kDays).ok());
  for (const char* host : {"*.example.com", "db.example.com", "10.0.0.1", "fe80::1", "db_1"})
    EXPECT_TRUE(MakeServerCertificate(authority, {host}, kDays).ok()) << host;
  EXPECT_FALSE(MakeServerCertificate({"", ""}, {"localhost"}, kDays).ok());
  EXPECT_FALSE(MakeServerCertificate({authority.certificate, Made(MakeAuthority("CA", kDays)).key},
                                     {"localhost"}, kDays)
                   .ok());
}

}  // namespace
}  // namespace stator::http
