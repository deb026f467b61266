#include "stream/iterator.h"

#include "kv/fixed_bytes.h"

namespace stator::stream {
namespace {

constexpr char kFormat = 0x02;
constexpr size_t kSealOffset = 1 + 4 + 4 + 8 + 4 + 8;
constexpr size_t kBytes = kSealOffset + Seal::kBytes;
constexpr std::string_view kPurpose = "iterator";
// Format 01, which had no seal.
constexpr size_t kUnsealedBytes = kSealOffset + 8;
constexpr std::string_view kUnsealed = "01";
constexpr char kDigits[] = "0123456789abcdef";

std::string Sealed(std::string_view bytes, const StreamDescriptor& stream) {
  return std::string(bytes).append(stream.table_id);
}

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

Error Invalid() { return ValidationError("Invalid ShardIterator"); }

Error Expired() {
  return Error(ErrorCode::kExpiredIterator,
               "The shard iterator has expired: it was given out more than 15 minutes ago. Ask "
               "GetShardIterator for another.");
}

}  // namespace

std::string EncodeIterator(const Seal& seal, const StreamDescriptor& stream,
                           const Iterator& iterator) {
  std::string bytes(kSealOffset, '\0');
  bytes.reserve(kBytes);
  bytes[0] = kFormat;
  kv::StoreBig32(bytes.data() + 1, stream.tablet_id);
  kv::StoreBig32(bytes.data() + 5, iterator.shard);
  kv::StoreBig64(bytes.data() + 9, iterator.position.stamp);
  kv::StoreBig32(bytes.data() + 17, iterator.position.index);
  kv::StoreBig64(bytes.data() + 21, static_cast<uint64_t>(iterator.issued_micros));
  bytes.append(seal.Of(kPurpose, Sealed(bytes, stream)));
  std::string payload;
  payload.reserve(2 * kBytes);
  for (const char byte : bytes) {
    payload.push_back(kDigits[static_cast<uint8_t>(byte) >> 4]);
    payload.push_back(kDigits[byte & 15]);
  }
  return payload;
}

Result<Iterator> DecodeIterator(const Seal& seal, const StreamDescriptor& stream,
                                std::string_view payload, int64_t now_micros) {
  if (payload.size() == 2 * kUnsealedBytes && payload.starts_with(kUnsealed)) return Expired();
  if (payload.size() != 2 * kBytes) return Invalid();
  std::string bytes;
  for (size_t i = 0; i < payload.size(); i += 2) {
    const int high = DigitOf(payload[i]);
    const int low = DigitOf(payload[i + 1]);
    if (high < 0 || low < 0) return Invalid();
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  const std::string_view sealed = std::string_view(bytes).substr(0, kSealOffset);
  if (bytes[0] != kFormat || kv::LoadBig32(bytes.data() + 1) != stream.tablet_id ||
      !seal.Holds(kPurpose, Sealed(sealed, stream), std::string_view(bytes).substr(kSealOffset))) {
    return Invalid();
  }
  Iterator iterator;
  iterator.shard = kv::LoadBig32(bytes.data() + 5);
  iterator.position.stamp = kv::LoadBig64(bytes.data() + 9);
  iterator.position.index = kv::LoadBig32(bytes.data() + 17);
  iterator.issued_micros = static_cast<int64_t>(kv::LoadBig64(bytes.data() + 21));
  if (now_micros - iterator.issued_micros >= kIteratorLifeMicros) return Expired();
  return iterator;
}

}  // namespace stator::stream
