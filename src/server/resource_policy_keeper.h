// The policies of tables and streams, kept among the identities of the store.
#pragma once

#include <atomic>
#include <map>
#include <string>

#include "base/executor.h"
#include "guard/gate.h"
#include "identity/identities.h"
#include "ops/resource_policies.h"
#include "table/store.h"

namespace stator::server {

// Thread-safe.
class ResourcePolicyKeeper final : public ops::ResourcePolicies,
                                   public guard::ResourcePolicySource {
 public:
  // Both must outlive the keeper.
  ResourcePolicyKeeper(identity::Identities& identities, table::Store& store)
      : identities_(identities), store_(store) {}

  std::optional<Policy> Find(std::string_view id) const override;
  Status Alter(const std::string& id, Change change) override;
  WorkerPool& changes() override { return changes_; }
  Status CheckAccount(std::string_view account) override {
    return identities_.CheckAccount(account);
  }

  // Waits for the changes that have begun. Call it when no request is under way.
  void Stop() { changes_.Stop(); }

  bool any() const override { return identities_.any_resources(); }
  guard::AttachedPolicy FindAttached(std::string_view id) const override;

 private:
  static constexpr size_t kMostWaiting = 16;

  // The account of each table and stream that there is.
  using Owners = std::map<std::string, std::string, std::less<>>;
  Owners AllOwners() const;
  // Forgets policies whose table or stream is gone, from time to time.
  Status ForgetGone();

  identity::Identities& identities_;
  table::Store& store_;
  std::atomic<int64_t> forgot_millis_{0};
  WorkerPool changes_{1, kMostWaiting};
};

}  // namespace stator::server
