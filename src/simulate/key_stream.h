// Generates the keys of one stream of requests, step by step.
//
// The requests of one step are grouped in parcels, each a number of requests to one key. If there
// are few keys, each is played with its share. If there are many, only the hottest are; a sample,
// spread evenly over the hash space, stands for the rest. Deterministic from the seed. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "simulate/scenario.h"
#include "throughput/key_point.h"

namespace stator::simulate {

// `count` requests to one key. Owns its bytes.
struct Parcel {
  uint64_t hash = 0;
  std::string partition;
  std::string sort;
  int64_t count = 0;
  int64_t cached = 0;  // requests among them that the cache answers
  throughput::KeyPoint point() const { return {hash, sort, partition}; }
};

class KeyStream {
 public:
  // `all_suffixes`: every request goes to each suffix of its key, as reads must that do not know
  // which one an item has.
  // The `cache_items` hottest keys are cached; of keys that are not played one by one, a part.
  KeyStream(const KeySpace& keys, bool all_suffixes, uint64_t seed, int64_t cache_items = 0);

  // The parcels of `requests` at a time. With all suffixes there are as many times more in them.
  std::vector<Parcel> Next(int64_t now_micros, int64_t requests);
  // Reports that `passed` more of the requests from Next were not throttled. Uploads send the
  // others again; other streams ignore the call.
  void Passed(int64_t passed);

  // Returns true when an upload has written all its items. Other streams are never done.
  bool done() const { return keys_.kind == KeySpace::Kind::kUpload && remaining_ == 0; }
  bool is_upload() const { return keys_.kind == KeySpace::Kind::kUpload; }
  bool in_order() const { return is_upload() && !keys_.interleaved; }

 private:
  // A key that is played one by one.
  struct Known {
    uint64_t hash;
    std::string name;
    double share;
    double owed = 0;  // requests that rounding has kept back
    bool cached = false;
  };

  void MakeKnown(const std::vector<std::pair<std::string, double>>& names);
  void FollowDate(int64_t now_micros);
  // Corrects rounded counts: adds (or removes) one request of each of the keys with the largest
  // rounding error, until `left` requests are distributed. Returns the number that is still left.
  int64_t Round(int64_t left, std::vector<int64_t>* counts);
  std::vector<Parcel> NextUpload(int64_t now_micros, int64_t requests);
  void Add(std::vector<Parcel>* out, uint64_t hash, const std::string& name, int64_t count,
           int64_t pieces, int64_t now_micros);
  std::string SortKey(int64_t now_micros, double place);

  const KeySpace keys_;
  const bool all_suffixes_;
  const int64_t cache_items_;
  double rest_cached_ = 0;  // part of the other keys that is cached
  double cached_owed_ = 0;
  SeededRandom random_;
  std::vector<Known> known_;
  double rest_share_ = 0;  // of all keys that are not known one by one
  double rest_owed_ = 0;
  int64_t period_ = INT64_MIN;  // kDate: the one that known_ is of
  int64_t increasing_ = 0;      // sort keys handed out
  // Uploads.
  int64_t remaining_ = 0;
  int64_t written_ = 0;
};

// The part of ids 1 to 10,000 that each suffix gets from a function; ids are made by a format such
// as "ORD-%06d".
std::vector<double> SharesOfSuffixes(KeySpace::Suffix function, const std::string& ids,
                                     int64_t suffixes);

// Where a partition key of this name is.
uint64_t HashOfName(std::string_view name);
// The day, or day and time, that a moment falls into: "2026-01-31" or "2026-01-31T05:00".
std::string DateName(int64_t micros, double period_seconds);

}  // namespace stator::simulate
