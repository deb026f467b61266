// Changes of the catalog on threads that may wait for them.
#pragma once

#include <memory>
#include <utility>

#include "base/result.h"
#include "table/outcomes.h"
#include "table/store.h"

namespace stator::transfer {

// Calls `change` with a table::Store::CatalogDone, and waits for it.
template <typename Change>
Status AwaitCatalog(const Change& change) {
  const auto outcome = std::make_shared<table::Outcomes>(1);
  change([outcome](Result<table::TablePtr> table) {
    outcome->Add(table.ok() ? OkStatus() : Status(std::move(table).error()));
  });
  return outcome->Wait();
}

}  // namespace stator::transfer
