#include "kv_rados/routing.h"

#include <algorithm>

namespace stator::kv_rados {
namespace {

constexpr char kEngineKey = '\xff';
constexpr size_t kEngineKeyBytes =
    18;  // of a key of the engine above beside the key that it is about
constexpr char kCounterKind = 2;
constexpr char kCollectionKind = 3;
constexpr uint8_t kLocalEntryKind = 0x10;

// The key that a key of the engine above is about; the key itself, if it is none of those.
std::string_view About(std::string_view key) {
  while (IsEngineKey(key)) {
    key = key.size() < kEngineKeyBytes ? std::string_view()
                                       : key.substr(2, key.size() - kEngineKeyBytes);
  }
  return key;
}

}  // namespace

std::optional<std::string_view> RouteOf(kv::Space space, std::string_view key) {
  if (space == kv::Space::kCatalog) return key;
  const bool of_engine = IsEngineKey(key);
  key = About(key);
  if (space == kv::Space::kLog || key.empty()) return key;
  if (key[0] != kCounterKind) return key.substr(1);
  return of_engine ? std::optional(std::string_view()) : std::nullopt;
}

std::optional<std::string> RouteOfPut(const kv::Put& put) {
  std::string key = put.key;
  if (put.key_stamp_offset >= 0) {
    const size_t from = std::min(key.size(), static_cast<size_t>(put.key_stamp_offset));
    std::fill_n(key.begin() + static_cast<std::ptrdiff_t>(from),
                std::min(key.size() - from, kv::kStampBytes), '\xff');
  }
  const std::optional<std::string_view> route = RouteOf(put.tablet.space, key);
  return route ? std::optional(std::string(*route)) : std::nullopt;
}

void ForEachRoute(const kv::Batch& batch,
                  FunctionRef<void(kv::Tablet, std::optional<std::string_view> route)> visit) {
  for (const kv::Guard& guard : batch.guards)
    visit(guard.tablet, RouteOf(guard.tablet.space, guard.key));
  for (const kv::Put& put : batch.puts) visit(put.tablet, RouteOfPut(put));
  for (const kv::Delete& gone : batch.deletes)
    visit(gone.tablet, RouteOf(gone.tablet.space, gone.key));
  for (const kv::Add& add : batch.adds) {
    if (const auto route = RouteOf(add.tablet.space, add.key)) visit(add.tablet, route);
  }
}

std::optional<RouteRange> RoutesOfKeys(kv::Space space, std::string_view begin,
                                       std::string_view end) {
  const std::string_view engine_keys(&kEngineKey, 1);
  if (space == kv::Space::kCatalog) return RouteRange{std::string(begin), std::string(end)};
  if (space == kv::Space::kLog) {
    if (end.empty() || end > engine_keys) return std::nullopt;
    return RouteRange{std::string(begin), std::string(end)};
  }
  if (begin.empty() || end.empty() || IsEngineKey(begin) || begin[0] == kCounterKind)
    return std::nullopt;
  if (end[0] == begin[0])
    return RouteRange{std::string(begin.substr(1)), std::string(end.substr(1))};
  const bool whole_kind =
      end.size() == 1 && static_cast<uint8_t>(end[0]) == static_cast<uint8_t>(begin[0]) + 1;
  return whole_kind ? std::optional(RouteRange{std::string(begin.substr(1)), {}}) : std::nullopt;
}

std::string KeyAtRoute(kv::Space space, std::string_view keys_begin, std::string_view route) {
  std::string key(space == kv::Space::kItems ? keys_begin.substr(0, 1) : std::string_view());
  return key.append(route);
}

bool IsEngineKey(std::string_view key) { return !key.empty() && key[0] == kEngineKey; }

bool BelongsToAnItem(kv::Space space, std::string_view key) {
  key = About(key);
  return space == kv::Space::kItems && !key.empty() &&
         (key[0] == kCollectionKind || static_cast<uint8_t>(key[0]) >= kLocalEntryKind);
}

}  // namespace stator::kv_rados
