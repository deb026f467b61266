// How the units of a table or index, reads or writes, fall on its partition keys over time. Bounded
// memory, deterministic. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "throughput/heavy_hitters.h"
#include "throughput/throttle.h"

namespace stator::advise {

// Returns a hash of a key as recordings write it, spread evenly over 64 bits.
uint64_t HashOfKey(std::string_view key);

// Estimates the number of different values in 4 KB of memory, with an error of about 2%:
// HyperLogLog (Flajolet and others, 2007), with linear counting while there are few.
class DistinctCounter {
 public:
  void Add(uint64_t hash);
  double Estimate() const;

 private:
  static constexpr int kBits = 12;
  std::array<uint8_t, size_t{1} << kBits> registers_{};
};

// Counts how often a sequence of keys rises. Works for plain keys only: hashed ones have lost their
// order.
struct Trend {
  std::string last;
  int64_t up = 0;
  int64_t down = 0;
  void Add(std::string_view key);
  bool Rises(int64_t at_least) const { return up >= at_least && up >= 19 * down; }  // 95%
};

// Keys that are one key with suffixes ("2014-07-09.1" and so on), and how even these are.
struct SuffixUse {
  std::string key;  // without a suffix; empty: none was seen
  int64_t suffixes = 0;
  double units = 0;  // of all of them
  std::string hottest;
  double hottest_share = 0;  // of `units`
};

struct KeyLoadSummary {
  struct Key {
    std::string key;
    double share = 0;            // of the units, at least
    double peak_per_second = 0;  // in its busiest second; 0: never among the 64 heaviest of one
    bool sort_rises = false;     // its new sort keys go up with time
  };
  double units = 0;
  std::vector<Key> hottest;    // heaviest first, at most five
  double distinct = 0;         // keys, estimated
  double effective = 0;        // keys that would carry as much evenly: 1 / sum of squared shares
  double peak_per_second = 0;  // of all keys together
  double peak_key_per_second = 0;  // of one key, in its busiest second
  std::string peak_key;
  int64_t peak_key_micros = 0;
  // A leader is a key that had half of the units in a stretch of ten seconds. `leaders`: how often
  // another leader followed. `leaders_again`: how often that one had been a leader before.
  int64_t leaders = 0;
  int64_t leaders_again = 0;
  SuffixUse suffixes;  // of the key with most units among those that have suffixes
  bool rises = false;  // keys go up with time
  bool MovesOn() const { return leaders >= 3 && leaders_again == 0; }
};

class KeyLoad {
 public:
  explicit KeyLoad(throughput::Access access);

  // Times do not go back.
  void Add(int64_t at_micros, std::string_view partition, std::string_view sort, double units);
  KeyLoadSummary Finish();

 private:
  void CloseSecond();
  void CloseStretch();
  void SeeSort(uint64_t hash, std::string_view sort);

  const throughput::Access access_;
  throughput::HeavyHitters life_;
  throughput::HeavyHitters second_;
  throughput::HeavyHitters stretch_;
  DistinctCounter distinct_;
  int64_t added_ = 0;
  int64_t second_at_ = -1;   // whole seconds
  int64_t stretch_at_ = -1;  // tens of seconds
  KeyLoadSummary seen_;
  std::map<uint64_t, double> peaks_;  // of keys that came near a partition's maximum
  std::deque<uint64_t> leaders_;      // the last ones, latest at the end
  Trend partitions_;
  std::map<uint64_t, Trend> sorts_;
};

}  // namespace stator::advise
