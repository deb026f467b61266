// The model that the conformance suite holds engines against, and the checks that compare the two.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "kv/engine.h"

namespace stator::kv {

// Returns an Error with `message` from the enclosing function unless `condition` holds.
#define CONFORMS(condition, message)                                                              \
  do {                                                                                            \
    if (!(condition)) return ::stator::InternalError(std::string(message) + " [" #condition "]"); \
  } while (false)

// Up to `limit` keys and values of a range: by a Scan that may wait, and as callers do that have it
// read ahead, with a Scan that may not wait and one for what that leaves.
using Visited = std::vector<std::pair<std::string, std::string>>;
Result<Visited> ScanUpTo(Engine& engine, const Range& range, size_t limit);
Result<Visited> ScanAhead(Engine& engine, Range range, size_t limit);

class Model {
 public:
  // Every value with its stamp; counters in their stored form.
  using Keys = std::map<std::string, std::string>;

  // Whether the guards hold now.
  bool Allows(const Batch& batch) const;
  // What the batch does under `stamp`.
  void Apply(const Batch& batch, uint64_t stamp);
  // As Apply, of a batch with a `fate` that an engine which is not `in_order` has applied: keys may
  // have stamps of their own, which are found out from the engine.
  Status ApplyAsIn(Engine& engine, const Batch& batch, uint64_t stamp);
  // Of an engine that is not `in_order`: takes the stamps that the batch's keys have after it was
  // refused.
  Status TakeStamps(Engine& engine, const Batch& batch);
  // 0 when absent.
  uint64_t Stamp(Tablet tablet, const std::string& key) const;
  const Keys& keys(Tablet tablet) { return tablets_[tablet]; }

  // Compares everything in the tablets: a whole scan, scans of random ranges in both directions,
  // Get and MultiGet.
  Status Matches(Engine& engine, const std::vector<Tablet>& tablets, Random& random);

 private:
  Status TakeStamp(Engine& engine, const Batch& batch, Tablet tablet, std::string key,
                   bool written);
  Status ScanMatches(Engine& engine, const Range& range, size_t limit);

  std::map<Tablet, Keys> tablets_;
};

// Random batches over few keys, so that they meet.
class BatchMaker {
 public:
  BatchMaker(Random& random, std::vector<Tablet> tablets, bool spans_tablets)
      : random_(random), tablets_(std::move(tablets)), spans_tablets_(spans_tablets) {}

  // Guards are taken from the model and hold, except that about one in eight is made to fail. Has
  // at least one put, whose value is like no other batch's.
  Batch Make(const Model& model);
  std::string RandomKey();
  Tablet RandomTablet() { return tablets_[random_.Below(tablets_.size())]; }

  static std::string CounterKey(uint64_t number) { return "counter" + std::to_string(number); }

 private:
  Random& random_;
  const std::vector<Tablet> tablets_;
  const bool spans_tablets_;
  uint64_t made_ = 0;
};

// A value with room for a stamp, then `text`.
std::string ValueOf(std::string_view text);
std::vector<Tablet> TestTablets();

}  // namespace stator::kv
