// SipHash-2-4 (Aumasson, Bernstein, 2012): a hash that cannot be computed or searched for without
// the secret. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace stator::request_log {

using HashSecret = std::array<uint64_t, 2>;

uint64_t KeyedHash(const HashSecret& secret, std::string_view bytes);

}  // namespace stator::request_log
