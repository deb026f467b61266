#include "exchange/gzip_stream.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace stator::exchange {
namespace {

constexpr size_t kPiece = 64 << 10;
// ISA-L never writes to its input, though its pointers are not const.
uint8_t* InputOf(std::string_view bytes) {
  return reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()));
}

}  // namespace

struct GzipWriter::State {
  isal_zstream stream;
  std::vector<uint8_t> level = std::vector<uint8_t>(ISAL_DEF_LVL2_DEFAULT);
};

GzipWriter::GzipWriter() : state_(std::make_unique<State>()) {
  isal_deflate_init(&state_->stream);
  state_->stream.level = 2;
  state_->stream.level_buf = state_->level.data();
  state_->stream.level_buf_size = static_cast<uint32_t>(state_->level.size());
  state_->stream.gzip_flag = IGZIP_GZIP;
}
GzipWriter::~GzipWriter() = default;

void GzipWriter::Run(std::string_view bytes, bool end, std::string* out) {
  isal_zstream& stream = state_->stream;
  stream.next_in = InputOf(bytes);
  stream.avail_in = static_cast<uint32_t>(bytes.size());
  stream.end_of_stream = end ? 1 : 0;
  for (;;) {
    const size_t used = out->size();
    out->resize(used + kPiece);
    stream.next_out = reinterpret_cast<uint8_t*>(out->data() + used);
    stream.avail_out = kPiece;
    isal_deflate(&stream);
    out->resize(out->size() - stream.avail_out);
    if (end ? stream.internal_state.state == ZSTATE_END
            : stream.avail_in == 0 && stream.avail_out != 0)
      return;
  }
}

void GzipWriter::Add(std::string_view bytes, std::string* out) {
  constexpr size_t kMost = std::numeric_limits<uint32_t>::max() / 2;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kMost)))
    Run(bytes.substr(0, kMost), false, out);
}

void GzipWriter::Finish(std::string* out) { Run({}, true, out); }

struct GzipReader::State {
  inflate_state stream;
  bool inside = false;  // of a member
};

GzipReader::GzipReader() : state_(std::make_unique<State>()) {
  isal_inflate_init(&state_->stream);
  state_->stream.crc_flag = ISAL_GZIP;
}
GzipReader::~GzipReader() = default;

Status GzipReader::Take(std::string_view* bytes, size_t most, std::string* out) {
  inflate_state& stream = state_->stream;
  const size_t start = out->size();
  while (out->size() - start < most) {
    if (!state_->inside) {
      if (bytes->empty()) break;
      isal_inflate_reset(&stream);
      stream.crc_flag = ISAL_GZIP;
      state_->inside = true;
    }
    const size_t used = out->size();
    const size_t given = std::min(bytes->size(), kPiece);
    out->resize(used + kPiece);
    stream.next_in = InputOf(*bytes);
    stream.avail_in = static_cast<uint32_t>(given);
    stream.next_out = reinterpret_cast<uint8_t*>(out->data() + used);
    stream.avail_out = kPiece;
    const int outcome = isal_inflate(&stream);
    const bool full = stream.avail_out == 0;
    out->resize(out->size() - stream.avail_out);
    bytes->remove_prefix(given - stream.avail_in);
    if (outcome != ISAL_DECOMP_OK && outcome != ISAL_END_INPUT)
      return CorruptionError("the bytes are no gzip, or are damaged");
    if (stream.block_state == ISAL_BLOCK_FINISH) {
      state_->inside = false;
    } else if (!full && bytes->empty()) {
      break;
    }
  }
  return OkStatus();
}

Status GzipReader::Finish() const {
  if (!state_->inside) return OkStatus();
  return CorruptionError("the gzip ends in the middle");
}

}  // namespace stator::exchange
