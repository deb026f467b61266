// The progress of one table's copy, kept in the target store so that a killed copy can continue.
//
//   tablet 4 of Space::kCatalog:  "copy/" table name -> stamp 01 fields
//   fields := (name " " text "\n")*      readers ignore unknown fields
//     source    the TableId of the source table; the copy has the same
//     phase     copying | verifying | finishing | differs | done
//     next      copying: hexadecimal; items with keys below are in the target
//     items, bytes, low, high
//               from finishing on: the digest of both sides; low and high are the checksum's halves
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "copy/digest.h"
#include "kv/engine.h"

namespace stator::copy {

inline constexpr kv::Tablet kCopyTablet = {kv::Space::kCatalog, 4};

struct Marker {
  enum class Phase {
    kCopying,
    kVerifying,  // all items are in the target
    kFinishing,  // all items are equal; time to live and the stream remain to be set up
    kDiffers,    // the items differ: the copy begins again
    kDone,
  };
  std::string source;
  Phase phase = Phase::kCopying;
  std::string next;
  Digest digest;

  std::string Encode() const;
  // kCorruption.
  static Result<Marker> Decode(std::string_view text);
  bool operator==(const Marker&) const = default;
};

// Return or store a table's marker; nullopt if there is none. Both block on the engine.
Result<std::optional<Marker>> ReadMarker(kv::Engine& engine, std::string_view table);
Status WriteMarker(kv::Engine& engine, std::string_view table, const Marker& marker);

}  // namespace stator::copy
