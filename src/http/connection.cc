#include "http/connection.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <optional>
#include <utility>

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
// After a refusal: what a client may still send while it reads the reply. Room for a body just
// beyond the limit of 16 MB: a client that is still writing when the connection goes loses the
// reply.
constexpr int64_t kDiscardBytes = 32 << 20;

}  // namespace

class Connection::HandedOut final : public Exchange {
 public:
  explicit HandedOut(Connection& connection) : connection_(connection) { ++connection_.exchanges_; }
  ~HandedOut() override {
    if (!answered_) {
      Reply reply;
      reply.status = 500;
      reply.body = connection_.loop_.shared().refusals.internal;
      connection_.Answer(std::move(reply));
    }
    connection_.ReleaseExchange();
  }
  const Request& request() const override { return connection_.reader_->request(); }
  Executor& loop() override { return connection_.loop_; }
  void Send(Reply reply) override {
    if (std::exchange(answered_, true)) return;
    connection_.Answer(std::move(reply));
  }

 private:
  Connection& connection_;
  bool answered_ = false;
};

Connection::Connection(Loop& loop, UniqueFd fd, bool counted)
    : loop_(loop), fd_(std::move(fd)), counted_(counted) {}

Connection::~Connection() {
  Close();
  ReleaseBytes();
}

void Connection::OnEvents(uint32_t events) {
  if (closed()) return;
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
    Close();
    return;
  }
  if ((events & EPOLLRDHUP) != 0) half_closed_ = true;
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) readable_ = true;
  if ((events & EPOLLOUT) != 0 && blocked_) {
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

void Connection::Resume() {
  queued_ = false;
  if (closed()) return;
  resuming_ = true;
  Advance();
  resuming_ = false;
}

void Connection::OnDeadline(Deadline kind) {
  if ((kind == Deadline::kHeader || kind == Deadline::kBody) && phase_ == Phase::kReading &&
      !blocked_) {
    Refuse(408, loop_.shared().refusals.timeout);
    Advance();
  } else {
    Close();
  }
}

void Connection::Refuse503() {
  Refuse(503, loop_.shared().refusals.overloaded);
  Advance();
}

// Does all that can be done now: reads, parses, hands out, writes.
void Connection::Advance() {
  advancing_ = true;
  int requests = 0;
  int receives = 0;
  while (!closed() && phase_ == Phase::kReading && !blocked_) {
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
      if (requests == kRequestsPerRound) {
        QueueResume();
        break;
      }
      ParseMore();
      if (phase_ == Phase::kInHand || phase_ == Phase::kReading) ++requests;
      continue;
    }
    if (receives++ == kReceivesPerRound) {
      QueueResume();
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
  if (phase_ == Phase::kReading && reader_ != nullptr && reader_->empty())
    loop_.GiveBack(std::move(reader_));
  if (phase_ == Phase::kReading && !blocked_ && loop_.draining() && reader_ == nullptr &&
      output_ == nullptr) {
    Close();
    return;
  }
  std::optional<Deadline> wanted;
  if (blocked_) {
    return;  // Flush armed it, when the client last took something
  } else if (phase_ == Phase::kLingering) {
    wanted = Deadline::kLinger;
  } else if (phase_ == Phase::kReading && reader_ != nullptr) {
    wanted = reader_->headers_complete() ? Deadline::kBody : Deadline::kHeader;
  } else if (phase_ == Phase::kReading && loop_.shared().options.idle_timeout_micros > 0) {
    loop_.Arm(this, Deadline::kIdle);
    return;
  }
  if (!wanted.has_value()) {
    loop_.Disarm(this);
  } else if (!armed_ || armed_kind_ != *wanted) {
    loop_.Arm(this, *wanted);
  }
}

// False if there is nothing to parse.
bool Connection::Receive() {
  if (reader_ == nullptr) reader_ = loop_.TakeReader();
  reader_->MakeRoom();
  const size_t space = reader_->space_bytes();
  const ssize_t got = ::recv(fd_.get(), reader_->space(), space, 0);
  if (got > 0) {
    reader_->Commit(got);
    // Less than asked for: the socket is empty, and epoll will tell of more. (Not of an end that it
    // told already.)
    if (static_cast<size_t>(got) < space && !half_closed_) readable_ = false;
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
      if (!CheckSizes(false)) return;
      if (!continue_sent_ && reader_->expects_continue()) {
        continue_sent_ = true;
        if (output_ == nullptr) output_ = loop_.TakeOutput();
        output_->text.append("HTTP/1.1 100 Continue\r\n\r\n");
        Flush();
      }
      return;
    case RequestReader::Progress::kComplete:
      if (CheckSizes(true)) Dispatch();
      return;
  }
}

bool Connection::CheckSizes(bool complete) {
  Shared& shared = loop_.shared();
  if (reader_->header_bytes() > shared.options.max_header_bytes) {
    Refuse(400, shared.refusals.bad_request);
    return false;
  }
  if (!reader_->headers_complete()) return true;
  const uint64_t body = complete ? reader_->request().body.size() : reader_->body_bytes();
  if (body > shared.options.max_body_bytes) {
    Refuse(413, shared.refusals.too_large);
    return false;
  }
  const int64_t more = static_cast<int64_t>(body) - reserved_bytes_;
  if (more == 0) return true;
  reserved_bytes_ += more;
  const int64_t before = shared.inflight_bytes.fetch_add(more, std::memory_order_relaxed);
  if (more > 0 && before + more > static_cast<int64_t>(shared.options.max_inflight_bytes)) {
    Refuse(503, shared.refusals.overloaded);
    return false;
  }
  return true;
}

void Connection::Dispatch() {
  phase_ = Phase::kInHand;
  continue_sent_ = false;
  loop_.Disarm(this);  // a request that is pipelined behind this one has a deadline of its own
  loop_.Handle(std::make_unique<HandedOut>(*this));
}

void Connection::Answer(Reply reply) {
  ReleaseBytes();
  if (closed()) {
    loop_.GiveBack(std::move(reader_));
    return;
  }
  const bool close = reply.close || !reader_->keep_alive() || loop_.draining();
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
    }
  }
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
  ReleaseBytes();
  loop_.GiveBack(std::move(reader_));
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
    if (output.body.empty()) {
      sent = ::send(fd_.get(), output.text.data() + output.sent, output.text.size() - output.sent,
                    MSG_NOSIGNAL);
    } else {
      iovec pieces[2];
      msghdr message{};
      message.msg_iov = pieces;
      if (output.sent < output.text.size()) {
        pieces[message.msg_iovlen++] = {output.text.data() + output.sent,
                                        output.text.size() - output.sent};
        pieces[message.msg_iovlen++] = {output.body.data(), output.body.size()};
      } else {
        const size_t skip = output.sent - output.text.size();
        pieces[message.msg_iovlen++] = {output.body.data() + skip, output.body.size() - skip};
      }
      sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    }
    if (sent >= 0) {
      output.sent += sent;
      if (output.sent < output.size()) {
        if (sent > 0) loop_.Arm(this, Deadline::kWrite);
        continue;
      }
      loop_.GiveBack(std::move(output_));
      break;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      blocked_ = true;
      if (!armed_ || armed_kind_ != Deadline::kWrite) loop_.Arm(this, Deadline::kWrite);
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
  loop_.GiveBack(std::move(reader_));
  ::shutdown(fd_.get(), SHUT_WR);
  readable_ = true;
}

void Connection::Discard() {
  char sink[16 * 1024];
  while (readable_) {
    const ssize_t got = ::recv(fd_.get(), sink, sizeof(sink), 0);
    if (got > 0) {
      discarded_bytes_ += got;
      if (discarded_bytes_ > kDiscardBytes) {
        Close();
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

void Connection::ReleaseBytes() {
  if (reserved_bytes_ == 0) return;
  loop_.shared().inflight_bytes.fetch_sub(reserved_bytes_, std::memory_order_relaxed);
  reserved_bytes_ = 0;
}

void Connection::ReleaseExchange() {
  if (--exchanges_ == 0 && closed()) loop_.Bury(this);
}

void Connection::Close() {
  if (closed()) return;
  loop_.Disarm(this);
  fd_.Reset();
  blocked_ = false;
  if (counted_) loop_.shared().connections.fetch_sub(1, std::memory_order_relaxed);
  loop_.GiveBack(std::move(output_));
  // A request in hand is read by its handler until the reply.
  if (phase_ != Phase::kInHand) {
    ReleaseBytes();
    loop_.GiveBack(std::move(reader_));
  }
  if (exchanges_ == 0) loop_.Bury(this);
}

}  // namespace stator::http
