// A backup's description of itself: its name, the definition of its table, and its data files.
// Stored as JSON in the object "manifest.json" of the backup's folder (docs/backup.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "table/descriptor.h"

namespace stator::transfer {

inline constexpr int kManifestVersion = 1;
inline const std::string kManifestName = "manifest.json";

struct DataFile {
  std::string name;
  int64_t bytes = 0;
  int64_t items = 0;
  std::string checksum;  // XXH3-128 of the whole file, 32 hexadecimal digits
  bool operator==(const DataFile&) const = default;
};

struct Manifest {
  std::string id;  // 14 digits of milliseconds, "-", 8 hexadecimal digits
  std::string name;
  int64_t created_millis = 0;
  // The definition, without what belongs to a store: tablets, partitions, tags, auto scaling.
  table::TableDescriptor table;
  int64_t item_count = 0;
  int64_t table_bytes = 0;  // the items' sizes by DynamoDB's rules
  std::vector<DataFile> files;

  // The bytes of the data files.
  int64_t size_bytes() const;
};

// Whether `text` has the form of a backup's id.
bool IsBackupId(std::string_view text);

// Whether an id is of a backup that the system made of a deleted table.
bool IsSystemId(std::string_view id);

// Returns the definition as a backup keeps it.
table::TableDescriptor DefinitionOf(const table::TableDescriptor& table);

std::string EncodeManifest(const Manifest& manifest);
// kCorruption if the text is no manifest or its checksum is wrong; kUnavailable if it is of a newer
// version.
Result<Manifest> DecodeManifest(std::string_view text);

}  // namespace stator::transfer
