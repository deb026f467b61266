// The streams of a catalog by name, and the memory of the descriptions of disabled ones. Internal
// to the room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/stream.h"
#include "table/table_name.h"

namespace stator::table {

// The place of a stream in lists: the name of its table in the store, and its label.
using StreamPlace = std::pair<std::string, std::string>;

// Bytes of the descriptions of disabled streams, which clients leave behind for a day.
struct DisabledStreams {
  // An estimate of the memory of a description, in the index and as its entry in the store.
  static uint64_t BytesOf(const stream::StreamDescriptor& stream);

  uint64_t bytes = 0;
  std::map<std::string, uint64_t, std::less<>> of_accounts;  // none is 0
};

// Not thread-safe.
class StreamIndex {
 public:
  // Returns null if there is none.
  stream::StreamPtr Find(std::string_view table_name, std::string_view label) const;
  // Puts a stream in the place of the one with its table and label.
  void Put(stream::StreamPtr stream);
  void Erase(const stream::StreamDescriptor& stream);

  // Return streams as Store::ListStreams, Store::ListStreamsOf and Store::StreamPage say.
  std::vector<stream::StreamPtr> All() const;
  std::vector<stream::StreamPtr> Of(std::string_view account) const;
  std::vector<stream::StreamPtr> Page(std::string_view account,
                                      const std::optional<std::string>& table,
                                      const std::optional<StreamPlace>& after, size_t most) const;

  const DisabledStreams& disabled() const { return disabled_; }

 private:
  using ByPlace = std::map<StreamPlace, stream::StreamPtr, StreamNameLess>;

  const ByPlace& MapOf(std::string_view label) const {
    return streams_[label.ends_with(stream::kHiddenSuffix) ? 1 : 0];
  }
  ByPlace& MapOf(std::string_view label) {
    return streams_[label.ends_with(stream::kHiddenSuffix) ? 1 : 0];
  }
  void Discount(const stream::StreamDescriptor& stream);

  // Those that clients see, and the hidden ones, of which a page of the others has none to skip.
  std::array<ByPlace, 2> streams_;
  DisabledStreams disabled_;
};

}  // namespace stator::table
