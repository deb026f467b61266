// Padded standard base64, the form of B and BS values in JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stator {

// Returns the exact length of `size` bytes in base64.
inline size_t Base64Length(size_t size) { return (size + 2) / 3 * 4; }
// Writes Base64Length(bytes.size()) characters to `out`.
void EncodeBase64(std::string_view bytes, char* out);
// Appends the decoded bytes of `text`. Errors: kSerialization with the service's two texts, one for
// a length that is not a multiple of four, one for a character outside the alphabet, misplaced
// padding or stray bits in the last character.
Status DecodeBase64(std::string_view text, std::string* out);

}  // namespace stator
