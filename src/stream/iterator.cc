#include "stream/iterator.h"

#include <xxhash.h>

#include "kv/fixed_bytes.h"

namespace stator::stream {
namespace {

constexpr char kFormat = 0x01;
constexpr size_t kCheckOffset = 1 + 4 + 4 + 8 + 4 + 8;
constexpr size_t kBytes = kCheckOffset + 8;
constexpr char kDigits[] = "0123456789abcdef";

uint64_t CheckOf(std::string_view bytes, const StreamDescriptor& stream) {
  const std::string text = std::string(bytes) + stream.table_id;
  return XXH3_64bits(text.data(), text.size());
}

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

Error Invalid() { return ValidationError("Invalid ShardIterator"); }

}  // namespace

std::string EncodeIterator(const StreamDescriptor& stream, const Iterator& iterator) {
  std::string bytes(kBytes, '\0');
  bytes[0] = kFormat;
  kv::StoreBig32(bytes.data() + 1, stream.tablet_id);
  kv::StoreBig32(bytes.data() + 5, iterator.shard);
  kv::StoreBig64(bytes.data() + 9, iterator.position.stamp);
  kv::StoreBig32(bytes.data() + 17, iterator.position.index);
  kv::StoreBig64(bytes.data() + 21, static_cast<uint64_t>(iterator.issued_micros));
  kv::StoreBig64(bytes.data() + kCheckOffset,
                 CheckOf(std::string_view(bytes).substr(0, kCheckOffset), stream));
  std::string payload;
  payload.reserve(2 * kBytes);
  for (const char byte : bytes) {
    payload.push_back(kDigits[static_cast<uint8_t>(byte) >> 4]);
    payload.push_back(kDigits[byte & 15]);
  }
  return payload;
}

Result<Iterator> DecodeIterator(const StreamDescriptor& stream, std::string_view payload,
                                int64_t now_micros) {
  if (payload.size() != 2 * kBytes) return Invalid();
  std::string bytes;
  for (size_t i = 0; i < payload.size(); i += 2) {
    const int high = DigitOf(payload[i]);
    const int low = DigitOf(payload[i + 1]);
    if (high < 0 || low < 0) return Invalid();
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  const uint64_t check = CheckOf(std::string_view(bytes).substr(0, kCheckOffset), stream);
  if (bytes[0] != kFormat || kv::LoadBig32(bytes.data() + 1) != stream.tablet_id ||
      kv::LoadBig64(bytes.data() + kCheckOffset) != check) {
    return Invalid();
  }
  Iterator iterator;
  iterator.shard = kv::LoadBig32(bytes.data() + 5);
  iterator.position.stamp = kv::LoadBig64(bytes.data() + 9);
  iterator.position.index = kv::LoadBig32(bytes.data() + 17);
  iterator.issued_micros = static_cast<int64_t>(kv::LoadBig64(bytes.data() + 21));
  if (now_micros - iterator.issued_micros >= kIteratorLifeMicros) {
    return Error(ErrorCode::kExpiredIterator,
                 "The shard iterator has expired: it was given out more than 15 minutes ago. Ask "
                 "GetShardIterator for another.");
  }
  return iterator;
}

}  // namespace stator::stream
