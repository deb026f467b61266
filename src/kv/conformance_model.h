// The model that the conformance suite compares engines with, and the comparisons.
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

// Return up to `limit` keys and values of a range. ScanUpTo uses one Scan that may wait. ScanAhead
// reads ahead as callers on an I/O loop do: a Scan that may not wait, then one for the rest.
using Visited = std::vector<std::pair<std::string, std::string>>;
Result<Visited> ScanUpTo(Engine& engine, const Range& range, size_t limit);
Result<Visited> ScanAhead(Engine& engine, Range range, size_t limit);

class Model {
 public:
  // Every value with its stamp; counters in their stored form.
  using Keys = std::map<std::string, std::string>;

  // Returns whether the guards hold now.
  bool Allows(const Batch& batch) const;
  // Applies the batch under `stamp`.
  void Apply(const Batch& batch, uint64_t stamp);
  // Applies a batch with a `fate` that an engine which is not `in_order` has applied. Its keys may
  // have stamps of their own, which are read from the engine.
  Status ApplyAsIn(Engine& engine, const Batch& batch, uint64_t stamp);
  // For a batch that an engine which is not `in_order` has refused: reads the new stamps of the
  // batch's keys from the engine.
  Status TakeStamps(Engine& engine, const Batch& batch);
  // Returns the stamp of a key, or 0 if it is absent.
  uint64_t Stamp(Tablet tablet, const std::string& key) const;
  const Keys& keys(Tablet tablet) { return tablets_[tablet]; }

  // Compares all keys of the tablets by a full scan, scans of random ranges in both directions, Get
  // and MultiGet.
  Status Matches(Engine& engine, const std::vector<Tablet>& tablets, Random& random);

 private:
  Status TakeStamp(Engine& engine, const Batch& batch, Tablet tablet, std::string key,
                   bool written);
  Status ScanMatches(Engine& engine, const Range& range, size_t limit);

  std::map<Tablet, Keys> tablets_;
};

// Makes random batches over few keys, so that they conflict.
class BatchMaker {
 public:
  BatchMaker(Random& random, std::vector<Tablet> tablets, bool spans_tablets)
      : random_(random), tablets_(std::move(tablets)), spans_tablets_(spans_tablets) {}

  // Returns a batch with at least one put, whose value differs from that of any other batch. Guards
  // come from the model and hold, except that about one in eight is made to fail.
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

// Returns a value with room for a stamp, followed by `text`.
std::string ValueOf(std::string_view text);
std::vector<Tablet> TestTablets();

}  // namespace stator::kv
