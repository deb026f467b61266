// Items as they were at a moment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_function.h"
#include "kv/engine.h"
#include "model/value.h"

namespace stator::table {

// Reads of one moment of the past.
class Past {
 public:
  virtual ~Past() = default;

  // Read as Store::Get and Store::ScanTablet do, but that moment. `item` and `visit` get items
  // without stamps. Scan may visit a key with ItemView(): nothing stood there, and the caller may
  // end a scan that passes too many of such keys.
  virtual Result<bool> Get(kv::Engine& engine, kv::Tablet tablet, std::string_view key,
                           kv::Tier tier, std::string* item) const = 0;
  virtual Status Scan(
      kv::Engine& engine, const kv::Range& range, kv::Tier tier,
      FunctionRef<bool(std::string_view key, model::ItemView item)> visit) const = 0;

  // Returns about how many bytes of items and records the reads took so far, if they take more than
  // a read of the present would.
  virtual uint64_t read_bytes() const { return 0; }
};

}  // namespace stator::table
