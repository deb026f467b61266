// Checks the framing of a chunked body byte for byte, before http_parser reads it. http_parser
// takes any two bytes for the line end behind a chunk, and a bare LF for any line end. A proxy in
// front that reads them otherwise would see other requests than this server does.
//
//   body    = chunk* "0" extension? CRLF trailer* CRLF
//   chunk   = size extension? CRLF byte{size} CRLF        size: 1 to 16 hexadecimal digits, not 0
//   extension = ";" text                                  trailer: text CRLF, not empty
//   text    = bytes without controls other than TAB
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stator::http {

class ChunkFraming {
 public:
  static constexpr size_t kMaxSizeLine = 256;        // size and extension
  static constexpr size_t kMaxTrailers = 16 * 1024;  // all of them

  // Takes the next bytes of the body. Returns false if they break the grammar; then the connection
  // must be closed. Ignores bytes behind the end of the body.
  bool Take(std::string_view bytes);
  bool complete() const { return state_ == State::kComplete; }

 private:
  enum class State {
    kSize,
    kExtension,
    kSizeEnd,  // behind the CR; the three others with End are alike
    kData,
    kDataCr,
    kDataEnd,
    kTrailerStart,
    kTrailer,
    kTrailerEnd,
    kLastEnd,
    kComplete,
  };

  bool TakeByte(unsigned char byte);
  bool TakeSizeByte(unsigned char byte);

  State state_ = State::kSize;
  uint64_t left_ = 0;    // of the chunk
  size_t digits_ = 0;    // of its size
  size_t line_ = 0;      // bytes of its size line
  size_t trailers_ = 0;  // bytes of trailers
};

}  // namespace stator::http
