#include "base/compress.h"

#include <isa-l/crc.h>
#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace stator {
namespace {

constexpr int kLevel = 6;
// Deflate cannot expand by more than 1032:1, which bounds the decompressed length of an honest
// input.
constexpr size_t kMaxRatio = 1032;
constexpr size_t kFirstGuess = 4096;
constexpr size_t kLongCrc = 512;

struct FreeCompressor {
  void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
};
struct FreeDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

libdeflate_compressor* Compressor() {
  thread_local std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(
      libdeflate_alloc_compressor(kLevel));
  return compressor.get();
}

libdeflate_decompressor* Decompressor() {
  thread_local std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(
      libdeflate_alloc_decompressor());
  return decompressor.get();
}

enum class Format { kGzip, kZlib, kRaw };

libdeflate_result DecompressOnce(Format format, std::string_view in, char* out, size_t space,
                                 size_t* used, size_t* made) {
  switch (format) {
    case Format::kGzip:
      return libdeflate_gzip_decompress_ex(Decompressor(), in.data(), in.size(), out, space, used,
                                           made);
    case Format::kZlib:
      return libdeflate_zlib_decompress_ex(Decompressor(), in.data(), in.size(), out, space, used,
                                           made);
    case Format::kRaw:
      return libdeflate_deflate_decompress_ex(Decompressor(), in.data(), in.size(), out, space,
                                              used, made);
  }
  return LIBDEFLATE_BAD_DATA;
}

// Returns the length that the last gzip member claims to have (its ISIZE), a good first guess for
// an input of one member.
size_t ClaimedLength(std::string_view in) {
  if (in.size() < 4) return 0;
  const auto* p = reinterpret_cast<const unsigned char*>(in.data() + in.size() - 4);
  return static_cast<size_t>(p[0]) | static_cast<size_t>(p[1]) << 8 |
         static_cast<size_t>(p[2]) << 16 | static_cast<size_t>(p[3]) << 24;
}

// Decompresses one stream at the front of *in, appends the result to *out up to `max_out`, and
// removes the stream from *in. libdeflate needs the whole output space in advance, so a guess that
// was too small is retried with twice the space.
Status AppendStream(Format format, std::string_view* in, size_t max_out, std::string* out) {
  const size_t before = out->size();
  const size_t limit = max_out - before;
  size_t space =
      format == Format::kGzip ? ClaimedLength(*in) : std::max(kFirstGuess, in->size() * 4);
  space = std::min({std::max<size_t>(space, 64), limit, in->size() * kMaxRatio});
  while (true) {
    out->resize(before + space);
    size_t used = 0;
    size_t made = 0;
    switch (DecompressOnce(format, *in, out->data() + before, space, &used, &made)) {
      case LIBDEFLATE_SUCCESS:
        out->resize(before + made);
        in->remove_prefix(used);
        return OkStatus();
      case LIBDEFLATE_INSUFFICIENT_SPACE:
        if (space >= limit)
          return Error(ErrorCode::kRequestTooLarge, "compressed data is larger than allowed");
        space = std::min(limit, std::max(space * 2, kFirstGuess));
        break;
      default:
        out->resize(before);
        return Error(ErrorCode::kSerialization, "compressed data is corrupt");
    }
  }
}

}  // namespace

Result<std::string> Decompress(Encoding encoding, std::string_view in, size_t max_out) {
  std::string out;
  if (encoding == Encoding::kDeflate) {
    std::string_view rest = in;
    Status status = AppendStream(Format::kZlib, &rest, max_out, &out);
    if (!status.ok()) {
      rest = in;
      out.clear();
      // A raw stream can be told from a zlib stream only by trying. The error of the zlib attempt
      // is the better message.
      if (!AppendStream(Format::kRaw, &rest, max_out, &out).ok()) return std::move(status).error();
    }
    if (!rest.empty())
      return Error(ErrorCode::kSerialization, "compressed data is followed by other bytes");
    return out;
  }
  do {
    TRY(AppendStream(Format::kGzip, &in, max_out, &out));
  } while (!in.empty());
  return out;
}

std::string Gzip(std::string_view in) {
  std::string out(libdeflate_gzip_compress_bound(Compressor(), in.size()), '\0');
  out.resize(libdeflate_gzip_compress(Compressor(), in.data(), in.size(), out.data(), out.size()));
  return out;
}

std::string Deflate(std::string_view in) {
  std::string out(libdeflate_zlib_compress_bound(Compressor(), in.size()), '\0');
  out.resize(libdeflate_zlib_compress(Compressor(), in.data(), in.size(), out.data(), out.size()));
  return out;
}

uint32_t Crc32(std::string_view in, uint32_t crc) {
  // libdeflate is faster for short inputs. ISA-L takes a quarter of its time for 20 KB if the
  // processor has VPCLMULQDQ.
  if (in.size() < kLongCrc) return libdeflate_crc32(crc, in.data(), in.size());
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(in.data()), in.size());
}

}  // namespace stator
