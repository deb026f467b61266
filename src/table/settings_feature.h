// Guards a store against versions that would forget members of its tables' descriptors, or would
// show the tables of other accounts as the default's.
#pragma once

#include "base/result.h"
#include "table/store.h"

namespace stator::table {

// Makes sure that every process of the store knows the feature kTableSettings; to be called before
// a descriptor gets ShownSettings or a ScalableTarget. kUnavailable: a process does not know it, or
// the disk or pool failed. Blocks; costs nothing once the store has it.
Status RequireTableSettings(Store& store);
// Makes sure of the feature kKinesisFeature; to be called before a table gets a destination.
Status RequireKinesis(Store& store);
// Makes sure of the feature kAccountsFeature; to be called before a table of another account than
// the default is made.
Status RequireAccounts(Store& store);

}  // namespace stator::table
