// AttributeValues and items in their stored form, read in place.
//
// The encoding is canonical: two values are equal in DynamoDB's sense exactly when their bytes are
// equal (sets and maps are sorted, numbers are in canonical text). So equality, "did this write
// change anything" and set membership are memcmp.
//
//   item   := varint(size) map              size: the item's size by DynamoDB's rules, in bytes
//   map    := varint(count) { name value }  sorted by name (bytewise), names unique
//   name   := varint(length << 1 | escape) bytes      escape = 1: JSON needs escapes in it
//   value  := tag payload
//   tag    := type | (plain ? 0x80 : 0)     plain: S or SS of which no byte needs escaping in JSON
//   S, B   := varint(length) bytes          S is valid UTF-8, B is raw
//   N      := varint(length) text           canonical decimal, see number.h
//   BOOL   := 0x00 | 0x01
//   NULL   := (nothing)
//   L      := varint(bytes) varint(count) { value }
//   M      := varint(bytes) map
//   SS, BS := varint(bytes) varint(count) { varint(length) bytes }     sorted bytewise, unique
//   NS     := varint(bytes) varint(count) { varint(length) text }      sorted by value, unique
//
// `bytes` counts what follows it, so that every value can be skipped in constant time. varint is
// LEB128.
//
// Views do not own: they are valid as long as the bytes they look at. They trust the encoding;
// bytes from disk go through CheckItem first (the engine's checksums make a failure there a bug or
// an attack, never the weather).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/number.h"

namespace stator::model {

enum class Type : uint8_t { kS = 1, kN, kB, kBool, kNull, kL, kM, kSS, kNS, kBS };

// "S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS" or "BS".
std::string_view TypeName(Type type);
// The reverse; nullopt for any other text.
std::optional<Type> TypeFromName(std::string_view name);

inline constexpr uint8_t kPlainFlag = 0x80;

// Reads a varint at *p and advances *p. The bytes are trusted to hold one.
inline uint64_t ReadVarint(const char** p) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(*(*p)++);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}
void AppendVarint(std::string* out, uint64_t value);

class ListView;
class MapView;
class SetView;

// One encoded value.
class ValueView {
 public:
  ValueView() = default;
  // `encoded` begins with a value; what follows it is ignored.
  explicit ValueView(std::string_view encoded) : data_(encoded.data()) {}
  explicit ValueView(const char* data) : data_(data) {}

  bool empty() const { return data_ == nullptr; }
  Type type() const { return static_cast<Type>(static_cast<uint8_t>(*data_) & 0x7f); }
  // True if S (or every member of SS) goes into JSON without escapes.
  bool plain() const { return (static_cast<uint8_t>(*data_) & kPlainFlag) != 0; }

  // S: the text; N: the canonical decimal text; B: the raw bytes.
  std::string_view text() const;
  bool boolean() const { return data_[1] != 0; }
  ListView list() const;
  MapView map() const;
  SetView set() const;    // SS, NS, BS
  Number number() const;  // N

  // The whole encoding, tag included.
  std::string_view encoded() const { return {data_, static_cast<size_t>(end() - data_)}; }
  const char* end() const;

 private:
  const char* data_ = nullptr;
};

// Iterates "name value" pairs in name order.
class MapView {
 public:
  MapView() = default;
  // `data` points at varint(count).
  explicit MapView(const char* data) : data_(data) {}

  struct Entry {
    std::string_view name;
    bool name_needs_escape = false;
    ValueView value;
  };
  class Iterator {
   public:
    Iterator(const char* p, uint64_t left) : p_(p), left_(left) { Load(); }
    const Entry& operator*() const { return entry_; }
    const Entry* operator->() const { return &entry_; }
    Iterator& operator++() {
      p_ = entry_.value.end();
      --left_;
      Load();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return left_ != other.left_; }

   private:
    void Load() {
      if (left_ == 0) return;
      const uint64_t head = ReadVarint(&p_);
      entry_.name = {p_, static_cast<size_t>(head >> 1)};
      entry_.name_needs_escape = (head & 1) != 0;
      entry_.value = ValueView(p_ + (head >> 1));
    }
    const char* p_;
    uint64_t left_;
    Entry entry_;
  };

  size_t size() const {
    if (data_ == nullptr) return 0;
    const char* p = data_;
    return ReadVarint(&p);
  }
  Iterator begin() const {
    if (data_ == nullptr) return Iterator(nullptr, 0);
    const char* p = data_;
    const uint64_t count = ReadVarint(&p);
    return Iterator(p, count);
  }
  Iterator end() const { return Iterator(nullptr, 0); }
  // The value of `name`, or an empty view. Linear, with an early exit.
  ValueView Find(std::string_view name) const;

 private:
  const char* data_ = nullptr;
};

class ListView {
 public:
  explicit ListView(const char* data) : data_(data) {}
  class Iterator {
   public:
    Iterator(const char* p, uint64_t left) : p_(p), left_(left) {}
    ValueView operator*() const { return ValueView(p_); }
    Iterator& operator++() {
      p_ = ValueView(p_).end();
      --left_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return left_ != other.left_; }

   private:
    const char* p_;
    uint64_t left_;
  };
  size_t size() const {
    const char* p = data_;
    return ReadVarint(&p);
  }
  Iterator begin() const {
    const char* p = data_;
    const uint64_t count = ReadVarint(&p);
    return Iterator(p, count);
  }
  Iterator end() const { return Iterator(nullptr, 0); }
  // The element at `index`, or an empty view beyond the end.
  ValueView At(size_t index) const;

 private:
  const char* data_;
};

class SetView {
 public:
  explicit SetView(const char* data) : data_(data) {}
  class Iterator {
   public:
    Iterator(const char* p, uint64_t left) : p_(p), left_(left) { Load(); }
    std::string_view operator*() const { return member_; }
    Iterator& operator++() {
      p_ += member_.size();
      --left_;
      Load();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return left_ != other.left_; }

   private:
    void Load() {
      if (left_ == 0) return;
      const uint64_t length = ReadVarint(&p_);
      member_ = {p_, static_cast<size_t>(length)};
    }
    const char* p_;
    uint64_t left_;
    std::string_view member_;
  };
  size_t size() const {
    const char* p = data_;
    return ReadVarint(&p);
  }
  Iterator begin() const {
    const char* p = data_;
    const uint64_t count = ReadVarint(&p);
    return Iterator(p, count);
  }
  Iterator end() const { return Iterator(nullptr, 0); }
  bool Contains(std::string_view member) const;

 private:
  const char* data_;
};

// One encoded item. A default-made view stands for "no item": it has no attributes and size 0.
class ItemView {
 public:
  ItemView() = default;
  explicit ItemView(std::string_view encoded) : encoded_(encoded) {}

  bool exists() const { return !encoded_.empty(); }
  // The item's size by DynamoDB's rules, in bytes.
  size_t size_bytes() const;
  MapView attributes() const;
  ValueView Find(std::string_view name) const { return attributes().Find(name); }
  std::string_view encoded() const { return encoded_; }

 private:
  std::string_view encoded_;
};

// --- Writing -------------------------------------------------------------------------------------

// True if no byte of `text` needs an escape in JSON (control characters, quote, backslash).
bool IsJsonPlain(std::string_view text);

void AppendName(std::string* out, std::string_view name);
void AppendString(std::string* out, std::string_view text);
void AppendNumber(std::string* out, const Number& number);
void AppendBinary(std::string* out, std::string_view bytes);
void AppendBool(std::string* out, bool value);
void AppendNull(std::string* out);
// `elements` are `count` encoded values, one behind the other.
void AppendList(std::string* out, size_t count, std::string_view elements);
// `entries` are `count` encoded name-value pairs, already sorted by name and unique.
void AppendMap(std::string* out, size_t count, std::string_view entries);
// Members in any order, not empty; the caller has refused duplicates where DynamoDB does (here they
// collapse). For kNS the members are canonical number texts.
void AppendSet(std::string* out, Type type, std::vector<std::string_view> members);

// Appends an item made of `count` encoded name-value pairs, which must be sorted by name and
// unique. Computes the item's size.
void AppendItem(std::string* out, size_t count, std::string_view entries);

// --- Rules ---------------------------------------------------------------------------------------

// Returns the size of a value by DynamoDB's rules, in bytes (reference: limits-and-capacity.md,
// section 1).
size_t ValueSizeBytes(ValueView value);
// Returns the nesting depth of a value: 1 for a scalar or set, 1 + the depth of the deepest element
// for L and M.
int ValueDepth(ValueView value);
// True if `a` and `b` are of one type and equal. Either may be empty: then false.
bool ValuesEqual(ValueView a, ValueView b);
// Compares two values of the same type, S, N or B; returns <0, 0 or >0.
int CompareValues(ValueView a, ValueView b);

// Walks untrusted bytes and refuses anything that is no item in the grammar above. kCorruption.
Status CheckItem(std::string_view encoded);

inline constexpr size_t kMaxItemBytes = 400 * 1024;
inline constexpr int kMaxNestingDepth = 32;  // counting the item itself as one level

}  // namespace stator::model
