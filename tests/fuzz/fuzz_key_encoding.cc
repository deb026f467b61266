// Two composite keys from the input: whatever they hold, order by value is order by bytes,
// different keys are different bytes, and no partition's range of keys reaches into another's. The
// first byte picks the types of the partition and sort key.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/value.h"
#include "table/descriptor.h"
#include "table/key_encoding.h"

namespace {

using stator::Result;
using stator::model::ItemView;
using stator::model::Number;
using stator::model::Type;
using stator::model::ValueView;

void Require(bool holds) {
  if (!holds) std::abort();
}

int Sign(int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

// Takes the next field of the input: a length byte and the bytes that it counts.
std::string_view Take(std::string_view* in) {
  if (in->empty()) return {};
  const size_t length = std::min<size_t>(static_cast<uint8_t>(in->front()), in->size() - 1);
  const std::string_view field = in->substr(1, length);
  in->remove_prefix(1 + length);
  return field;
}

// Empty if the bytes are no value of the type.
std::string MakeValue(Type type, std::string_view bytes) {
  std::string value;
  if (type == Type::kN) {
    const Result<Number> number = Number::Parse(bytes);
    if (number.ok()) stator::model::AppendNumber(&value, *number);
  } else if (type == Type::kB) {
    stator::model::AppendBinary(&value, bytes);
  } else {
    stator::model::AppendString(&value, bytes);
  }
  return value;
}

struct Key {
  std::string partition, sort, prefix, bytes;
};

Key MakeKey(Type partition, Type sort, std::string_view* in) {
  Key key;
  key.partition = MakeValue(partition, Take(in));
  key.sort = MakeValue(sort, Take(in));
  if (key.partition.empty() || key.sort.empty()) return key;
  key.prefix = stator::table::EncodePartitionPrefix(ValueView(key.partition));
  key.bytes = key.prefix;
  stator::table::AppendSortKey(&key.bytes, ValueView(key.sort));
  return key;
}

void CheckOne(const Key& key) {
  Require(key.bytes >= key.prefix && key.bytes < stator::table::PrefixEnd(key.prefix));
  const uint64_t hash = stator::table::HashOfKey(key.bytes);
  Require(hash == stator::table::HashOfKey(key.prefix));
  Require(key.bytes >= stator::table::FirstKeyOfHash(hash) &&
          key.bytes < stator::table::EndOfItemKeys());
  Require(hash == UINT64_MAX || key.bytes < stator::table::FirstKeyOfHash(hash + 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view in(reinterpret_cast<const char*>(data), size);
  // Bytes of a catalog are a descriptor or corruption, and a descriptor reads back as itself.
  const Result<stator::table::TableDescriptor> descriptor =
      stator::table::TableDescriptor::Decode(in);
  if (descriptor.ok()) {
    const std::string again = descriptor->Encode();
    Require(stator::table::TableDescriptor::Decode(again).value().Encode() == again);
  } else {
    Require(descriptor.error().code() == stator::ErrorCode::kCorruption);
  }
  if (in.empty()) return 0;
  static constexpr Type kTypes[] = {Type::kS, Type::kN, Type::kB};
  const uint8_t choice = static_cast<uint8_t>(in.front());
  in.remove_prefix(1);
  const Type partition = kTypes[choice % 3], sort = kTypes[choice / 3 % 3];
  const Key a = MakeKey(partition, sort, &in);
  const Key b = MakeKey(partition, sort, &in);
  if (!a.bytes.empty()) CheckOne(a);
  if (a.bytes.empty() || b.bytes.empty()) return 0;
  Require((a.prefix == b.prefix) == (a.partition == b.partition));
  Require((a.bytes == b.bytes) == (a.partition == b.partition && a.sort == b.sort));
  if (a.partition == b.partition) {
    Require(Sign(a.bytes.compare(b.bytes)) ==
            Sign(stator::model::CompareValues(ValueView(a.sort), ValueView(b.sort))));
  } else {
    Require(!b.bytes.starts_with(a.prefix) && !a.bytes.starts_with(b.prefix));
  }
  return 0;
}
