// The format of the store as the store object says it, and the guards of operations that depend on
// it. Internal to the room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "kv/features.h"
#include "kv_rados/layout.h"

namespace stator::kv_rados {

class Cluster;

// The features that the store needs, as this process last read or wrote them. Thread-safe.
class StoreFormat {
 public:
  kv::Features features() const {
    MutexLock lock(mutex_);
    return features_;
  }
  void Set(kv::Features features) {
    MutexLock lock(mutex_);
    features_ = std::move(features);
  }
  // Adds guards to an operation on the store object: -ECANCELED unless the store has this format.
  template <typename Operation>
  void Guard(Operation& op) const {
    const kv::Features now = features();
    op.GuardAttribute(kFormatAttribute, FormatText(now));
    if (!now.empty()) op.GuardAttribute(kFeaturesAttribute, kv::JoinFeatures(now));
  }

 private:
  mutable Mutex mutex_;
  kv::Features features_ GUARDED_BY(mutex_);
};

// Reads the format and keeps it in Cluster::format. Returns whether it is another than before.
// kUnavailable if this version of Stator does not know it. Waits for the network.
Result<bool> RereadFormat(Cluster& cluster);
// FeatureKeeper::AddFeature.
Status AddFeature(Cluster& cluster, std::string_view name);

}  // namespace stator::kv_rados
