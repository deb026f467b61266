#include "http/chunk_framing.h"

#include <algorithm>

namespace stator::http {
namespace {

constexpr size_t kMaxDigits = 16;

int HexValue(unsigned char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const unsigned char lower = c | 0x20;
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool IsText(unsigned char c) { return (c >= 0x20 && c != 0x7f) || c == '\t'; }

}  // namespace

bool ChunkFraming::Take(std::string_view bytes) {
  while (!bytes.empty() && state_ != State::kComplete) {
    if (state_ == State::kData) {
      const size_t taken = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size()));
      left_ -= taken;
      bytes.remove_prefix(taken);
      if (left_ == 0) state_ = State::kDataCr;
      continue;
    }
    if (!TakeByte(static_cast<unsigned char>(bytes.front()))) return false;
    bytes.remove_prefix(1);
  }
  return true;
}

bool ChunkFraming::TakeSizeByte(unsigned char byte) {
  if (++line_ > kMaxSizeLine) return false;
  if (byte == '\r') {
    state_ = State::kSizeEnd;
    return digits_ > 0;
  }
  if (state_ == State::kExtension) return IsText(byte);
  if (byte == ';') {
    state_ = State::kExtension;
    return digits_ > 0;
  }
  const int value = HexValue(byte);
  if (value < 0 || ++digits_ > kMaxDigits) return false;
  left_ = left_ * 16 + static_cast<uint64_t>(value);
  return true;
}

bool ChunkFraming::TakeByte(unsigned char byte) {
  const auto line_end = [&](State next) {
    state_ = next;
    return byte == '\n';
  };
  switch (state_) {
    case State::kSize:
    case State::kExtension: return TakeSizeByte(byte);
    case State::kSizeEnd: return line_end(left_ > 0 ? State::kData : State::kTrailerStart);
    case State::kDataCr: state_ = State::kDataEnd; return byte == '\r';
    case State::kDataEnd: digits_ = line_ = 0; return line_end(State::kSize);
    case State::kTrailerStart:
    case State::kTrailer:
      if (byte == '\r') {
        state_ = state_ == State::kTrailerStart ? State::kLastEnd : State::kTrailerEnd;
        return true;
      }
      state_ = State::kTrailer;
      return ++trailers_ <= kMaxTrailers && IsText(byte);
    case State::kTrailerEnd: return line_end(State::kTrailerStart);
    case State::kLastEnd: return line_end(State::kComplete);
    case State::kData:
    case State::kComplete: return true;
  }
  return false;
}

}  // namespace stator::http
