#include "exchange/byte_source.h"

#include <zstd.h>

#include <utility>

#include "exchange/gzip_stream.h"

namespace stator::exchange {
namespace {

constexpr size_t kPiece = 128 << 10;

class Gunzip final : public Unpacker {
 public:
  Status Take(std::string_view* bytes, size_t most, std::string* out) override {
    return reader_.Take(bytes, most, out);
  }
  Status Finish() const override { return reader_.Finish(); }

 private:
  GzipReader reader_;
};

class Unzstd final : public Unpacker {
 public:
  Unzstd() : stream_(ZSTD_createDStream()) {
    ZSTD_initDStream(stream_);
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kWindowLog);
  }
  ~Unzstd() override { ZSTD_freeDStream(stream_); }
  Status Take(std::string_view* bytes, size_t most, std::string* out) override {
    // It would wait for another frame.
    if (bytes->empty() && !inside_) return OkStatus();
    const size_t used = out->size();
    out->resize(used + most);
    ZSTD_inBuffer in{bytes->data(), bytes->size(), 0};
    ZSTD_outBuffer into{out->data() + used, most, 0};
    const size_t left = ZSTD_decompressStream(stream_, &into, &in);
    out->resize(used + into.pos);
    if (ZSTD_isError(left) != 0) {
      return CorruptionError(std::string("the bytes are no zstd, or are damaged: ") +
                             ZSTD_getErrorName(left));
    }
    bytes->remove_prefix(in.pos);
    inside_ = left != 0;
    return OkStatus();
  }
  Status Finish() const override {
    if (!inside_) return OkStatus();
    return CorruptionError("the zstd ends in the middle");
  }

 private:
  static constexpr int kWindowLog = 26;  // 64 MB of memory at most
  ZSTD_DStream* const stream_;
  bool inside_ = false;  // of a frame
};

std::unique_ptr<Unpacker> UnpackerOf(Compression compression) {
  switch (compression) {
    case Compression::kGzip: return std::make_unique<Gunzip>();
    case Compression::kZstd: return std::make_unique<Unzstd>();
    case Compression::kNone: return nullptr;
  }
  return nullptr;
}

}  // namespace

ByteSource::ByteSource(std::unique_ptr<transfer::ObjectReader> object, Compression compression,
                       std::function<bool()> stopped)
    : object_(std::move(object)),
      unpacker_(UnpackerOf(compression)),
      stopped_(std::move(stopped)) {}
ByteSource::~ByteSource() = default;

Result<bool> ByteSource::More(std::string* out) {
  for (;;) {
    if (stopped_ != nullptr && stopped_())
      return Error(ErrorCode::kUnavailable, "the server is stopping");
    if (used_ == packed_.size()) {
      TRY(object_->Read(offset_, kPiece, &packed_));
      offset_ += packed_.size();
      used_ = 0;
      if (packed_.empty() && unpacker_ == nullptr) return false;
    }
    std::string_view left = std::string_view(packed_).substr(used_);
    const size_t before = out->size();
    if (unpacker_ == nullptr) {
      out->append(left);
      left = {};
    } else {
      TRY(unpacker_->Take(&left, kPiece, out));
    }
    used_ = packed_.size() - left.size();
    bytes_ += static_cast<int64_t>(out->size() - before);
    if (out->size() > before) return true;
    // Nothing is left, not even what a call without bytes has brought.
    if (packed_.empty()) {
      TRY(unpacker_->Finish());
      return false;
    }
  }
}

}  // namespace stator::exchange
