// The bytes of one connection between two processes of a store, in both directions. Pure.
//
//   stream := hello frame*
//   hello  := "STATORLK" version:1 timeout_millis:4 id:16 random:32
//   frame  := length:4 sealed               length: of `sealed`; numbers are little-endian
//   sealed := AES-256-GCM(key, nonce, associated = length, payload)
//   nonce  := number:8 0000                 of the frame in its direction, from 0
//   key    := HMAC-SHA256(secret, "stator link" direction:1 hello-of-asker hello-of-owner)
//
// Both sides know the store's secret. Each direction has a key of its own, new for each connection,
// since both hellos have random bytes. So the first frame that opens proves that the other side
// knows the secret and is not a recording.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "access/crypto.h"
#include "base/result.h"

namespace stator::link {

// The version of the protocol between processes, requests and answers included. Processes with
// different versions do not connect.
inline constexpr uint8_t kProtocolVersion = 1;
inline constexpr size_t kIdBytes = 16;
inline constexpr size_t kHelloBytes = 8 + 1 + 4 + kIdBytes + 32;

enum class Side : uint8_t { kAsker = 'a', kOwner = 'o' };

// The contents of a hello.
struct Hello {
  std::string id;  // of the process, kIdBytes
  uint32_t timeout_millis = 0;
};

// Not thread-safe.
class Channel {
 public:
  // `most_bytes`: of a payload that is received.
  Channel(Side side, std::string secret, Hello own, size_t most_bytes,
          access::SecureRandom& random);

  // Takes received bytes and appends the payloads of whole frames to *payloads. An error if they do
  // not come from a process with the secret and this version: the connection is to be closed.
  Status Receive(std::string_view bytes, std::vector<std::string>* payloads);
  // Appends a frame to the output. Only when open.
  void Send(std::string_view payload);

  // True once the other side's hello has come.
  bool open() const { return !sending_key_.empty(); }
  // The other side's hello. Believe it only after a frame was received.
  const Hello& other() const { return other_; }
  // Bytes to be sent; the caller removes what it has sent.
  std::string& output() { return output_; }

 private:
  Status TakeHello();
  std::string KeyOf(Side from) const;

  const Side side_;
  const std::string secret_;
  const size_t most_bytes_;
  std::string own_hello_;
  std::string other_hello_;
  Hello other_;
  std::string sending_key_;
  std::string receiving_key_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  std::string input_;
  std::string output_;
};

// Little-endian numbers in payloads.
void AppendNumber(uint64_t number, size_t bytes, std::string* out);
// Removes a number from the front; false if there are fewer bytes.
bool TakeNumber(std::string_view* from, size_t bytes, uint64_t* number);

}  // namespace stator::link
