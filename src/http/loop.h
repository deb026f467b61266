// One I/O thread: an epoll set, the connections in it, tasks posted from other threads, deadlines,
// and pools of buffers that a connection holds only while it has something in them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/memory_account.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "http/reply_head.h"
#include "http/request_reader.h"
#include "http/server.h"

namespace stator::http {

class Connection;

// Owns a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    Reset(other.Release());
    return *this;
  }
  ~UniqueFd() { Reset(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

// What all loops of a server share. Thread-safe.
struct Shared {
  Shared(ServerOptions options, Refusals refusals, const Clock& clock)
      : options(std::move(options)),
        refusals(std::move(refusals)),
        clock(clock),
        memory(static_cast<int64_t>(this->options.max_inflight_bytes)) {}
  const ServerOptions options;
  const Refusals refusals;
  const Clock& clock;
  std::atomic<int> connections{0};
  std::atomic<int> extra_connections{0};  // beyond the limit, waiting for their one answer
  std::atomic<int64_t> refused_connections{0};
  MemoryAccount memory;
  // Bytes held for requests whose bodies arrive in several pieces and are not complete.
  std::atomic<int64_t> arriving_bytes{0};
  std::atomic<int64_t> slow_clients{0};
  std::atomic<int64_t> handshakes{0};
  std::atomic<int64_t> failed_handshakes{0};
  std::atomic<int64_t> crowded_out_handshakes{0};
  std::atomic<int64_t> next_handshake_log_ticks{0};
};

// Output that is on its way to a socket: `text`, then `body`, of which `sent` bytes have gone.
struct Output {
  std::string text;
  std::string body;
  size_t sent = 0;
  int64_t counted = 0;  // bytes that the connection's MemoryHolder counts
  size_t size() const { return text.size() + body.size(); }
  // What follows the bytes that have gone, in one piece.
  std::string_view next() const {
    return sent < text.size() ? std::string_view(text).substr(sent)
                              : std::string_view(body).substr(sent - text.size());
  }
};

enum class Deadline { kHeader, kBody, kIdle, kWrite, kLinger, kExtra, kHandshake };
inline constexpr int kDeadlines = 7;
// Bodies of similar sizes wait in one queue, so that shorter ones do not wait for longer ones.
inline constexpr size_t kBodyClasses = 3;

// The listener that took a connection.
struct Door {
  int listener = 0;
  bool secure = false;
};

// Something that epoll reports about: a connection, a listening socket, the wake-up.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void OnEvents(uint32_t events) = 0;
};

class Loop final : public Executor {
 public:
  explicit Loop(Shared& shared);
  // The thread has ended or was never started. Destroys tasks and the handler (and the exchanges
  // they hold), then the rest.
  ~Loop() override;

  // Thread-safe. Wakes the loop only when it sleeps, so that many tasks cost one wake-up.
  void Post(UniqueFunction<void()> task) override;
  bool IsCurrent() const override { return current_ == this; }
  void WakeUp() override;
  void StandIn() override;

  // Opens epoll and the wake-up. Before anything else.
  Status Open();
  void SetHandler(Handler handler) { handler_ = std::move(handler); }
  // Runs until it is draining and has no connection left, or until it was stopped.
  void Run();

  // All below: on the loop's thread only (or before it runs), or on the one that stands in for it
  // while it sleeps.

  Status Watch(int fd, uint32_t events, EventSink* sink);
  void Unwatch(int fd);
  // Serves a socket that was just accepted. An `extra` socket is beyond the limit of connections
  // (the caller counted it in Shared::extra_connections). It gets one reply and is then closed: the
  // normal reply if its target is always served, else 503.
  void Adopt(UniqueFd fd, const ClientAddress& address, Door door, bool extra);
  // Frees memory while the account of memory is full: closes connections whose clients have long
  // taken next to nothing of a reply, then those whose headers have long been incomplete; of each
  // kind the oldest first. Runs at most every 100 ms.
  void CloseStuck();
  // While the account of memory is pressed: answers 408 to bodies that take longer than two seconds
  // to arrive, those first that will take longest, until bodies that are arriving hold an eighth of
  // the account. One body of each loop stays.
  void RefuseSlowBodies();
  // Closes the extra connection that was adopted first, if that was not just now: it had the time
  // to send a short request. False if none was closed.
  bool CloseOldestExtra();
  // On a full server: closes the connection that has been idle for longest, if that is ten seconds
  // or more, else the one whose header has been incomplete for longest, if that is a second or
  // more. False if none was closed.
  bool CloseOldestWaiting();
  // Takes one step of a handshake from this round's share. False: there is none left, and the
  // requests of other connections go first.
  bool TakeHandshakeStep() { return handshake_steps_left_-- > 0; }
  void EndHandshake() { --handshakes_; }
  void BeginDrain();
  void StopNow();

  Shared& shared() { return shared_; }
  bool draining() const { return draining_; }
  // Connections end with the next reply.
  void CloseAfterReplies() { close_after_replies_ = true; }
  bool closes_after_replies() const { return close_after_replies_ || draining_; }
  void Handle(std::unique_ptr<Exchange> exchange) { handler_(std::move(exchange)); }
  std::string_view common_headers();
  // The clock's ticks, read once per wake-up.
  int64_t now_ticks() const { return now_ticks_; }

  // Deadlines of one kind have one length, so each kind is a list in order of expiry.
  void Arm(Connection* connection, Deadline kind);
  void Disarm(Connection* connection);

  std::unique_ptr<RequestReader> TakeReader();
  void GiveBack(std::unique_ptr<RequestReader> reader);
  std::unique_ptr<Output> TakeOutput();
  void GiveBack(std::unique_ptr<Output> output);

  // Calls Connection::Resume when the events at hand are through.
  void ResumeLater(Connection* connection) { resumes_.push_back(connection); }
  // Returns whether pipelined requests have used up their time in this round: then each connection
  // gets one request in each round.
  bool RoundIsOld();
  // Whether `connection` may hand out a request with a body of `body_bytes` now. False: this round
  // has no time left for such bodies, and Connection::TakeTurn is called in a later one. Some
  // hundred connections with bodies that each take 20 ms to decode then hold the others, whose
  // requests are short, for one of them and not for all.
  bool TakesNow(Connection* connection, size_t body_bytes);
  // Calls Connection::Resume in the next round, behind the events that have come by then.
  void ResumeNextRound(Connection* connection) { next_round_.push_back(connection); }
  // Counts bytes of a reply that wait for their connection's Resume (ResumeLater). The replies of
  // one round are sent together, so that a client with many requests is woken once; they are sent
  // earlier when they exceed a size that stays in the CPU's cache.
  void NotePutOff(size_t bytes) { put_off_bytes_ += bytes; }
  // Frees the connection at the end of the round, when no event of the round can point to it any
  // more.
  void Bury(Connection* connection) { dead_.push_back(connection); }

 private:
  // The loop that this thread runs, or stands in for.
  static inline thread_local const Loop* current_ = nullptr;

  struct List {
    Connection* first = nullptr;
    Connection* last = nullptr;
    int64_t length_micros = 0;
  };

  // Counts one more handshake. Closes the oldest one if there are too many.
  void BeginHandshake();
  bool PostedFew();
  void RunTasks();
  void RunResumes();
  void RunTurns();
  bool HasTurns() const;
  void FreeDead();
  void ExpireDeadlines();
  int SleepMillis() const;
  void Link(Connection* connection);
  void Unlink(Connection* connection);

  Shared& shared_;
  UniqueFd epoll_;
  UniqueFd wake_;
  Handler handler_;

  Mutex mutex_;
  std::vector<UniqueFunction<void()>> posted_ GUARDED_BY(mutex_);
  std::atomic<bool> has_posted_{false};
  std::atomic<bool> sleeping_{false};

  // The thread that holds `turn_` may use all members below: the loop's thread while it does not
  // sleep, or a thread that stands in for it (StandIn).
  Mutex turn_;
  int sleep_millis_ = -1;  // how long it sleeps; below 0: until it is woken
  std::vector<UniqueFunction<void()>> running_;
  bool draining_ = false;
  int64_t round_began_ticks_ = -1;  // when RoundIsOld was first asked in this round; -1: not yet
  bool close_after_replies_ = false;
  bool stopped_ = false;
  int64_t now_ticks_ = 0;
  CommonHeaders common_headers_;
  Connection* connections_ = nullptr;  // a doubly linked list of all that are not dead
  std::array<List, kDeadlines> deadlines_;
  std::vector<Connection*> resumes_;
  std::vector<Connection*> next_round_;  // joins resumes_
  std::vector<Connection*> resuming_;
  // Whole requests that wait for a later round, by the size of their bodies.
  std::array<std::deque<Connection*>, kBodyClasses> turns_;
  size_t next_turn_ = 0;  // the class that is served next
  size_t put_off_bytes_ = 0;
  int handshakes_ = 0;  // under way
  int handshake_steps_left_ = 0;
  std::vector<Connection*> dead_;
  std::vector<std::unique_ptr<RequestReader>> readers_;
  std::vector<std::unique_ptr<Output>> outputs_;
  int64_t next_close_stuck_ticks_ = 0;
  int64_t next_refuse_slow_ticks_ = 0;
};

}  // namespace stator::http
