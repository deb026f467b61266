// One client's connection: reads requests, hands them to the handler one at a time, writes replies
// in order, and decides when the connection ends. Lives in its loop's turn (loop.h).
//
//   reading -> in hand -> reading ... -> lingering (after a refusal: what the client still sends is
//   thrown away, so that it can read the reply) -> closed. A closed connection lives on until its
//   last exchange is gone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "http/loop.h"
#include "http/server.h"

namespace stator::http {

class Connection final : public EventSink {
 public:
  Connection(Loop& loop, UniqueFd fd, bool counted);
  ~Connection() override;

  void OnEvents(uint32_t events) override;
  // Goes on after a reply that was given later, or after it had its share of the loop.
  void Resume();
  void OnDeadline(Deadline kind);
  // Answers 503 to whatever comes.
  void Refuse503();
  // Nothing was begun: no byte of a request, none of a reply.
  bool idle() const {
    return phase_ == Phase::kLingering ||
           (phase_ == Phase::kReading && reader_ == nullptr && output_ == nullptr);
  }
  // The socket is gone from here on. Idempotent.
  void Close();

  bool closed() const { return !fd_.valid(); }
  bool queued() const { return queued_; }

 private:
  friend class Loop;
  class HandedOut;
  enum class Phase {
    kReading,
    kInHand,
    kLast,
    kLingering
  };  // kLast: a last reply is being written
  enum class AfterFlush { kGoOn, kClose, kLinger };

  void Advance();
  bool Receive();
  void ParseMore();
  // False if the request was refused.
  bool CheckSizes(bool complete);
  void Dispatch();
  void Answer(Reply reply);
  void Refuse(int status, const std::string& body);
  // False if the socket takes no more for now, or the connection is closed.
  bool Flush();
  void Finish();
  void Discard();
  void ReleaseBytes();
  void ReleaseExchange();
  void SettleDown();
  void QueueResume();

  Loop& loop_;
  UniqueFd fd_;
  const bool counted_;
  Phase phase_ = Phase::kReading;
  AfterFlush after_flush_ = AfterFlush::kGoOn;
  bool readable_ = false;     // epoll is edge-triggered: bytes may wait until a read says otherwise
  bool half_closed_ = false;  // the client will send no more; only a read tells where its bytes end
  bool blocked_ = false;      // the socket takes no more output for now
  bool advancing_ = false;
  bool queued_ = false;    // in the loop's resume list
  bool resuming_ = false;  // within Resume: what was put off is written
  bool continue_sent_ = false;
  int exchanges_ = 0;  // handed out and not destroyed
  int64_t reserved_bytes_ = 0;
  int64_t discarded_bytes_ = 0;
  std::unique_ptr<RequestReader> reader_;
  std::unique_ptr<Output> output_;

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
