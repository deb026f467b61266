#include "base/random.h"

#include <random>

namespace stator {

uint64_t SystemSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) ^ device();
}

}  // namespace stator
