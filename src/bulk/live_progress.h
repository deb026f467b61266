// The progress of a copy from another endpoint, in TABLE.live-progress, and the log of changes that
// the target refused, TABLE.live-errors:
//
//   {"key":{"pk":{"S":"a"}},"errorMessages":["..."]}
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "bulk/batch.h"
#include "bulk/files.h"
#include "bulk/live_state.h"
#include "model/key_schema.h"

namespace stator::bulk {

// Thread-safe.
class LiveProgress {
 public:
  // Reads the progress of an earlier run, if there is one. `path` is that of both files without
  // their endings. kUnavailable if another process works on this copy.
  static Result<std::unique_ptr<LiveProgress>> Open(const std::string& path, std::string seal_key,
                                                    const Clock& clock);

  // Removes a log without lines.
  ~LiveProgress();
  LiveProgress(const LiveProgress&) = delete;
  LiveProgress& operator=(const LiveProgress&) = delete;

  bool resumed() const { return resumed_; }
  const std::string& path() const { return path_; }
  const std::string& errors_path() const { return errors_path_; }
  LiveState state() const;
  // Changes the state. Writes it at once, or, without `now`, if it was not written for a second: a
  // run that begins at an earlier state does again what it does not know of.
  Status Update(bool now, FunctionRef<void(LiveState*)> change);
  // Logs a change that the target refused, and counts it.
  Status Refused(const model::KeySchema& key, const Change& change, const std::string& message);
  std::string first_error() const;
  // Removes the progress.
  Status Remove();

 private:
  LiveProgress(const std::string& path, std::string seal_key, const Clock& clock);
  Status SaveLocked() REQUIRES(mutex_);

  const std::string path_;
  const std::string errors_path_;
  const std::string seal_key_;
  const Clock& clock_;
  bool resumed_ = false;
  mutable Mutex mutex_;
  LiveState state_ GUARDED_BY(mutex_);
  std::unique_ptr<AppendedFile> errors_ GUARDED_BY(mutex_);
  std::string first_error_ GUARDED_BY(mutex_);
  int64_t saved_ticks_ GUARDED_BY(mutex_) = 0;
};

}  // namespace stator::bulk
