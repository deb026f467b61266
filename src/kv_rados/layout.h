// What stands where in the objects of a store. docs/storage-format.md has the grammar for readers.
// Internal to the room.
//
//   store object "stator"         xattr "format"   the words "stator-rados", a blank, the version
//                                                  in decimal: 1, or 2 with the next
//                                 xattr "features" names, separated by blanks (kv/features.h)
//                                 omap "opened"    the ledger name of the process that opened the
//                                                  store last, for people
//                                 omap             name of a tablet -> map entry
//   object "bulletin"             empty; processes watch it and send each other messages by it
//   tablet object NAME "." PART   xattr "header"   says what it is; every operation compares it
//                                 xattr "stamp"    stamp:8 of the last batch; every write compares
//                                                  it and raises it
//                                 xattr "size"     bytes:8 keys:8 unsure:8; every write sets it, so
//                                                  whoever knows the stamp knows it
//                                 omap             cells
//
//   NAME     = "catalog" | "items" | "log", ".", id of the tablet in 8 hexadecimal digits
//   PART     = number of the part in decimal; 0 is the first
//   entry    = 01 next:4 count:4 { part:4 text }      the number of the next part; the parts by
//                                                     their first routes (routing.h), the first of
//                                                     which is ""
//   header   = 01 space:1 id:4 part:4 epoch:8 fence:8 begin end given:16 state
//           routes in [begin, end), "" as end: no bound
//   begin    = text           end = text           text = length:4 bytes
//   given    = bytes:8 keys:8           of what left the part in splits and is still counted in
//                                       "size"
//   state    = 00                                    open
//            | 01 child:4 text                       being copied: what is at `text` and beyond
//                                                    goes to a new part
//            | 02 child:4                            has given that up, and has not removed it or
//                                                    is not yet known for it
//            | 03 parent:4 owner until:8 copied      such a new part, before it is opened: who
//                                                    copies (a process), up to which stamp of the
//                                                    parent its marks "m" and "n" are worked off,
//                                                    and behind which cell copying goes on ("" at
//                                                    first, "l" after the last)
//   owner    = text           copied = text
//   cell     = "k" ordered  ->  stamp:8 01 rest      a value of the layer above, whose first 8
//                                                    bytes are its stamp
//            | "r" reversed ->                       empty; reverse order of the same keys, for
//                                                    RADOS lists forward only
//            | "l" process  ->  seq:8 time:8         ledger: what a process wrote last, when
//                                                    (microseconds since the epoch)
//            | "m" stamp ordered ->                  mark, while the part is being copied: the key
//                                                    changed
//            | "n" stamp number  ->  text text       the same: keys from the first text to the
//                                                    second were deleted
//   stamp    = 16 hexadecimal digits (in cells "m" and "n")
//   number   = 8 hexadecimal digits
//   ordered  = { 00 as 02 01 | 01 as 02 02 | 02 as 02 03 | another byte as it is } 01
//   reversed = every byte b of `ordered` as 256 - b
//   process  = 32 hexadecimal digits, drawn at random when an engine is opened
//
// Numbers are little-endian. Neither `ordered` nor `reversed` has a zero byte, because librados
// takes the start of a range as a C string. The 01 at the end of `ordered` is below every byte that
// may stand there otherwise, so an exclusive start at the key without it is an inclusive start at
// the key. The 01 after the stamp makes every value longer than its stamp, so that two comparisons
// (greater than the stamp, less than the stamp followed by 02) guard the version without the value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kv/engine.h"
#include "kv/features.h"

namespace stator::kv_rados {

// The version of a store that needs no feature (kv/features.h), and of one that needs some: a
// Stator that knows no features refuses the latter.
inline constexpr int kPlainVersion = 1;
inline constexpr int kFormatVersion = 2;
inline constexpr char kStoreObject[] = "stator";
inline constexpr char kBulletinObject[] = "bulletin";
inline constexpr char kFormatAttribute[] = "format";
inline constexpr char kFeaturesAttribute[] = "features";
inline constexpr char kHeaderAttribute[] = "header";
inline constexpr char kStampAttribute[] = "stamp";
inline constexpr char kSizeAttribute[] = "size";

inline constexpr char kKeyCell = 'k';
inline constexpr char kReverseCell = 'r';
inline constexpr char kLedgerCell = 'l';
inline constexpr char kMarkCell = 'm';
inline constexpr char kRangeMarkCell = 'n';
inline constexpr char kAllCopied[] = "l";  // PartHeader::copied, behind all cells of keys

// The text of kFormatAttribute.
std::string FormatText(const kv::Features& features = {});
// Returns the features in the two attributes of the store object. kUnavailable for a newer version
// or a feature that is not in `known`, kCorruption for texts that no Stator would write.
Result<kv::Features> ReadFormat(std::string_view format, std::string_view features,
                                std::span<const std::string_view> known);

std::string TabletName(kv::Tablet tablet);
std::string PartObject(kv::Tablet tablet, uint32_t part);

// A range of routes; an empty `end`: no bound.
struct RouteRange {
  std::string begin;
  std::string end;
  bool Has(std::string_view route) const { return route >= begin && (end.empty() || route < end); }
  bool operator==(const RouteRange&) const = default;
};

// What is counted of the cells of keys.
struct Amount {
  uint64_t bytes = 0;
  uint64_t keys = 0;
  bool operator==(const Amount&) const = default;
};

// One part of a tablet: the keys of a range of routes, in an object of its own. How one becomes
// two: splitter.h.
struct PartHeader {
  enum class State : uint8_t { kOpen = 0, kCopying = 1, kLeaving = 2, kFilling = 3 };

  kv::Tablet tablet;
  uint32_t part = 0;
  uint64_t epoch = 1;  // rises with every change of the header
  uint64_t fence = 0;  // of the tablet
  RouteRange routes;
  Amount given;
  State state = State::kOpen;
  uint32_t other = 0;    // the child (kCopying, kLeaving) or the parent (kFilling)
  std::string boundary;  // kCopying: the child's first route

  // kFilling.
  std::string owner;
  uint64_t until = 0;
  std::string copied;
};
std::string EncodeHeader(const PartHeader& header);
// kUnavailable for a newer format, kCorruption for what EncodeHeader would not write.
Result<PartHeader> DecodeHeader(std::string_view bytes);

// The parts of a tablet by their first routes.
struct MapEntry {
  uint32_t next = 1;                      // no part has had this number
  std::map<std::string, uint32_t> parts;  // never empty; the first route is ""
};
std::string EncodeMapEntry(const MapEntry& entry);
// Decodes a map entry. Fails as DecodeHeader.
Result<MapEntry> DecodeMapEntry(std::string_view bytes);

std::string EncodeStamp(uint64_t stamp);
Result<uint64_t> DecodeStamp(std::string_view bytes);

// How much the cells of keys hold, as far as the writers could tell without reading what they
// replaced.
struct PartSize {
  uint64_t bytes = 0;   // the best guess
  uint64_t keys = 0;    // likewise
  uint64_t unsure = 0;  // how many bytes off it may be, summed up since it was last counted
  bool operator==(const PartSize&) const = default;
};
std::string EncodeSize(const PartSize& size);
Result<PartSize> DecodeSize(std::string_view bytes);

struct LedgerCell {
  uint64_t seq = 0;
  int64_t time_micros = 0;
};
std::string LedgerKey(std::string_view process);
std::string EncodeLedger(const LedgerCell& cell);
Result<LedgerCell> DecodeLedger(std::string_view bytes);

// Marks of what changed at a stamp: a key, or the `number`th range of keys that was deleted with
// it.
std::string MarkCell(uint64_t stamp, std::string_view key);
std::string RangeMarkCell(uint64_t stamp, size_t number);
// Marks of either kind with this stamp or a later one are greater than this; it is no cell itself.
std::string MarksFrom(char kind, uint64_t stamp);
// The key of a cell "m". kCorruption when it is none.
Result<std::string> KeyOfMark(std::string_view cell);
struct KeyRange {
  std::string begin;
  std::string end;
};
std::string EncodeRangeMark(const KeyRange& range);
Result<KeyRange> DecodeRangeMark(std::string_view bytes);

// The cell of a key, and where its order in reverse is kept.
std::string KeyCell(std::string_view key);
std::string ReverseCell(std::string_view key);
// What the two cells of a key take, in bytes: from its own bytes and those of its value in the
// layer above; or from what is stored.
size_t CellBytes(std::string_view key, size_t value_bytes);
// How many bytes of a key are escaped in its cells.
size_t EscapedBytes(std::string_view key);
size_t StoredCellBytes(size_t cell_bytes, size_t stored_bytes);
// The key of a cell "k" or "r". kCorruption when it is none.
Result<std::string> KeyOfCell(std::string_view cell);
// Appends the key of a cell "k" or "r" to `key`. After an error the contents of `key` are
// undefined.
Status AppendKeyOfCell(std::string_view cell, std::string* key);

// Keys >= `key` are those whose KeyCell is greater than this; it is no cell itself.
std::string StartAt(std::string_view key);
// The longest text that every KeyCell of keys in [begin, end) begins with, its first letter
// included; an empty `end`: no bound.
std::string CommonCellPrefix(std::string_view begin, std::string_view end);
// Returns the longest common prefix of the ReverseCells of these keys.
std::string CommonReversePrefix(std::string_view begin, std::string_view end);
// Whether that text alone keeps a read that begins at one end of the range (at `end`, in reverse)
// from going beyond the other.
bool IsBoundedByPrefix(std::string_view begin, std::string_view end, bool reverse);

// The cells of the keys in [begin, end), as a half-open range each. Only if begin < end or end is
// empty.
struct CellRange {
  std::string begin;
  std::string end;
};
CellRange KeyCellRange(std::string_view begin, std::string_view end);
CellRange ReverseCellRange(std::string_view begin, std::string_view end);

// A value of the layer above (at least a stamp long) as it is stored, and back.
std::string StoredValue(std::string_view value);
// kCorruption for what StoredValue would not make.
Result<std::string> LoadedValue(std::string_view stored);
// Returns the loaded value without a copy: it is made inside the stored bytes, which must not be
// used by other code afterwards.
Result<std::string_view> LoadedInPlace(std::string_view stored);
// The stored value v has the stamp exactly if GuardAbove(stamp) < v < GuardBelow(stamp), bytewise.
std::string GuardAbove(uint64_t stamp);
std::string GuardBelow(uint64_t stamp);

}  // namespace stator::kv_rados
