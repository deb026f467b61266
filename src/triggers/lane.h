// Decides which changes of one sequence are delivered next to a function.
//
// Changes go in batches, in their order, and a batch that fails holds up the ones behind it until
// it is delivered, exhausted or expired. A lane may drop changes to save memory; they are added
// again later, in the same order, and it keeps the state of their batch. Pure: a lane gets the time
// and the outcome of each batch, and returns the next step. Not thread-safe.
//
// With tumbling windows a batch has changes of one window only, and the function's answer is the
// state that its next call of the window gets. A window opens with its first batch. When no more
// changes of the window can come, it closes with a final call, which has no changes:
//
//   closed --batch--> open --over--> final call --delivered, or given up--> closed
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "stream/position.h"
#include "triggers/tumbling.h"

namespace stator::triggers {

// [D] The most bytes of an event.
inline constexpr size_t kMostEventBytes = 6 << 20;

// A change as a target gets it.
struct Change {
  stream::Position position;
  int64_t created_micros = 0;
  int64_t queued_micros = 0;
  std::string text = {};  // the item's key, for targets that want it, and the JSON of the change
  size_t key_bytes = 0;

  std::string_view key() const { return std::string_view(text).substr(0, key_bytes); }
  std::string_view json() const {
    return std::string_view(text).substr(std::min(key_bytes, text.size()));
  }
};
// Bytes that a change in a queue holds beside its text, with the entry of a batch.
inline constexpr size_t kChangeBytes = 128;

struct LaneRules {
  size_t batch = 100;
  int64_t window_micros = 0;
  int64_t age_micros = 0;  // older changes are discarded
  int64_t retries = -1;    // -1: no limit
  bool bisect = false;
  bool reports = false;         // there is a destination for what is discarded
  int64_t tumbling_micros = 0;  // length of windows; 0: there are none
  size_t event_bytes = kMostEventBytes;
};

class Lane {
 public:
  static constexpr int64_t kFirstDelayMicros = 100'000;
  static constexpr int64_t kLongestDelayMicros = 30'000'000;

  // kFinish: the final call of the window.
  enum class Do { kWait, kInvoke, kReport, kFinish };
  struct Step {
    Do what = Do::kWait;
    size_t count = 0;                 // of the first changes, for kInvoke and kReport
    int64_t due_micros = INT64_MAX;   // of kWait: when to ask again, unless a change is added
    std::string_view condition = {};  // of kReport: "RetryAttemptsExhausted", "RecordAgeExceeded"
    int64_t invocations = 0;          // of kReport
  };
  struct Counts {
    uint64_t delivered = 0;
    uint64_t exhausted = 0;     // changes discarded after their retries
    uint64_t expired = 0;       // changes discarded for their age
    uint64_t unreported = 0;    // changes whose report could not be delivered in a day
    uint64_t windows_lost = 0;  // windows whose final call was given up
  };

  Lane(LaneRules rules, Random& random, Tumbling tumbling = {})
      : rules_(rules), random_(random), tumbling_(std::move(tumbling)) {}

  void Add(Change change);
  // Returns true if there are enough changes for a batch.
  bool IsFull() const { return queue_.size() >= rules_.batch || bytes_ >= rules_.event_bytes; }
  // Returns what to do at `now`. `last`: no further change will come, so that no window waits.
  // `seen_micros`: all changes that were made before this time have been added.
  Step Next(int64_t now, bool last, int64_t seen_micros = INT64_MIN);

  // Forgets the changes behind the first `kept`. References to the others stay valid.
  void Forget(size_t kept);
  // Frees the JSON of the first `count` changes. They cannot be delivered again from this lane:
  // after a failure they must be read anew.
  void Strip(size_t count);
  // Resets the state of batches, because the changes that are added next are other ones.
  void Restart();

  // Takes the outcome of kInvoke:
  void OnDone();
  // The function failed from this change of the batch on. 0: at all of it.
  void OnFailed(size_t first_failed, int64_t now);
  // This change of the batch can never be delivered; those before it are. It is discarded alone.
  void OnHopeless(size_t hopeless);
  // The function did not run for the changes from index `delivered` on. This does not count as an
  // attempt.
  void OnNotRun(size_t delivered, int64_t now);
  // Takes the outcome of kReport.
  void OnReported(bool ok, int64_t now);
  // Takes the outcomes of kFinish:
  void OnFinished();
  // `ran`: the function ran, so this counts as an attempt.
  void OnNotFinished(bool ran, int64_t now);

  // Takes the state that an answer to a batch of the window returned; before its outcome.
  void SetState(std::string state);
  // An answer had too large a state. Ends the window early, with the state from before, and returns
  // true: the batch is to be delivered again, in a new window. False: there is no state from
  // before.
  bool EndEarly();
  const Tumbling& tumbling() const { return tumbling_; }
  bool early() const { return early_; }  // the open window ends early

  // The changes that are not delivered, the oldest first. Adding keeps references to elements.
  const std::deque<Change>& queue() const { return queue_; }
  size_t bytes() const { return bytes_; }
  // The bytes of memory of the queue.
  size_t held_bytes() const { return bytes_ + queue_.size() * kChangeBytes; }
  int64_t failures() const { return failures_; }  // in a row
  // When the batch may be tried again; INT64_MIN: at once.
  int64_t not_before() const { return not_before_; }
  const Counts& counts() const { return counts_; }

 private:
  // A part of the queue that is delivered as one batch. The last piece is the queue's head.
  struct Piece {
    size_t count = 0;
    int64_t attempts = 0;
    int64_t invocations = 0;
  };
  struct Discard {
    size_t count = 0;
    bool by_age = false;
    int64_t invocations = 0;
  };

  void Pop(size_t count);
  // Makes the batch as small as the changes that are there again.
  void Shorten();
  void DropDiscarded(bool reported);
  void Delay(int64_t now);
  bool DiscardAged(int64_t now);
  // Returns whether nothing of the open window can come any more.
  bool IsOver(bool last, int64_t seen_micros) const;
  void Close();
  // Returns false, and sets the time to ask again, if a batch waits for its window.
  bool FormBatch(int64_t now, bool last, int64_t* due);

  const LaneRules rules_;
  Random& random_;
  std::deque<Change> queue_;
  size_t bytes_ = 0;
  std::vector<Piece> pieces_;
  std::optional<Discard> discard_;
  size_t reporting_ = 0;             // of the last kReport
  int64_t window_from_ = INT64_MAX;  // when the window of changes that were forgotten began
  int64_t not_before_ = INT64_MIN;
  int64_t failures_ = 0;
  Tumbling tumbling_;
  bool early_ = false;          // the open window ends early
  int64_t final_attempts_ = 0;  // of the open window
  Counts counts_;
};

}  // namespace stator::triggers
