// Keys and values of the catalog: tablet 0 of Space::kCatalog.
//
//   "table/" name        -> the table's descriptor
//   "stream/" tablet id  -> the stream's descriptor; the id in decimal
//   "next-tablet"        -> the lowest tablet id that was not given out yet, in decimal
#pragma once

#include <string>
#include <string_view>

#include "kv/engine.h"
#include "stream/stream.h"
#include "table/item_value.h"

namespace stator::table {

inline constexpr kv::Tablet kCatalogTablet = {kv::Space::kCatalog, 0};
inline constexpr std::string_view kStreamPrefix = "stream/";
inline constexpr std::string_view kNextTabletKey = "next-tablet";

inline std::string StreamKey(const stream::StreamDescriptor& stream) {
  return std::string(kStreamPrefix) + std::to_string(stream.tablet_id);
}

inline kv::Put CatalogPut(std::string key, std::string_view bytes) {
  kv::Put put;
  put.tablet = kCatalogTablet;
  put.key = std::move(key);
  put.value = EncodeItemValue(bytes);
  return put;
}

}  // namespace stator::table
