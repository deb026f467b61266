// The whole catalog, as an engine has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "kv/engine.h"
#include "stream/stream.h"
#include "table/descriptor.h"

namespace stator::table {

struct CatalogSnapshot {
  struct TableEntry {
    uint64_t stamp = 0;
    TableDescriptor descriptor;
  };
  struct StreamEntry {
    uint64_t stamp = 0;
    stream::StreamDescriptor descriptor;  // settled
  };
  struct DroppedEntry {
    std::string key;
    std::vector<kv::Tablet> tablets;
  };

  uint64_t version = 0;  // 0: nobody has written one
  std::vector<TableEntry> tables;
  std::vector<StreamEntry> streams;
  std::vector<DroppedEntry> dropped;
  uint32_t next_tablet_id = 1;  // above every id in here
};

// One state of it, whoever changes it meanwhile. Every table that says so has its enabled stream.
// kCorruption, kUnavailable; the latter also when it changes faster than it can be read.
Result<CatalogSnapshot> ReadCatalog(kv::Engine& engine);

// The catalog's version; 0 if there is none.
Result<uint64_t> ReadCatalogVersion(kv::Engine& engine);

// The value of a "dropped/" entry.
std::string EncodeDropped(const std::vector<kv::Tablet>& tablets);

}  // namespace stator::table
