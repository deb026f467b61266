// One client's connection: reads requests, hands them to the handler one at a time, writes replies
// in order, and decides when the connection ends. Used only by the thread that has its loop's turn
// (loop.h).
//
//   (handshake ->) reading -> (waiting ->) in hand -> reading ... -> lingering (after a refusal:
//   what the client still sends is thrown away, so that it can read the reply) -> closed. A closed
//   connection lives on until its last exchange is gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "http/loop.h"
#include "http/server.h"
#include "http/tls.h"

namespace stator::http {

class Connection final : public EventSink {
 public:
  // `tls`: null for a plain connection. `extra`: a connection beyond the limit, for one answer
  // (Loop::Adopt).
  Connection(Loop& loop, UniqueFd fd, const ClientAddress& address, int listener,
             std::unique_ptr<TlsSession> tls, bool extra);
  ~Connection() override;

  void OnEvents(uint32_t events) override;
  // Goes on after a reply that was given later, or after it had its share of the loop.
  void Resume();
  // Hands out the request that has waited for its turn (Loop::TakesNow), and goes on.
  void TakeTurn();
  void OnDeadline(Deadline kind);
  // Returns true if no byte of a request has arrived and no byte of a reply waits.
  bool idle() const {
    return phase_ == Phase::kLingering ||
           (phase_ == Phase::kReading && reader_ == nullptr && output_ == nullptr);
  }
  // Whether its client has taken next to nothing of a reply for a second, or sent no whole header
  // for five.
  bool IsStuck() const;
  // The time in all that its body takes to arrive, at the rate it has come at so far; 0 if no body
  // has been arriving for a second.
  int64_t ExpectedBodyMicros() const;
  // Answers 408 in place of reading the rest of the body, or closes.
  void RefuseSlowBody();
  // The socket is gone from here on. Idempotent.
  void Close();

  bool closed() const { return !fd_.valid(); }
  bool queued() const { return queued_ || has_turn_; }

 private:
  friend class Loop;
  class HandedOut;
  enum class Phase {
    kReading,
    kWaiting,  // a whole request waits for its turn
    kInHand,
    kLast,
    kLingering
  };  // kLast: a last reply is being written
  enum class AfterFlush { kGoOn, kClose, kLinger };

  // Asks the socket once.
  const std::string& PeerAddress();
  void Advance();
  bool is_shaking() const { return tls_ != nullptr && !tls_->established(); }
  // Continues the TLS handshake. Returns true if it is complete, so that requests can be read.
  bool Shake();
  // Counts and logs a handshake that failed.
  void NoteFailedHandshake(std::string_view why);
  bool Receive();
  void ParseMore();
  // False if the request was refused.
  bool CheckSizes();
  // Makes room for more bytes of the request. False if it was refused for want of memory.
  bool MakeRoom();
  // Between these calls the request waits for the rest of its body, and Shared::arriving_bytes has
  // the bytes of its reader. Idempotent.
  void BeginArriving();
  void EndArriving();
  // Begins to measure how fast the client sends or reads, and arms the deadline for it.
  void Measure(Deadline kind);
  // Returns the bytes that the client has sent (or, for Deadline::kWrite, read) on this connection.
  int64_t Moved(Deadline kind) const;
  // Returns the least number of bytes that a client must send or read in `micros`.
  int64_t LeastMoved(int64_t micros) const;
  // Whether the client moved less than the least rate since Measure, over `timeout_micros` or,
  // while memory is short, over a part of it. Begins anew where it was fast enough.
  bool IsSlow(Deadline kind, int64_t timeout_micros);
  // Whether other connections alone hold all the memory there is for requests.
  bool IsCrowdedOut() const { return holder_.account_full(holder_.bytes()); }
  // With all headers: whether even a full server serves the request.
  bool IsAlwaysServed() const;
  void Dispatch();
  void Answer(Reply reply);
  void Refuse(int status, const std::string& body);
  // False if the socket takes no more for now, or the connection is closed.
  bool Flush();
  void Finish();
  void Discard();
  void Overload();
  // Counts bytes of the output until it is dropped.
  void Count(size_t bytes);
  void DropReader();
  void DropOutput();
  void ReleaseExchange();
  void SettleDown();
  // Asks the loop to call Resume. QueueResume: in this round, after its other events.
  // QueueNextRound: in the next round, because this connection has used its share of this one.
  void QueueResume();
  void QueueNextRound();

  Loop& loop_;
  UniqueFd fd_;
  std::unique_ptr<TlsSession> tls_;  // uses fd_
  const int listener_;
  const bool extra_;
  Phase phase_ = Phase::kReading;
  AfterFlush after_flush_ = AfterFlush::kGoOn;
  bool readable_ = false;     // epoll is edge-triggered: bytes may wait until a read says otherwise
  bool half_closed_ = false;  // the client will send no more; only a read tells where its bytes end
  std::atomic<bool> left_{false};  // half_closed_ or closed(), for threads with an exchange
  bool blocked_ = false;           // the socket takes no more output for now, or put_off_
  bool put_off_ = false;           // the output had its share of this round
  bool advancing_ = false;
  bool counted_as_shaking_ = false;  // by the loop
  bool queued_ = false;              // in one of the loop's resume lists
  bool has_turn_ = false;            // in one of the loop's queues of turns
  bool resuming_ = false;            // within Resume: what was put off is written
  bool continue_sent_ = false;
  int exchanges_ = 0;           // handed out and not destroyed
  int64_t reader_bytes_ = 0;    // that the reader holds beyond its first capacity
  int64_t received_bytes_ = 0;  // in all
  int64_t sent_bytes_ = 0;
  size_t sent_in_round_ = 0;
  int64_t measured_from_ticks_ = 0;
  int64_t measured_from_bytes_ = 0;
  int64_t arriving_bytes_ = 0;  // in Shared::arriving_bytes
  int64_t arriving_from_ticks_ = 0;
  int64_t arriving_from_bytes_ = 0;
  MemoryHolder holder_;
  int64_t discarded_bytes_ = 0;
  std::unique_ptr<RequestReader> reader_;
  std::unique_ptr<Output> output_;
  std::string peer_;

  // The loop's lists.
  Connection* next_ = nullptr;
  Connection* previous_ = nullptr;
  bool armed_ = false;
  Deadline armed_kind_ = Deadline::kHeader;
  int64_t deadline_ticks_ = 0;
  Connection* next_deadline_ = nullptr;
  Connection* previous_deadline_ = nullptr;
};

}  // namespace stator::http
