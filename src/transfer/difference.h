// The difference of two moments of a table, the changes of one item, and the way back.
//
// Everything here reads pages that end with a position, so that a call is bounded whatever the
// table is, and the next one goes on. Nothing is pinned. All changes up to the later moment must be
// durable, and the earlier one in the log (ops/as_of.h). Everything blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "table/logged_moment.h"
#include "table/store.h"

namespace stator::transfer {

struct PageLimits {
  size_t changes = 100;
  size_t image_bytes = 1 << 20;  // of all images, but for one change
  // Returns the bytes that an image counts as; null: those that it has.
  int64_t (*size_of_image)(std::string_view encoded) = nullptr;
  uint64_t read_bytes = 8 << 20;  // of items and records, but for one change
  // Asked between items: true ends reading with kUnavailable; null: nothing does.
  std::function<bool()> is_left = nullptr;

  size_t SizeOf(std::string_view image) const {
    return size_of_image == nullptr ? image.size() : static_cast<size_t>(size_of_image(image));
  }
  bool IsLeft() const { return is_left && is_left(); }
};

// Returns the error of a page whose client has gone.
Error PageIsLeft();

// An item, encoded, before and after; empty: there was none.
struct ItemChange {
  std::string key;  // table/key_encoding.h
  std::string before;
  std::string after;
  int64_t micros = 0;  // when the last change in the window was
};

struct DifferencePage {
  std::vector<ItemChange> changes;
  std::optional<std::string> next;  // where the next page begins; nullopt: this is the last one
};

// Returns a page of the items that differ between the moments `from` and `to`, in the order of
// keys, from the key `begin` on (empty: the first). A page may be empty although it is not the last
// one. Errors of the engine, and kCorruption.
Result<DifferencePage> ReadDifference(table::Store& store, const table::Table& table,
                                      const table::LoggedMoment& from,
                                      const table::LoggedMoment& to, std::string_view begin,
                                      const PageLimits& limits);

// Returns a page of the changes of one item after `from` up to `to`, in the order of time, from the
// position `begin` on (empty: the first). Errors as of ReadDifference; kValidation for an invalid
// position.
Result<DifferencePage> ReadVersions(table::Store& store, const table::Table& table,
                                    std::string_view key, const table::LoggedMoment& from,
                                    const table::LoggedMoment& to, std::string_view begin,
                                    const PageLimits& limits);

struct Undone {
  enum class Outcome {
    kPut,       // the item is what it was at `from`, or would be
    kDelete,    // there is none again, as at `from`
    kAlready,   // it was what it was at `from` before
    kConflict,  // it has changed after `to`, and was left alone
    kFailed,    // the write was refused: `error`
  };
  std::string key;
  Outcome outcome = Outcome::kConflict;
  std::string error;
};

struct UndoPage {
  std::vector<Undone> items;
  std::optional<std::string> next;
};

// Restores the items of one page of the difference to their state at `from`. Each item is one
// write, made only if the item is still as it was at `to`. Without `apply` it changes nothing and
// returns what it would do. The call may be repeated for a page. Fails as ReadDifference.
Result<UndoPage> UndoChanges(table::Store& store, const table::TablePtr& table,
                             const table::LoggedMoment& from, const table::LoggedMoment& to,
                             std::string_view begin, const PageLimits& limits, bool apply);

// Deletes all records of an item from the log. The item must not exist (kValidation), so that at
// every earlier moment there is none either. Returns the number of deleted records, which is not
// counted beyond 10,000. kResourceNotFound if the table or its log is gone; errors of the engine.
Result<int64_t> ForgetItem(table::Store& store, const table::TablePtr& table,
                           const std::string& key);

}  // namespace stator::transfer
