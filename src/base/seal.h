// Seals on what a client keeps for the server: positions in streams and in results. A seal proves
// that a server of this store made the bytes, because it needs a secret that no answer shows.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stator {

// Thread-safe. Copies share their state.
class Seal {
 public:
  static constexpr size_t kSecretBytes = 32;
  static constexpr size_t kBytes = 16;

  // With a secret of this process, drawn by the operating system.
  Seal();
  // With a secret of kSecretBytes that several processes share.
  explicit Seal(std::string_view secret);
  // A new secret from the operating system, whatever --seed is.
  static std::string DrawSecret();

  // Returns the seal of `bytes` for `purpose`: an HMAC-SHA256, cut to kBytes. A seal for one
  // purpose is not valid for another.
  std::string Of(std::string_view purpose, std::string_view bytes) const;
  // Returns true if `seal` is Of(purpose, bytes). Takes the same time for every wrong seal.
  bool Holds(std::string_view purpose, std::string_view bytes, std::string_view seal) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace stator
