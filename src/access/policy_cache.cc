#include "access/policy_cache.h"

#include <algorithm>
#include <utility>

#include "access/crypto.h"

namespace stator::access {

Result<std::shared_ptr<const Policy>> PolicyCache::Compile(std::string_view document,
                                                           PolicyKind kind, std::string name) {
  const Digest digest =
      Sha256(std::string(1, static_cast<char>('0' + static_cast<int>(kind))).append(document));
  std::string key(digest.begin(), digest.end());
  {
    const MutexLock lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end()) {
      if (const std::shared_ptr<const Policy> policy = found->second.lock(); policy != nullptr)
        return policy->name() == name ? policy : Policy::Named(policy, std::move(name));
    }
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Policy> policy,
                   Policy::Parse(document, kind, std::move(name)));
  const MutexLock lock(mutex_);
  if (known_.size() >= sweep_at_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<size_t>(1024, 2 * known_.size());
  }
  known_[std::move(key)] = policy;
  return policy;
}

size_t PolicyCache::size() const {
  const MutexLock lock(mutex_);
  return known_.size();
}

}  // namespace stator::access
