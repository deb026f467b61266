// Features that a store needs: each names a kind of record that a version of Stator without the
// feature would misread. The store keeps the names where every version looks before it reads
// anything else, and a version that does not know one of them refuses the store.
//
// A new kind of record gets a name in features.cc. Its writer calls RequireFeature before the
// first such record, and a reader of such records needs nothing.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "kv/engine.h"

namespace stator::kv {

// Names are 1 to 64 characters of a-z, 0-9 and "-".
using Features = std::set<std::string, std::less<>>;

// Returns the features that this version of Stator knows.
std::span<const std::string_view> KnownFeatures();

// Returns the names in order, separated by blanks. The stored form.
std::string JoinFeatures(const Features& features);
// Returns the names in a stored form; kCorruption if JoinFeatures would not write it.
Result<Features> SplitFeatures(std::string_view text);
// Returns OK if all `features` are in `known`. Otherwise kUnavailable, with a sentence that begins
// with `store` and names the unknown features.
Status CheckFeatures(std::string_view store, const Features& features,
                     std::span<const std::string_view> known);

// The part of an engine that keeps the features of its store. Thread-safe.
class FeatureKeeper {
 public:
  virtual ~FeatureKeeper() = default;
  // Adds a feature to those that the store needs. It is durable when the call returns. kInternal
  // if this version does not know it; kUnavailable if it could not be stored. Blocks.
  virtual Status AddFeature(std::string_view name) = 0;
  // Returns the features that the store needs, as far as this process knows.
  virtual Features RequiredFeatures() const = 0;

  // Refuses a feature before it is added, unless the other processes of the store know
  // it. Null: nothing does.
  using Check = std::function<Status(std::string_view name)>;
  void SetFeatureCheck(Check check);
  Check feature_check() const;

 private:
  mutable Mutex check_mutex_;
  Check check_ GUARDED_BY(check_mutex_);
};

// Makes sure that every process that opens the engine's store knows a feature, now and from now
// on; to be called before the first record that needs it. A feature that the store needs already
// costs no I/O. kUnavailable, with a sentence for people: a process of the store does not know it,
// or it could not be stored. OK for an engine whose data ends with its process. Blocks.
Status RequireFeature(Engine& engine, std::string_view name);
// Returns the features that the engine's store needs; none if the engine keeps none.
Features RequiredFeatures(Engine& engine);

}  // namespace stator::kv
