// Text of progress files that is encrypted with the secret of a mask.
#pragma once

#include <string>
#include <string_view>

namespace stator::bulk {

// Returns `text` encrypted under `key`, which has 32 bytes.
std::string Seal(std::string_view text, std::string_view key);
// Reverses Seal. False, if `sealed` was made under another key.
bool Unseal(std::string_view sealed, std::string_view key, std::string* text);

}  // namespace stator::bulk
