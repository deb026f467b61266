// Items of a page one behind the other in one piece of memory: encoded, or already as the reply has
// them.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "model/value.h"

namespace stator::ops {

// Writes an item as the replies of an API have it, behind what `out` holds. `first`: no item of its
// list was written before.
using ItemWriter = void (*)(model::ItemView item, bool first, ByteBuffer* out);

// Views of its items are valid until the next Append or the end of the list.
class ItemList {
 public:
  // Makes a list of encoded items.
  ItemList() = default;
  ItemList(std::initializer_list<std::string_view> encoded) {
    for (std::string_view item : encoded) Append(item);
  }
  // Makes a list of items that `writer` writes when they are appended, so that they are copied only
  // once from the store to the reply. Null: a list of encoded items.
  explicit ItemList(ItemWriter writer) : writer_(writer) {}

  // Room for `count` items of `bytes` together.
  void Reserve(size_t count, size_t bytes) {
    if (writer_ == nullptr) ends_.reserve(count);
    bytes_.Reserve(bytes);
  }
  void Append(std::string_view encoded) {
    if (writer_ != nullptr) {
      writer_(model::ItemView(encoded), count_ == 0, &bytes_);
    } else {
      bytes_.Append(encoded);
      ends_.push_back(bytes_.size());
    }
    ++count_;
  }

  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  // Returns the bytes of all items in the list's form.
  size_t bytes() const { return bytes_.size(); }
  // Returns true if a writer has written the items. Then only written() may be used; otherwise only
  // operator[] and the iterators.
  bool is_written() const { return writer_ != nullptr; }
  std::string_view written() const { return bytes_.view(); }
  model::ItemView operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return model::ItemView(bytes_.view().substr(begin, ends_[i] - begin));
  }

  class Iterator {
   public:
    Iterator(const ItemList* list, size_t at) : list_(list), at_(at) {}
    model::ItemView operator*() const { return (*list_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const ItemList* list_;
    size_t at_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  ItemWriter writer_ = nullptr;
  ByteBuffer bytes_;
  size_t count_ = 0;
  std::vector<size_t> ends_;  // of encoded items
};

}  // namespace stator::ops
