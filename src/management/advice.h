// GET /_stator/advice: what `stator advise` finds in the requests that a Recording keeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "management/recording.h"
#include "ops/context.h"
#include "throughput/prices.h"

namespace stator::management {

// The prices of a query: readUnit, writeUnit, gigabyte, millionReads, millionWrites, in dollars.
// A price that is not given is that of the guidance's examples; on demand has none. kValidation.
Result<throughput::UnitPrices> PricesIn(std::string_view query);

// Thread-safe.
class Advice {
 public:
  // Requests are looked at for no longer than that; the report says how many were.
  static constexpr int64_t kMostMicros = 3'000'000;

  // All outlive it. `machine` has the real time.
  Advice(ops::Environment& environment, Recording& recording, const Clock& machine)
      : environment_(environment), recording_(recording), machine_(machine) {}

  // Returns {"recording": as RenderRecording, "looked": n, "of": n, "report": as advise --json}.
  // `last_micros`: use only requests of this last stretch of product time; 0: all recorded ones.
  // Only one call runs at a time; others get kUnavailable. May take kMostMicros, and reads the
  // sizes of tables.
  Result<std::string> Make(int64_t last_micros, const throughput::UnitPrices& prices);

 private:
  std::string MakeAlone(int64_t last_micros, const throughput::UnitPrices& prices);

  ops::Environment& environment_;
  Recording& recording_;
  const Clock& machine_;
  std::atomic<bool> making_{false};
};

}  // namespace stator::management
