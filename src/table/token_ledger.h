// What writes leave behind under their clients' tokens, so that a repeated request is answered
// without writing again.
//
//   tablet := Space::kLog, id 0
//   key    := period token                 period: time / kTokenLifeMicros, 8 bytes big-endian
//   value  := stamp format time record     see item_value.h; time: microseconds since the epoch, 8
//                                          bytes little-endian
//
// An entry that is still valid stands in the present period or in the one before: two point reads
// find it. The first entry of a period takes all older periods away with one range delete, so that
// nothing ever walks over what has expired. Where several processes write the ledger, an entry may
// stand in the next period too, by another's clock, and one more period is kept.
//
// Times are those of an AgeClock, so that no step of the machine's date makes an entry expire early
// or hides it. It goes on from the latest entry that an earlier process left.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/age_clock.h"
#include "base/result.h"
#include "kv/engine.h"

namespace stator::table {

// [M] A token is good for ten minutes after its request has been completed.
inline constexpr int64_t kTokenLifeMicros = 600'000'000;

// 16 bytes that stand for `bytes`: XXH3-128.
std::string DigestOf(std::string_view bytes);

// Thread-safe. Who looks up a token and who records it must exclude each other: by the token's
// latch, and among processes by guards.
class TokenLedger {
 public:
  TokenLedger(kv::Engine& engine, const Clock& clock)
      : engine_(engine), ages_(clock), shared_(!engine.capabilities().exclusive) {}

  // Goes on from the entries that earlier processes left. Before the first request. An error: they
  // could not be read. Blocks.
  Status GoOn();
  // The clock of the ledger.
  AgeClock& ages() { return ages_; }

  // The entry of `token`, or nullopt, also if it has expired. kWouldBlock with Tier::kMemory,
  // kCorruption, kUnavailable.
  Result<std::optional<std::string>> Find(std::string_view token, kv::Tier tier);
  // Finds the entry of a token if several processes record, whose clocks differ by less than a
  // period. Adds the guards on which the answer depends to `guards`. May wait. `guess`: reads
  // nothing and returns nullopt; if an entry exists, the guards will fail.
  Result<std::optional<std::string>> FindGuarded(std::string_view token, bool guess,
                                                 std::vector<kv::Guard>* guards);
  // Returns the record in `entry`, as a view into it; nullopt if the record has expired.
  std::optional<std::string_view> RecordOf(std::string_view entry) const;
  // Adds to `batch` the put that stores `record` under `token` with the present time. Returns the
  // entry.
  std::string Record(std::string_view token, std::string_view record, kv::Batch* batch);

 private:
  kv::Engine& engine_;
  AgeClock ages_;
  const bool shared_;
  std::atomic<int64_t> last_period_{
      std::numeric_limits<int64_t>::min()};  // the latest one that was begun
};

}  // namespace stator::table
