// Bytes on their way between a store and a place of backups: in pieces, at a bounded rate, until
// told to stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "store_backup/manifest.h"
#include "store_backup/place.h"
#include "transfer/folders.h"

namespace stator::store_backup {

inline constexpr size_t kPieceBytes = 1 << 20;

struct FlowOptions {
  uint64_t bytes_per_second = 0;              // 0: no bound
  const std::atomic<bool>* stop = nullptr;    // null: never
  std::function<void(uint64_t bytes)> moved;  // hears each piece; may be null
};

// Not thread-safe.
class Flow {
 public:
  explicit Flow(const FlowOptions& options)
      : options_(options), began_micros_(clock_.TicksMicros()) {}
  // Counts a piece and waits until it keeps to the rate. kUnavailable once told to stop.
  Status Moved(size_t bytes);
  Status CheckStop() const;
  // Counts bytes that the place has already.
  void Skipped(uint64_t bytes) const {
    if (options_.moved) options_.moved(bytes);
  }

 private:
  const SystemClock clock_;
  const FlowOptions& options_;
  const int64_t began_micros_;
  uint64_t bytes_ = 0;
};

using Sink = std::function<Status(std::string_view piece)>;

// Reads an object to its end, gives each piece to `sink`, which may be null, and returns the hash
// of all of it.
Result<std::string> ReadThrough(transfer::ObjectReader& reader, Flow& flow, const Sink& sink);

// Reads the object of a file of a backup into `sink`. kCorruption, with a sentence that names the
// object and the file, if it is missing or not what the backup has.
Status ReadChecked(Place& place, const File& file, Flow& flow, const Sink& sink);

}  // namespace stator::store_backup
