#include "http/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"

namespace stator::http {
namespace {

// A body up to this size is copied behind its head, so that a reply is one piece and replies can be
// batched.
constexpr size_t kCopiedBody = 16 * 1024;
// Replies to pipelined requests are written together up to this size.
constexpr size_t kBatchBytes = 64 * 1024;
// One client's share of a round, so that a fast one does not starve the others.
constexpr int kRequestsPerRound = 64;
constexpr int kReceivesPerRound = 16;
// Bounds on the bytes that a connection moves in one round, so that the others get their turn:
// hundreds of clients may send or read bodies of megabytes at once. The kernel copies 256 KB in
// about 50 us.
constexpr size_t kReceiveBytesPerRound = 256 * 1024;
constexpr size_t kSendBytesPerRound = 256 * 1024;
constexpr size_t kDiscardBytesPerRound = 1024 * 1024;
// The bytes that a client may still send after a refusal while it reads the reply. They are enough
// for a body just above the limit of 16 MB: a client that is still writing when the connection is
// closed loses the reply.
constexpr int64_t kDiscardBytes = 32 << 20;
// Timeouts while memory is full: for a client that does not read its reply (kStuckReaderMicros),
// and for one that has sent only a part of a request's head (kStuckHeaderMicros).
constexpr int64_t kStuckReaderMicros = 1'000'000;
constexpr int64_t kStuckHeaderMicros = 5'000'000;
// The rate of a body is known after it has been arriving for this time.
constexpr int64_t kKnownRateMicros = 1'000'000;
constexpr int64_t kHandshakeLogMicros = 1'000'000;

}  // namespace

class Connection::HandedOut final : public Exchange {
 public:
  explicit HandedOut(Connection& connection) : connection_(connection), lease_(connection.holder_) {
    ++connection_.exchanges_;
  }
  ~HandedOut() override {
    if (!answered_) {
      Reply reply;
      reply.status = 500;
      reply.body = connection_.loop_.shared().refusals.internal;
      connection_.Answer(std::move(reply));
    }
    lease_.Release();
    connection_.ReleaseExchange();
  }
  const Request& request() const override { return connection_.reader_->request(); }
  std::string PeerAddress() const override { return connection_.PeerAddress(); }
  bool IsSecure() const override { return connection_.tls_ != nullptr; }
  int listener() const override { return connection_.listener_; }
  Executor& loop() override { return connection_.loop_; }
  bool HasLeft() const override { return connection_.left_.load(std::memory_order_relaxed); }
  void Send(Reply reply) override {
    if (std::exchange(answered_, true)) return;
    connection_.Answer(std::move(reply));
    lease_.Release();
  }
  MemoryLease& memory() override { return lease_; }

 private:
  Connection& connection_;
  MemoryLease lease_;
  bool answered_ = false;
};

const std::string& Connection::PeerAddress() {
  if (!peer_.empty() || !fd_.valid()) return peer_;
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return peer_;
  char text[INET6_ADDRSTRLEN];
  const char* found = nullptr;
  if (address.ss_family == AF_INET) {
    found = ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text,
                        sizeof text);
  } else if (address.ss_family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    // A socket for both families shows an IPv4 client as ::ffff:192.0.2.1.
    found = IN6_IS_ADDR_V4MAPPED(&six) ? ::inet_ntop(AF_INET, six.s6_addr + 12, text, sizeof text)
                                       : ::inet_ntop(AF_INET6, &six, text, sizeof text);
  }
  if (found != nullptr) peer_ = found;
  return peer_;
}

Connection::Connection(Loop& loop, UniqueFd fd, const ClientAddress& address, int listener,
                       std::unique_ptr<TlsSession> tls, bool extra)
    : loop_(loop),
      fd_(std::move(fd)),
      tls_(std::move(tls)),
      listener_(listener),
      extra_(extra),
      counted_as_shaking_(tls_ != nullptr && !extra),
      holder_(loop.shared().memory, address) {}

Connection::~Connection() {
  Close();
  DropReader();
}

void Connection::OnEvents(uint32_t events) {
  if (closed()) return;
  sent_in_round_ = 0;
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
    Close();
    return;
  }
  if ((events & EPOLLRDHUP) != 0) {
    half_closed_ = true;
    left_.store(true, std::memory_order_relaxed);
  }
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) readable_ = true;
  if (tls_ != nullptr && tls_->wants_write() && (events & EPOLLOUT) != 0) readable_ = true;
  if ((events & EPOLLOUT) != 0 && blocked_ && !put_off_) {
    blocked_ = false;
    if (!Flush()) return;
  }
  Advance();
}

void Connection::QueueResume() {
  if (queued_) return;
  queued_ = true;
  loop_.ResumeLater(this);
}

void Connection::QueueNextRound() {
  if (queued_) return;
  queued_ = true;
  loop_.ResumeNextRound(this);
}

void Connection::Resume() {
  queued_ = false;
  if (closed()) return;
  resuming_ = true;
  sent_in_round_ = 0;
  bool flushed = true;
  if (std::exchange(put_off_, false)) {
    blocked_ = false;
    flushed = Flush();
  }
  if (flushed) Advance();
  resuming_ = false;
}

void Connection::OnDeadline(Deadline kind) {
  Shared& shared = loop_.shared();
  const bool body = kind == Deadline::kBody;
  if (body || kind == Deadline::kWrite) {
    const ServerOptions& options = shared.options;
    if (!IsSlow(kind, body ? options.body_timeout_micros : options.write_timeout_micros)) {
      loop_.Arm(this, kind);
      return;
    }
    shared.slow_clients.fetch_add(1, std::memory_order_relaxed);
  }
  if ((kind == Deadline::kHeader || kind == Deadline::kBody) && phase_ == Phase::kReading &&
      !blocked_) {
    Refuse(408, shared.refusals.timeout);
    Advance();
  } else {
    if (kind == Deadline::kHandshake) NoteFailedHandshake("it took too long");
    Close();
  }
}

void Connection::Measure(Deadline kind) {
  measured_from_ticks_ = loop_.now_ticks();
  measured_from_bytes_ = Moved(kind);
  loop_.Arm(this, kind);
}

int64_t Connection::Moved(Deadline kind) const {
  if (kind == Deadline::kBody) return received_bytes_;
  // Bytes in the kernel's queue have not reached the client yet.
  int queued = 0;
  return (tls_ == nullptr ? sent_bytes_ : tls_->wire_bytes()) -
         (::ioctl(fd_.get(), SIOCOUTQ, &queued) == 0 ? queued : 0);
}

int64_t Connection::LeastMoved(int64_t micros) const {
  const int64_t rate = loop_.shared().options.min_client_bytes_per_second;
  return std::max<int64_t>(1, rate * (micros / 1000) / 1000);
}

bool Connection::IsSlow(Deadline kind, int64_t timeout_micros) {
  const int64_t micros = loop_.now_ticks() - measured_from_ticks_;
  const int64_t moved = Moved(kind);
  if (moved - measured_from_bytes_ >= LeastMoved(micros)) {
    measured_from_ticks_ = loop_.now_ticks();
    measured_from_bytes_ = moved;
    return false;
  }
  const bool pressed = loop_.shared().memory.pressed();
  return micros >= (pressed ? timeout_micros / kLooksAtRate : timeout_micros);
}

bool Connection::IsStuck() const {
  if (armed_kind_ == Deadline::kHeader) {
    const int64_t began = deadline_ticks_ - loop_.shared().options.header_timeout_micros;
    return loop_.now_ticks() - began >= kStuckHeaderMicros;
  }
  const int64_t micros = loop_.now_ticks() - measured_from_ticks_;
  return micros >= kStuckReaderMicros &&
         Moved(Deadline::kWrite) - measured_from_bytes_ < LeastMoved(micros);
}

int64_t Connection::ExpectedBodyMicros() const {
  // One that is advancing is being read right now.
  if (arriving_bytes_ == 0 || advancing_ || phase_ != Phase::kReading) return 0;
  const int64_t micros = loop_.now_ticks() - arriving_from_ticks_;
  if (micros < kKnownRateMicros) return 0;
  const uint64_t whole =
      reader_->chunked() ? loop_.shared().options.max_body_bytes : reader_->body_bytes();
  const uint64_t here = reader_->arrived_bytes();
  const auto missing = static_cast<double>(whole > here ? whole - here : 0);
  const auto arrived =
      static_cast<double>(std::max<int64_t>(1, received_bytes_ - arriving_from_bytes_));
  const auto all = static_cast<double>(micros);
  return micros + static_cast<int64_t>(all * missing / arrived);
}

void Connection::RefuseSlowBody() {
  if (blocked_) {
    Close();
    return;
  }
  Refuse(408, loop_.shared().refusals.slow_body);
  Advance();
}

bool Connection::Shake() {
  if (!readable_) return false;
  if (!loop_.TakeHandshakeStep()) {
    QueueResume();
    return false;
  }
  const TlsSession::Progress progress = tls_->Shake();
  if (progress == TlsSession::Progress::kAgain) {
    readable_ = false;
    return false;
  }
  if (std::exchange(counted_as_shaking_, false)) loop_.EndHandshake();
  switch (progress) {
    case TlsSession::Progress::kDone:
      loop_.shared().handshakes.fetch_add(1, std::memory_order_relaxed);
      if (!extra_) loop_.Disarm(this);
      return true;
    case TlsSession::Progress::kPlainHttp:
      NoteFailedHandshake("the client speaks plain HTTP");
      tls_ = nullptr;
      Refuse(400, loop_.shared().refusals.not_tls);
      return false;
    default:
      NoteFailedHandshake(tls_->error());
      Close();
      return false;
  }
}

void Connection::NoteFailedHandshake(std::string_view why) {
  Shared& shared = loop_.shared();
  const int64_t failed = shared.failed_handshakes.fetch_add(1, std::memory_order_relaxed) + 1;
  int64_t next = shared.next_handshake_log_ticks.load(std::memory_order_relaxed);
  if (loop_.now_ticks() < next ||
      !shared.next_handshake_log_ticks.compare_exchange_strong(
          next, loop_.now_ticks() + kHandshakeLogMicros, std::memory_order_relaxed))
    return;
  LogInfo("tls_handshake_failed",
          {{"client", PeerAddress()}, {"reason", why}, {"failed_since_start", failed}});
}

// Does all that can be done now: reads, parses, hands out, writes.
void Connection::Advance() {
  advancing_ = true;
  int requests = 0;
  int receives = 0;
  const int64_t most_received = received_bytes_ + static_cast<int64_t>(kReceiveBytesPerRound);
  const bool shaken = !is_shaking() || Shake();
  while (shaken && !closed() && phase_ == Phase::kReading && !blocked_) {
    const bool unparsed = reader_ != nullptr && reader_->has_unparsed();
    if (!unparsed && !readable_)
      break;  // what there is to write can wait for the replies of other connections
    // Before the next request, for its reply's head would go ahead of a body that is not copied
    // behind its own.
    if (output_ != nullptr && (!output_->body.empty() || output_->size() > kBatchBytes)) {
      Flush();
      continue;
    }
    if (unparsed) {
      if (requests == kRequestsPerRound || (requests > 0 && loop_.RoundIsOld())) {
        QueueNextRound();
        break;
      }
      ParseMore();
      if (phase_ == Phase::kInHand || phase_ == Phase::kReading) ++requests;
      continue;
    }
    if (receives++ == kReceivesPerRound || received_bytes_ >= most_received) {
      QueueNextRound();
      break;
    }
    if (!Receive()) break;
  }
  if (!closed() && output_ != nullptr && !blocked_) {
    if (!resuming_ && phase_ != Phase::kLast) {
      loop_.NotePutOff(output_->size());
      QueueResume();
      advancing_ = false;
      return;
    }
    Flush();
  }
  if (!closed() && phase_ == Phase::kLingering) Discard();
  advancing_ = false;
  if (!closed()) SettleDown();
}

// Gives back what an idle connection does not need, and sets the deadline of what it waits for.
void Connection::SettleDown() {
  if (phase_ == Phase::kReading && reader_ != nullptr && reader_->empty()) DropReader();
  if (phase_ == Phase::kReading && !blocked_ && loop_.draining() && reader_ == nullptr &&
      output_ == nullptr) {
    Close();
    return;
  }
  std::optional<Deadline> wanted;
  if (blocked_) {
    return;  // Flush armed it, when the client last took something
  } else if (is_shaking()) {
    return;  // Loop::Adopt armed it
  } else if (phase_ == Phase::kLingering) {
    wanted = Deadline::kLinger;
  } else if (extra_) {
    wanted = Deadline::kExtra;
  } else if (phase_ == Phase::kReading && reader_ != nullptr) {
    wanted = reader_->headers_complete() ? Deadline::kBody : Deadline::kHeader;
  } else if (phase_ == Phase::kReading) {
    loop_.Arm(this, Deadline::kIdle);
    return;
  }
  if (!wanted.has_value()) {
    loop_.Disarm(this);
  } else if (!armed_ || armed_kind_ != *wanted) {
    if (*wanted == Deadline::kBody) BeginArriving();
    *wanted == Deadline::kBody ? Measure(*wanted) : loop_.Arm(this, *wanted);
  }
}

// False if there is nothing to parse.
bool Connection::Receive() {
  if (reader_ == nullptr) reader_ = loop_.TakeReader();
  if (!MakeRoom()) return false;
  const size_t space = std::min(reader_->space_bytes(), kReceiveBytesPerRound);
  const ssize_t got = tls_ == nullptr ? ::recv(fd_.get(), reader_->space(), space, 0)
                                      : tls_->Read(reader_->space(), space, half_closed_);
  if (got > 0) {
    reader_->Commit(got);
    received_bytes_ += got;
    // Less than asked for: the socket is empty, and epoll will tell of more. (Not of an end that it
    // told already.)
    const bool emptied = tls_ == nullptr ? static_cast<size_t>(got) < space : tls_->drained();
    if (emptied && !half_closed_) readable_ = false;
    return true;
  }
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    readable_ = false;
    return false;
  }
  // The end. Replies to what came before may still be on their way.
  if (got == 0 && output_ != nullptr) {
    phase_ = Phase::kLast;
    after_flush_ = AfterFlush::kClose;
  } else {
    Close();
  }
  return false;
}

void Connection::ParseMore() {
  switch (reader_->Parse()) {
    case RequestReader::Progress::kBad: Refuse(400, loop_.shared().refusals.bad_request); return;
    case RequestReader::Progress::kMore:
      if (!CheckSizes()) return;
      if (!continue_sent_ && reader_->expects_continue()) {
        continue_sent_ = true;
        if (output_ == nullptr) output_ = loop_.TakeOutput();
        output_->text.append("HTTP/1.1 100 Continue\r\n\r\n");
        Flush();
      }
      return;
    case RequestReader::Progress::kComplete:
      if (!CheckSizes()) return;
      EndArriving();
      loop_.Disarm(this);  // a request that is pipelined behind this one has a deadline of its own
      if (loop_.TakesNow(this, reader_->request().body.size())) return Dispatch();
      phase_ = Phase::kWaiting;
      has_turn_ = true;
      return;
  }
}

void Connection::TakeTurn() {
  has_turn_ = false;
  if (closed()) return;
  advancing_ = true;
  Dispatch();
  Advance();
}

bool Connection::MakeRoom() {
  const size_t capacity = reader_->MakeRoom();
  if (capacity == 0) return true;
  const auto more = static_cast<int64_t>(capacity - reader_->capacity());
  // From here on bodies compete: the oldest is always finished.
  if (capacity > static_cast<size_t>(MemoryAccount::kSmallBytes)) holder_.BeginBody();
  loop_.RefuseSlowBodies();
  if (!holder_.TryAdd(more, /*of_body=*/true)) {
    Refuse(503, loop_.shared().refusals.out_of_memory);
    return false;
  }
  reader_bytes_ += more;
  if (arriving_bytes_ != 0) {
    arriving_bytes_ += more;
    loop_.shared().arriving_bytes.fetch_add(more, std::memory_order_relaxed);
  }
  reader_->Grow(capacity);
  return true;
}

void Connection::BeginArriving() {
  if (arriving_bytes_ != 0) return;
  arriving_bytes_ = static_cast<int64_t>(reader_->capacity());
  arriving_from_ticks_ = loop_.now_ticks();
  arriving_from_bytes_ = received_bytes_;
  loop_.shared().arriving_bytes.fetch_add(arriving_bytes_, std::memory_order_relaxed);
}

void Connection::EndArriving() {
  if (arriving_bytes_ == 0) return;
  loop_.shared().arriving_bytes.fetch_sub(std::exchange(arriving_bytes_, 0),
                                          std::memory_order_relaxed);
}

bool Connection::CheckSizes() {
  Shared& shared = loop_.shared();
  if (reader_->header_bytes() > shared.options.max_header_bytes) {
    Refuse(400, shared.refusals.bad_request);
    return false;
  }
  if (!reader_->headers_complete()) return true;
  if (extra_ && !IsAlwaysServed()) {
    shared.refused_connections.fetch_add(1, std::memory_order_relaxed);
    Refuse(503, shared.refusals.overloaded);
    return false;
  }
  if (reader_->body_bytes() > shared.options.max_body_bytes) {
    Refuse(413, shared.refusals.too_large);
    return false;
  }
  return true;
}

bool Connection::IsAlwaysServed() const {
  const std::string& prefix = loop_.shared().options.always_served_prefix;
  return !prefix.empty() && reader_->target().starts_with(prefix) && !reader_->chunked() &&
         reader_->body_bytes() == 0;
}

void Connection::Dispatch() {
  phase_ = Phase::kInHand;
  continue_sent_ = false;
  if (IsCrowdedOut() && !IsAlwaysServed()) [[unlikely]] {
    loop_.CloseStuck();
    if (IsCrowdedOut()) return Overload();
  }
  loop_.Handle(std::make_unique<HandedOut>(*this));
}

// Answers 503 to a whole request. The connection stays: a client that tries again needs no other.
void Connection::Overload() {
  Shared& shared = loop_.shared();
  shared.memory.NoteRefusal();
  Reply reply;
  reply.status = 503;
  reply.headers.emplace_back("Content-Type", "application/x-amz-json-1.0");
  reply.body = shared.refusals.out_of_memory;
  Answer(std::move(reply));
}

void Connection::Answer(Reply reply) {
  if (closed()) {
    DropReader();
    return;
  }
  const bool close =
      reply.close || extra_ || !reader_->keep_alive() || loop_.closes_after_replies();
  const bool head_only = reader_->is_head();
  std::string body = std::move(reply.body);
  reply.body.clear();
  if (output_ == nullptr) output_ = loop_.TakeOutput();
  AppendReplyHead(reply, HasNoBody(reply.status) ? 0 : body.size(), loop_.common_headers(), close,
                  &output_->text);
  if (!head_only && !HasNoBody(reply.status)) {
    if (body.size() <= kCopiedBody) {
      output_->text.append(body);
    } else {
      output_->body = std::move(body);
      Count(output_->body.capacity());
    }
  }
  holder_.EndBody();
  reader_->Next();
  if (close) {
    phase_ = Phase::kLast;
    // With bytes unread a plain close would become a reset, which may overtake the reply.
    after_flush_ = readable_ || !reader_->empty() ? AfterFlush::kLinger : AfterFlush::kClose;
  } else {
    phase_ = Phase::kReading;
  }
  if (!advancing_) QueueResume();
}

void Connection::Refuse(int status, const std::string& body) {
  DropReader();
  Reply reply;
  reply.status = status;
  reply.headers.emplace_back("Content-Type", "application/x-amz-json-1.0");
  if (output_ == nullptr) output_ = loop_.TakeOutput();
  AppendReplyHead(reply, body.size(), loop_.common_headers(), true, &output_->text);
  output_->text.append(body);
  phase_ = Phase::kLast;
  after_flush_ = AfterFlush::kLinger;
}

bool Connection::Flush() {
  while (output_ != nullptr) {
    Output& output = *output_;
    ssize_t sent;
    if (tls_ != nullptr) {
      sent = tls_->Write(output.next().substr(0, kSendBytesPerRound));
    } else if (output.body.empty()) {
      sent = ::send(fd_.get(), output.text.data() + output.sent, output.text.size() - output.sent,
                    MSG_NOSIGNAL);
    } else {
      iovec pieces[2];
      msghdr message{};
      message.msg_iov = pieces;
      if (output.sent < output.text.size()) {
        pieces[message.msg_iovlen++] = {output.text.data() + output.sent,
                                        output.text.size() - output.sent};
        pieces[message.msg_iovlen++] = {output.body.data(),
                                        std::min(output.body.size(), kSendBytesPerRound)};
      } else {
        const size_t skip = output.sent - output.text.size();
        pieces[message.msg_iovlen++] = {output.body.data() + skip,
                                        std::min(output.body.size() - skip, kSendBytesPerRound)};
      }
      sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    }
    if (sent >= 0) {
      output.sent += sent;
      sent_bytes_ += sent;
      sent_in_round_ += static_cast<size_t>(sent);
      if (output.sent == output.size()) {
        DropOutput();
        break;
      }
      if (sent_in_round_ < kSendBytesPerRound) continue;
      blocked_ = put_off_ = true;
      QueueNextRound();
      return false;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      blocked_ = true;
      if (armed_ && armed_kind_ == Deadline::kWrite) return false;
      // A client that does not read holds the text too.
      Count(output.text.capacity());
      Measure(Deadline::kWrite);
      return false;
    }
    Close();
    return false;
  }
  if (armed_ && armed_kind_ == Deadline::kWrite) loop_.Disarm(this);
  if (phase_ == Phase::kLast) Finish();
  return !closed();
}

// The last reply has gone.
void Connection::Finish() {
  if (after_flush_ == AfterFlush::kClose) {
    Close();
    return;
  }
  phase_ = Phase::kLingering;
  DropReader();
  if (tls_ != nullptr) tls_->SayGoodbye();
  ::shutdown(fd_.get(), SHUT_WR);
  readable_ = true;
}

void Connection::Discard() {
  const int64_t most = discarded_bytes_ + static_cast<int64_t>(kDiscardBytesPerRound);
  while (readable_) {
    // TCP drops the bytes and copies none.
    const ssize_t got = ::recv(fd_.get(), nullptr, kDiscardBytesPerRound, MSG_TRUNC);
    if (got > 0) {
      discarded_bytes_ += got;
      if (discarded_bytes_ > kDiscardBytes) {
        Close();
        return;
      }
      if (discarded_bytes_ >= most) {
        QueueNextRound();
        return;
      }
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      readable_ = false;
      return;
    }
    Close();
    return;
  }
}

void Connection::Count(size_t bytes) {
  output_->counted += static_cast<int64_t>(bytes);
  holder_.Add(static_cast<int64_t>(bytes));
}

void Connection::DropReader() {
  if (reader_ == nullptr) return;
  EndArriving();
  loop_.GiveBack(std::move(reader_));
  holder_.EndBody();
  holder_.Sub(std::exchange(reader_bytes_, 0));
}

void Connection::DropOutput() {
  if (output_ == nullptr) return;
  const int64_t counted = output_->counted;
  loop_.GiveBack(std::move(output_));
  holder_.Sub(counted);
}

void Connection::ReleaseExchange() {
  if (--exchanges_ == 0 && closed()) loop_.Bury(this);
}

void Connection::Close() {
  if (closed()) return;
  left_.store(true, std::memory_order_relaxed);
  loop_.Disarm(this);
  if (std::exchange(counted_as_shaking_, false)) loop_.EndHandshake();
  if (tls_ != nullptr && !blocked_) tls_->SayGoodbye();
  fd_.Reset();
  blocked_ = false;
  Shared& shared = loop_.shared();
  (extra_ ? shared.extra_connections : shared.connections).fetch_sub(1, std::memory_order_relaxed);
  DropOutput();
  // A request in hand is read by its handler until the reply.
  if (phase_ != Phase::kInHand) DropReader();
  if (exchanges_ == 0) loop_.Bury(this);
}

}  // namespace stator::http
