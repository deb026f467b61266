// A version of a table, as the catalog shows it to requests.
#pragma once

#include <memory>
#include <utility>

#include "model/value.h"
#include "stream/record.h"
#include "table/descriptor.h"
#include "table/expiry.h"
#include "table/gate.h"
#include "table/meters.h"

namespace stator::table {

// One version of a table's definition. Immutable, except for the gate, which all versions share
// under which a write does the same (with the same indexes and the same open shards of the stream;
// where several processes share the store fences do what gates do elsewhere), and the mark, which
// those share that have the same tablet of expiry entries.
struct Table {
  explicit Table(TableDescriptor definition, std::shared_ptr<Gate> its_gate)
      : descriptor(std::move(definition)),
        gate(std::move(its_gate)),
        expiry_mark(std::make_shared<ExpiryMark>()),
        key_parts(model::IndexKeySchema::Of(descriptor.key_schema)) {}

  TableDescriptor descriptor;
  std::shared_ptr<Gate> gate;
  std::shared_ptr<ExpiryMark> expiry_mark;
  model::IndexKeySchema key_parts;                  // the key schema, as an index would have it
  std::shared_ptr<const stream::Appender> stream;   // null while no stream is enabled
  std::shared_ptr<const stream::Appender> capture;  // of the hidden stream, while it is enabled
  Meters meters;  // set by the store's CatalogObserver, if there is one

  const model::KeySchema& key_schema() const { return descriptor.key_schema; }
  // Returns the meter of a global index, which must be one of `descriptor`. There must be meters.
  throughput::Meter& MeterOf(const IndexDescriptor& index) const {
    return *meters.indexes[static_cast<size_t>(&index - descriptor.indexes.data())];
  }
};
using TablePtr = std::shared_ptr<const Table>;

// Hears of each version of a table before any request sees it, and hangs its meters on it.
class CatalogObserver {
 public:
  virtual ~CatalogObserver() = default;
  // `next` takes the place of `before`, whose meters it has so far; null: of none, or of one that
  // this observer has not seen. Calls come one at a time, under a lock of the store: they must not
  // call it.
  virtual void OnVersion(const Table* before, Table* next) = 0;
};

}  // namespace stator::table
