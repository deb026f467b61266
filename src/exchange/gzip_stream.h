// gzip in pieces, so that a file of any size needs little memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stator::exchange {

// Makes one gzip member. Not thread-safe.
class GzipWriter {
 public:
  GzipWriter();
  ~GzipWriter();
  // Compresses bytes and appends what is ready to *out.
  void Add(std::string_view bytes, std::string* out);
  // Ends the member. Nothing may be added behind it.
  void Finish(std::string* out);

 private:
  struct State;
  void Run(std::string_view bytes, bool end, std::string* out);
  std::unique_ptr<State> state_;
};

// Reads gzip members, one behind the other. Not thread-safe.
class GzipReader {
 public:
  GzipReader();
  ~GzipReader();
  // Appends what some of *bytes mean to *out, about `most` bytes of it, and removes them from
  // *bytes; the rest comes with later calls, which need no bytes. kCorruption if they are no gzip,
  // or the checksum of a member is wrong.
  Status Take(std::string_view* bytes, size_t most, std::string* out);
  // OK if the bytes so far are whole members, or none.
  Status Finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stator::exchange
