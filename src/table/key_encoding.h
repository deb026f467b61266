// Keys of items inside their tablet, in an order that the engine keeps by bytes alone.
//
//   tablet   := table id, 32 bits, never reused; Space::kItems
//   key      := item | counter
//   item     := 0x01 hash partition [ sort ]
//   counter  := 0x02 name                       "count" (items) and "bytes" (their sizes by DynamoDB's rules)
//   hash     := XXH3-128 of `partition`, 16 bytes big-endian (high half first)
//   partition := component                      self-delimiting
//   sort     := tail                            the rest of the key
//   component := S or B: bytes with 0x00 written as 0x00 0xff, then 0x00 0x01;  N: sortable number (model/number.cc)
//   tail      := S or B: the bytes as they are;  N: sortable number
//
// The types of the components are those of the table's key schema, so they are not in the key. A partition's range of
// hashes is a range of keys, and the items of one partition key value are one range in sort-key order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/key_schema.h"
#include "model/value.h"

namespace stator::table {

inline constexpr char kItemKind = 0x01;
inline constexpr char kCounterKind = 0x02;
// Kind and hash: what the keys of one partition key value share at least.
inline constexpr size_t kPartitionPrefixBytes = 17;

// 0x01 hash partition: the common prefix of all items with this partition key value (an S, N or B).
std::string EncodePartitionPrefix(model::ValueView partition);
// Appends the sort key's tail form.
void AppendSortKey(std::string* out, model::ValueView sort);
// The key of an item that has all key attributes of `schema` with the right types.
std::string EncodeItemKey(const model::KeySchema& schema, model::ItemView item);
std::string EncodeCounterKey(std::string_view name);

// The upper 64 bits of the hash in an item's key or in its prefix: its place in the hash space.
uint64_t HashOfKey(std::string_view item_key);
// The smallest possible item key with at least this hash.
std::string FirstKeyOfHash(uint64_t hash);
// The end of all item keys.
std::string EndOfItemKeys();
// The smallest key greater than every key that begins with `prefix`; empty if there is none.
std::string PrefixEnd(std::string_view prefix);

// The key attributes of `item` alone, as an encoded item: a LastEvaluatedKey.
std::string KeyAttributesOf(const model::KeySchema& schema, model::ItemView item);

}  // namespace stator::table
