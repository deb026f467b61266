// Whole-buffer compression for HTTP bodies and stored blocks: gzip and deflate (RFC 1950 to 1952),
// and CRC-32. All functions are thread-safe; each thread keeps one compressor and one decompressor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stator {

enum class Encoding {
  kGzip,  // one or more gzip members in sequence
  // HTTP's "deflate": a zlib stream. Decompress also reads the raw deflate stream that some clients
  // send.
  kDeflate,
};

// Returns the decompressed bytes. kSerialization if `in` is corrupt, cut short or followed by other
// bytes; kRequestTooLarge if the result would exceed `max_out`. Never allocates much more than
// `max_out`, whatever sizes `in` claims.
Result<std::string> Decompress(Encoding encoding, std::string_view in, size_t max_out);

// Return one gzip member and one zlib stream. They cannot fail.
std::string Gzip(std::string_view in);
std::string Deflate(std::string_view in);

// Returns the CRC-32 of gzip and zlib; `crc` continues an earlier one.
uint32_t Crc32(std::string_view in, uint32_t crc = 0);

}  // namespace stator
