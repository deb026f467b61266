// The encoding of records as numbered fields. The grammar stands in identity.h. One function lists
// the fields of a record: it calls Text, Number and so on of either class here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stator::access {

// A reader may skip unknown fields with this number or a higher one. It refuses other unknown
// fields.
inline constexpr uint64_t kOptionalFields = 64;

inline void AppendVarint(uint64_t number, std::string* out) {
  for (; number >= 0x80; number >>= 7) out->push_back(static_cast<char>(number | 0x80));
  out->push_back(static_cast<char>(number));
}

inline bool TakeVarint(std::string_view* bytes, uint64_t* number) {
  *number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes->empty()) return false;
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    if (shift == 63 && byte > 1) return false;
    *number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return byte != 0 || shift == 0;  // one form of each number
  }
  return false;
}

// Appends fields to `bytes`.
class RecordWriter {
 public:
  void Text(uint64_t number, const std::string& text) { Field(number, text); }
  void Flag(uint64_t number, const bool& flag) {
    Field(number, flag ? "\1" : std::string_view("\0", 1));
  }
  void Number(uint64_t number, const int64_t& value) {
    std::string bytes;
    // Zigzag: times before 1970 stay short.
    AppendVarint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63), &bytes);
    Field(number, bytes);
  }
  void Texts(uint64_t number, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) Field(number, text);
  }
  template <typename T, typename VisitRecord>
  void Records(uint64_t number, const std::vector<T>& records, VisitRecord visit) {
    for (const T& record : records) {
      RecordWriter inner;
      visit(inner, record);
      Field(number, inner.bytes);
    }
  }

  std::string bytes;

 private:
  void Field(uint64_t number, std::string_view value) {
    AppendVarint(number, &bytes);
    AppendVarint(value.size(), &bytes);
    bytes += value;
  }
};

// Takes the fields of a record apart once, then hands them out by number.
class RecordReader {
 public:
  bool Parse(std::string_view bytes) {
    while (!bytes.empty()) {
      uint64_t number = 0;
      uint64_t length = 0;
      if (!TakeVarint(&bytes, &number) || !TakeVarint(&bytes, &length) || length > bytes.size())
        return false;
      fields_[number].push_back(bytes.substr(0, length));
      bytes.remove_prefix(length);
    }
    return true;
  }
  void Text(uint64_t number, std::string& text) {
    if (const std::string_view* value = One(number)) text = *value;
  }
  void Flag(uint64_t number, bool& flag) {
    const std::string_view* value = One(number);
    if (value == nullptr) return;
    if (value->size() != 1 || static_cast<unsigned char>((*value)[0]) > 1) broken = true;
    flag = *value == "\1";
  }
  void Number(uint64_t number, int64_t& result) {
    const std::string_view* value = One(number);
    if (value == nullptr) return;
    std::string_view rest = *value;
    uint64_t bits = 0;
    if (!TakeVarint(&rest, &bits) || !rest.empty()) broken = true;
    result = static_cast<int64_t>(bits >> 1 ^ (~(bits & 1) + 1));
  }
  void Texts(uint64_t number, std::vector<std::string>& texts) {
    for (const std::string_view value : Take(number)) texts.emplace_back(value);
  }
  template <typename T, typename VisitRecord>
  void Records(uint64_t number, std::vector<T>& records, VisitRecord visit) {
    for (const std::string_view value : Take(number)) {
      RecordReader inner;
      if (!inner.Parse(value)) broken = true;
      visit(inner, records.emplace_back());
      broken |= inner.broken;
      unknown = std::max(unknown, inner.Unknown());
    }
  }
  // Returns the number of a field that the reader did not take and must not skip; 0 if there is
  // none.
  uint64_t Unknown() const {
    if (unknown != 0) return unknown;
    for (const auto& [number, values] : fields_) {
      if (number < kOptionalFields) return number;
    }
    return 0;
  }

  bool broken = false;
  uint64_t unknown = 0;

 private:
  std::vector<std::string_view> Take(uint64_t number) {
    const auto found = fields_.find(number);
    if (found == fields_.end()) return {};
    std::vector<std::string_view> values = std::move(found->second);
    fields_.erase(found);
    return values;
  }
  const std::string_view* One(uint64_t number) {
    const std::vector<std::string_view> values = Take(number);
    if (values.empty()) return nullptr;
    if (values.size() > 1) broken = true;
    one_ = values[0];
    return &one_;
  }

  std::map<uint64_t, std::vector<std::string_view>> fields_;
  std::string_view one_;
};

}  // namespace stator::access
