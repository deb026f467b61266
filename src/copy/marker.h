// How far the copy of a table is: kept in the target store, so that a copy that was killed goes on
// where it was.
//
//   tablet 4 of Space::kCatalog:  "copy/" table name -> stamp 01 fields
//   fields := (name " " text "\n")*      those that are unknown are passed over
//     source    the TableId of the table that is copied; that of the copy is the same
//     phase     copying | verifying | finishing | differs | done
//     next      copying: hexadecimal; items with keys below are in the target
//     items, bytes, low, high      from finishing on: what was counted on both sides; low and high
//     are the checksum's halves
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
    kFinishing,  // and are the same; what is left are time to live and the stream
    kDiffers,    // and are not the same: to be begun anew
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

// They wait for the engine. Nothing if there is none.
Result<std::optional<Marker>> ReadMarker(kv::Engine& engine, std::string_view table);
Status WriteMarker(kv::Engine& engine, std::string_view table, const Marker& marker);

}  // namespace stator::copy
