// A whole-store backup's description of itself: its moment, and the files of the store.
//
// The text is one line of JSON and, on a second line, the XXH3-128 of the first. docs/backup.md has
// the members.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stator::store_backup {

inline constexpr size_t kMostManifestBytes = 64 << 20;
inline constexpr size_t kMostFiles = 300'000;

struct File {
  std::string name;  // in the data directory
  uint64_t bytes = 0;
  std::string hash;  // XXH3-128 of its content, 32 hex digits; the object's name has it too
  std::string mark;  // of its first and last bytes (make.h): whether it is a file met before
};

struct Backup {
  std::string id;  // IdOf
  uint64_t number = 0;
  // Everything that was answered before `as_of_micros` is in it, nothing that was sent after
  // `until_micros`.
  int64_t as_of_micros = 0;
  int64_t until_micros = 0;
  std::string version;     // of Stator
  std::string key_id;      // of the master key that a restored store needs; empty: it is plain
  uint64_t new_bytes = 0;  // what it added to the place: this and the next
  uint64_t new_files = 0;
  std::vector<File> files;  // by name

  uint64_t bytes() const;
};

// Returns "00000012-20261127T112031Z".
std::string IdOf(uint64_t number, int64_t as_of_micros);
inline constexpr uint64_t kMostNumber = 99'999'999;
// Returns the number in an id; 0 if it is none.
uint64_t NumberIn(std::string_view id);
// Returns "backups/ID.json".
std::string ManifestName(std::string_view id);
// Returns the id in such a name; empty if it is none.
std::string_view IdInName(std::string_view name);
// Returns "objects/HASH-BYTES".
std::string ObjectName(const File& file);
// Returns true if a backup's manifest or object may have this name. Files with other names do not
// belong to backups and are left alone.
bool IsNameHere(std::string_view name);

// Returns the XXH3-128 of a text as 32 hex digits.
std::string HashOf(std::string_view text);

std::string FormatManifest(const Backup& backup);
// kCorruption with a sentence that begins with `name` for a text that FormatManifest did not write,
// and kUnavailable for one of a newer version.
Result<Backup> ParseManifest(std::string_view text, std::string_view name);

}  // namespace stator::store_backup
