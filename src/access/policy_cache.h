// The compiled policies that are in use, so that equal documents are compiled and kept once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "access/policy.h"
#include "base/mutex.h"
#include "base/result.h"

namespace stator::access {

// Thread-safe. Keeps no policy alive: one goes with the last directory that has it.
class PolicyCache {
 public:
  // Returns the document compiled, under a name of its own. Errors are those of Policy::Parse.
  Result<std::shared_ptr<const Policy>> Compile(std::string_view document, PolicyKind kind,
                                                std::string name);
  // Returns the number of remembered documents, those included whose policies are gone.
  size_t size() const;

 private:
  mutable Mutex mutex_;
  // By the digest of kind and document.
  std::unordered_map<std::string, std::weak_ptr<const Policy>> known_ GUARDED_BY(mutex_);
  size_t sweep_at_ GUARDED_BY(mutex_) = 1024;
};

}  // namespace stator::access
