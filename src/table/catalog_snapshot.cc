#include "table/catalog_snapshot.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "kv/fixed_bytes.h"
#include "table/catalog_entry.h"
#include "table/key_encoding.h"

namespace stator::table {
namespace {

constexpr int kAttempts = 20;
constexpr size_t kDroppedBytes = 5;

Error BadEntry(std::string_view key, const Error& error) {
  return CorruptionError("catalog entry " + std::string(key) + ": " + error.message());
}

// Calls take(key, stamp, bytes) for the entries with a prefix.
Status ForEach(
    kv::Engine& engine, std::string_view prefix,
    FunctionRef<Status(std::string_view key, uint64_t stamp, std::string_view bytes)> take) {
  Status bad;
  const std::string end = PrefixEnd(prefix);
  TRY(engine.Scan({kCatalogTablet, prefix, end, false}, kv::Tier::kAny,
                  [&](std::string_view key, std::string_view value) {
                    const Result<std::string_view> bytes = DecodeItemValue(value);
                    bad =
                        bytes.ok() ? take(key, kv::StampOf(value), *bytes) : Status(bytes.error());
                    return bad.ok();
                  }));
  return bad;
}

Status AddTable(std::string_view key, uint64_t stamp, std::string_view bytes,
                CatalogSnapshot* catalog) {
  Result<TableDescriptor> descriptor = TableDescriptor::Decode(bytes);
  if (!descriptor.ok()) return BadEntry(key, descriptor.error());
  catalog->tables.push_back({stamp, std::move(*descriptor)});
  return OkStatus();
}

Status AddStream(std::string_view key, uint64_t stamp, std::string_view bytes,
                 CatalogSnapshot* catalog) {
  Result<stream::StreamDescriptor> descriptor = stream::StreamDescriptor::Decode(bytes);
  if (!descriptor.ok()) return BadEntry(key, descriptor.error());
  descriptor->Settle(stamp);
  catalog->streams.push_back({stamp, std::move(*descriptor)});
  return OkStatus();
}

Status AddDropped(std::string_view key, std::string_view bytes, CatalogSnapshot* catalog) {
  if (bytes.size() % kDroppedBytes != 0)
    return CorruptionError("catalog entry " + std::string(key) + " is cut off");
  CatalogSnapshot::DroppedEntry& entry = catalog->dropped.emplace_back();
  entry.key = key;
  for (; !bytes.empty(); bytes.remove_prefix(kDroppedBytes)) {
    entry.tablets.push_back({static_cast<kv::Space>(bytes[0]), kv::LoadBig32(bytes.data() + 1)});
  }
  return OkStatus();
}

Status CheckStreams(const CatalogSnapshot& catalog) {
  std::set<std::pair<std::string_view, std::string_view>> enabled;
  for (const auto& [stamp, stream] : catalog.streams) {
    if (stream.enabled()) enabled.emplace(stream.table_name, stream.label);
  }
  for (const auto& [stamp, table] : catalog.tables) {
    if ((table.stream_view_type && !enabled.contains({table.name, table.stream_label})) ||
        (table.captures() && !enabled.contains({table.name, table.capture_label})))
      return CorruptionError("catalog entry " + TableKey(table.name) + ": its stream is missing");
  }
  return OkStatus();
}

Status ReadNextTablet(kv::Engine& engine, CatalogSnapshot* catalog) {
  uint32_t& next = catalog->next_tablet_id;
  std::string value;
  ASSIGN_OR_RETURN(const bool found,
                   engine.Get(kCatalogTablet, kNextTabletKey, kv::Tier::kAny, &value));
  if (found) {
    ASSIGN_OR_RETURN(const std::string_view bytes, DecodeItemValue(value));
    next = static_cast<uint32_t>(std::strtoul(std::string(bytes).c_str(), nullptr, 10));
  }
  for (const auto& [stamp, table] : catalog->tables) {
    next = std::max(next, table.tablet_id + 1);
    for (const IndexDescriptor& index : table.indexes) next = std::max(next, index.tablet_id + 1);
    if (table.expiry) next = std::max(next, table.expiry->tablet_id + 1);
    if (table.change_log) next = std::max(next, table.change_log->tablet_id + 1);
  }
  for (const auto& [stamp, stream] : catalog->streams) next = std::max(next, stream.tablet_id + 1);
  return OkStatus();
}

Result<CatalogSnapshot> ReadOnce(kv::Engine& engine) {
  CatalogSnapshot catalog;
  TRY(ForEach(engine, kStreamPrefix,
              [&](std::string_view key, uint64_t stamp, std::string_view bytes) {
                return AddStream(key, stamp, bytes, &catalog);
              }));
  TRY(ForEach(engine, kTablePrefix,
              [&](std::string_view key, uint64_t stamp, std::string_view bytes) {
                return AddTable(key, stamp, bytes, &catalog);
              }));
  TRY(ForEach(engine, kDroppedPrefix, [&](std::string_view key, uint64_t, std::string_view bytes) {
    return AddDropped(key, bytes, &catalog);
  }));
  TRY(ReadNextTablet(engine, &catalog));
  return catalog;
}

}  // namespace

Result<uint64_t> ReadCatalogVersion(kv::Engine& engine) {
  std::string value;
  ASSIGN_OR_RETURN(const bool found,
                   engine.Get(kCatalogTablet, kVersionKey, kv::Tier::kAny, &value));
  return found ? kv::StampOf(value) : 0;
}

Result<CatalogSnapshot> ReadCatalog(kv::Engine& engine) {
  const bool shared = !engine.capabilities().exclusive;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    uint64_t before = 0, after = 0;
    if (shared) {
      ASSIGN_OR_RETURN(before, ReadCatalogVersion(engine));
    }
    ASSIGN_OR_RETURN(CatalogSnapshot catalog, ReadOnce(engine));
    if (shared) {
      ASSIGN_OR_RETURN(after, ReadCatalogVersion(engine));
    }
    if (before != after) continue;
    TRY(CheckStreams(catalog));
    catalog.version = after;
    return catalog;
  }
  return Error(ErrorCode::kUnavailable, "The catalog changes faster than it can be read.");
}

std::string EncodeDropped(const std::vector<kv::Tablet>& tablets) {
  std::string bytes;
  for (const kv::Tablet& tablet : tablets) {
    char id[4];
    kv::StoreBig32(id, tablet.id);
    bytes.push_back(static_cast<char>(tablet.space));
    bytes.append(id, sizeof id);
  }
  return bytes;
}

}  // namespace stator::table
