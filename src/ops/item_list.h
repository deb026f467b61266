// Encoded items one behind the other in one piece of memory: what a page of many small items is made of.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "model/value.h"

namespace stator::ops {

// Views of its items are valid until the next Append or the end of the list.
class ItemList {
 public:
  ItemList() = default;
  ItemList(std::initializer_list<std::string_view> encoded) {
    for (std::string_view item : encoded) Append(item);
  }

  // Room for `count` items of `bytes` together, to be taken before the first one.
  void Reserve(size_t count, size_t bytes) {
    ends_.reserve(count);
    bytes_.reserve(bytes);
  }
  void Append(std::string_view encoded) {
    bytes_.append(encoded);
    ends_.push_back(bytes_.size());
  }

  size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  // Of all items, encoded.
  size_t bytes() const { return bytes_.size(); }
  model::ItemView operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return model::ItemView(std::string_view(bytes_).substr(begin, ends_[i] - begin));
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
  std::string bytes_;
  std::vector<size_t> ends_;
};

}  // namespace stator::ops
