// Turns bytes into requests, one after another, in a buffer of its own. Knows no sockets. Not
// thread-safe.
//
//   read into space(), Commit(n); Parse() until it wants more; on kComplete serve request(), then
//   Next().
#pragma once

#include <http_parser.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "http/chunk_framing.h"
#include "http/server.h"

namespace stator::http {

class RequestReader {
 public:
  // The capacity of an empty reader's buffer. A reader that had to grow frees the excess in
  // Clear().
  static constexpr size_t kCapacity = 16 * 1024;

  enum class Progress {
    kMore,      // everything was taken; the request goes on
    kComplete,  // request() is whole; bytes behind it stay in the buffer
    kBad,  // no HTTP/1 request, or one that two readers could understand differently (two lengths,
           // a bare LF, no Host or two); give up this connection
  };

  RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Makes room for more bytes within the capacity. Returns 0 if there is room, else the capacity to
  // Grow to. It grows as bytes arrive, by doubling: what a client announces takes no memory. Before
  // complete() only.
  size_t MakeRoom();
  void Grow(size_t capacity) { MoveTo(nullptr, capacity); }
  size_t capacity() const { return capacity_; }
  char* space() { return data_.get() + end_; }
  size_t space_bytes() const { return capacity_ - end_; }
  // `bytes` were written to space().
  void Commit(size_t bytes) { end_ += bytes; }

  bool has_unparsed() const { return parsed_ < end_; }
  // No byte of a request is here.
  bool empty() const { return begin_ == end_ && !complete_ && !skipped_cr_; }

  Progress Parse();

  // State of the request that is being read.
  bool headers_complete() const { return headers_complete_; }
  bool chunked() const { return chunked_; }
  // Bytes from the request line to the end of the headers, as far as they are here.
  size_t header_bytes() const { return headers_complete_ ? header_bytes_ : end_ - begin_; }
  // The body's length: as announced, or (chunked) what has come so far.
  uint64_t body_bytes() const { return chunked_ ? body_bytes_ : content_length_; }
  // Returns the number of body bytes that have arrived. Valid once the headers are complete.
  uint64_t arrived_bytes() const { return chunked_ ? body_bytes_ : end_ - begin_ - body_start_; }
  bool expects_continue() const;
  // Returns the target as sent. Valid once the headers are complete.
  std::string_view target() const { return target_; }
  // Returns true if the client allows more requests on this connection. Valid once complete().
  bool keep_alive() const { return keep_alive_; }
  bool is_head() const { return parser_.method == HTTP_HEAD; }

  // Valid when Parse said kComplete, until Next() or Clear().
  const Request& request() const { return request_; }

  // Drops the complete request; what came behind it becomes unparsed.
  void Next();
  // Drops everything.
  void Clear();

 private:
  struct Callbacks;

  void StartRequest();
  bool SkipEmptyLines();
  // The end of the header section, if every line of it ended with CR LF; else null.
  const char* HeadersEnd() const;
  void MoveTo(char* to, size_t capacity);

  std::unique_ptr<char[]> data_;
  size_t capacity_;    // without the padding
  size_t begin_ = 0;   // of the request
  size_t parsed_ = 0;  // everything before it has gone through the parser
  size_t end_ = 0;     // of the bytes here

  http_parser parser_;
  Request request_;
  std::string_view target_;
  ChunkFraming framing_;     // of a chunked body
  bool skipped_cr_ = false;  // between requests a CR has come, whose LF has not
  bool in_value_ = false;    // the last header callback was a value
  bool headers_complete_ = false;
  bool complete_ = false;
  bool chunked_ = false;
  bool keep_alive_ = false;
  bool has_body_start_ = false;
  size_t header_bytes_ = 0;
  uint64_t content_length_ = 0;
  size_t body_start_ = 0;  // from begin_
  size_t body_bytes_ = 0;  // that have come
};

}  // namespace stator::http
