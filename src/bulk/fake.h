// Values in place of others, decided by a keyed hash of the original: equal originals have equal
// replacements, so that joins still work.
#pragma once

#include <string>
#include <string_view>

#include "access/crypto.h"

namespace stator::bulk {

// "Maria Novak": one of some hundred names.
std::string FakeName(const access::Digest& hash);
// "maria.novak.0a1b2c3d4e5f6071@example.com"
std::string FakeEmail(const access::Digest& hash);
// "+1555" and eight digits.
std::string FakePhone(const access::Digest& hash);
// Replaces each digit by a digit and each other character, but for separators, by a letter. Bytes
// stay as many. A first digit that is not 0 is replaced by such a one, and so is the last one.
std::string FakeDigits(std::string_view text, const access::Digest& hash);

// A number of thirty digits.
std::string HashNumber(const access::Digest& hash);

}  // namespace stator::bulk
