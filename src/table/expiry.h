// Time to live: when an item expires, and the hidden index that finds the expired ones.
//
// A table with time to live has a tablet of its own in Space::kLog with one entry for each item
// whose time-to-live attribute is a number, in the order of the times:
//
//   entry := number item      number: the time in seconds since the epoch, as a sortable number
//                             (model/number.cc); item: the item's key (key_encoding.h)
//
// Its value is the stamp alone. Writes keep entries up in the item's own batch, so an entry and its
// item never disagree.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/number.h"
#include "model/value.h"

namespace stator::table {

// Items that expired longer ago than this are never deleted (reference: limits-and-capacity.md,
// section 7).
inline constexpr int64_t kLongestExpiredSeconds = 5 * 365 * int64_t{86'400};

// Returns the number in the item's time-to-live attribute; nullopt if there is none or it is not a
// number.
std::optional<model::Number> ExpiryOf(model::ItemView item, std::string_view attribute);
// Seconds since the epoch.
model::Number SecondsOf(int64_t micros);
// Whether an item with this time is to be deleted.
bool IsExpired(const model::Number& time, int64_t now_micros);

std::string EncodeExpiryKey(const model::Number& time, std::string_view item_key);
struct ExpiryEntry {
  model::Number time;
  std::string_view item_key;  // inside the entry's key
};
// kCorruption if it is the key of no entry.
Result<ExpiryEntry> DecodeExpiryKey(std::string_view key);

// The first key of an entry with a time that is not below.
std::string FirstExpiryKey(const model::Number& time);

// Up to where a table's expired items have been deleted, so that who looks for more need not pass
// over what is left of deleted entries. Thread-safe.
class ExpiryMark {
 public:
  // An entry is durable: it may lie below the mark.
  void Added(const model::Number& time);
  // Raises the mark to `seconds` and returns where it was. To be called before the entries in
  // between are looked for: those that turn up meanwhile take it down again.
  int64_t Raise(int64_t seconds);
  // Something between was left.
  void Lower(int64_t seconds);

 private:
  std::atomic<int64_t> seconds_{INT64_MIN};
};

}  // namespace stator::table
