// How much the engine takes at once and remembers. Internal to the room.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stator::kv_rados {

// A simulation makes these small, so that a few keys reach each of them.
struct Limits {
  // Batches of one operation. RADOS takes operations of up to 90 MB.
  size_t group_bytes = 8 << 20;
  size_t group_batches = 1000;
  // The maximum number of keys whose state is remembered between groups, for all parts together.
  // One takes about 200 bytes.
  size_t known_keys = 200'000;
  // A part's size is counted again when it may be wrong by half of it, and by more than this.
  uint64_t unsure_bytes = 8 << 20;
  // A long read aims at `read_bytes`; its first operation, if the caller names no size, at
  // `first_read_bytes`.
  size_t read_bytes = 1 << 20;
  size_t first_read_bytes = 128 << 10;
  // A split copies `copy_bytes` at once and names `keys_at_once` keys in an operation, which holds
  // `operation_bytes` of values. The users of the part wait while `few_keys` marked keys are
  // copied.
  size_t copy_bytes = 512 << 10;
  size_t keys_at_once = 500;
  size_t few_keys = 300;
  size_t operation_bytes = 16 << 20;
};

}  // namespace stator::kv_rados
