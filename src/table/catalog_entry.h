// Keys and values of the catalog: tablet 0 of Space::kCatalog.
//
//   "table/" name        -> the table's descriptor
//   "stream/" tablet id  -> the stream's descriptor; the id in decimal
//   "next-tablet"        -> the lowest tablet id that was not given out yet, in decimal
//
//   "dropped/" tablet id -> tablets that were given up, { space:1 id:4 } big-endian: until they are
//                           empty, and their space was given back; the id of the first
//
// Where several processes share the store, also:
//
//   "version"            -> names of the latest changes, the last one first, 8 bytes each: written
//                        with every change of the
//                           entries above, whose guard it is, so that its stamp is the catalog's
//                           version
#pragma once

#include <string>
#include <string_view>

#include "kv/engine.h"
#include "stream/stream.h"
#include "table/item_value.h"

namespace stator::table {

inline constexpr kv::Tablet kCatalogTablet = {kv::Space::kCatalog, 0};
inline constexpr std::string_view kTablePrefix = "table/";
inline constexpr std::string_view kStreamPrefix = "stream/";
inline constexpr std::string_view kDroppedPrefix = "dropped/";
inline constexpr std::string_view kVersionKey = "version";
inline constexpr std::string_view kNextTabletKey = "next-tablet";

inline std::string TableKey(std::string_view name) {
  return std::string(kTablePrefix).append(name);
}

inline std::string StreamKey(const stream::StreamDescriptor& stream) {
  return std::string(kStreamPrefix) + std::to_string(stream.tablet_id);
}

inline std::string DroppedKey(kv::Tablet first) {
  return std::string(kDroppedPrefix) + std::to_string(first.id);
}

inline kv::Put CatalogPut(std::string key, std::string_view bytes) {
  kv::Put put;
  put.tablet = kCatalogTablet;
  put.key = std::move(key);
  put.value = EncodeItemValue(bytes);
  return put;
}

}  // namespace stator::table
