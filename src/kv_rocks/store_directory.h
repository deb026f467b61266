// The directory of a store as seen from outside RocksDB: what it may hold, and of which format it
// is.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kv/features.h"

namespace stator::kv_rocks {

// The version of a store that needs no feature, and of one that needs some: a Stator that knows no
// features refuses the latter.
inline constexpr int kPlainVersion = 2;
inline constexpr int kFormatVersion = 3;

// Creates the directory if it is missing and writes its FORMAT file if it is empty. Returns the
// features that the store needs. Refuses, with a sentence for people and without changing
// anything: a directory that holds other files and no store, a store of a newer format or with a
// feature that is not in `known`, and a store whose data files are there but whose CURRENT is not
// (RocksDB would start an empty one in its place).
Result<kv::Features> PrepareDirectory(const std::string& path,
                                      std::span<const std::string_view> known);

// Writes the FORMAT file durably, with the features that the store needs.
Status WriteFormat(const std::string& path, const kv::Features& features);

}  // namespace stator::kv_rocks
