// The end of a connection that asks: sends requests to one other process and takes its answers.
// Pure; time comes from a clock.
//
//   payload of the asker := 01 seen:8                        a ping
//                         | 02 seen:8 number:8 request       `number` rises by one
//   payload of the owner := 01 time:8                        answers a ping
//                         | 02 time:8 number:8 kind:1 answer
//                         | 03 time:8 number:8             goodbye: it begins nothing any more, and
//                                                          has refused all requests behind `number`
//   time := the owner's TicksMicros when it sent it          seen := the last `time` that came
//   kind := 00 answered | 01 refused: nothing was done and nothing will be
//
// The owner does nothing for the asker after `seen` + timeout (leases.h). The asker asks nothing
// more when it has heard nothing for half of the timeout. It gives up its requests when a ping was
// not answered for its patience, at least the timeout: an owner that was only slow then says how
// each request ended. It sent that ping after it had received the time that it repeated, so by
// then the owner's time has passed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/crypto.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "link/channel.h"

namespace stator::link {

enum class Outcome : uint8_t {
  kAnswered = 0,
  kRefused = 1,  // nothing was done and nothing will be
  kUnknown = 2,  // the owner, or the connection to it, is gone
};
struct Answer {
  Outcome outcome = Outcome::kUnknown;
  std::string bytes = {};
};
using AnswerDone = UniqueFunction<void(Answer)>;

struct AskerOptions {
  std::string id;      // of this process
  std::string secret;  // of the store
  int64_t timeout_micros = 200'000;
  // For answers of an owner that is silent, if that is longer.
  int64_t patience_micros = 1'000'000;
  // Maximum number and bytes of requests without an answer. Ask refuses further requests.
  size_t most_requests = 1024;
  size_t most_bytes = 8 << 20;
  size_t most_answer_bytes = 32 << 20;
};

// Not thread-safe.
class Asker {
 public:
  // Answers of the owner, for the caller of this object to hand on, without locks.
  using Finished = std::vector<std::pair<AnswerDone, Answer>>;

  // `owner`: the id of the process that must be at the other end.
  Asker(const AskerOptions& options, std::string owner, const Clock& clock,
        access::SecureRandom& random);

  // Sends a request. Returns false, and leaves `done` untouched, if there are too many or the owner
  // was not heard of within half the timeout; then it asks for a sign of life.
  bool Ask(std::string_view request, AnswerDone& done);
  // Takes received bytes. An error: the connection is to be closed, and Break called.
  Status Receive(std::string_view bytes, Finished* finished);
  // Sends pings that are due. Returns an error if the owner has not answered in time; then the
  // connection is of no use any more, as after an error of Receive.
  Status Tick();
  // Returns the time (in ticks) at which Tick must be called next.
  int64_t next_tick() const;
  // For an asker whose connection is lost: returns the time (in ticks) from which on the outcome of
  // its unanswered requests counts as unknown.
  int64_t BreakTime() const;
  void Break(Finished* finished);

  // True if the owner was heard of recently enough to be asked.
  bool warm() const;
  // True if the owner has proved that it knows the secret.
  bool heard() const { return heard_ != 0; }
  // True if it may be asked besides: it has not said goodbye.
  bool known() const { return heard_ != 0 && !dismissed_; }
  size_t waiting() const { return waiting_.size(); }
  std::string& output() { return channel_.output(); }

 private:
  struct Waiting {
    AnswerDone done;
    size_t bytes = 0;
  };
  void Ping(int64_t now);
  int64_t interval(int64_t now) const;
  int64_t patience() const;

  const AskerOptions options_;
  const std::string owner_;
  const Clock& clock_;
  Channel channel_;
  uint64_t seen_ = 0;  // the owner's last time
  int64_t heard_ = 0;  // when it came, in ticks; 0: never
  int64_t last_ping_ = 0;
  std::optional<int64_t> unanswered_since_;  // when the first ping after that was sent
  int64_t last_tick_;
  int64_t active_until_ = 0;
  bool dismissed_ = false;  // the owner has said goodbye
  uint64_t next_number_ = 1;
  std::map<uint64_t, Waiting> waiting_;
  size_t bytes_ = 0;
};

}  // namespace stator::link
