// Capacity units: the arithmetic of reference/limits-and-capacity.md, section 4. Pure.
//
// Read units are counted in halves, so that sums stay exact: an eventually consistent read of up to
// 4 KB is 1 half.
#pragma once

#include <cstdint>

namespace stator::throughput {

inline constexpr int64_t kReadUnitBytes =
    4096;  // [G] one RCU: one strongly consistent read of up to 4 KB
inline constexpr int64_t kWriteUnitBytes = 1024;  // [G] one WCU: one write of up to 1 KB

enum class Consistency : uint8_t { kEventual, kStrong, kTransactional };

// Read steps of 4 KB, at least 1.
constexpr int64_t ReadSteps(int64_t bytes) {
  return bytes <= kReadUnitBytes ? 1 : (bytes + kReadUnitBytes - 1) / kReadUnitBytes;
}
// Half read units of a read of `bytes`.
constexpr int64_t ReadHalves(int64_t bytes, bool consistent) {
  return ReadSteps(bytes) * (consistent ? 2 : 1);
}
// Returns the half units of a read of `bytes`, for all three kinds of reads: 1, 2 or 4 halves a
// step.
constexpr int64_t ReadHalves(int64_t bytes, Consistency consistency) {
  return ReadSteps(bytes) << static_cast<int>(consistency);
}
// Write units of a write of `bytes`, at least 1.
constexpr int64_t WriteUnits(int64_t bytes) {
  return bytes <= kWriteUnitBytes ? 1 : (bytes + kWriteUnitBytes - 1) / kWriteUnitBytes;
}
// Half write units, for sums that mix reads and writes; a transactional write costs twice as much.
constexpr int64_t WriteHalves(int64_t bytes, bool transactional) {
  return WriteUnits(bytes) * (transactional ? 4 : 2);
}
constexpr double HalvesToUnits(int64_t halves) { return static_cast<double>(halves) / 2; }

}  // namespace stator::throughput
