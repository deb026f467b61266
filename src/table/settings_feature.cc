#include "table/settings_feature.h"

#include "kv/features.h"

namespace stator::table {

Status RequireTableSettings(Store& store) {
  return kv::RequireFeature(store.engine(), kTableSettings);
}

Status RequireKinesis(Store& store) { return kv::RequireFeature(store.engine(), kKinesisFeature); }

Status RequireAccounts(Store& store) {
  return kv::RequireFeature(store.engine(), kAccountsFeature);
}

}  // namespace stator::table
