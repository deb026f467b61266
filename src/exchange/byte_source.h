// The plain bytes of an object, in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "exchange/job.h"
#include "transfer/folders.h"

namespace stator::exchange {

// Decompresses a stream. Not thread-safe.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  // Have the contract of GzipReader.
  virtual Status Take(std::string_view* bytes, size_t most, std::string* out) = 0;
  virtual Status Finish() const = 0;
};

// Not thread-safe.
class ByteSource {
 public:
  // Calls `stopped` before each piece is read or decompressed; if it returns true, More fails.
  // Null: never stopped.
  ByteSource(std::unique_ptr<transfer::ObjectReader> object, Compression compression,
             std::function<bool()> stopped);
  ~ByteSource();
  // Appends the next bytes, about 100 KB, to *out. Returns false at the end of the object.
  // kCorruption if the object is damaged or not compressed as stated; kUnavailable if it cannot be
  // read, or `stopped` returned true.
  Result<bool> More(std::string* out);
  // The plain bytes so far.
  int64_t bytes() const { return bytes_; }
  // The bytes of the object itself so far.
  int64_t packed_bytes() const { return static_cast<int64_t>(offset_); }

 private:
  const std::unique_ptr<transfer::ObjectReader> object_;
  std::unique_ptr<Unpacker> unpacker_;  // null: the object is plain
  const std::function<bool()> stopped_;
  std::string packed_;
  size_t used_ = 0;  // of packed_
  uint64_t offset_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace stator::exchange
