// Keys of items inside their tablet, in an order that the engine keeps by bytes alone.
//
//   tablet   := table id, 32 bits, never reused; Space::kItems
//   key      := item | counter | collection | local
//   item     := 0x01 hash partition [ sort ]
//   counter  := 0x02 name                       "count" (items) and "bytes" (their sizes by
//                                               DynamoDB's rules); of a local index "count." number
//                                               and "bytes." number, number in decimal
//   collection := 0x03 hash partition           counter: bytes of the items with this partition key
//                                               value and of their entries in local indexes; only
//                                               in tables that have some
//   local    := (0x10 + number) hash partition component [ tail ]      entry of local index
//                                                                      `number`: its sort key, then
//                                                                      the item's sort key
//   hash     := XXH3-128 of `partition`, 16 bytes big-endian (high half first)
//   partition := component                      self-delimiting
//   sort     := tail                            the rest of the key
//   component := S or B: bytes with 0x00 written as 0x00 0xff, then 0x00 0x01;  N: sortable number
//   (model/number.cc)
//   tail      := S or B: the bytes as they are;  N: sortable number
//
// A global index has a tablet of its own (same ids, same space), with counters "count" and "bytes":
//
//   global   := 0x01 hash component{1,4} component{0,4} component [ tail ]
//           the index's partition attributes, which `hash` is of, its sort attributes, the item's
//           key
//
// Every entry ends with the item's own key, so that items with equal index keys have entries of
// their own.
//
// The types of the components are those of the table's key schema, so they are not in the key. A
// partition's range of hashes is a range of keys, and the items of one partition key value are one
// range in sort-key order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/key_schema.h"
#include "model/value.h"

namespace stator::table {

inline constexpr char kItemKind = 0x01;
inline constexpr char kCounterKind = 0x02;
inline constexpr char kCollectionKind = 0x03;
inline constexpr char kLocalEntryKind = 0x10;  // of local index 0
// Kind and hash: what the keys of one partition key value share at least.
inline constexpr size_t kPartitionPrefixBytes = 17;

// 0x01 hash partition: the common prefix of all items with this partition key value (an S, N or B).
std::string EncodePartitionPrefix(model::ValueView partition);
// kind hash partition, for a partition key of one or more values.
std::string EncodePartitionPrefix(char kind, std::span<const model::ValueView> partition);
// Appends the self-delimiting form of a value (an S, N or B).
void AppendComponent(std::string* out, model::ValueView value);
// What the components of all S or B values that begin with `prefix` begin with.
void AppendComponentPrefix(std::string* out, model::ValueView prefix);
// Appends the sort key's tail form.
void AppendSortKey(std::string* out, model::ValueView sort);
// Returns the key of an item, which must have all key attributes of `schema` with the right types.
std::string EncodeItemKey(const model::KeySchema& schema, model::ItemView item);
// Returns the key attributes in an item's key, as an encoded item. kCorruption if the bytes are no
// key of an item of this schema.
Result<std::string> DecodeItemKey(const model::KeySchema& schema, std::string_view item_key);
std::string EncodeCounterKey(std::string_view name);
// The collection counter of an item's partition key value, from the item's key.
std::string EncodeCollectionKey(const model::KeySchema& schema, std::string_view item_key);

// The upper 64 bits of the hash in an item's key or in its prefix: its place in the hash space.
uint64_t HashOfKey(std::string_view item_key);
// The smallest possible item key with at least this hash.
std::string FirstKeyOfHash(uint64_t hash, char kind = kItemKind);
// The end of all item keys.
std::string EndOfItemKeys();
// The end of all keys of one kind.
std::string EndOfKind(char kind);
// The smallest key greater than every key that begins with `prefix`; empty if there is none.
std::string PrefixEnd(std::string_view prefix);

}  // namespace stator::table
