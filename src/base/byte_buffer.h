// A buffer of bytes that grows at its end. Unlike a string that is resized, it does not zero the
// new bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace stator {

// Not thread-safe. Pointers into the buffer and views of it are valid until it grows.
class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&& other) noexcept
      : bytes_(std::move(other.bytes_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  std::string_view view() const { return {bytes_.get(), size_}; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  void Clear() { size_ = 0; }

  // Reserves room for `bytes` bytes in all.
  void Reserve(size_t bytes) {
    if (bytes <= capacity_) return;
    std::unique_ptr<char[]> grown = std::make_unique_for_overwrite<char[]>(bytes);
    if (size_ > 0) std::memcpy(grown.get(), bytes_.get(), size_);
    bytes_ = std::move(grown);
    capacity_ = bytes;
  }
  void Append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(MakeRoom(bytes.size()), bytes.data(), bytes.size());
    size_ += bytes.size();
  }

  // Returns the end of the bytes, with room for at least `bytes` more, up to limit(), so that the
  // caller can write in place. The bytes written there join the buffer with SetEnd.
  char* MakeRoom(size_t bytes) {
    if (capacity_ - size_ < bytes) Reserve(std::max(size_ + bytes, 2 * capacity_));
    return bytes_.get() + size_;
  }
  char* limit() { return bytes_.get() + capacity_; }
  void SetEnd(const char* end) { size_ = static_cast<size_t>(end - bytes_.get()); }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace stator
