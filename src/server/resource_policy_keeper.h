// The policies of tables and streams, kept among the identities of the store.
#pragma once

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

  bool any() const override { return identities_.resource_policies() != nullptr; }
  guard::AttachedPolicy FindAttached(std::string_view id) const override;

 private:
  // Forgets the policies of tables and streams that are gone.
  void ForgetGone(identity::ResourcePolicyRecords* records) const;

  identity::Identities& identities_;
  table::Store& store_;
};

}  // namespace stator::server
