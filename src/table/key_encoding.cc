#include "table/key_encoding.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kv/fixed_bytes.h"

namespace stator::table {
namespace {

constexpr size_t kHashBytes = 16;

void AppendBigEndian(std::string* out, uint64_t value) {
  char bytes[8];
  kv::StoreBig64(bytes, value);
  out->append(bytes, sizeof bytes);
}

// Reads what AppendComponent has written of S or B; false if it has not.
bool ReadEscaped(std::string_view* in, std::string* text) {
  for (size_t i = 0; i + 1 < in->size(); ++i) {
    const char c = (*in)[i];
    if (c == '\0') {
      const char mark = (*in)[++i];
      if (mark == '\x01') {
        in->remove_prefix(i + 1);
        return true;
      }
      if (mark != '\xff') return false;
    }
    text->push_back(c);
  }
  return false;
}

void AppendText(model::Type type, std::string_view text, std::string* out) {
  if (type == model::Type::kB) {
    model::AppendBinary(out, text);
  } else {
    model::AppendString(out, text);
  }
}

}  // namespace

void AppendComponentPrefix(std::string* out, model::ValueView prefix) {
  const std::string_view text = prefix.text();
  size_t from = 0;
  for (size_t zero = text.find('\0'); zero != std::string_view::npos;
       zero = text.find('\0', from)) {
    out->append(text.substr(from, zero - from));
    out->append("\0\xff", 2);
    from = zero + 1;
  }
  out->append(text.substr(from));
}

void AppendComponent(std::string* out, model::ValueView value) {
  if (value.type() == model::Type::kN) {
    value.number().AppendSortable(out);
    return;
  }
  AppendComponentPrefix(out, value);
  out->append("\0\x01", 2);
}

std::string EncodePartitionPrefix(char kind, std::span<const model::ValueView> partition) {
  std::string key(1 + kHashBytes, '\0');
  key.reserve(1 + kHashBytes + 64);
  for (model::ValueView value : partition) AppendComponent(&key, value);
  const XXH128_hash_t hash = XXH3_128bits(key.data() + 1 + kHashBytes, key.size() - 1 - kHashBytes);
  key[0] = kind;
  kv::StoreBig64(key.data() + 1, hash.high64);
  kv::StoreBig64(key.data() + 9, hash.low64);
  return key;
}

std::string EncodePartitionPrefix(model::ValueView partition) {
  return EncodePartitionPrefix(kItemKind, {&partition, 1});
}

void AppendSortKey(std::string* out, model::ValueView sort) {
  if (sort.type() == model::Type::kN) {
    sort.number().AppendSortable(out);
  } else {
    out->append(sort.text());
  }
}

std::string EncodeItemKey(const model::KeySchema& schema, model::ItemView item) {
  std::string key = EncodePartitionPrefix(item.Find(schema.partition.name));
  if (schema.sort) AppendSortKey(&key, item.Find(schema.sort->name));
  return key;
}

Result<std::string> DecodeItemKey(const model::KeySchema& schema, std::string_view item_key) {
  const auto corrupt = [] { return CorruptionError("the key of an item is damaged"); };
  if (item_key.size() <= 1 + kHashBytes || item_key[0] != kItemKind) return corrupt();
  std::string_view rest = item_key.substr(1 + kHashBytes);
  std::string partition, sort;
  if (schema.partition.type == model::Type::kN) {
    ASSIGN_OR_RETURN(const model::Number number, model::Number::ReadSortable(&rest));
    model::AppendNumber(&partition, number);
  } else {
    std::string text;
    if (!ReadEscaped(&rest, &text)) return corrupt();
    AppendText(schema.partition.type, text, &partition);
  }
  if (!schema.sort) {
    if (!rest.empty()) return corrupt();
  } else if (schema.sort->type == model::Type::kN) {
    ASSIGN_OR_RETURN(const model::Number number, model::Number::ReadSortable(&rest));
    if (!rest.empty()) return corrupt();
    model::AppendNumber(&sort, number);
  } else {
    if (rest.empty()) return corrupt();
    AppendText(schema.sort->type, rest, &sort);
  }
  // Attributes are in the order of their names.
  std::vector<std::pair<std::string_view, std::string*>> attributes{
      {schema.partition.name, &partition}};
  if (schema.sort) attributes.emplace_back(schema.sort->name, &sort);
  std::sort(attributes.begin(), attributes.end());
  std::string entries;
  for (const auto& [name, value] : attributes) {
    model::AppendName(&entries, name);
    entries.append(*value);
  }
  std::string item;
  model::AppendItem(&item, attributes.size(), entries);
  return item;
}

std::string EncodeCounterKey(std::string_view name) {
  std::string key(1, kCounterKind);
  key.append(name);
  return key;
}

std::string EncodeCollectionKey(const model::KeySchema& schema, std::string_view item_key) {
  // Find the end of the partition key's component: S and B end with 0x00 0x01, and a number's form
  // has its own length.
  size_t end = 1 + kHashBytes;
  if (schema.partition.type == model::Type::kN) {
    std::string_view rest = item_key.substr(end);
    if (model::Number::ReadSortable(&rest).ok()) end = item_key.size() - rest.size();
  } else {
    while (end + 1 < item_key.size() && !(item_key[end] == '\0' && item_key[end + 1] == '\x01')) {
      end += item_key[end] == '\0' ? 2 : 1;
    }
    end += 2;
  }
  std::string key(item_key.substr(0, end));
  key[0] = kCollectionKind;
  return key;
}

uint64_t HashOfKey(std::string_view item_key) {
  if (item_key.size() >= 9) return kv::LoadBig64(item_key.data() + 1);
  uint64_t hash = 0;
  for (size_t i = 1; i < 9 && i < item_key.size(); ++i)
    hash = (hash << 8) | static_cast<uint8_t>(item_key[i]);
  return hash;
}

std::string FirstKeyOfHash(uint64_t hash, char kind) {
  std::string key(1, kind);
  AppendBigEndian(&key, hash);
  return key;
}

std::string EndOfKind(char kind) { return std::string(1, static_cast<char>(kind + 1)); }
std::string EndOfItemKeys() { return EndOfKind(kItemKind); }

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<uint8_t>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return end;
}

}  // namespace stator::table
