#include "table/meters.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/number.h"
#include "table/descriptor.h"
#include "table/key_encoding.h"

namespace stator::table {
namespace {

using model::KeyAttribute;
using model::Type;

constexpr std::string_view kCut = "...";

// Bytes of the first component (key_encoding.h); all there are if it is cut.
size_t ComponentSize(Type type, std::string_view bytes) {
  if (type != Type::kN) {
    for (size_t zero = bytes.find('\0'); zero != std::string_view::npos;
         zero = bytes.find('\0', zero + 2)) {
      if (zero + 1 < bytes.size() && bytes[zero + 1] == '\x01') return zero + 2;
    }
    return bytes.size();
  }
  // A number's head says what its last byte is, which is no other's (model/number.cc).
  if (bytes.empty() || bytes[0] == '\x02') return std::min<size_t>(1, bytes.size());
  const size_t last = bytes.find(bytes[0] == '\x01' ? '\xff' : '\0', 2);
  return last == std::string_view::npos ? bytes.size() : last + 1;
}

// The bounds of scans have none.
std::string_view ComponentsOf(std::string_view key) {
  return key.substr(std::min(kPartitionPrefixBytes, key.size()));
}

throughput::KeyPoint PointBehind(const KeyAttribute* first, size_t count, std::string_view key) {
  const std::string_view components = ComponentsOf(key);
  size_t partition = 0;
  for (size_t i = 0; i < count; ++i)
    partition += ComponentSize(first[i].type, components.substr(partition));
  return {HashOfKey(key), components.substr(partition), components.substr(0, partition)};
}

// Returns the size in bytes of the UTF-8 character at the front of `text`, which must not be empty.
// Returns 0 if it is an ASCII control character or not valid UTF-8.
size_t CharacterSize(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Encodings that are too long, halves of surrogate pairs, and what is beyond Unicode.
  if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) >= 0xa0) ||
      (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) >= 0x90)) {
    return 0;
  }
  return size;
}

std::string Escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size > 0) {
      out.append(text.substr(0, size));
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    }
    text.remove_prefix(std::max<size_t>(1, size));
  }
  return out;
}

std::string ReadableNumber(std::string_view bytes) {
  const Result<model::Number> number = model::Number::ReadSortable(&bytes);
  return number.ok() ? number->ToString() : std::string(kCut);
}

std::string ReadableComponent(Type type, std::string_view bytes) {
  if (type == Type::kN) return ReadableNumber(bytes);
  std::string text;
  bool complete = false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != '\0') {
      text.push_back(bytes[i]);
      continue;
    }
    complete = i + 1 < bytes.size() && bytes[i + 1] == '\x01';
    if (complete || i + 1 == bytes.size()) break;
    text.push_back('\0');
    ++i;
  }
  return Escaped(text).append(complete ? "" : kCut);
}

}  // namespace

throughput::KeyPoint PointOfItem(const model::KeySchema& schema, std::string_view item_key) {
  if (!schema.sort) return {HashOfKey(item_key), {}, ComponentsOf(item_key)};
  return PointBehind(&schema.partition, 1, item_key);
}

throughput::KeyPoint PointOfEntry(const IndexDescriptor& index, std::string_view entry_key) {
  return PointBehind(index.key.partition.data(), index.key.partition.size(), entry_key);
}

std::string ReadablePartition(const std::vector<KeyAttribute>& partition, std::string_view bytes) {
  std::string out;
  for (const KeyAttribute& attribute : partition) {
    if (bytes.empty()) break;
    if (!out.empty()) out.append(", ");
    const size_t size = ComponentSize(attribute.type, bytes);
    out += ReadableComponent(attribute.type, bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return out;
}

std::string ReadableSort(const model::IndexKeySchema& key, bool of_global_index,
                         std::string_view bytes) {
  if (bytes.empty() || key.sort.empty()) return "";
  // Behind an index's own sort keys stands the item's key, which tells equal entries apart.
  if (of_global_index) return ReadablePartition(key.sort, bytes);
  return key.sort.front().type == Type::kN ? ReadableNumber(bytes) : Escaped(bytes);
}

}  // namespace stator::table
